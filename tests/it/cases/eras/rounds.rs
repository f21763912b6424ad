//! Calls that are answered with questions first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use trunkline::{CallContext, Connection, Error, ErrorKind, Handlers, Limits};
use trunkline_tests::*;

use super::{both, meta, set_up, text_result};
use crate::rig::ms;

fn confirm(state: Option<&str>) -> Value {
    let params = json!({"mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}});
    let mut asked = json!({
        "resultType": "input_required",
        "inputRequests": {"confirm": {"method": "elicitation/create", "params": params}},
    });
    if let Some(state) = state {
        asked["requestState"] = state.into();
    }
    asked
}

fn accepting(seen: &Arc<Mutex<Vec<Value>>>) -> Handlers {
    let seen = seen.clone();
    Handlers::new().on("elicitation/create", json!({"elicitation": {}}), move |params| {
        seen.lock().unwrap().push(params.to_value());
        std::future::ready(Ok(json!({"action": "accept", "content": {"confirmed": true}}).into()))
    })
}

/// The handler answers, and the call is made again: with the answers, the state as it was, and nothing for other calls.
#[tokio::test]
async fn questions_are_answered_and_the_call_is_made_again() {
    for state in [None, Some("a \"b\"\u{1F600}")] {
        let seen = Arc::default();
        let script = Script::new()
            .on(call("echo").contains("inputResponses"), [respond(text_result("done"))])
            .on(call("echo"), [respond(confirm(state))])
            .tools([tool("echo"), tool("other")]);
        let handlers = accepting(&seen);
        for rig in set_up(script, move |builder| builder.handler(handlers.clone())) {
            assert_eq!(rig.client.call_tool("echo", json!({"n": 1.0})).await.unwrap(), json!("done"));
            rig.call("other").await.unwrap();
            let calls = rig.log.sent("tools/call");
            assert_ne!(calls[0].id(), calls[1].id());
            let (first, again, other) = (calls[0].params(), calls[1].params(), calls[2].params());
            assert_eq!(
                again["inputResponses"],
                json!({"confirm": {"action": "accept", "content": {"confirmed": true}}})
            );
            assert_eq!(again.get("requestState").and_then(Value::as_str), state);
            assert!(calls[1].raw_arguments().contains("1.0"), "the arguments are what they were");
            assert_eq!(again["name"], first["name"]);
            assert_eq!(meta(&again, "clientCapabilities"), meta(&first, "clientCapabilities"));
            assert!(other.get("inputResponses").is_none() && other.get("requestState").is_none());
        }
        assert_eq!(seen.lock().unwrap()[0]["message"], "Sure?");
    }
}

#[tokio::test]
async fn resources_and_prompts_ask_too() {
    let script = Script::new()
        .resources([json!({"uri": "x:1", "name": "x"})])
        .prompts([json!({"name": "p"})])
        .on(on_method("resources/read").nth(1), [respond(confirm(Some("s")))])
        .on(on_method("prompts/get").nth(1), [respond(confirm(None))]);
    let handlers = accepting(&Arc::default());
    for rig in set_up(script, move |builder| builder.handler(handlers.clone())) {
        assert_eq!(rig.client.read_resource("x:1").await.unwrap(), "ok");
        assert_eq!(rig.client.get_prompt("p", ()).await.unwrap(), "ok");
        assert_eq!((rig.sent("resources/read"), rig.sent("prompts/get")), (2, 2));
    }
}

/// The handler of the call comes before that of the client, and may need several rounds.
#[tokio::test]
async fn rounds_go_on_until_the_server_has_all_it_needs() {
    let script = Script::new().on(call("echo").first(3), [respond(confirm(Some("$N")))]);
    let asked = Arc::new(Mutex::new(Vec::new()));
    for rig in both(script) {
        let result = rig.client.call("echo", ()).handler(accepting(&asked)).await.unwrap();
        assert_eq!(result.text(), "ok");
        let states: Vec<_> =
            rig.log.sent("tools/call").iter().map(|call| call.params()["requestState"].clone()).collect();
        assert_eq!(states.len(), 4);
        assert!(states[0].is_null());
    }
    assert_eq!(asked.lock().unwrap().len(), 6);
}

#[tokio::test]
async fn rounds_have_a_cap() {
    let handlers = accepting(&Arc::default());
    let limits = Limits { max_rounds: 2, ..crate::rig::limits() };
    for rig in set_up(Script::new().on(call("echo"), [respond(confirm(None))]), move |builder| {
        builder.handler(handlers.clone()).limits(limits.clone())
    }) {
        let error = rig.client.call("echo", ()).await.unwrap_err();
        assert_eq!((error.kind(), error.get("limit")), (ErrorKind::Limit, Some("max_rounds")));
        assert_eq!(rig.sent("tools/call"), 3);
    }
}

/// A server that needs no answer, only to be asked again.
#[tokio::test]
async fn a_state_alone_is_brought_back() {
    let again = json!({"resultType": "input_required", "requestState": "later"});
    for rig in both(Script::new().on(call("echo").nth(1), [respond(again)])) {
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!(rig.log.sent("tools/call")[1].params()["requestState"], "later");
    }
}

/// Without anybody to answer, the questions are the result; whoever wants a value hears that.
#[tokio::test]
async fn without_a_handler_the_questions_are_the_result() {
    for rig in both(Script::new().on(call("echo"), [respond(confirm(Some("s")))])) {
        let result = rig.client.connection().call_tool("echo", trunkline::Arguments::none(), &CallContext::new()).await;
        assert_eq!(result.unwrap().raw().to_value(), confirm(Some("s")));
        let error = rig.client.call_tool("echo", ()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
        assert!(error.message().contains("elicitation/create"), "{error}");
        assert!(error.hint().unwrap().contains("handler"), "{error:?}");
        assert_eq!(rig.sent("tools/call"), 2);
    }
}

/// A handler that fails fails its call, and says so.
#[tokio::test]
async fn a_handler_that_fails_fails_its_call() {
    let handlers = Handlers::new().on("elicitation/create", json!({"elicitation": {}}), |_| {
        std::future::ready(Err(Error::new(ErrorKind::Unsupported, "the form is broken")))
    });
    for rig in set_up(Script::new().on(call("echo"), [respond(confirm(None))]), move |builder| {
        builder.handler(handlers.clone())
    }) {
        let error = rig.client.call("echo", ()).await.unwrap_err();
        assert!(error.message().contains("the form is broken"), "{error}");
        assert_eq!(rig.sent("tools/call"), 1);
    }
}

/// A person takes longer than a server may: their time isn't the server's.
#[tokio::test]
async fn answering_takes_no_time_of_the_call() {
    let slow = |times: &Arc<AtomicUsize>| {
        let times = times.clone();
        Handlers::new().on("elicitation/create", json!({"elicitation": {}}), move |_| {
            times.fetch_add(1, Ordering::SeqCst);
            async {
                tokio::time::sleep(ms(700)).await;
                Ok(json!({"action": "decline"}).into())
            }
        })
    };
    let times = Arc::default();
    for rig in both(Script::new().on(call("echo").nth(1), [respond(confirm(None))])) {
        let call = rig.client.call("echo", ()).handler(slow(&times)).timeout(ms(300));
        assert_eq!(call.await.unwrap().text(), "ok");
    }
    // and so in the legacy era
    let question = request(json!("q"), "elicitation/create").params(json!({"message": "?"}));
    for rig in crate::rig::everywhere(Script::new().on(call("echo"), [ask([question]), default_answer()])) {
        let call = rig.client.call("echo", ()).handler(slow(&times)).timeout(ms(300));
        assert_eq!(call.await.unwrap().text(), "ok", "{:?}", rig.over);
    }
    assert_eq!(times.load(Ordering::SeqCst), 5);
}
