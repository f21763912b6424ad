//! Placeholders: `$ID`, `$ARG(key)`, `$(variable)`, `$REPEAT(n,text)` … in the texts and JSON of actions.

use super::server::{Scope, Server};
use crate::json::Json;

/// Where a placeholder's value goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Place {
    /// Raw output: everything as JSON.
    Line,
    /// Plain text: strings as their characters.
    Plain,
    /// JSON: inside a string its characters, escaped; a whole string becomes the value.
    Json,
    /// The inside of a JSON string, even if the placeholder is all of it.
    Quoted,
}

enum Value {
    Json(String),
    Text(String),
    Verbatim(String),
}

pub(crate) fn expand(template: &str, place: Place, server: &Server, scope: &Scope) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some((value, length)) = placeholder(rest, server, scope) else {
            out.push('$');
            rest = &rest[1..];
            continue;
        };
        rest = &rest[length..];
        let whole = place == Place::Json && ends_in_quote(&out) && rest.starts_with('"');
        match value {
            Value::Verbatim(text) => out.push_str(&text),
            value if whole => {
                out.pop();
                rest = &rest[1..];
                out.push_str(&as_json(value));
            }
            value => out.push_str(&inside(value, place)),
        }
    }
    out.push_str(rest);
    out
}

/// The placeholder at the start of the text: its value and its length.
fn placeholder(text: &str, server: &Server, scope: &Scope) -> Option<(Value, usize)> {
    let name_length = text[1..].bytes().take_while(u8::is_ascii_uppercase).count();
    let name = &text[1..1 + name_length];
    let after = &text[1 + name_length..];
    let argument =
        after.strip_prefix('(').and_then(|rest| rest.split(')').next().filter(|inner| inner.len() < rest.len()));
    let with_argument = |argument: &str| 1 + name_length + argument.len() + 2;
    match (name, argument) {
        ("", Some(variable)) => Some((variable_value(server.variable(variable)), with_argument(variable))),
        ("ARG", Some(key)) => Some((json_or_null(scope.message.argument(key).as_ref()), with_argument(key))),
        ("REPEAT", Some(inner)) => {
            let (times, unit) = inner.split_once(',')?;
            Some((Value::Verbatim(unit.repeat(times.trim().parse().ok()?)), with_argument(inner)))
        }
        _ => Some((simple(name, server, scope)?, 1 + name_length)),
    }
}

fn simple(name: &str, server: &Server, scope: &Scope) -> Option<Value> {
    let message = &scope.message;
    Some(match name {
        "ID" => json_or_null(message.id.as_ref()),
        "PARAMS" => json_or_null(message.params.as_ref()),
        "ARGS" => json_or_null(message.arguments()),
        "TOKEN" => json_or_null(message.meta("progressToken").as_ref()),
        "REPLY" => Value::Json(scope.reply.clone().unwrap_or_else(|| "null".to_owned())),
        "METHOD" => Value::Text(message.method.clone()),
        "LINE" => Value::Text(message.line.clone()),
        "NAME" => Value::Text(message.name().unwrap_or_else(|| "null".to_owned())),
        "N" => Value::Json(scope.n.to_string()),
        "I" => Value::Json(scope.round.to_string()),
        "START" => Value::Json(server.start.to_string()),
        "PID" => Value::Json(std::process::id().to_string()),
        _ => return None,
    })
}

fn json_or_null(json: Option<&Json>) -> Value {
    Value::Json(json.map_or("null", Json::text).to_owned())
}

fn variable_value(text: String) -> Value {
    if Json::parse(&text).is_some() { Value::Json(text) } else { Value::Text(text) }
}

fn as_json(value: Value) -> String {
    match value {
        Value::Json(text) | Value::Verbatim(text) => text,
        Value::Text(text) => quoted(&text),
    }
}

fn inside(value: Value, place: Place) -> String {
    let characters = match value {
        Value::Json(text) if place == Place::Line => return text,
        Value::Json(text) => serde_json::from_str(&text).unwrap_or(text),
        Value::Text(text) | Value::Verbatim(text) => text,
    };
    match place {
        Place::Line | Place::Plain => characters,
        Place::Json | Place::Quoted => {
            let quoted = quoted(&characters);
            quoted[1..quoted.len() - 1].to_owned()
        }
    }
}

/// The text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn ends_in_quote(text: &str) -> bool {
    text.ends_with('"') && !text.ends_with("\\\"")
}
