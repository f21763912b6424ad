//! From a provider's message to the tools and back, for every provider.

use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::format::{Definitions, Dialect, Dialect::*};
use trunkline::{Arguments, Client, ContentBlock, FunctionTool, RawJson, StaticServer, ToolResult, ToolSet};

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: Option<i64>,
}

fn tools() -> ToolSet {
    let server = StaticServer::new()
        .function("shout", "Makes text loud.", |x: Value| x["text"].as_str().unwrap().to_uppercase());
    ToolSet::builder()
        .tool(FunctionTool::new("add", "Adds.", |x: Add| x.a + x.b.unwrap_or(40)))
        .tool(FunctionTool::new("fail", "Fails.", || Err::<(), _>("disk full")))
        .tool(FunctionTool::new("draw", "Draws.", || {
            ToolResult::from_blocks([
                ContentBlock::text_block("A dot:"),
                ContentBlock::image(b"dot", "image/png"),
                ContentBlock::audio(b"beep", "audio/wav"),
            ])
        }))
        .mcp(Client::from_connection(server).label("far"))
        .build()
        .unwrap()
}

/// The message of a model that makes these calls, whole.
fn message(dialect: Dialect, calls: &[(&str, Value)]) -> Value {
    let numbered = calls.iter().enumerate().map(|(n, (name, arguments))| (format!("id{n}"), *name, arguments));
    match dialect {
        OpenAiResponses | OpenAiResponsesStrict => {
            let calls = numbered.map(|(id, name, arguments)| {
                json!({"type": "function_call", "id": "fc", "call_id": id, "name": name, "arguments": text(arguments)})
            });
            let said = json!([{"type": "output_text", "text": "Let me see."}]);
            let mut output = vec![json!({"type": "reasoning", "id": "rs_1", "summary": []})];
            output.extend(calls);
            output.push(json!({"type": "message", "role": "assistant", "content": said}));
            json!({"object": "response", "output": output})
        }
        Anthropic | AnthropicStrict => {
            let calls = numbered
                .map(|(id, name, arguments)| json!({"type": "tool_use", "id": id, "name": name, "input": arguments}));
            let mut content =
                vec![json!({"type": "thinking", "thinking": "Hm."}), json!({"type": "text", "text": "Let me see."})];
            content.extend(calls);
            json!({"id": "msg_1", "type": "message", "role": "assistant", "content": content})
        }
        Gemini | GeminiOpenApi => {
            let calls = numbered.map(|(id, name, arguments)| {
                json!({"functionCall": {"id": id, "name": name, "args": arguments}, "thoughtSignature": "x"})
            });
            let mut parts = vec![json!({"text": "Let me see."})];
            parts.extend(calls);
            json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
        }
        Ollama => {
            let call = |(name, arguments): &(&str, Value)| json!({"function": {"name": name, "arguments": arguments}});
            let calls: Vec<_> = calls.iter().map(call).collect();
            json!({"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": true})
        }
        _ => {
            let call = |(id, name, arguments)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": text(arguments)}});
            let calls: Vec<_> = numbered.map(call).collect();
            json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": calls}}]})
        }
    }
}

/// Arguments as text, unless they are text already.
fn text(arguments: &Value) -> String {
    arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned)
}

/// The message inside of the whole response, as a loop appends it to the conversation.
fn inside(response: &Value) -> Value {
    let places = ["/choices/0/message", "/message", "/output", "/candidates/0/content"];
    places.iter().find_map(|place| response.pointer(place)).unwrap_or(response).clone()
}

/// The texts that answer the calls, in order, taken from the provider's own form.
fn told(messages: &[RawJson]) -> Vec<String> {
    let mut told = Vec::new();
    for message in messages.iter().map(RawJson::to_value) {
        let results = ["content", "parts"].iter().find_map(|key| message[*key].as_array()).cloned();
        for result in results.unwrap_or_else(|| vec![message.clone()]) {
            let response = &result["functionResponse"]["response"];
            let text = [&result["output"], &result["content"], &response["output"], &response["error"]];
            told.extend(text.into_iter().find_map(|text| text.as_str().map(str::to_owned)));
        }
    }
    told
}

#[tokio::test]
async fn several_calls_are_made_and_answered_in_order() {
    let tools = tools();
    for dialect in Dialect::ALL {
        let definitions = tools.definitions_for(dialect).await.unwrap();
        let broken = if matches!(dialect, Anthropic | AnthropicStrict | Gemini | GeminiOpenApi) {
            json!([1])
        } else {
            json!("{\"a\": ")
        };
        let calls = [
            ("add", json!({"a": 2, "b": 3})),
            ("shout", json!({"text": "hi"})),
            ("fail", json!({})),
            ("gone", json!({})),
            ("add", broken),
            ("add", json!({"a": "x", "b": 1})),
        ];
        let response = message(dialect, &calls);
        for message in [inside(&response), response] {
            let answers = tools.run(&definitions, &message).await;
            let told = told(answers.messages());
            assert_eq!(told[..3], ["5", "HI", "Error: disk full"], "{dialect}: {:?}", answers.messages());
            assert!(told[3].starts_with("Error: No tool named \"gone\"."), "{dialect}: {told:?}");
            assert!(told[4].starts_with("Error: The arguments of tool \"add\" can't be read: "), "{dialect}: {told:?}");
            assert!(told[5].contains("\"a\" has to be a whole number, not \"x\""), "{dialect}: {told:?}");
            assert_eq!(
                answers.answers().iter().map(|answer| answer.is_error()).collect::<Vec<_>>(),
                [false, false, true, true, true, true]
            );
            assert_eq!(told.len(), 6);
        }
    }
}

#[tokio::test]
async fn answers_have_the_providers_form() {
    let tools = tools();
    for (dialect, expected) in [
        (
            OpenAiChat,
            json!([{"role": "tool", "tool_call_id": "id0", "content": "42"}, {"role": "tool", "tool_call_id": "id1", "content": "Error: disk full"}]),
        ),
        (
            Groq,
            json!([{"role": "tool", "tool_call_id": "id0", "content": "42"}, {"role": "tool", "tool_call_id": "id1", "content": "Error: disk full"}]),
        ),
        (
            Mistral,
            json!([{"role": "tool", "tool_call_id": "id0", "name": "add", "content": "42"},
                {"role": "tool", "tool_call_id": "id1", "name": "fail", "content": "Error: disk full"}]),
        ),
        (
            Ollama,
            json!([{"role": "tool", "tool_name": "add", "content": "42"}, {"role": "tool", "tool_name": "fail", "content": "Error: disk full"}]),
        ),
        (
            OpenAiResponses,
            json!([{"type": "function_call_output", "call_id": "id0", "output": "42"},
                {"type": "function_call_output", "call_id": "id1", "output": "Error: disk full"}]),
        ),
        (
            Anthropic,
            json!([{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "id0", "content": "42"},
                {"type": "tool_result", "tool_use_id": "id1", "content": "Error: disk full", "is_error": true}]}]),
        ),
        (
            Gemini,
            json!([{"role": "user", "parts": [
                {"functionResponse": {"id": "id0", "name": "add", "response": {"output": "42"}}},
                {"functionResponse": {"id": "id1", "name": "fail", "response": {"error": "Error: disk full"}}}]}]),
        ),
    ] {
        let definitions = tools.definitions_for(dialect).await.unwrap();
        let answers = tools.run(&definitions, message(dialect, &[("add", json!({"a": 2})), ("fail", json!({}))])).await;
        let messages: Vec<_> = answers.messages().iter().map(RawJson::to_value).collect();
        assert_eq!(json!(messages), expected, "{dialect}");
    }
}

#[tokio::test]
async fn a_message_without_calls_is_the_end() {
    let tools = tools();
    for dialect in Dialect::ALL {
        let definitions = tools.definitions_for(dialect).await.unwrap();
        for done in [
            message(dialect, &[]),
            inside(&message(dialect, &[])),
            json!({"content": "Done."}),
            json!("Done."),
            json!(null),
            json!([]),
        ] {
            let answers = tools.run(&definitions, &done).await;
            assert!(answers.is_empty() && answers.messages().is_empty(), "{dialect}: {done}");
        }
    }
}

#[tokio::test]
async fn images_are_sent_where_they_are_taken_and_named_elsewhere() {
    let tools = tools();
    for dialect in Dialect::ALL {
        let definitions = tools.definitions_for(dialect).await.unwrap();
        let answers = tools.run(&definitions, message(dialect, &[("draw", json!({}))])).await;
        let shown = answers.messages()[0].to_value();
        let (dot, beep) = ("ZG90", "YmVlcA==");
        match dialect {
            OpenAiResponses | OpenAiResponsesStrict => assert_eq!(
                shown["output"],
                json!([
                    {"type": "input_text", "text": "A dot:"},
                    {"type": "input_image", "detail": "auto", "image_url": format!("data:image/png;base64,{dot}")},
                    {"type": "input_text", "text": "[audio: audio/wav]"}
                ])
            ),
            Anthropic | AnthropicStrict => assert_eq!(
                shown["content"][0]["content"],
                json!([
                    {"type": "text", "text": "A dot:"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": dot}},
                    {"type": "text", "text": "[audio: audio/wav]"}
                ])
            ),
            Gemini | GeminiOpenApi => assert_eq!(
                shown["parts"],
                json!([
                    {"functionResponse": {"id": "id0", "name": "draw", "response": {"output": "A dot:\n[image: image/png]\n[audio: audio/wav]"}}},
                    {"inlineData": {"mimeType": "image/png", "data": dot}},
                    {"inlineData": {"mimeType": "audio/wav", "data": beep}}
                ])
            ),
            _ => assert_eq!(shown["content"], "A dot:\n[image: image/png]\n[audio: audio/wav]"),
        }
    }
}

#[tokio::test]
async fn a_failed_result_with_an_image_is_text_for_anthropic() {
    let failed = json!({"isError": true, "content": [{"type": "text", "text": "No."}, {"type": "image", "data": "ZG90", "mimeType": "image/png"}]});
    let tools = ToolSet::builder()
        .tool(FunctionTool::new("t", "", move || ToolResult::from_raw((&failed).into())))
        .build()
        .unwrap();
    let definitions = tools.definitions_for(Anthropic).await.unwrap();
    let answers = tools.run(&definitions, message(Anthropic, &[("t", json!({}))])).await;
    let shown = answers.messages()[0].to_value();
    assert_eq!(shown["content"][0]["content"], "Error: No.\n[image: image/png]");
    assert_eq!(shown["content"][0]["is_error"], true);
}

#[tokio::test]
async fn names_and_nulls_that_the_dialect_made_are_undone() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let schema = json!({"type": "object", "required": ["filter[name]"], "properties": {
        "filter[name]": {"type": "string"},
        "page size": {"type": "integer"},
        "note": {"type": ["string", "null"]},
        "deep": {"type": "array", "items": {"type": "object", "properties": {"a b": {"type": "string"}, "c": {"type": "integer"}}, "required": ["a b"]}},
        "either": {"anyOf": [{"type": "object", "properties": {"x y": {"type": "string"}}, "required": ["x y"], "additionalProperties": false}, {"type": "string"}]},
    }});
    let tool = FunctionTool::with_schema("t", "", schema, move |given: Arguments| {
        log.lock().unwrap().push(given.raw().to_value());
        "ok"
    });
    let tools = ToolSet::builder().tool(tool).build().unwrap();
    let expected = json!({"filter[name]": "n", "note": null, "deep": [{"a b": "1"}, {"a b": "2", "c": 3}], "either": {"x y": "z"}});
    for dialect in [Anthropic, AnthropicStrict, Gemini, GeminiOpenApi, OpenAiChatStrict, OpenAiResponsesStrict] {
        let definitions = tools.definitions_for(dialect).await.unwrap();
        let sent = trunkline_tests::providers::schemas(dialect, &definitions.tools().to_value()).remove(0).1;
        let strict = matches!(dialect, OpenAiChatStrict | OpenAiResponsesStrict);
        let written = as_the_model_writes(&expected, &sent, strict);
        let answers = tools.run(&definitions, message(dialect, &[("t", written.clone())])).await;
        assert_eq!(answers.answers()[0].text(), "ok", "{dialect}: {written}");
        assert_eq!(seen.lock().unwrap().pop(), Some(expected.clone()), "{dialect}: {written}");
    }
}

/// The same arguments under the names of the schema, with null for what is missing.
fn as_the_model_writes(value: &Value, schema: &Value, nulls: bool) -> Value {
    if let Some(branches) = schema["anyOf"].as_array() {
        let fits = |branch: &&Value| branch["type"] == if value.is_object() { "object" } else { "string" };
        return as_the_model_writes(value, branches.iter().find(fits).unwrap(), nulls);
    }
    match value {
        Value::Array(items) => items.iter().map(|item| as_the_model_writes(item, &schema["items"], nulls)).collect(),
        Value::Object(given) => {
            let plain =
                |name: &str| name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect::<String>();
            let mut out = serde_json::Map::new();
            for (name, property) in schema["properties"].as_object().unwrap() {
                match given.iter().find(|(own, _)| *own == name || name.starts_with(&format!("{}_", plain(own)))) {
                    Some((_, value)) => drop(out.insert(name.clone(), as_the_model_writes(value, property, nulls))),
                    None if nulls => drop(out.insert(name.clone(), Value::Null)),
                    None => {}
                }
            }
            Value::Object(out)
        }
        other => other.clone(),
    }
}

#[tokio::test]
async fn only_tools_that_were_offered_can_be_called() {
    let tools = tools();
    let all = tools.definitions().await.unwrap();
    let few = Definitions::new(OpenAiChat, all.iter().filter(|tool| tool.name() != "fail"));
    let answers = tools.run(&few, message(OpenAiChat, &[("fail", json!({}))])).await;
    assert!(answers.answers()[0].text().starts_with("Error: No tool named \"fail\"."), "{answers:?}");
}

#[test]
fn arguments_in_every_spelling_that_models_use() {
    let tool =
        trunkline::ToolDefinition::new("t", "", json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
    let definitions = Definitions::new(OpenAiChat, [&tool]);
    let read = |arguments: Value| {
        let call = json!({"id": "1", "function": {"name": "t", "arguments": arguments}});
        let calls = definitions.calls(json!({"tool_calls": [call]}));
        calls[0].arguments().map(|arguments| arguments.raw().to_string()).map_err(|error| error.to_string())
    };
    for (arguments, expected) in [
        (json!("{\"a\": 9007199254740993}"), "{\"a\": 9007199254740993}"),
        (json!({"a": 1}), "{\"a\":1}"),
        (json!(""), "{}"),
        (json!("  \n"), "{}"),
        (json!(null), "{}"),
        (json!("null"), "{}"),
        (json!(" {} "), "{}"),
        (json!("\"{\\\"a\\\": 1}\""), "{\"a\": 1}"),
    ] {
        assert_eq!(read(arguments.clone()).unwrap(), expected, "{arguments}");
    }
    for arguments in [
        json!("{\"a\": 1"),
        json!("[1]"),
        json!("nope"),
        json!([1]),
        json!(7),
        json!("{\"a\":1}{\"a\":2}"),
        json!("\"x\""),
    ] {
        let error = read(arguments.clone()).unwrap_err();
        assert!(error.starts_with("The arguments of tool \"t\" can't be read: "), "{arguments}: {error}");
    }
}
