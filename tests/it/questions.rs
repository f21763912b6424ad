//! What servers ask, answered by the typed faces: over each transport, and by functions of this process that ask.

use serde_json::{Value, json};
use trunkline::{
    Answer, CallContext, Client, ClientBuilder, ErrorKind, EventKind, Handler as _, Handlers, RawJson, Result, Root,
    Roots, Sampled, StaticServer, ToolUse,
};
use trunkline_tests::*;

use crate::rig::Rig;

fn defaults_form() -> Value {
    json!({"message": "Who are you?", "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5}, "verified": {"type": "boolean", "default": true},
            "status": {"type": "string", "enum": ["active", "inactive"], "default": "active"}
        },
        "required": ["name"]
    }})
}

fn asking(question: Request) -> Script {
    Script::new().on(call("echo"), [ask([question]), text("$REPLY")])
}

/// What the server heard, as it says itself.
async fn heard(rig: &Rig) -> Value {
    serde_json::from_str(&rig.call("echo").await.unwrap()).unwrap()
}

#[tokio::test]
async fn a_form_is_answered_with_its_defaults_and_what_is_answered_is_declared() {
    let question = || request(json!("q"), "elicitation/create").params(defaults_form());
    let handlers = || {
        Handlers::new().elicit(|request| {
            assert_eq!((request.server(), request.message().as_str()), ("fake", "Who are you?"));
            std::future::ready(Answer::accept_defaults())
        })
    };
    for rig in Rig::each(|_| asking(question()), |builder| builder.handler(handlers())) {
        let content = json!({"name": "John Doe", "age": 30, "score": 95.5, "verified": true, "status": "active"});
        assert_eq!(heard(&rig).await["result"], json!({"action": "accept", "content": content}));
        let declared = rig.log.sent("initialize")[0].params()["capabilities"].clone();
        assert_eq!(declared, json!({"elicitation": {"form": {}, "url": {}}}));
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_an_error_that_says_why() {
    let question = || request(json!("q"), "elicitation/create").params(defaults_form());
    let handlers = || Handlers::new().elicit(|_| std::future::ready(Answer::accept(json!({"name": 7}))));
    for rig in Rig::each(|_| asking(question()), |builder| builder.handler(handlers())) {
        let error = heard(&rig).await["error"].clone();
        assert_eq!(error["message"], "The answer doesn't fit the form: \"name\" has to be a string, not 7");
    }
}

/// The handler of one call answers during it, and knows the server's label too.
#[tokio::test]
async fn a_call_s_own_typed_handler_answers_and_knows_who_asks() {
    let question = || request(json!("q"), "elicitation/create").params(defaults_form());
    for rig in Rig::each(|_| asking(question()), |builder| builder) {
        let own = Handlers::new().elicit(|request| {
            let name = format!("asked by {}", request.server());
            std::future::ready(Answer::accept(json!({"name": name})))
        });
        let result = rig.client.call("echo", ()).handler(own).await.unwrap();
        let reply: Value = serde_json::from_str(&result.text()).unwrap();
        assert_eq!(reply["result"]["content"], json!({"name": "asked by fake"}));
    }
}

#[tokio::test]
async fn a_page_is_agreed_to_and_its_end_is_an_event() {
    let page = json!({"mode": "url", "message": "Log in", "url": "https://example.com/login", "elicitationId": "e-1"});
    let question = || request(json!("q"), "elicitation/create").params(page.clone());
    let complete = || notify_with("notifications/elicitation/complete", json!({"elicitationId": "e-1"}));
    let handlers = || {
        Handlers::new().elicit(|request| {
            assert_eq!(request.url(), Some("https://example.com/login"));
            std::future::ready(Answer::accept(()))
        })
    };
    let script = |_: &TempDir| Script::new().on(call("echo"), [ask([question()]), complete(), text("$REPLY")]);
    for rig in Rig::each(script, |builder| builder.handler(handlers())) {
        let mut events = rig.client.events();
        assert_eq!(heard(&rig).await["result"], json!({"action": "accept"}));
        let id = loop {
            if let EventKind::ElicitationComplete { id } = events.next().await.unwrap().kind {
                break id;
            }
        };
        assert_eq!(id, "e-1");
    }
}

#[tokio::test]
async fn a_model_s_wish_to_use_a_tool_goes_to_the_server() {
    let params = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}], "maxTokens": 10,
        "tools": [{"name": "add", "inputSchema": {"type": "object"}}]
    });
    let question = || request(json!("q"), "sampling/createMessage").params(params.clone());
    let handlers = || {
        Handlers::new().sample_with_tools(|request| async move {
            Sampled::tool_uses("m", [ToolUse::new("c1", request.tools()[0].name(), json!({"a": 2}))?])
        })
    };
    for rig in Rig::each(|_| asking(question()), |builder| builder.handler(handlers())) {
        let result = heard(&rig).await["result"].clone();
        let wish = json!([{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 2}}]);
        assert_eq!((&result["content"], &result["stopReason"]), (&wish, &json!("toolUse")));
        assert_eq!(rig.log.sent("initialize")[0].params()["capabilities"], json!({"sampling": {"tools": {}}}));
    }
}

/// Roots that change while a server runs: it is told, asks again, and gets the new ones. One that is started again
/// isn't told of what it never knew.
#[tokio::test]
async fn a_server_is_told_when_the_roots_change() {
    let roots = Roots::new(["file:///first"]);
    let question = || ask([request(json!("r"), "roots/list")]);
    let script = |dir: &TempDir| {
        Script::new().on("notifications/roots/list_changed", [question(), mark(dir.join("roots"), "$REPLY")])
    };
    for (round, rig) in Rig::each(script, |builder| builder.handler(Handlers::new().live_roots(&roots))).enumerate() {
        rig.client.connect().await.unwrap();
        let uri = format!("file:///changed-{round}");
        roots.set([Root::new(&uri).named("other")]);
        let (file, wanted) = (rig.dir.join("roots"), uri.clone());
        let told = move || std::fs::read_to_string(&file).ok().filter(|text| text.contains(&wanted));
        let told = offload(move || eventually("the new roots", told)).await;
        let reply: Value = serde_json::from_str(told.trim()).unwrap();
        assert_eq!(reply["result"], json!({"roots": [{"uri": uri, "name": "other"}]}));
        assert_eq!(rig.log.sent("initialize")[0].params()["capabilities"], json!({"roots": {"listChanged": true}}));
        rig.client.disconnect().await;
        roots.set(["file:///nobody/hears/this"]);
        rig.client.connect().await.unwrap();
        rig.client.list_tools().await.unwrap();
        assert_eq!(rig.sent("notifications/roots/list_changed"), 1);
    }
}

/// A tool of this process that asks whoever called it.
async fn book(cx: CallContext) -> Result<String> {
    let Some(handler) = cx.handler() else { return Ok("nobody to ask".to_owned()) };
    let form = json!({"message": "Who goes?", "requestedSchema": {
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]
    }});
    let answer = handler.handle("elicitation/create", form.into()).await?;
    let question = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Where to?"}}]});
    let said = handler.handle("sampling/createMessage", question.into()).await?;
    let name = answer.get("content").and_then(|content| content.get("name")).and_then(|name| name.as_text());
    let place = said.get("content").and_then(|content| content.get("text")).and_then(|text| text.as_text());
    Ok(format!("{} goes to {}", name.unwrap_or_default(), place.unwrap_or_default()))
}

#[tokio::test]
async fn a_function_of_this_process_asks_its_client_directly_and_over_memory() {
    let server = || StaticServer::new().function("book", "Books.", book);
    let ways: [fn(StaticServer) -> ClientBuilder; 2] = [|s| Client::from_connection(s), |s| Client::in_memory(s)];
    for way in ways {
        let handlers = Handlers::new()
            .elicit_forms(|_| std::future::ready(Answer::accept(json!({"name": "Ann"}))))
            .sample(|_| async { Ok(Sampled::text("m", "Rome")) });
        let asked = way(server()).handler(handlers).build().unwrap();
        assert_eq!(asked.call_tool("book", ()).await.unwrap(), json!("Ann goes to Rome"));

        let wrong = Handlers::new().elicit_forms(|_| std::future::ready(Answer::accept(json!({"nme": "Ann"}))));
        let error = way(server()).handler(wrong).build().unwrap().call_tool("book", ()).await.unwrap_err();
        assert!(error.message().contains("\"name\" is missing (\"nme\" was given)"), "{error}");
        assert!(matches!(error.kind(), ErrorKind::Tool | ErrorKind::InvalidArguments), "{error}");

        let nobody = way(server()).build().unwrap();
        assert_eq!(nobody.call_tool("book", ()).await.unwrap(), json!("nobody to ask"));
    }
}

/// What isn't typed goes through as it is.
#[tokio::test]
async fn a_raw_handler_beside_typed_ones_answers_the_rest() {
    let question = || request(json!("q"), "vendor/ask").params(json!({"n": 1.0}));
    let handlers = || {
        Handlers::new().elicit(|_| std::future::ready(Answer::cancel())).on(
            "vendor/ask",
            json!({"experimental": {"vendor": {}}}),
            |params: RawJson| async move { Ok(RawJson::from(json!({"heard": params.to_string()}))) },
        )
    };
    for rig in Rig::each(|_| asking(question()), |builder| builder.handler(handlers())) {
        assert_eq!(heard(&rig).await["result"], json!({"heard": "{\"n\":1.0}"}));
        let declared = rig.log.sent("initialize")[0].params()["capabilities"].clone();
        assert_eq!(declared["experimental"], json!({"vendor": {}}));
    }
}
