//! JSON with comments and trailing commas, as a tree that knows its lines. Nothing looser: text that isn't
//! that is refused with its place.

use jsonc_parser::ast::{Object, ObjectProp, ObjectPropName, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// A parsed text.
pub(crate) struct Document<'a> {
    text: &'a str,
    /// The value; nothing in a text of blanks and comments.
    pub(crate) root: Option<Value<'a>>,
}

/// Where a text stops being JSON, and why.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) reason: String,
}

impl<'a> Document<'a> {
    /// Parses a text. A byte order mark is skipped.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Fault> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        match parse_to_ast(text, &CollectOptions::default(), &options) {
            Ok(parsed) => Ok(Self { text, root: parsed.value }),
            Err(error) => Err(Fault {
                line: error.line_display(),
                column: error.column_display(),
                reason: error.kind().to_string().to_lowercase(),
            }),
        }
    }

    /// The line of a member's key, from 1.
    pub(crate) fn line(&self, member: &ObjectProp<'_>) -> usize {
        let start = match &member.name {
            ObjectPropName::String(name) => name.start(),
            ObjectPropName::Word(name) => name.start(),
        };
        self.text.as_bytes()[..start.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
    }
}

/// The member `key`; the last one where it is repeated.
pub(crate) fn member<'a, 'b>(object: &'b Object<'a>, key: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().rev().find(|member| member.name.as_str() == key)
}

/// What a value is, with its article.
pub(crate) fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "text",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}
