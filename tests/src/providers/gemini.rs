//! Gemini, in both its forms.

use serde_json::Value;

use super::Violations;
use super::walk::{names, properties, schemas};

pub(super) fn tools(tools: &[Value], form: &str, found: &mut Violations) {
    let mut called = Vec::new();
    found.check(tools.len() <= 1, "", "several lists of declarations");
    for tool in tools {
        found.members(tool, "/0", &["functionDeclarations"], 1);
        let declarations = tool["functionDeclarations"].as_array();
        found.check(declarations.is_some_and(|list| (1..=128).contains(&list.len())), "/0", "bad declarations");
        for (n, declaration) in declarations.into_iter().flatten().enumerate() {
            let at = format!("/{n}");
            let needed = if form == "parameters" { 2 } else { 3 };
            let Some(body) = found.members(declaration, &at, &["name", "description", form], needed) else { continue };
            found.description(body, &at);
            called.push((at.clone(), body["name"].as_str().unwrap_or_default().to_owned()));
            match declaration.get(form) {
                Some(schema) if form == "parameters" => open_api_root(schema, &at, found),
                Some(schema) => json_schema(schema, &at, found),
                None => {}
            }
        }
    }
    found.names(&called, |name| {
        let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let rest = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        first && rest && name.len() <= 64
    });
}

fn legal_property(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn open_api_root(schema: &Value, at: &str, found: &mut Violations) {
    found.check(schema["type"] == "object", at, "the root is no object");
    found.check(!properties(schema).is_empty(), at, "properties: should be non-empty");
    open_api(schema, &format!("{at}/parameters"), found);
}

/// A `Schema` of the API, member by member.
fn open_api(schema: &Value, at: &str, found: &mut Violations) {
    const KNOWN: [&str; 22] = [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "maxItems",
        "minItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "example",
        "anyOf",
        "propertyOrdering",
        "default",
        "minimum",
        "maximum",
    ];
    let Some(object) = found.members(schema, at, &KNOWN, 0) else { return };
    if let Some(branches) = object.get("anyOf") {
        found.check(object.len() == 1, at, "when using any_of, it must be the only field set");
        found.check(branches.as_array().is_some_and(|list| !list.is_empty()), at, "an empty anyOf");
        for (n, branch) in branches.as_array().into_iter().flatten().enumerate() {
            open_api(branch, &format!("{at}/anyOf/{n}"), found);
        }
        return;
    }
    let kind = schema["type"].as_str().unwrap_or_default();
    let kinds = ["string", "number", "integer", "boolean", "array", "object"];
    found.check(kinds.contains(&kind), at, format!("type: must be specified, not {}", schema["type"]));
    for key in ["title", "description", "pattern", "format"] {
        found.check(object.get(key).is_none_or(Value::is_string), at, format!("{key} is no text"));
    }
    for key in ["maxItems", "minItems", "minProperties", "maxProperties", "minLength", "maxLength"] {
        found.check(object.get(key).is_none_or(|value| value.as_f64().is_some_and(|n| n >= 0.0)), at, key);
    }
    for key in ["minimum", "maximum"] {
        found.check(object.get(key).is_none_or(Value::is_number), at, key);
    }
    found.check(object.get("nullable").is_none_or(Value::is_boolean), at, "nullable");
    if let Some(values) = object.get("enum") {
        found.check(kind == "string", at, "enum: only allowed for STRING type");
        let texts = values.as_array().is_some_and(|list| {
            !list.is_empty() && list.iter().all(|value| value.as_str().is_some_and(|text| !text.is_empty()))
        });
        found.check(texts, at, "enum: cannot be empty");
    }
    if let Some(format) = object.get("format").and_then(Value::as_str) {
        let known = ["float", "double", "int32", "int64", "enum", "date-time"].contains(&format);
        found.check(known, at, format!("format {format}"));
    }
    match object.get("items") {
        Some(items) => open_api(items, &format!("{at}/items"), found),
        None => found.check(kind != "array", at, "items: missing field"),
    }
    found.check(object.get("properties") != Some(&serde_json::json!({})), at, "properties: should be non-empty");
    for (name, property) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
        found.check(legal_property(name), at, format!("property name {name:?}"));
        open_api(property, &format!("{at}/properties/{name}"), found);
    }
    required(schema, at, found);
    for (key, of) in [
        ("properties", "object"),
        ("required", "object"),
        ("minProperties", "object"),
        ("maxProperties", "object"),
        ("items", "array"),
        ("minItems", "array"),
        ("maxItems", "array"),
        ("pattern", "string"),
        ("minLength", "string"),
        ("maxLength", "string"),
    ] {
        found.check(!object.contains_key(key) || kind == of, at, format!("{key}: only allowed for {of}"));
    }
    let number = ["minimum", "maximum"].iter().any(|key| object.contains_key(*key));
    found.check(!number || ["integer", "number"].contains(&kind), at, "minimum, maximum: only allowed for numbers");
}

fn required(schema: &Value, at: &str, found: &mut Violations) {
    for name in names(schema, "required") {
        found.check(properties(schema).contains(&name), at, format!("required: {name:?} is not defined in properties"));
    }
}

/// A schema as `parametersJsonSchema`.
fn json_schema(schema: &Value, at: &str, found: &mut Violations) {
    const KNOWN: [&str; 22] = [
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "properties",
        "additionalProperties",
        "required",
        "propertyOrdering",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "anyOf",
        "default",
    ];
    let at = format!("{at}/parametersJsonSchema");
    found.json_schema(schema, &at);
    found.check(schema["type"] == "object" && schema["properties"].is_object(), &at, "the root is no object");
    found.check(schema.get("anyOf").is_none(), &at, "anyOf at the root");
    schemas(schema, &at, &mut |schema, at| {
        for key in schema.as_object().into_iter().flat_map(|map| map.keys()) {
            found.check(KNOWN.contains(&key.as_str()), at, format!("Unknown name {key:?}"));
        }
        for name in properties(schema) {
            found.check(legal_property(name), at, format!("property name {name:?}"));
        }
        required(schema, at, found);
        let choices = schema["enum"].as_array().into_iter().flatten();
        found.check(choices.into_iter().all(|value| value.is_string() || value.is_number()), at, "enum of others");
        if let Some(format) = schema["format"].as_str() {
            found.check(["date-time", "date", "time"].contains(&format), at, format!("format {format}"));
        }
    });
}
