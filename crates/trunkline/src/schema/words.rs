//! What is wrong with a value, in plain words. Where it is and whether it is told is left to the parent.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::suggest;

/// A value that is quoted in a message is cut here.
const QUOTED: usize = 60;

pub(super) fn place(path: &str, whole: &str) -> String {
    if path.is_empty() { whole.to_owned() } else { format!("\"{path}\"") }
}

pub(super) fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { format!("\"{name}\"") } else { format!("\"{path}/{name}\"") }
}

/// What is wrong with a value, as the rest of a sentence that begins with its place.
pub(super) fn fault(kind: &Kind, value: &Value) -> String {
    match kind {
        Kind::Type { kind } => format!("has to be {}, not {}", type_names(&types(kind)), quoted(value)),
        Kind::Enum { options } => one_of(options, value),
        Kind::Constant { expected_value } => format!("has to be {}, not {}", quoted(expected_value), quoted(value)),
        Kind::Maximum { limit } => format!("has to be at most {limit}, not {}", quoted(value)),
        Kind::Minimum { limit } => format!("has to be at least {limit}, not {}", quoted(value)),
        Kind::ExclusiveMaximum { limit } => format!("has to be less than {limit}, not {}", quoted(value)),
        Kind::ExclusiveMinimum { limit } => format!("has to be more than {limit}, not {}", quoted(value)),
        Kind::MultipleOf { multiple_of } => format!("has to be a multiple of {multiple_of}, not {}", quoted(value)),
        Kind::MaxLength { limit } => format!("has to be at most {} long", counted(*limit, "character")),
        Kind::MinLength { limit } => format!("has to be at least {} long", counted(*limit, "character")),
        Kind::MaxItems { limit } => format!("may have at most {}", counted(*limit, "item")),
        Kind::MinItems { limit } => format!("has to have at least {}", counted(*limit, "item")),
        Kind::AdditionalItems { limit } => format!("may have at most {}", counted(*limit as u64, "item")),
        Kind::MaxProperties { limit } => format!("may have at most {}", counted(*limit, "member")),
        Kind::MinProperties { limit } => format!("has to have at least {}", counted(*limit, "member")),
        Kind::UniqueItems => "may not have the same item twice".to_owned(),
        Kind::Contains => "has none of the items it needs".to_owned(),
        Kind::Pattern { pattern } => format!("has to match the pattern {}, not {}", cut(pattern, 100), quoted(value)),
        Kind::Format { format } => format!("has to be {}, not {}", format_words(format), quoted(value)),
        Kind::FalseSchema => "may not be given".to_owned(),
        Kind::Not { .. } => format!("may not be {}", quoted(value)),
        Kind::PropertyNames { error } => {
            format!("has a member whose name doesn't fit: {}", fault(error.kind(), error.instance()))
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(context, value),
        Kind::OneOfMultipleValid { .. } => format!("fits more than one of the allowed forms, {}", quoted(value)),
        other => format!("doesn't fit (\"{}\"), {}", other.keyword(), quoted(value)),
    }
}

/// The formats that forms have, in words.
pub(crate) fn format_words(format: &str) -> String {
    match format {
        "email" => "an e-mail address".to_owned(),
        "uri" => "a URI".to_owned(),
        "date" => "a date such as 2026-07-28".to_owned(),
        "date-time" => "a time such as 2026-07-28T12:00:00Z".to_owned(),
        other => format!("text of the format {other}"),
    }
}

/// No branch of `anyOf` or `oneOf` fits: the types to choose from, or what is wrong with the nearest branch.
fn alternatives(branches: &[Vec<ValidationError<'static>>], value: &Value) -> String {
    let mut wanted = Vec::new();
    for branch in branches {
        let [only] = branch.as_slice() else { continue };
        match only.kind() {
            Kind::Type { kind } if only.instance().as_ref() == value => wanted.extend(types(kind)),
            _ => {}
        }
    }
    if wanted.len() >= branches.len() && !wanted.is_empty() {
        wanted.dedup();
        return format!("has to be {}, not {}", type_names(&wanted), quoted(value));
    }
    let is_type =
        |error: &ValidationError<'_>| matches!(error.kind(), Kind::Type { .. }) && error.instance().as_ref() == value;
    let nearest =
        branches.iter().filter(|branch| !branch.is_empty()).min_by_key(|branch| (is_type(&branch[0]), branch.len()));
    match nearest.and_then(|branch| branch.first()) {
        Some(error) => format!("fits none of the allowed forms: {}", inner(error)),
        None => format!("fits none of the allowed forms, {}", quoted(value)),
    }
}

fn inner(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str().trim_start_matches('/');
    match error.kind() {
        Kind::Required { property } => format!("{} is missing", joined(path, property.as_str().unwrap_or_default())),
        Kind::AdditionalProperties { unexpected } => {
            format!("{} is unknown", joined(path, unexpected.first().map_or("", String::as_str)))
        }
        kind if path.is_empty() => format!("it {}", fault(kind, error.instance())),
        kind => format!("\"{path}\" {}", fault(kind, error.instance())),
    }
}

fn one_of(options: &Value, value: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<_> = options.iter().take(20).map(quoted).collect();
    let more = if options.len() > 20 { format!(" and {} more", options.len() - 20) } else { String::new() };
    let names = options.iter().filter_map(Value::as_str);
    let meant = value.as_str().and_then(|text| suggest::nearest(text, names));
    let meant = meant.map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default();
    format!("has to be one of {}{more}, not {}{meant}", texts.join(", "), quoted(value))
}

fn types(kind: &TypeKind) -> Vec<JsonType> {
    match kind {
        TypeKind::Single(kind) => vec![*kind],
        TypeKind::Multiple(kinds) => kinds.iter().collect(),
    }
}

fn type_names(kinds: &[JsonType]) -> String {
    let (null, others): (Vec<_>, Vec<_>) = kinds.iter().partition(|kind| **kind == JsonType::Null);
    let names: Vec<_> = others.into_iter().chain(null).map(type_name).collect();
    names.join(" or ")
}

fn type_name(kind: &JsonType) -> &'static str {
    match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "a list",
        JsonType::Object => "an object",
    }
}

fn counted(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn quoted(value: &Value) -> String {
    cut(&value.to_string(), QUOTED)
}

pub(super) fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
