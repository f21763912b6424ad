//! Puts it together: the function as it was, without what only `#[tool]` understands, and its tool.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Error, FnArg, Item, ItemFn, Result, Safety};

use crate::docs;
use crate::options::ToolOptions;
use crate::parameter::{Argument, Parameter, is_taken};

/// The expansion of `#[tool(options)] item`.
pub(crate) fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    let function = match syn::parse2(item.clone()) {
        Ok(Item::Fn(function)) => function,
        Ok(other) => {
            let error = Error::new_spanned(&other, "#[tool] goes on a function").to_compile_error();
            return quote!(#error #item);
        }
        Err(error) => return error.to_compile_error(),
    };
    let tool = constructor(options, &function).unwrap_or_else(|error| error.to_compile_error());
    let function = plain(function);
    quote!(#function #tool)
}

/// The function without what the compiler wouldn't take on its parameters.
fn plain(mut function: ItemFn) -> ItemFn {
    for input in &mut function.sig.inputs {
        if let FnArg::Typed(typed) = input {
            typed.attrs.retain(|attribute| !is_taken(attribute));
        }
    }
    function
}

fn constructor(options: TokenStream, function: &ItemFn) -> Result<TokenStream> {
    let options = ToolOptions::parse(options)?;
    refuse(function, &options)?;
    let mut parameters = parameters(function)?;
    let lines = docs::lines(&function.attrs);
    describe(&mut parameters, &lines);

    let ident = &function.sig.ident;
    let name = options.name.clone().unwrap_or_else(|| ident.unraw().to_string());
    let description = options.description.clone().unwrap_or_else(|| docs::description(&lines));
    let (arguments, body) = (arguments(&parameters), body(function, &parameters));
    let settings = settings(&options);

    let vis = &function.vis;
    let cfgs = function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let constructor = format_ident!("{}_tool", ident.unraw(), span = ident.span());
    let doc = format!("The tool `{name}`: [`{}`] as a [`FunctionTool`](::trunkline::FunctionTool).", ident.unraw());
    Ok(quote! {
        #(#cfgs)*
        #[doc = #doc]
        #[must_use]
        #vis fn #constructor() -> ::trunkline::FunctionTool {
            #arguments
            ::trunkline::FunctionTool::new(#name, #description, #body) #settings
        }
    })
}

fn refuse(function: &ItemFn, options: &ToolOptions) -> Result<()> {
    let signature = &function.sig;
    if !signature.generics.params.is_empty() {
        let told = "a generic function can't be a tool, since its arguments have no one schema";
        return Err(Error::new_spanned(&signature.generics, told));
    }
    if let Safety::Unsafe(keyword) = &signature.safety {
        return Err(Error::new_spanned(keyword, "an unsafe function can't be a tool"));
    }
    if let Some(variadic) = &signature.variadic {
        return Err(Error::new_spanned(variadic, "a variadic function can't be a tool"));
    }
    match (options.blocking, &signature.asyncness) {
        (Some(span), Some(_)) => Err(Error::new(span, "`blocking` is for functions that aren't async")),
        _ => Ok(()),
    }
}

/// The parameters, or everything that is wrong with them.
fn parameters(function: &ItemFn) -> Result<Vec<Parameter>> {
    let mut parameters = Vec::new();
    let mut errors: Option<Error> = None;
    for input in &function.sig.inputs {
        match (Parameter::read(input), &mut errors) {
            (Ok(parameter), _) => parameters.push(parameter),
            (Err(error), Some(errors)) => errors.combine(error),
            (Err(error), None) => errors = Some(error),
        }
    }
    errors.map_or(Ok(parameters), Err)
}

/// Gives the arguments without a doc comment what the list in the function's doc comment says of them.
fn describe(parameters: &mut [Parameter], lines: &[String]) {
    let names: Vec<_> = of_arguments(parameters).map(Argument::name).collect();
    let listed = docs::arguments(lines, &names);
    for parameter in parameters {
        let Parameter::Argument(argument) = parameter else { continue };
        if let (true, Some(text)) = (argument.description.is_empty(), listed.get(&argument.name())) {
            argument.description.clone_from(text);
        }
    }
}

fn of_arguments(parameters: &[Parameter]) -> impl Iterator<Item = &Argument> {
    parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Argument(argument) => Some(&**argument),
        Parameter::Context { .. } => None,
    })
}

/// The struct of the arguments and the functions that give their defaults.
fn arguments(parameters: &[Parameter]) -> TokenStream {
    let fields = of_arguments(parameters).map(Argument::field);
    let defaults = of_arguments(parameters).filter_map(Argument::default_function);
    let strict = (!of_arguments(parameters).any(Argument::is_flattened)).then(|| quote!(#[serde(deny_unknown_fields)]));
    quote! {
        #(#defaults)*
        #[derive(::trunkline::__private::serde::Deserialize, ::trunkline::__private::schemars::JsonSchema)]
        #[serde(crate = "::trunkline::__private::serde")]
        #[schemars(crate = "::trunkline::__private::schemars")]
        #strict
        struct __Arguments {
            #(#fields,)*
        }
    }
}

/// The closure that calls the function.
fn body(function: &ItemFn, parameters: &[Parameter]) -> TokenStream {
    let ident = &function.sig.ident;
    let passed = parameters.iter().map(Parameter::pass);
    let takes_context = parameters.iter().any(|parameter| matches!(parameter, Parameter::Context { .. }));
    let context = takes_context.then(|| quote!(__cx: ::trunkline::CallContext));
    let (call, keyword) = match function.sig.asyncness {
        Some(_) => (quote!(#ident(#(#passed),*).await), quote!(async move)),
        None => (quote!(#ident(#(#passed),*)), quote!()),
    };
    quote! {
        |__arguments: __Arguments, #context| #keyword {
            use ::trunkline::__private::{AsFallible as _, AsResult as _, AsSerialize as _};
            (&&&::trunkline::__private::Output::new(#call)).tool_result()
        }
    }
}

/// What the options add to the tool.
fn settings(options: &ToolOptions) -> TokenStream {
    let title = options.title.as_ref().map(|title| quote!(.title(#title)));
    let blocking = options.blocking.map(|_| quote!(.blocking()));
    let hints = options.hints.iter().map(|(hint, value)| quote!((#hint, #value)));
    let hints =
        (!options.hints.is_empty()).then(|| quote!(.annotations(::trunkline::__private::hints(&[#(#hints),*]))));
    quote!(#title #blocking #hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(options: &str, item: &str) -> String {
        tool(options.parse().unwrap(), item.parse().unwrap()).to_string()
    }

    #[test]
    fn what_cannot_be_a_tool_is_told_and_the_function_stays() {
        for (options, item, told) in [
            ("", "struct add;", "goes on a function"),
            ("", "fn add(&self) {}", "a method can't be a tool"),
            ("", "fn add<T>(a: T) {}", "a generic function"),
            ("", "unsafe fn add() {}", "an unsafe function"),
            ("", "fn add((a, b): (u8, u8)) {}", "is a plain name"),
            ("", "fn add(_: u8) {}", "needs a name"),
            ("", "fn add(ref a: u8) {}", "is a plain name"),
            ("", "fn add(a: &mut u8) {}", "take it by value"),
            ("", "fn add(#[cfg(unix)] a: u8) {}", "put #[cfg] on the function"),
            ("", "fn add(#[tool] a: u8) {}", "say what of the argument"),
            ("", "fn add(#[tool(optional)] a: u8) {}", "an argument has: default"),
            ("", "fn add(#[tool(default, default = 1)] a: u8) {}", "given twice"),
            ("readonly", "fn add() {}", "no such option; there are: name, title"),
            ("read_only, read_only = false", "fn add() {}", "given twice"),
            ("name = \" \"", "fn add() {}", "must not be empty"),
            ("blocking", "async fn add() {}", "aren't async"),
        ] {
            let expanded = expand(options, item);
            assert!(expanded.contains("compile_error") && expanded.contains(told), "{item}: {expanded}");
            assert!(expanded.contains("fn add") || expanded.contains("struct add"), "{expanded}");
            assert!(!expanded.contains("add_tool"), "{expanded}");
        }
    }

    #[test]
    fn every_bad_parameter_is_told_at_once() {
        let expanded = expand("", "fn add(_: u8, a: &mut u8) {}");
        assert_eq!(expanded.matches("compile_error").count(), 2, "{expanded}");
    }

    #[test]
    fn the_function_keeps_what_is_not_for_the_tool() {
        let plain: fn(&str) -> TokenStream = |item| item.parse().unwrap();
        let item = "#[inline] pub(crate) fn add(#[doc = \" A.\"] #[allow(unused)] a: u8) -> u8 { a }";
        let expanded = expand("", item);
        let kept = plain("#[inline] pub(crate) fn add(#[allow(unused)] a: u8) -> u8 { a }").to_string();
        let normal = |text: &str| text.replace(' ', "");
        assert!(normal(&expanded).starts_with(&normal(&kept)), "{expanded}");
        assert!(normal(&expanded).contains("pub(crate)fnadd_tool()"), "{expanded}");
    }
}
