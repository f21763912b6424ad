//! Calls that go on as tasks of their server (the tasks extension).

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use trunkline::{CallContext, Connection, ErrorKind, Handlers, TaskStatus};
use trunkline_tests::http::{HttpScript, result, rpc, rpc_call};
use trunkline_tests::*;

use super::{both, client, meta, set_up};
use crate::rig::{Over, ms};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

fn offering() -> Script {
    Script::new().capabilities(json!({"tools": {}, "extensions": {EXTENSION: {}}}))
}

fn task(kind: &str, status: &str, more: Value) -> Value {
    let mut task = json!({"resultType": kind, "taskId": "t-1", "status": status, "pollIntervalMs": 20, "ttlMs": null});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

fn started() -> Action {
    respond(task("task", "working", json!({})))
}

fn done(result: Value) -> Action {
    respond(task("complete", "completed", json!({"result": result})))
}

fn text_of(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A call that becomes a task is followed to its end; whoever calls sees the result, and its progress meanwhile.
#[tokio::test]
async fn a_call_that_becomes_a_task_is_followed_to_its_end() {
    let script = offering()
        .on(call("echo"), [started()])
        .on(on_method("tasks/get").nth(1), [respond(task("complete", "working", json!({"statusMessage": "half"})))])
        .on("tasks/get", [done(text_of("rendered"))]);
    for rig in both(script) {
        let said = Arc::new(Mutex::new(Vec::new()));
        let sink = said.clone();
        let call = rig.client.call("echo", ()).on_progress(move |progress| {
            sink.lock().unwrap().push(progress.message.clone());
        });
        assert_eq!(call.await.unwrap().text(), "rendered");
        assert_eq!(*said.lock().unwrap(), [Some("half".to_owned()), None]);
        let asked = rig.log.sent("tasks/get");
        assert_eq!((asked.len(), asked[0].params()["taskId"].as_str()), (2, Some("t-1")));
        let declared = meta(&rig.log.sent("tools/call")[0].params(), "clientCapabilities");
        assert_eq!(declared, json!({"extensions": {EXTENSION: {}}}));
    }
}

/// Only a server that offers tasks hears of them.
#[tokio::test]
async fn a_server_that_offers_no_tasks_hears_of_none() {
    for rig in set_up(Script::new(), |builder| builder.handler(Handlers::new().roots(["file:///a"]))) {
        rig.call("echo").await.unwrap();
        let declared = meta(&rig.log.sent("tools/call")[0].params(), "clientCapabilities");
        assert!(declared.get("extensions").is_none(), "{declared}");
    }
}

/// What a task came to is what the call came to.
#[tokio::test]
async fn every_end_of_a_task_is_told() {
    for (end, kind, said) in [
        (
            json!({"status": "failed", "error": {"code": -32603, "message": "out of paper"}}),
            ErrorKind::Protocol,
            "out of paper",
        ),
        (json!({"status": "cancelled", "statusMessage": "by the operator"}), ErrorKind::Cancelled, "by the operator"),
        (json!({"status": "completed"}), ErrorKind::Protocol, "its result is missing"),
        (json!({"status": "asleep"}), ErrorKind::Protocol, "\"asleep\""),
        (json!({"taskId": 7}), ErrorKind::Protocol, "no task"),
    ] {
        let ended = respond(task("complete", "working", end.clone()));
        for rig in both(offering().on(call("echo"), [started()]).on("tasks/get", [ended])) {
            let error = rig.client.call("echo", ()).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{end}");
            assert!(error.message().contains(said) && error.may_have_run(), "{error:?}");
        }
    }
    let failing = done(json!({"isError": true, "content": [{"type": "text", "text": "no"}]}));
    for rig in both(offering().on(call("echo"), [started()]).on("tasks/get", [failing])) {
        assert_eq!(rig.client.call_tool("echo", ()).await.unwrap_err().kind(), ErrorKind::Tool);
    }
}

/// Its questions are answered by the same handlers, each once.
#[tokio::test]
async fn a_task_that_asks_is_answered_once() {
    let question = |key: &str| json!({key: {"method": "elicitation/create", "params": {"message": "Sure?"}}});
    let asking = |keys: Value| respond(task("complete", "input_required", json!({"inputRequests": keys})));
    let script = offering()
        .on(call("echo"), [started()])
        .on(on_method("tasks/get").first(2), [asking(question("a"))])
        .on(
            on_method("tasks/get").nth(3),
            [asking({
                let mut two = question("a");
                two["b"] = question("b")["b"].clone();
                two
            })],
        )
        .on("tasks/get", [done(text_of("deleted"))])
        .on("tasks/update", [respond(json!({"resultType": "complete"}))]);
    let accept = |_| std::future::ready(Ok(json!({"action": "accept", "content": {}}).into()));
    let handlers = Handlers::new().on("elicitation/create", json!({"elicitation": {}}), accept);
    for rig in set_up(script.clone(), move |builder| builder.handler(handlers.clone())) {
        assert_eq!(rig.call("echo").await.unwrap(), "deleted");
        let updates: Vec<_> =
            rig.log.sent("tasks/update").iter().map(|update| update.params()["inputResponses"].clone()).collect();
        let answer = json!({"action": "accept", "content": {}});
        assert_eq!(updates, [json!({"a": answer}), json!({"b": answer})]);
    }
    for rig in both(script) {
        let error = rig.client.call("echo", ()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("elicitation/create"), "{error}");
        rig.wait_sent("tasks/cancel", 1).await;
    }
}

/// Who no longer waits cancels the task, by its own request.
#[tokio::test]
async fn p85_a_call_that_is_given_up_cancels_its_task() {
    let working = respond(task("complete", "working", json!({})));
    let script =
        offering().on(call("echo"), [started()]).on("tasks/get", [working]).on("tasks/cancel", [respond(json!({}))]);
    for rig in both(script) {
        let call = rig.client.call("echo", ());
        let waited = tokio::time::timeout(ms(150), std::future::IntoFuture::into_future(call)).await;
        assert!(waited.is_err());
        let cancelled = rig.wait_sent("tasks/cancel", 1).await;
        assert_eq!(cancelled[0].params()["taskId"], "t-1");
        let capped = rig.client.call("echo", ()).timeout(ms(60)).max_timeout(ms(200)).await.unwrap_err();
        assert_eq!(capped.kind(), ErrorKind::Deadline, "a task may take longer than an answer, up to the cap");
        assert!(capped.message().contains("max total"), "{capped}");
    }
}

/// Detached, the task is the result: it can be asked about, waited for and cancelled, from another client too.
#[tokio::test]
async fn a_detached_task_is_looked_after_by_its_id() {
    let script = offering()
        .on(call("echo"), [started()])
        .on(on_method("tasks/get").nth(1), [respond(task("complete", "working", json!({"statusMessage": "half"})))])
        .on("tasks/get", [done(text_of("rendered"))])
        .on("tasks/cancel", [respond(json!({"resultType": "complete"}))]);
    for rig in both(script) {
        let result = rig.client.call("echo", ()).detached().await.unwrap();
        let id = result.task().expect("a task").id();
        let error = result.into_value("echo").unwrap_err();
        assert!(error.message().contains("goes on as the task t-1"), "{error}");
        let task = rig.client.task(&id);
        let told = task.get().await.unwrap();
        assert_eq!((told.status(), told.status_message()), (Some(TaskStatus::Working), Some("half".to_owned())));
        assert_eq!(task.wait().await.unwrap().text(), "rendered");
        task.cancel().await.unwrap();
        assert_eq!(rig.sent("tasks/cancel"), 1);
    }
}

/// A relay's client deals with its tasks itself.
#[tokio::test]
async fn a_relay_hands_tasks_on() {
    for rig in both(offering().on(call("echo"), [started()])) {
        let theirs = json!({"extensions": {EXTENSION: {}}});
        let cx = CallContext::new().with_client_capabilities(theirs.into());
        let result = rig.client.connection().call_tool("echo", trunkline::Arguments::none(), &cx).await.unwrap();
        assert_eq!(result.task().unwrap().id(), "t-1");
        assert_eq!(rig.sent("tasks/get"), 0, "{:?}", rig.over == Over::Stdio);
    }
}

/// Over HTTP the task is named in a header, for whoever routes its requests.
#[tokio::test]
async fn requests_about_a_task_name_it_in_a_header() {
    let fake = HttpScript::new()
        .modern()
        .capabilities(json!({"tools": {}, "extensions": {EXTENSION: {}}}))
        .on(rpc_call("echo"), [result(task("task", "working", json!({})))])
        .on(rpc("tasks/get"), [result(task("complete", "completed", json!({"result": text_of("ok")})))])
        .start();
    assert_eq!(client(&fake).call("echo", ()).await.unwrap().text(), "ok");
    assert_eq!(fake.log().rpc("tasks/get")[0].header("mcp-name"), Some("t-1"));
}
