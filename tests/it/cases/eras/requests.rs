//! What a modern request says, and how it ends.

use std::sync::{Arc, Mutex};

use serde_json::json;
use trunkline::{CallContext, Cancellation, Connection, ErrorKind, Handlers};
use trunkline_tests::http::{Event, Gate, HttpScript, cut, event, get, rpc_call, sse, wait};
use trunkline_tests::*;

use super::{both, client, meta, set_up, text_result};
use crate::rig::ms;

/// Whoever answers during a call decides what is declared with it.
#[tokio::test]
async fn every_request_says_what_this_client_answers() {
    let roots = || Handlers::new().roots(["file:///a"]);
    let elicit = || {
        let decline = |_| std::future::ready(Ok(json!({"action": "decline"}).into()));
        Handlers::new().on("elicitation/create", json!({"elicitation": {}}), decline)
    };
    for rig in set_up(Script::new(), move |builder| builder.handler(roots())) {
        rig.call("echo").await.unwrap();
        rig.client.call("echo", ()).handler(elicit()).await.unwrap();
        let cx = CallContext::new().with_client_capabilities(serde_json::from_str("{\"x\":{}}").map(to_raw).unwrap());
        rig.client.connection().call_tool("echo", trunkline::Arguments::none(), &cx).await.unwrap();
        let calls = rig.log.sent("tools/call");
        let declared: Vec<_> = calls.iter().map(|call| meta(&call.params(), "clientCapabilities")).collect();
        assert_eq!(declared, [json!({"roots": {}}), json!({"elicitation": {}}), json!({"x": {}})]);
    }
}

fn to_raw(value: serde_json::Value) -> trunkline::RawJson {
    value.into()
}

/// The members that the protocol owns can't be said by a caller; all others can.
#[tokio::test]
async fn a_caller_adds_to_the_meta_of_a_request() {
    for rig in both(Script::new()) {
        let mine = json!({"traceparent": "00-1", "io.modelcontextprotocol/protocolVersion": "1999-01-01"});
        rig.client.call("echo", ()).meta(mine).on_progress(|_| {}).await.unwrap();
        let params = rig.log.sent("tools/call")[0].params();
        assert_eq!(params["_meta"]["traceparent"], "00-1");
        assert_eq!(meta(&params, "protocolVersion"), "2026-07-28");
        assert!(params["_meta"]["progressToken"].is_number());
    }
}

/// Logs are asked for with each request: by the level that was set, by the call, or since somebody listens to it.
#[tokio::test]
async fn the_level_of_the_log_goes_with_each_request() {
    let script = Script::new().on(
        call("echo"),
        [notify_with("notifications/message", json!({"level": "info", "data": "hello"})), default_answer()],
    );
    for rig in both(script) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let sink = heard.clone();
        rig.call("echo").await.unwrap();
        let cx = CallContext::new().on_log(move |message| sink.lock().unwrap().push(message.text()));
        let echo = async |cx: &CallContext| {
            rig.client.connection().call_tool("echo", trunkline::Arguments::none(), cx).await.unwrap()
        };
        echo(&cx).await;
        echo(&cx.clone().with_log_level("error")).await;
        rig.client.request("logging/setLevel", Some(json!({"level": "debug"}).into())).await.unwrap();
        echo(&CallContext::new()).await;
        let levels: Vec<_> = rig.log.sent("tools/call").iter().map(|call| meta(&call.params(), "logLevel")).collect();
        assert_eq!(levels, [json!(null), json!("info"), json!("error"), json!("debug")]);
        assert_eq!(rig.sent("logging/setLevel"), 0, "it is no request of this era");
    }
}

/// What older revisions have requests for, and this one hasn't.
#[tokio::test]
async fn a_ping_is_a_question_that_a_modern_server_answers() {
    for rig in both(Script::new()) {
        rig.client.request("ping", None).await.unwrap();
        assert_eq!(rig.log.methods(), ["server/discover", "server/discover"]);
    }
}

/// Over a pipe the server is told; over HTTP the stream of the request is closed, and that is all.
#[tokio::test]
async fn p85_a_call_that_is_given_up_is_cancelled_as_its_transport_has_it() {
    for rig in both(Script::new().on(call("slow"), []).tools([tool("slow")])) {
        let switch = Cancellation::new();
        let cx = CallContext::new().with_cancellation(switch.clone());
        let connection = rig.client.connection();
        let slow = tokio::spawn(async move { connection.call_tool("slow", trunkline::Arguments::none(), &cx).await });
        rig.wait_sent("tools/call", 1).await;
        switch.cancel();
        assert_eq!(slow.await.unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
        if rig.over == crate::rig::Over::Stdio {
            rig.wait_sent("notifications/cancelled", 1).await;
        }
    }
    let gate = Gate::new();
    let fake = HttpScript::new().modern().on(rpc_call("echo"), [sse(), wait(&gate)]).start();
    let client = client(&fake);
    let error = client.call("echo", ()).timeout(ms(200)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    fake.log().wait_for("the request to be given up", |log| (log.given_up().len() == 1).then_some(())).await;
    assert_eq!(fake.log().methods(), ["server/discover", "tools/call"]);
    gate.open();
}

/// There is no taking a stream up again: what was asked for may have been done.
#[tokio::test]
async fn p58_a_modern_stream_that_breaks_fails_its_call() {
    let broken = [sse(), event(Event::empty().id("1").retry(10)), cut()];
    let resumed = [sse(), event(Event::result(text_result("never")))];
    let fake = HttpScript::new().modern().on(rpc_call("echo"), broken).on(get(), resumed).start();
    let error = client(&fake).call("echo", ()).await.unwrap_err();
    assert!(error.may_have_run(), "{error:?}");
    assert_eq!(fake.log().of("GET").len(), 0);
}

/// A result of a kind that nobody here knows isn't taken for one that is known.
#[tokio::test]
async fn results_of_unknown_types_are_errors() {
    for (result, ok) in [
        (json!({"resultType": "complete", "content": []}), true),
        (json!({"content": []}), true),
        (json!({"resultType": "surprise", "content": []}), false),
    ] {
        for rig in both(Script::new().on(call("echo"), [respond(result.clone())])) {
            match rig.client.call("echo", ()).await {
                Ok(_) => assert!(ok, "{result}"),
                Err(error) => {
                    assert!(!ok, "{error}");
                    assert_eq!(error.kind(), ErrorKind::Protocol);
                    assert!(error.message().contains("\"surprise\""), "{error}");
                }
            }
        }
    }
}

/// What a server lacks of its client is named.
#[tokio::test]
async fn a_capability_that_a_server_needs_is_named() {
    let lacking = respond_error_data(
        -32021,
        "Missing required client capability",
        json!({"requiredCapabilities": {"elicitation": {}}}),
    );
    for rig in both(Script::new().on(call("echo"), [lacking])) {
        let error = rig.client.call("echo", ()).await.unwrap_err();
        assert_eq!(error.code(), Some(-32021));
        assert!(error.hint().unwrap().contains("elicitation"), "{error:?}");
    }
}

/// A modern server asks nothing by itself; whatever it sends, nothing is answered.
#[tokio::test]
async fn a_request_of_a_modern_server_is_told_and_not_answered() {
    let script =
        Script::new().on(call("echo"), [line(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#), default_answer()]);
    for rig in set_up(script, |builder| builder.handler(Handlers::new().roots(["file:///a"]))) {
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert!(rig.warned("asks \"roots/list\" by a request of its own"), "{:?}", rig.client.warnings());
        rig.client.disconnect().await;
        assert!(rig.log.replies().is_empty());
    }
}
