//! What a [`StaticServer`] lists and answers: the seed's own examples, and the edges.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Barrier;

use super::*;
use crate::error::ErrorKind;
use crate::protocol::{IntoArguments, PromptMessage, RawJson};

#[derive(Deserialize, JsonSchema)]
struct Shout {
    /// What to shout.
    text: String,
}

fn server() -> StaticServer {
    StaticServer::new()
        .function("shout", "Makes text loud.", |a: Shout| a.text.to_uppercase())
        .function("fail", "", || Err::<(), _>("out of paper"))
        .resource("file://greeting", "hello")
        .resource("docs://logo", StaticResource::from(&[0, 255]).mime_type("image/png").description("Ours."))
        .template("square://{n}", |uri| Some((uri.strip_prefix("square://")?.parse::<u32>().ok()?.pow(2)).to_string()))
        .prompt("welcome", "Welcome {name} to {place}, {name}. {{}}")
        .instructions("Be kind.")
}

async fn ask(method: &str, params: Value) -> Result<Value> {
    let answer = server().request(method, Some(RawJson::from(params)), &CallContext::new()).await?;
    Ok(answer.to_value())
}

#[tokio::test]
async fn the_examples_of_the_seed_hold() {
    let cx = CallContext::new();
    let result = server().call_tool("shout", json!({"text": "hi"}).into_arguments().unwrap(), &cx).await.unwrap();
    assert_eq!(result.into_value("shout").unwrap(), "HI");
    assert_eq!(server().read_resource("file://greeting", &cx).await.unwrap().text().unwrap(), "hello");
}

#[tokio::test]
async fn everything_is_listed_in_order() {
    for (method, listed) in [
        (
            "tools/list",
            json!({"tools": [
                {"name": "shout", "description": "Makes text loud.", "inputSchema": {
                    "type": "object",
                    "properties": {"text": {"type": "string", "description": "What to shout."}},
                    "required": ["text"],
                }},
                {"name": "fail", "inputSchema": {"type": "object", "properties": {}}},
            ]}),
        ),
        (
            "resources/list",
            json!({"resources": [
                {"uri": "file://greeting", "name": "greeting"},
                {"uri": "docs://logo", "name": "logo", "description": "Ours.", "mimeType": "image/png"},
            ]}),
        ),
        ("resources/templates/list", json!({"resourceTemplates": [{"uriTemplate": "square://{n}", "name": "{n}"}]})),
        (
            "prompts/list",
            json!({"prompts": [{"name": "welcome", "arguments": [
                {"name": "name", "required": true}, {"name": "place", "required": true},
            ]}]}),
        ),
    ] {
        assert_eq!(ask(method, json!({})).await.unwrap(), listed);
    }
}

#[tokio::test]
async fn resources_are_text_bytes_or_computed() {
    for (uri, contents) in [
        ("file://greeting", json!({"uri": "file://greeting", "text": "hello"})),
        ("docs://logo", json!({"uri": "docs://logo", "blob": "AP8=", "mimeType": "image/png"})),
        ("square://12", json!({"uri": "square://12", "text": "144"})),
    ] {
        assert_eq!(ask("resources/read", json!({"uri": uri})).await.unwrap(), json!({"contents": [contents]}));
    }
}

#[tokio::test]
async fn prompts_take_what_they_name() {
    let rendered = |arguments| ask("prompts/get", json!({"name": "welcome", "arguments": arguments}));
    let text = |answer: Value| answer["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
    let answer = rendered(json!({"place": "Rome", "name": "Ann", "extra": 1})).await.unwrap();
    assert_eq!(text(answer), "Welcome Ann to Rome, Ann. {}");
    assert_eq!(text(rendered(json!({"place": [1], "name": 2})).await.unwrap()), "Welcome 2 to [1], 2. {}");

    for (arguments, told) in [
        (json!({"name": "Ann"}), "Prompt \"welcome\" lacks its argument \"place\""),
        (json!({"place": null}), "Prompt \"welcome\" lacks its arguments \"name\", \"place\""),
    ] {
        let error = rendered(arguments).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArguments, told));
        assert_eq!(error.hint(), Some("It takes name, place"));
    }
}

#[tokio::test]
async fn a_prompt_can_be_a_function() {
    let arguments = || [PromptArgument::new("code", true), PromptArgument::new("style", false)];
    let server = StaticServer::new()
        .prompt_fn("review", arguments(), |arguments| {
            let code = arguments.get("code").and_then(|code| code.as_text()).ok_or("code is no text")?;
            Ok::<_, &str>(vec![PromptMessage::from_text("user", &code), PromptMessage::from_text("assistant", "Hm.")])
        })
        .prompt_fn("hello", [], |_| "Hello.");
    let cx = CallContext::new();
    let get = |name, arguments: Value| server.get_prompt(name, arguments.into_arguments().unwrap(), &cx);
    assert_eq!(get("review", json!({"code": "x"})).await.unwrap().text(), "x\n\nHm.");
    assert_eq!(get("hello", json!({})).await.unwrap().text(), "Hello.");
    let error = get("review", json!({"code": 1})).await.unwrap_err();
    assert_eq!((error.kind(), error.message(), error.code()), (ErrorKind::Protocol, "code is no text", Some(-32603)));
    let error = get("review", json!({"style": "x"})).await.unwrap_err();
    assert_eq!(error.hint(), Some("It takes code, style (optional)"));
}

#[tokio::test]
async fn what_is_unknown_is_an_error_that_helps() {
    for (method, params, told, hint) in [
        ("tools/call", json!({"name": "shuot"}), "No tool named \"shuot\" on server \"static\"", "\"shout\""),
        ("resources/read", json!({"uri": "file://greetin"}), "No resource \"file://greetin\"", "\"file://greeting\""),
        ("resources/read", json!({"uri": "square://x"}), "No resource \"square://x\"", "square://{n}"),
        ("prompts/get", json!({"name": "wellcome"}), "No prompt named \"wellcome\"", "\"welcome\""),
    ] {
        let error = ask(method, params).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.message().starts_with(told), "{error}");
        assert!(error.hint().unwrap().contains(hint), "{error:?}");
    }
}

#[tokio::test]
async fn a_tool_that_fails_is_a_result_and_not_an_error() {
    let answer = ask("tools/call", json!({"name": "fail"})).await.unwrap();
    assert_eq!(answer, json!({"content": [{"type": "text", "text": "out of paper"}], "isError": true}));
}

#[tokio::test]
async fn only_what_there_is_is_offered() {
    let offered = |info: &ServerInfo| ["tools", "resources", "prompts"].map(|capability| info.offers(capability));
    let info = server().info().await.unwrap();
    assert_eq!((info.name().as_str(), info.instructions().as_deref()), ("static", Some("Be kind.")));
    assert_eq!(offered(&info), [true, true, true]);
    for (server, expected) in [
        (StaticServer::new(), [false; 3]),
        (StaticServer::new().function("f", "", || 1), [true, false, false]),
        (StaticServer::new().template("a://{b}", |_| Some("")), [false, true, false]),
        (StaticServer::new().prompt("p", ""), [false, false, true]),
    ] {
        assert_eq!(offered(&server.info().await.unwrap()), expected);
    }
}

#[tokio::test]
async fn the_last_of_one_name_wins_and_closing_changes_nothing() {
    let server = StaticServer::new()
        .name("desk")
        .version("2.1")
        .function("a", "", || 1)
        .function("b", "", || 2)
        .function("a", "", || 3);
    server.close().await.unwrap();
    server.close().await.unwrap();
    let cx = CallContext::new();
    let names: Vec<_> = server.list_tools(&cx).await.unwrap().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(server.call_tool("a", Arguments::none(), &cx).await.unwrap().text(), "3");
    let info = server.info().await.unwrap();
    assert_eq!((info.name().as_str(), info.version().as_str()), ("desk", "2.1"));
}

#[tokio::test]
async fn a_mistake_in_the_making_is_told_by_everything() {
    let cx = CallContext::new();
    for (server, told) in [
        (StaticServer::new().prompt("p", "{"), "Prompt \"p\": a \"{\" is never closed"),
        (StaticServer::new().function("t", "", |text: String| text).prompt("p", "}"), "Tool \"t\": its argument"),
    ] {
        let errors = [
            server.check().unwrap_err(),
            server.info().await.unwrap_err(),
            server.list_tools(&cx).await.unwrap_err(),
            server.list_prompts(&cx).await.unwrap_err(),
            server.list_resources(&cx).await.unwrap_err(),
            server.list_resource_templates(&cx).await.unwrap_err(),
            server.call_tool("t", Arguments::none(), &cx).await.unwrap_err(),
            server.get_prompt("p", Arguments::none(), &cx).await.unwrap_err(),
            server.read_resource("r", &cx).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().starts_with(told), "{error}");
        }
    }
}

#[tokio::test]
async fn calls_run_side_by_side() {
    let barrier = Arc::new(Barrier::new(3));
    let server = StaticServer::new().function("meet", "", move || {
        let barrier = barrier.clone();
        async move { barrier.wait().await.is_leader() }
    });
    let cx = CallContext::new();
    let call = || server.call_tool("meet", Arguments::none(), &cx);
    let (a, b, c) = tokio::join!(call(), call(), call());
    let leaders = [a, b, c].into_iter().filter(|result| result.as_ref().unwrap().text() == "true").count();
    assert_eq!(leaders, 1);
}
