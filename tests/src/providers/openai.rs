//! OpenAI, and those that take its form: Groq and Mistral.

use serde_json::Value;

use super::walk::{names, properties, schemas, types};
use super::{Violations, plain_name};

const ROOT: [&str; 6] = ["anyOf", "oneOf", "allOf", "enum", "const", "not"];

pub(super) fn chat(tools: &[Value], strict: Option<()>, found: &mut Violations) {
    let known: &[&str] = match strict {
        Some(()) => &["name", "parameters", "strict", "description"],
        None => &["name", "parameters", "description"],
    };
    for (at, function) in functions(tools, known, found) {
        let is_strict = function.get("strict") == Some(&Value::Bool(true));
        parameters(&function["parameters"], is_strict, &format!("{at}/parameters"), found);
    }
    at_most_128(tools, found);
}

pub(super) fn responses(tools: &[Value], found: &mut Violations) {
    let mut called = Vec::new();
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("/{n}");
        let known = ["type", "name", "parameters", "strict", "description"];
        let Some(body) = found.members(tool, &at, &known, 4) else { continue };
        found.check(body["type"] == "function", &at, "no function");
        found.check(tool["strict"].is_boolean(), &at, "strict is no boolean");
        found.description(body, &at);
        called.push((at.clone(), body["name"].as_str().unwrap_or_default().to_owned()));
        parameters(&tool["parameters"], tool["strict"] == true, &format!("{at}/parameters"), found);
    }
    found.names(&called, |name| plain_name(name, 64));
    at_most_128(tools, found);
}

pub(super) fn mistral(tools: &[Value], found: &mut Violations) {
    for (at, function) in functions(tools, &["name", "parameters", "description"], found) {
        let at = format!("{at}/parameters");
        parameters(&function["parameters"], false, &at, found);
        no_references(&function["parameters"], &at, found);
    }
}

pub(super) fn groq(tools: &[Value], found: &mut Violations) {
    for (at, function) in functions(tools, &["name", "parameters", "description"], found) {
        let at = format!("{at}/parameters");
        parameters(&function["parameters"], false, &at, found);
        no_references(&function["parameters"], &at, found);
        schemas(&function["parameters"], &at, &mut |schema, at| {
            let lacking = schema.get("required").is_some() && schema.get("properties").is_none();
            found.check(!lacking, at, "required present but properties missing");
        });
    }
    at_most_128(tools, found);
}

fn at_most_128(tools: &[Value], found: &mut Violations) {
    found.check(tools.len() <= 128, "", "more than 128 tools");
}

/// The `function` of each tool, with its place.
fn functions<'a>(tools: &'a [Value], known: &[&str], found: &mut Violations) -> Vec<(String, &'a Value)> {
    let (mut functions, mut called) = (Vec::new(), Vec::new());
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("/{n}/function");
        if found.members(tool, &format!("/{n}"), &["type", "function"], 2).is_none() {
            continue;
        }
        found.check(tool["type"] == "function", &at, "no function");
        let Some(body) = found.members(&tool["function"], &at, known, 2) else { continue };
        found.description(body, &at);
        called.push((at.clone(), body["name"].as_str().unwrap_or_default().to_owned()));
        functions.push((at, &tool["function"]));
    }
    found.names(&called, |name| plain_name(name, 64));
    functions
}

fn no_references(schema: &Value, at: &str, found: &mut Violations) {
    schemas(schema, at, &mut |schema, at| {
        for key in ["$ref", "$defs", "definitions", "$dynamicRef"] {
            found.check(schema.get(key).is_none(), at, format!("{key} isn't followed"));
        }
    });
}

fn parameters(schema: &Value, strict: bool, at: &str, found: &mut Violations) {
    found.json_schema(schema, at);
    found.check(schema["type"] == "object", at, "the root is no object");
    found.check(schema["properties"].is_object(), at, "object schema missing properties");
    for key in ROOT {
        found.check(schema.get(key).is_none(), at, format!("{key} at the top level"));
    }
    schemas(schema, at, &mut |inner, place| anywhere(inner, schema, place, found));
    if strict {
        self::strict(schema, at, found);
    }
}

/// What holds for every schema, strict or not.
fn anywhere(schema: &Value, root: &Value, at: &str, found: &mut Violations) {
    if types(schema).contains(&"array") {
        found.check(schema["items"].is_object(), at, "array schema missing items");
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        let foreign = ["(?=", "(?!", "(?<", "\\p", "\\P", "\\1", "\\k"];
        found.check(!foreign.iter().any(|form| pattern.contains(form)), at, format!("pattern {pattern:?}"));
    }
    found.check(schema["enum"] != serde_json::json!([]), at, "an empty enum");
    if let Some(reference) = schema.get("$ref") {
        let target = reference.as_str().and_then(|text| text.strip_prefix('#')).map(decoded);
        let known = |path: &String| {
            path.is_empty()
                || (path.starts_with("/$defs/") || path.starts_with("/definitions/")) && path.matches('/').count() == 2
        };
        let there = target.filter(known).is_some_and(|path| root.pointer(&path).is_some());
        found.check(there, at, format!("$ref {reference} can't be resolved"));
    }
    for key in ["properties", "patternProperties", "$defs", "definitions"] {
        for (name, inner) in schema.get(key).and_then(Value::as_object).into_iter().flatten() {
            found.check(inner.is_object(), at, format!("{key}/{name} is no object"));
        }
    }
}

fn decoded(path: &str) -> String {
    path.replace("%20", " ").replace("%5B", "[").replace("%5D", "]").replace("%7C", "|").replace("%C3%A9", "é")
}

/// The strict mode (guide "Structured outputs", "Supported schemas").
fn strict(root: &Value, at: &str, found: &mut Violations) {
    const REFUSED: [&str; 27] = [
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "minLength",
        "maxLength",
        "patternProperties",
        "unevaluatedProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "unevaluatedItems",
        "contains",
        "minContains",
        "maxContains",
        "uniqueItems",
        "prefixItems",
        "default",
        "examples",
        "nullable",
        "$dynamicRef",
        "additionalItems",
        "$anchor",
    ];
    const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
    let (mut count, mut values, mut text) = (0, 0, 0);
    schemas(root, at, &mut |schema, at| {
        for key in REFUSED {
            found.check(schema.get(key).is_none(), at, format!("{key} is not permitted"));
        }
        let says = ["type", "anyOf", "$ref"].iter().any(|key| schema.get(*key).is_some());
        found.check(says || schema.is_boolean(), at, "schema must have a type");
        if types(schema).contains(&"object") {
            found.check(schema["additionalProperties"] == false, at, "additionalProperties has to be false");
            let (mut all, mut required) = (properties(schema), names(schema, "required"));
            all.sort_unstable();
            required.sort_unstable();
            found.check(schema["properties"].is_object() && all == required, at, "required has to name every property");
            count += all.len();
            text += all.iter().map(|name| name.len()).sum::<usize>();
        }
        if schema.get("$ref").is_some() {
            found.check(schema.as_object().is_some_and(|map| map.len() == 1), at, "$ref has siblings");
        }
        let kinds: Vec<_> = types(schema).into_iter().filter(|kind| *kind != "null").collect();
        found.check(kinds.len() <= 1, at, "more than one type");
        if let Some(format) = schema["format"].as_str() {
            found.check(FORMATS.contains(&format), at, format!("format {format}"));
        }
        let choices: Vec<_> = schema["enum"].as_array().into_iter().flatten().collect();
        found.check(choices.iter().all(|value| !value.is_object() && !value.is_array()), at, "enum of objects");
        let is_a = |value: &Value| match value {
            Value::String(_) => "string",
            Value::Bool(_) => "boolean",
            Value::Null => "null",
            Value::Number(number) if number.as_f64().is_some_and(|n| n.fract() == 0.0) => "integer",
            _ => "number",
        };
        let allowed = types(schema);
        let fits = |value: &Value| {
            allowed.is_empty()
                || allowed.contains(&is_a(value))
                || is_a(value) == "integer" && allowed.contains(&"number")
        };
        found.check(choices.iter().all(|value| fits(value)), at, "enum value does not validate against the type");
        let length: usize = choices.iter().filter_map(|value| value.as_str()).map(str::len).sum();
        found.check(choices.len() <= 250 || length <= 15_000, at, "a long enum of long values");
        (values, text) = (values + choices.len(), text + length);
    });
    found.check(count <= 5000, at, "more than 5000 properties");
    found.check(values <= 1000, at, "more than 1000 values");
    found.check(text <= 120_000, at, "more than 120000 characters");
    found.check(nesting(root) <= 10, at, "more than 10 levels");
}

/// How many objects lie in each other.
fn nesting(schema: &Value) -> usize {
    let own = usize::from(types(schema).contains(&"object"));
    let mut inner = 0;
    for value in schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(_, value)| value) {
        inner = inner.max(nesting(value));
    }
    for value in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten().chain(schema.get("items")) {
        inner = inner.max(nesting(value));
    }
    own + inner
}
