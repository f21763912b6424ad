//! Anthropic.

use serde_json::Value;

use super::walk::{names, properties, schemas, types};
use super::{Violations, plain_name};

pub(super) fn tools(tools: &[Value], may_be_strict: bool, found: &mut Violations) {
    let mut called = Vec::new();
    let (mut strict, mut optional, mut unions) = (0, 0, 0);
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("/{n}");
        let known: &[&str] = &["name", "input_schema", "description", "strict"];
        let Some(body) = found.members(tool, &at, &known[..3 + usize::from(may_be_strict)], 2) else { continue };
        found.description(body, &at);
        called.push((at.clone(), body["name"].as_str().unwrap_or_default().to_owned()));
        input_schema(&tool["input_schema"], &at, found);
        if tool.get("strict") == Some(&Value::Bool(true)) {
            strict += 1;
            strict_schema(&tool["input_schema"], &at, &mut optional, &mut unions, found);
        }
    }
    found.names(&called, |name| plain_name(name, 128));
    found.check(strict <= 20, "", "more than 20 strict tools");
    found.check(optional <= 24, "", "more than 24 optional parameters in strict tools");
    found.check(unions <= 16, "", "more than 16 unions in strict tools");
}

fn input_schema(schema: &Value, at: &str, found: &mut Violations) {
    let at = format!("{at}/input_schema");
    found.json_schema(schema, &at);
    found.check(schema["type"] == "object", &at, "the root is no object");
    for key in ["anyOf", "oneOf", "allOf"] {
        found.check(schema.get(key).is_none(), &at, format!("input_schema does not support {key} at the top level"));
    }
    schemas(schema, &at, &mut |schema, at| {
        for name in properties(schema) {
            let legal = (1..=64).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
            found.check(legal, at, format!("property key {name:?}"));
        }
    });
}

fn strict_schema(root: &Value, at: &str, optional: &mut usize, unions: &mut usize, found: &mut Violations) {
    const KNOWN: [&str; 13] = [
        "type",
        "description",
        "title",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "format",
        "minItems",
        "$schema",
    ];
    const FORMATS: [&str; 10] =
        ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];
    schemas(root, at, &mut |schema, at| {
        for key in schema.as_object().into_iter().flat_map(|map| map.keys()) {
            found.check(KNOWN.contains(&key.as_str()), at, format!("{key} is not supported"));
        }
        let kinds = types(schema);
        found.check(!kinds.is_empty() || schema.get("anyOf").is_some() || schema.is_boolean(), at, "no type");
        if kinds.contains(&"object") {
            found.check(schema["additionalProperties"] == false, at, "additionalProperties has to be false");
            let required = names(schema, "required");
            *optional += properties(schema).iter().filter(|name| !required.contains(name)).count();
            found.check(
                required.iter().all(|name| properties(schema).contains(name)),
                at,
                "required names no property",
            );
        }
        if let Some(least) = schema.get("minItems") {
            found.check(least == 0 || least == 1, at, "minItems");
        }
        if let Some(format) = schema["format"].as_str() {
            found.check(FORMATS.contains(&format), at, format!("format {format}"));
        }
        let choices = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
        found.check(choices.into_iter().all(|value| !value.is_object() && !value.is_array()), at, "complex values");
        *unions += usize::from(schema.get("anyOf").is_some() || schema["type"].is_array());
    });
}
