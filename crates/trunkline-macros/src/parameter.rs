//! Reads the parameters of a function: which are arguments of the tool, as which type an argument is read, and how
//! it is handed to the function.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Error, FnArg, GenericArgument, Ident, Pat, PatType, PathArguments, Result, Type, parse_quote};

use crate::docs;
use crate::options::{DefaultOf, default_of};

/// One parameter of a tool function.
pub(crate) enum Parameter {
    /// The context of the call; by reference or not.
    Context { by_reference: bool },
    /// An argument of the tool.
    Argument(Box<Argument>),
}

/// An argument of the tool.
pub(crate) struct Argument {
    name: Ident,
    owned: Type,
    passing: Passing,
    pub(crate) description: String,
    default: Option<DefaultOf>,
    /// `#[serde(..)]` and `#[schemars(..)]`.
    forwarded: Vec<Attribute>,
}

/// How an owned value becomes what the function takes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Passing {
    Value,
    Reference,
    OptionDeref,
    OptionRef,
}

impl Parameter {
    pub(crate) fn read(input: &FnArg) -> Result<Self> {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => {
                let told = "a method can't be a tool, since there is no `self` to call it on; write a function";
                return Err(Error::new_spanned(receiver, told));
            }
        };
        let by_reference = matches!(&*typed.ty, Type::Reference(_));
        match is_context(&typed.ty) {
            true => Ok(Self::Context { by_reference }),
            false => Argument::read(typed).map(|argument| Self::Argument(Box::new(argument))),
        }
    }

    /// What the function is given in its place.
    pub(crate) fn pass(&self) -> TokenStream {
        let argument = match self {
            Self::Context { by_reference: true } => return quote!(&__cx),
            Self::Context { by_reference: false } => return quote!(::core::clone::Clone::clone(&__cx)),
            Self::Argument(argument) => argument,
        };
        let name = &argument.name;
        match argument.passing {
            Passing::Value => quote!(__arguments.#name),
            Passing::Reference => quote!(&__arguments.#name),
            Passing::OptionDeref => quote!(__arguments.#name.as_deref()),
            Passing::OptionRef => quote!(__arguments.#name.as_ref()),
        }
    }
}

impl Argument {
    fn read(typed: &PatType) -> Result<Self> {
        let name = match &*typed.pat {
            Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => pattern.ident.clone(),
            Pat::Wild(_) => return Err(Error::new_spanned(&typed.pat, "an argument of a tool needs a name")),
            _ => {
                let told = "an argument of a tool is a plain name; take it apart inside the function";
                return Err(Error::new_spanned(&typed.pat, told));
            }
        };
        if let Some(attribute) = typed.attrs.iter().find(|attribute| attribute.path().is_ident("cfg")) {
            return Err(Error::new_spanned(
                attribute,
                "#[tool] needs to know its arguments; put #[cfg] on the function",
            ));
        }
        let (owned, passing) = owned(&typed.ty)?;
        Ok(Self {
            name,
            owned,
            passing,
            description: docs::lines(&typed.attrs).join("\n").trim().to_owned(),
            default: default_of(&typed.attrs)?,
            forwarded: typed.attrs.iter().filter(|attribute| is_forwarded(attribute)).cloned().collect(),
        })
    }

    /// Its name, without `r#`.
    pub(crate) fn name(&self) -> String {
        self.name.unraw().to_string()
    }

    /// Whether it is no argument of its own but spreads over several.
    pub(crate) fn is_flattened(&self) -> bool {
        self.forwarded.iter().any(|attribute| attribute.to_token_stream().to_string().contains("flatten"))
    }

    /// Its field in the struct of the arguments.
    pub(crate) fn field(&self) -> TokenStream {
        let Self { name, owned, description, forwarded, .. } = self;
        let description = (!description.is_empty()).then(|| quote!(#[schemars(description = #description)]));
        let default = match &self.default {
            None => quote!(),
            Some(DefaultOf::OfType) => quote!(#[serde(default)]),
            Some(DefaultOf::Value(_)) => {
                let function = self.default_name().to_string();
                quote!(#[serde(default = #function)])
            }
        };
        quote!(#description #default #(#forwarded)* #name: #owned)
    }

    /// The function that gives its default, where it has one of its own.
    pub(crate) fn default_function(&self) -> Option<TokenStream> {
        let Some(DefaultOf::Value(value)) = &self.default else { return None };
        let (name, owned) = (self.default_name(), &self.owned);
        let value = match is_named(owned, "String") {
            true => quote!(<#owned as ::core::convert::From<_>>::from(#value)),
            false => quote!(#value),
        };
        Some(quote!(fn #name() -> #owned { #value }))
    }

    fn default_name(&self) -> Ident {
        format_ident!("__default_{}", self.name.unraw())
    }
}

/// Attributes that concern the argument and must not stay on the parameter.
pub(crate) fn is_taken(attribute: &Attribute) -> bool {
    is_forwarded(attribute) || attribute.path().is_ident("doc") || attribute.path().is_ident("tool")
}

fn is_forwarded(attribute: &Attribute) -> bool {
    attribute.path().is_ident("serde") || attribute.path().is_ident("schemars")
}

fn is_context(of: &Type) -> bool {
    match of {
        Type::Reference(reference) if reference.mutability.is_none() => is_context(&reference.elem),
        _ => is_named(of, "CallContext"),
    }
}

fn is_named(of: &Type, name: &str) -> bool {
    matches!(of, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == name))
}

/// The type that an argument is read as, and how it is handed on.
fn owned(of: &Type) -> Result<(Type, Passing)> {
    let (owned, passing) = match (of, inside_option(of)) {
        (Type::Reference(_), _) => (behind(of)?.0, Passing::Reference),
        (Type::ImplTrait(_), _) => return Err(Error::new_spanned(of, "an argument of a tool needs a type of its own")),
        (_, Some(inside @ Type::Reference(_))) => {
            let (owned, derefs) = behind(inside)?;
            let passing = if derefs { Passing::OptionDeref } else { Passing::OptionRef };
            (parse_quote!(::core::option::Option<#owned>), passing)
        }
        _ => (of.clone(), Passing::Value),
    };
    match borrows(owned.to_token_stream()) {
        true => Err(Error::new_spanned(of, "an argument of a tool can't borrow here; take an owned type")),
        false => Ok((owned, passing)),
    }
}

/// The owned twin of what a reference points to, and whether it has to be dereferenced once more.
fn behind(reference: &Type) -> Result<(Type, bool)> {
    let Type::Reference(reference) = reference else { return Ok((reference.clone(), false)) };
    if let Some(mutability) = reference.mutability {
        return Err(Error::new_spanned(mutability, "an argument of a tool can't be changed; take it by value"));
    }
    Ok(match &*reference.elem {
        Type::Slice(slice) => {
            let item = &slice.elem;
            (parse_quote!(::std::vec::Vec<#item>), true)
        }
        elem if is_named(elem, "str") => (parse_quote!(::std::string::String), true),
        elem => (elem.clone(), false),
    })
}

fn inside_option(of: &Type) -> Option<&Type> {
    let Type::Path(path) = of else { return None };
    let option = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    match &option.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
            Some(GenericArgument::Type(inside)) => Some(inside),
            _ => None,
        },
        _ => None,
    }
}

fn borrows(tokens: TokenStream) -> bool {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let borrows = match token {
            TokenTree::Punct(punct) if punct.as_char() == '&' => true,
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                !matches!(tokens.peek(), Some(TokenTree::Ident(lifetime)) if lifetime == "static")
            }
            TokenTree::Group(group) => self::borrows(group.stream()),
            _ => false,
        };
        if borrows {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_owned_types() {
        for (given, read_as, passing) in [
            ("i64", "i64", Passing::Value),
            ("Option<i64>", "Option<i64>", Passing::Value),
            ("&str", ":: std :: string :: String", Passing::Reference),
            ("&[u8]", ":: std :: vec :: Vec<u8>", Passing::Reference),
            ("&Point", "Point", Passing::Reference),
            ("Option<&str>", ":: core :: option :: Option<:: std :: string :: String>", Passing::OptionDeref),
            ("Option<&Point>", ":: core :: option :: Option<Point>", Passing::OptionRef),
            ("Cow<'static, str>", "Cow<'static, str>", Passing::Value),
        ] {
            let (found, how) = owned(&syn::parse_str(given).unwrap()).unwrap();
            let plain = |tokens: TokenStream| tokens.to_string().replace(' ', "");
            assert_eq!((plain(found.to_token_stream()), how), (read_as.replace(' ', ""), passing), "{given}");
        }
    }

    #[test]
    fn what_cannot_be_owned_is_refused() {
        for (given, told) in [
            ("&mut String", "by value"),
            ("Vec<&str>", "owned type"),
            ("Cow<'_, str>", "owned type"),
            ("(i64, &str)", "owned type"),
            ("impl Into<String>", "type of its own"),
        ] {
            let error = owned(&syn::parse_str(given).unwrap()).err().unwrap();
            assert!(error.to_string().contains(told), "{given}: {error}");
        }
    }

    #[test]
    fn a_context_is_no_argument() {
        for (given, by_value, by_reference) in [
            (quote!(cx: CallContext), true, false),
            (quote!(cx: &trunkline::CallContext), false, true),
            (quote!(cx: Vec<CallContext>), false, false),
        ] {
            let Ok(parameter) = Parameter::read(&syn::parse2(given).unwrap()) else { panic!("refused") };
            assert_eq!(matches!(parameter, Parameter::Context { by_reference: false }), by_value);
            assert_eq!(matches!(parameter, Parameter::Context { by_reference: true }), by_reference);
        }
    }
}
