//! Goes through the schemas inside a schema.

use serde_json::Value;

/// Calls `visit` with the schema and every schema in it, each with its place.
pub(super) fn schemas(schema: &Value, at: &str, visit: &mut impl FnMut(&Value, &str)) {
    visit(schema, at);
    let Some(object) = schema.as_object() else { return };
    for key in ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"] {
        for (name, inner) in object.get(key).and_then(Value::as_object).into_iter().flatten() {
            schemas(inner, &format!("{at}/{key}/{name}"), visit);
        }
    }
    for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for (n, inner) in object.get(key).and_then(Value::as_array).into_iter().flatten().enumerate() {
            schemas(inner, &format!("{at}/{key}/{n}"), visit);
        }
    }
    let single = ["items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"];
    for key in single.into_iter().chain(["unevaluatedItems", "unevaluatedProperties", "contentSchema"]) {
        if let Some(inner) = object.get(key) {
            schemas(inner, &format!("{at}/{key}"), visit);
        }
    }
}

/// The types that a schema names.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn names<'a>(schema: &'a Value, key: &str) -> Vec<&'a str> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

pub(super) fn properties(schema: &Value) -> Vec<&str> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|map| map.keys())
        .map(String::as_str)
        .collect()
}
