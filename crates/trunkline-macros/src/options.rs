//! Reads what stands in `#[tool(..)]`, on a function and on a parameter.

use proc_macro2::TokenStream;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{Attribute, Expr, LitBool, LitStr, Meta, Result, Token};

/// The hints that an option can give, and what they are called in the protocol.
const HINTS: [(&str, &str); 4] = [
    ("read_only", "readOnlyHint"),
    ("destructive", "destructiveHint"),
    ("idempotent", "idempotentHint"),
    ("open_world", "openWorldHint"),
];

/// The options of a function.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) name: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// Where `blocking` stands.
    pub(crate) blocking: Option<proc_macro2::Span>,
    /// The hints by their name in the protocol.
    pub(crate) hints: Vec<(&'static str, bool)>,
}

impl ToolOptions {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let mut options = Self::default();
        syn::meta::parser(|meta| options.read(&meta)).parse2(tokens)?;
        Ok(options)
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let option = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match option.as_str() {
            "name" => set(&mut self.name, meta, filled(meta)?),
            "title" => set(&mut self.title, meta, filled(meta)?),
            "description" => set(&mut self.description, meta, meta.value()?.parse::<LitStr>()?.value()),
            "blocking" => match flag(meta)? {
                true => set(&mut self.blocking, meta, syn::spanned::Spanned::span(&meta.path)),
                false => Ok(()),
            },
            _ => match HINTS.iter().find(|(name, _)| *name == option) {
                Some((_, hint)) if self.hints.iter().any(|(known, _)| known == hint) => Err(twice(meta)),
                Some((_, hint)) => {
                    self.hints.push((hint, flag(meta)?));
                    Ok(())
                }
                None => Err(meta.error(
                    "no such option; there are: name, title, description, blocking, read_only, destructive, \
                     idempotent, open_world",
                )),
            },
        }
    }
}

/// What an argument is when it isn't given.
pub(crate) enum DefaultOf {
    /// The default of its type.
    OfType,
    /// This.
    Value(Box<Expr>),
}

/// Reads `#[tool(default)]` and `#[tool(default = ..)]` among the attributes of a parameter.
pub(crate) fn default_of(attributes: &[Attribute]) -> Result<Option<DefaultOf>> {
    let mut default = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("tool")) {
        if !matches!(attribute.meta, Meta::List(_)) {
            return Err(syn::Error::new_spanned(attribute, "say what of the argument: #[tool(default = ..)]"));
        }
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("default") {
                return Err(meta.error("no such option; an argument has: default"));
            }
            let value = match meta.input.peek(Token![=]) {
                true => DefaultOf::Value(Box::new(meta.value()?.parse()?)),
                false => DefaultOf::OfType,
            };
            set(&mut default, &meta, value)
        })?;
    }
    Ok(default)
}

fn set<T>(option: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> Result<()> {
    match option.replace(value) {
        Some(_) => Err(twice(meta)),
        None => Ok(()),
    }
}

fn twice(meta: &ParseNestedMeta<'_>) -> syn::Error {
    meta.error("this option is given twice")
}

fn filled(meta: &ParseNestedMeta<'_>) -> Result<String> {
    let text: LitStr = meta.value()?.parse()?;
    match text.value() {
        value if value.trim().is_empty() => Err(syn::Error::new(text.span(), "this must not be empty")),
        value => Ok(value),
    }
}

fn flag(meta: &ParseNestedMeta<'_>) -> Result<bool> {
    match meta.input.peek(Token![=]) {
        true => Ok(meta.value()?.parse::<LitBool>()?.value),
        false => Ok(true),
    }
}
