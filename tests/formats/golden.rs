//! What is made of schemas, word for word where it matters.

use serde_json::{Value, json};
use trunkline::format::{Definitions, Dialect, Dialect::*, Strictness};
use trunkline_tests::providers;

use crate::{tool, written};

fn sent(dialect: Dialect, schema: Value) -> Value {
    let definitions = written(dialect, &[tool("t", schema)]);
    providers::schemas(dialect, &definitions.tools().to_value()).remove(0).1
}

/// The schema of one argument, as it is sent.
fn argument(dialect: Dialect, schema: Value) -> Value {
    sent(dialect, json!({"type": "object", "properties": {"a": schema}, "required": ["a"]}))["properties"]["a"].clone()
}

#[test]
fn a_tool_in_every_envelope() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let tool = tool("t", schema.clone());
    for (dialect, expected) in [
        (
            OpenAiChat,
            json!([{"type": "function", "function": {"name": "t", "description": "Does it.", "parameters": schema}}]),
        ),
        (
            OpenAiChatStrict,
            json!([{"type": "function", "function": {"name": "t", "description": "Does it.", "parameters": closed, "strict": true}}]),
        ),
        (
            OpenAiResponses,
            json!([{"type": "function", "name": "t", "description": "Does it.", "parameters": schema, "strict": false}]),
        ),
        (
            OpenAiResponsesStrict,
            json!([{"type": "function", "name": "t", "description": "Does it.", "parameters": closed, "strict": true}]),
        ),
        (Anthropic, json!([{"name": "t", "description": "Does it.", "input_schema": schema}])),
        (AnthropicStrict, json!([{"name": "t", "description": "Does it.", "input_schema": closed, "strict": true}])),
        (
            Gemini,
            json!([{"functionDeclarations": [{"name": "t", "description": "Does it.", "parametersJsonSchema": schema}]}]),
        ),
        (
            GeminiOpenApi,
            json!([{"functionDeclarations": [{"name": "t", "description": "Does it.", "parameters": schema}]}]),
        ),
        (
            Mistral,
            json!([{"type": "function", "function": {"name": "t", "description": "Does it.", "parameters": schema}}]),
        ),
        (
            Groq,
            json!([{"type": "function", "function": {"name": "t", "description": "Does it.", "parameters": schema}}]),
        ),
        (
            Ollama,
            json!([{"type": "function", "function": {"name": "t", "description": "Does it.", "parameters": schema}}]),
        ),
    ] {
        assert_eq!(Definitions::new(dialect, [&tool]).tools().to_value(), expected, "{dialect}");
        assert_eq!(Definitions::new(dialect, []).tools().to_string(), "[]");
        assert!(Definitions::new(dialect, []).is_empty());
    }
}

#[test]
fn the_order_of_arguments_and_the_text_of_numbers_stay() {
    let raw = r#"{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"const":1.50},"m":{"$ref":"x"}},"required":["z"]}"#;
    let tool = tool("t", trunkline::RawJson::parse(raw).unwrap());
    let text = Definitions::new(GeminiOpenApi, [&tool]).tools().to_string();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(at("\"z\"") < at("\"a\"") && at("\"a\"") < at("\"m\""), "{text}");
    assert!(text.contains("9007199254740993") && text.contains("1.50"), "{text}");
}

#[test]
fn roots_become_plain_objects() {
    for (schema, expected) in [
        (json!({"type": "string"}), json!({"type": "object", "properties": {}})),
        (
            json!({"type": ["object", "null"], "properties": {"a": {"type": "string"}}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        ),
        (
            json!({"properties": {"id": {"type": "string"}}, "anyOf": [
                {"properties": {"url": {"type": "string"}}, "required": ["url"]},
                {"properties": {"path": {"type": "string"}, "line": {"type": "integer"}}, "required": ["path", "line"]}]}),
            json!({"type": "object", "description": "Give either url, or path and line.", "properties": {
                "id": {"type": "string"}, "url": {"type": "string"}, "path": {"type": "string"}, "line": {"type": "integer"}}}),
        ),
        (
            json!({"oneOf": [
                {"properties": {"op": {"const": "get"}, "key": {"type": "string"}}, "required": ["op", "key"]},
                {"properties": {"op": {"const": "list"}}, "required": ["op"]}]}),
            json!({"type": "object", "description": "Give either key where op is \"get\", or nothing more where op is \"list\".",
                "properties": {"op": {"type": "string", "enum": ["get", "list"]}, "key": {"type": "string"}}, "required": ["op"]}),
        ),
        (
            json!({"anyOf": [{"properties": {"v": {"type": "string"}}}, {"properties": {"v": {"type": "integer"}}}]}),
            json!({"type": "object", "properties": {"v": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}),
        ),
        (
            json!({"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "integer"}}}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}),
        ),
    ] {
        assert_eq!(sent(OpenAiChat, schema.clone()), expected, "{schema}");
        assert_eq!(sent(Anthropic, schema.clone())["anyOf"], Value::Null);
    }
}

#[test]
fn what_a_dialect_cannot_say_is_in_the_description() {
    for (dialect, schema, expected) in [
        (
            GeminiOpenApi,
            json!({"type": "string", "format": "email", "description": "Where to."}),
            json!({"type": "string", "description": "Where to. (format: email)"}),
        ),
        (
            Ollama,
            json!({"type": "string", "minLength": 1, "pattern": "^a", "title": "The title"}),
            json!({"type": "string", "description": "The title (minLength: 1; pattern: ^a)"}),
        ),
        (
            AnthropicStrict,
            json!({"type": "integer", "minimum": 1, "default": 5}),
            json!({"type": "integer", "description": "(default: 5; minimum: 1)"}),
        ),
        (GeminiOpenApi, json!({"enum": [1, 2]}), json!({"type": "integer", "description": "(one of [1,2])"})),
        (
            OpenAiChat,
            json!({"type": "string", "pattern": "^(?!a)"}),
            json!({"type": "string", "description": "(pattern: ^(?!a))"}),
        ),
        (
            Gemini,
            json!({"type": "array", "items": {}, "uniqueItems": true}),
            json!({"type": "array", "items": {}, "description": "(uniqueItems: true)"}),
        ),
    ] {
        assert_eq!(argument(dialect, schema.clone()), expected, "{dialect}: {schema}");
    }
}

#[test]
fn values_types_and_unions_in_the_words_of_the_dialect() {
    for (dialect, schema, expected) in [
        (GeminiOpenApi, json!({"const": "x"}), json!({"enum": ["x"], "type": "string"})),
        (GeminiOpenApi, json!({"type": ["integer", "null"]}), json!({"type": "integer", "nullable": true})),
        (GeminiOpenApi, json!({"enum": ["a", null]}), json!({"enum": ["a"], "type": "string", "nullable": true})),
        (
            GeminiOpenApi,
            json!({"enum": ["", null]}),
            json!({"type": "string", "nullable": true, "description": "(one of [\"\",null])"}),
        ),
        (
            GeminiOpenApi,
            json!({"type": ["string", "integer"], "minLength": 2, "minimum": 3, "description": "Either."}),
            json!({"anyOf": [
                {"type": "string", "minLength": 2, "description": "Either."},
                {"type": "integer", "minimum": 3, "description": "Either."}]}),
        ),
        (
            GeminiOpenApi,
            json!({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "Maybe."}),
            json!({"description": "Maybe.", "type": "string", "nullable": true}),
        ),
        (Gemini, json!({"const": 3}), json!({"enum": [3]})),
        (
            Gemini,
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ),
        (OpenAiChatStrict, json!({"allOf": [{"type": "string"}]}), json!({"type": "string"})),
        (OpenAiChatStrict, json!({"enum": [1, 2]}), json!({"enum": [1, 2], "type": "integer"})),
        (
            OpenAiChatStrict,
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
            json!({"type": "array", "maxItems": 2, "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}),
        ),
        (OpenAiChat, json!({"type": "array"}), json!({"type": "array", "items": {}})),
        (OpenAiChat, json!(true), json!({})),
        (Anthropic, json!({"type": "array"}), json!({"type": "array"})),
    ] {
        assert_eq!(argument(dialect, schema.clone()), expected, "{dialect}: {schema}");
    }
}

#[test]
fn references_are_followed_where_the_dialect_does_not() {
    let tree = json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": {
        "type": "object", "description": "A node.",
        "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}, "required": ["name"]}}});
    assert_eq!(sent(OpenAiChat, tree.clone()), tree);
    assert_eq!(
        sent(Mistral, tree.clone())["properties"]["root"],
        json!({"type": "object", "description": "A node.", "required": ["name"], "properties": {
            "name": {"type": "string"}, "next": {"type": "object", "description": "A node."}}})
    );
    let strict = sent(OpenAiChatStrict, tree);
    assert_eq!(strict["properties"]["root"], json!({"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}));
    assert_eq!(strict["$defs"]["Node"]["required"], json!(["name", "next"]));
}

#[test]
fn what_cannot_be_strict_says_why() {
    for (dialect, schema, reason) in [
        (
            OpenAiChatStrict,
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "/properties/a: it takes properties of any name",
        ),
        (OpenAiChatStrict, json!({"type": "object"}), "/properties/a: it takes properties of any name"),
        (OpenAiChatStrict, json!({}), "/properties/a: it takes any value"),
        (
            OpenAiChatStrict,
            json!({"type": "object", "patternProperties": {"^a": {}}}),
            "/properties/a/patternProperties: its names are told by a pattern",
        ),
        (AnthropicStrict, json!({"$ref": "#"}), "/properties/a/$ref: it contains itself"),
        (
            OpenAiChatStrict,
            json!({"enum": (0..1001).collect::<Vec<_>>()}),
            "/: 1001 values of enums, and 1000 are the most",
        ),
    ] {
        let definitions =
            written(dialect, &[tool("t", json!({"type": "object", "properties": {"a": schema}, "required": ["a"]}))]);
        let Strictness::FellBack { reason: told } = &definitions.report()[0].strictness else { panic!("{schema}") };
        assert_eq!(told, reason);
    }
}

#[test]
fn anthropic_takes_only_so_many_strict_tools() {
    let with = |optional: usize| {
        let properties: serde_json::Map<_, _> =
            (0..optional).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": properties})
    };
    let strict = |tools: Vec<Value>| {
        let tools: Vec<_> = tools.into_iter().enumerate().map(|(n, schema)| tool(&format!("t{n}"), schema)).collect();
        let definitions = written(AnthropicStrict, &tools);
        definitions.report().iter().map(|report| report.strictness == Strictness::Strict).collect::<Vec<_>>()
    };
    assert_eq!(strict(vec![with(0); 22]).iter().filter(|strict| **strict).count(), 20);
    // one that is too much doesn't keep out those that still fit
    assert_eq!(strict(vec![with(20), with(5), with(4), with(1)]), [true, false, true, false]);
}

#[test]
fn too_many_tools_are_told_and_kept() {
    let tools: Vec<_> = (0..129).map(|n| tool(&format!("t{n}"), json!({"type": "object", "properties": {}}))).collect();
    let definitions = Definitions::new(OpenAiChat, &tools);
    assert_eq!(definitions.report().len(), 129);
    assert!(definitions.warnings()[0].starts_with("129 tools are more than the 128 that openai-chat takes"));
    assert!(Definitions::new(OpenAiChat, &tools[..128]).warnings().is_empty());
    assert!(Definitions::new(Anthropic, &tools).warnings().is_empty());
}

#[test]
fn schemas_too_large_to_look_at_keep_their_names() {
    let wide: serde_json::Map<_, _> = (0..30_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let mut deep = json!({"type": "string"});
    for _ in 0..200 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    for dialect in Dialect::ALL {
        for schema in
            [json!({"type": "object", "properties": wide}), json!({"type": "object", "properties": {"deep": deep}})]
        {
            let definitions = written(dialect, &[tool("t", schema)]);
            let change = &definitions.report()[0].changes[0];
            assert_eq!((change.pointer.as_str(), change.why), ("", "it is too large or too deep"));
        }
    }
}
