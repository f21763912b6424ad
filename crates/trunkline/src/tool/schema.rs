//! JSON Schemas of Rust types, as a tool shows them: draft 2020-12, in one piece, without what only Rust knows.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The schema of the arguments `A`, or why `A` can't be a tool's arguments.
pub(super) fn of_arguments<A: JsonSchema>() -> Result<Value, String> {
    generate::<A>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of a structured result `T`, or why `T` can't be one.
pub(super) fn of_result<T: JsonSchema>() -> Result<Value, String> {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// The schema that accepts any object.
pub(super) fn any_object() -> Value {
    json!({"type": "object", "properties": {}})
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Result<Value, String> {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = settings.with_transform(RecursiveTransform(drop_number_format));
    object(settings.into_generator().into_root_schema_for::<T>().to_value())
        .map_err(|found| format!("`{}` is {found}, not an object", T::schema_name()))
}

/// `int64`, `uint8`, `double` are no formats of JSON Schema, and some models refuse a schema that has them.
fn drop_number_format(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    if ["int", "uint", "float", "double"].iter().any(|number| format.starts_with(number)) {
        schema.remove("format");
    }
}

/// Makes sure that the schema says `"type": "object"` at its top, as the protocol asks; else what it says instead.
fn object(schema: Value) -> Result<Value, String> {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        _ => return Ok(any_object()), // `true`: any value, so any object too
    };
    schema.remove("title");
    let defs = schema.get("$defs").cloned().unwrap_or_default();
    if !describes_object(&schema, &defs) {
        return Err(kind(&schema));
    }
    schema.insert("type".to_owned(), "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    Ok(Value::Object(schema))
}

fn describes_object(schema: &Map<String, Value>, defs: &Value) -> bool {
    if let Some(kind) = schema.get("type") {
        return kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("object")));
    }
    let part = |schema: &Value| schema.as_object().is_some_and(|schema| describes_object(schema, defs));
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/")) {
        return defs.get(name).is_some_and(part);
    }
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(parts) = list("allOf") {
        return parts.iter().any(part);
    }
    match list("oneOf").or_else(|| list("anyOf")) {
        Some(parts) => parts.iter().all(|schema| part(schema) || schema.get("type") == Some(&json!("null"))),
        None => !schema.contains_key("enum") && !schema.contains_key("const"),
    }
}

fn kind(schema: &Map<String, Value>) -> String {
    match schema.get("type") {
        Some(Value::String(kind)) => format!("of type \"{kind}\" in JSON"),
        _ => "of no single type in JSON".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(dead_code)]

    use std::collections::HashMap;

    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(JsonSchema, Deserialize, Serialize)]
    struct Inner {
        /// How deep.
        depth: u8,
    }

    /// Of everything a bit.
    #[derive(JsonSchema, Deserialize, Serialize)]
    struct Arguments {
        /// The path.
        path: String,
        lines: Option<i64>,
        #[serde(default = "ten")]
        limit: usize,
        inner: Inner,
        others: Vec<Inner>,
    }

    fn ten() -> usize {
        10
    }

    #[test]
    fn a_struct_is_inlined_and_free_of_noise() {
        assert_eq!(
            of_arguments::<Arguments>().unwrap(),
            json!({
                "type": "object",
                "description": "Of everything a bit.",
                "properties": {
                    "path": {"type": "string", "description": "The path."},
                    "lines": {"type": ["integer", "null"]},
                    "limit": {"type": "integer", "minimum": 0, "default": 10},
                    "inner": {"type": "object", "properties": {
                        "depth": {"type": "integer", "minimum": 0, "maximum": 255, "description": "How deep."}
                    }, "required": ["depth"]},
                    "others": {"type": "array", "items": {"type": "object", "properties": {
                        "depth": {"type": "integer", "minimum": 0, "maximum": 255, "description": "How deep."}
                    }, "required": ["depth"]}},
                },
                "required": ["path", "inner", "others"],
            })
        );
        let result = of_result::<Arguments>().unwrap();
        assert_eq!(result["required"], json!(["path", "lines", "limit", "inner", "others"]));
    }

    #[test]
    fn a_recursive_type_keeps_its_references() {
        #[derive(JsonSchema)]
        struct Tree {
            children: Vec<Tree>,
        }
        let schema = of_arguments::<Tree>().unwrap();
        assert_eq!(schema["type"], "object");
        let target = schema["properties"]["children"]["items"]["$ref"].as_str().unwrap();
        assert!(schema.pointer(target.strip_prefix('#').unwrap()).is_some(), "{schema}");
    }

    #[test]
    fn enums_of_objects_and_maps_are_objects() {
        #[derive(JsonSchema)]
        #[serde(tag = "op")]
        enum Operation {
            Read { path: String },
            Stop,
        }
        let schema = of_arguments::<Operation>().unwrap();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["oneOf"].as_array().unwrap().len(), 2);
        for schema in [
            of_arguments::<HashMap<String, i64>>(),
            of_arguments::<Map<String, Value>>(),
            of_arguments::<Option<Inner>>(),
            of_arguments::<Value>(),
        ] {
            assert_eq!(schema.unwrap()["type"], "object");
        }
    }

    #[test]
    fn what_is_no_object_is_told() {
        #[derive(JsonSchema)]
        enum Mode {
            Fast,
            Slow,
        }
        #[derive(JsonSchema)]
        enum Mixed {
            Named(String),
            Bare,
        }
        for (schema, word) in [
            (of_arguments::<String>(), "`string` is of type \"string\""),
            (of_arguments::<Vec<i64>>(), "of type \"array\""),
            (of_arguments::<()>(), "of type \"null\""),
            (of_arguments::<Mode>(), "`Mode`"),
            (of_arguments::<Mixed>(), "`Mixed` is of no single type"),
        ] {
            let told = schema.unwrap_err();
            assert!(told.contains(word), "{told}");
        }
    }
}
