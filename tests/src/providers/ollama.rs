//! Ollama's `/api/chat`: what its service decodes a tool into. A member that it doesn't know never reaches the model.

use serde_json::Value;

use super::{Violations, plain_name};

pub(super) fn tools(tools: &[Value], found: &mut Violations) {
    let mut called = Vec::new();
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("/{n}");
        found.members(tool, &at, &["type", "function"], 2);
        let Some(body) = found.members(&tool["function"], &at, &["name", "parameters", "description"], 2) else {
            continue;
        };
        found.description(body, &at);
        called.push((at.clone(), body["name"].as_str().unwrap_or_default().to_owned()));
        let parameters = &body["parameters"];
        found.members(parameters, &at, &["type", "properties", "required", "items", "description", "enum"], 1);
        found.check(parameters["type"] == "object", &at, "the root is no object");
        property(parameters, &at, found);
    }
    found.names(&called, |name| plain_name(name, 64));
}

fn property(schema: &Value, at: &str, found: &mut Violations) {
    let known = ["anyOf", "type", "items", "description", "enum", "properties", "required"];
    let Some(object) = found.members(schema, at, &known, 0) else { return };
    let texts = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    for (key, value) in object {
        let place = format!("{at}/{key}");
        match key.as_str() {
            "type" => found.check(value.is_string() || texts(value), &place, "neither a text nor a list of texts"),
            "description" => found.check(value.is_string(), &place, "no text"),
            "required" => found.check(texts(value), &place, "no list of texts"),
            "enum" => found.check(value.is_array(), &place, "no list"),
            "items" => property(value, &place, found),
            "anyOf" => {
                found.check(value.is_array(), &place, "no list");
                value.as_array().into_iter().flatten().for_each(|branch| property(branch, &place, found));
            }
            "properties" => {
                found.check(value.is_object(), &place, "no object");
                for (name, inner) in value.as_object().into_iter().flatten() {
                    property(inner, &format!("{place}/{name}"), found);
                }
            }
            _ => {}
        }
    }
}
