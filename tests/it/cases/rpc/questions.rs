//! What a server asks and tells: every question gets one answer, no message ends the session.

use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};
use trunkline::{Client, Error, ErrorKind, EventKind, Handlers, RawJson};
use trunkline_tests::*;

use crate::rig::{Rig, everywhere, ms};

/// The ids are the server's own: they may be those of the client's calls, and go back with their type.
fn questions() -> Script {
    let asked = [
        request(json!(1), "roots/list"),
        request(json!("s-2"), "sampling/createMessage").params(json!({"messages": []})),
        request(json!(3), "foo/bar"),
        request(json!(2.5), "foo/bar"),
    ];
    Script::new().on(call("echo"), [ask(asked), text("ok")])
}

fn reply(rig: &Rig, id: &Value) -> Value {
    let replies = rig.log.replies();
    let own: Vec<_> = replies.iter().filter(|reply| &reply.id() == id).collect();
    assert_eq!(own.len(), 1, "{id}: {replies:?}");
    own[0].json()
}

#[tokio::test]
async fn p26_without_a_handler_every_question_is_refused() {
    for rig in everywhere(questions()) {
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        for (id, method) in [(json!(1), "roots/list"), (json!("s-2"), "sampling/createMessage"), (json!(3), "foo/bar")]
        {
            let error = &reply(&rig, &id)["error"];
            assert_eq!(error["code"], json!(-32601));
            assert!(error["message"].as_str().unwrap().contains(method));
        }
        assert_eq!(reply(&rig, &json!(2.5))["id"].to_string(), "2.5");
        assert_eq!(rig.log.sent("initialize")[0].params()["capabilities"], json!({}));
        assert_eq!(rig.log.notes().iter().filter(|note| note.starts_with("no reply")).count(), 0);
    }
}

/// What is declared is what is answered, no more.
#[tokio::test]
async fn p26_a_handler_answers_what_it_declares() {
    let handlers = || {
        Handlers::new().roots(["file:///a"]).on(
            "sampling/createMessage",
            json!({"sampling": {}}),
            |params| async move { Ok(json!({"role": "assistant", "heard": params.to_value()}).into()) },
        )
    };
    for rig in Rig::each(|_| questions(), |builder| builder.handler(handlers())) {
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!(rig.log.sent("initialize")[0].params()["capabilities"], json!({"roots": {}, "sampling": {}}));
        assert_eq!(reply(&rig, &json!(1))["result"], json!({"roots": [{"uri": "file:///a"}]}));
        assert_eq!(reply(&rig, &json!("s-2"))["result"]["heard"], json!({"messages": []}));
        assert_eq!(reply(&rig, &json!(3))["error"]["code"], json!(-32601));
    }
}

/// A call can bring who answers during it, as long as it's clear which call is meant.
#[tokio::test]
async fn p26_a_call_s_own_handler_answers_during_it() {
    for rig in Rig::each(|_| questions(), |builder| builder.handler(Handlers::new().roots(["file:///client"]))) {
        rig.client.call("echo", ()).handler(Handlers::new().roots(["file:///call"])).await.unwrap();
        assert_eq!(reply(&rig, &json!(1))["result"]["roots"][0]["uri"], json!("file:///call"));
    }
}

/// A handler that fails, or even panics, answers too; otherwise the server would wait for ever.
#[tokio::test]
async fn p26_a_handler_that_fails_still_answers() {
    let refusing = |_: RawJson| async { Err(Error::protocol(-1, "user said no", None)) };
    let handlers = Handlers::new()
        .on("sampling/createMessage", json!({}), refusing)
        .on("roots/list", json!({}), |_| async { panic!("on purpose") })
        .on("foo/bar", json!({}), |_| async { Err(Error::new(ErrorKind::NotFound, "nothing there")) });
    let rig = Rig::with(|_| questions(), |builder| builder.handler(handlers));
    assert_eq!(rig.call("echo").await.unwrap(), "ok");
    assert_eq!(reply(&rig, &json!("s-2"))["error"], json!({"code": -1, "message": "user said no"}));
    assert_eq!(reply(&rig, &json!(3))["error"], json!({"code": -32603, "message": "nothing there"}));
    assert_eq!(reply(&rig, &json!(1))["error"]["code"], json!(-32603));
    assert_eq!(rig.call("echo").await.unwrap(), "ok");
}

/// Handlers run beside the reading, so they may call the very server that asks.
#[tokio::test]
async fn p26_p51_a_handler_may_call_the_server_that_asks() {
    let slot: Arc<OnceLock<Client>> = Arc::default();
    let handlers = Handlers::new().on("foo/bar", json!({}), {
        let slot = slot.clone();
        move |_| {
            let client = slot.get().unwrap().clone();
            async move { client.call_tool("inner", ()).await.map(RawJson::from) }
        }
    });
    let asking = background([ask([request(json!("q"), "foo/bar")]), text("$REPLY")]);
    let script = Script::new().tools([tool("echo"), tool("inner")]).on(call("echo"), [asking]);
    let rig = Rig::with(|_| script.on(call("inner"), [text("from inside")]), |builder| builder.handler(handlers));
    slot.set(rig.client.clone()).unwrap();
    assert!(rig.call("echo").await.unwrap().contains("from inside"));
}

/// A question that the server takes back isn't answered any more, and its handler ends.
#[tokio::test]
async fn p26_a_question_taken_back_is_not_answered() {
    struct Dropped(tokio::sync::mpsc::UnboundedSender<()>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (sender, mut dropped) = tokio::sync::mpsc::unbounded_channel();
    let (asked, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let handlers = Handlers::new().on("foo/bar", json!({}), move |_| {
        let (guard, asked) = (Dropped(sender.clone()), asked.clone());
        async move {
            asked.send(()).unwrap();
            let _guard = guard;
            std::future::pending().await
        }
    });
    let rig = Rig::with(
        |dir| {
            let taken_back = notify_with("notifications/cancelled", json!({"requestId": "q"}));
            let question = line(r#"{"jsonrpc":"2.0","id":"q","method":"foo/bar"}"#);
            Script::new().on(call("echo"), [question, wait_file(dir.join("begun")), taken_back, text("ok")])
        },
        |builder| builder.handler(handlers),
    );
    let asked = async {
        begun.recv().await.unwrap();
        rig.dir.write("begun", "");
        dropped.recv().await.unwrap();
    };
    let (text, ()) = tokio::join!(rig.call("echo"), asked);
    assert_eq!(text.unwrap(), "ok");
    assert_eq!(rig.log.replies().len(), 0);
}

/// A server asks whether anybody is there while a long call runs.
#[tokio::test]
async fn p27_pings_are_answered_while_a_call_runs() {
    for rig in Rig::each(
        |dir| {
            let long = background([wait_file(dir.join("ponged")), text("done")]);
            let pings = ask([request(json!("p1"), "ping"), request(json!(2), "ping")]);
            Script::new().on(call("echo"), [long, pings, mark(dir.join("ponged"), "x")])
        },
        |builder| builder,
    ) {
        assert_eq!(rig.call("echo").await.unwrap(), "done");
        for id in [json!("p1"), json!(2)] {
            assert_eq!(reply(&rig, &id), json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        }
    }
}

/// Whatever a ping is answered with, somebody is there.
#[tokio::test]
async fn p27_any_answer_to_a_ping_will_do() {
    for answer in [json!({}), json!([]), json!({"ok": true}), json!("pong"), Value::Null] {
        for rig in everywhere(Script::new().on("ping", [respond(answer)])) {
            rig.client.request("ping", None).await.unwrap();
            assert_eq!(rig.call("echo").await.unwrap(), "ok");
        }
    }
}

/// Notifications that nobody knows, or with parameters that make no sense, cost nothing, also before the handshake.
#[tokio::test]
async fn p28_odd_notifications_do_not_end_the_session() {
    let early = notify_with("notifications/message", json!({"level": "info", "data": "starting"}));
    let odd = [
        notify("notifications/vendor/x"),
        notify("notifications/progress"),
        notify("notifications/cancelled"),
        notify_with("notifications/cancelled", json!({"requestId": "never"})),
        notify_with("notifications/message", json!({"level": "LOUD", "data": null})),
        notify_with("notifications/message", json!([1])),
        notify_with("notifications/resources/updated", json!({})),
        notify_with("notifications/progress", json!({"progressToken": {}, "progress": "x"})),
        line(r#"{"jsonrpc":"2.0","method":5}"#),
        line(r#"{"jsonrpc":"2.0","method":"notifications/vendor/y","params":"text"}"#),
        notify("notifications/tools/list_changed"),
    ];
    let script = Script::new().on("initialize", [early, default_answer()]).on("notifications/initialized", odd);
    for rig in everywhere(script) {
        let mut events = rig.client.events();
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        let mut levels = Vec::new();
        loop {
            match events.next().await.unwrap().kind {
                EventKind::Log(message) => levels.push((message.level.clone(), message.text())),
                EventKind::ToolsChanged => break,
                _ => {}
            }
        }
        assert_eq!(levels[0], ("info".to_owned(), "starting".to_owned()));
        assert_eq!(levels[1].0, "LOUD");
        assert_eq!((rig.starts(), rig.log.replies().len()), (1, 0));
    }
}

fn refused() -> Action {
    let page =
        json!({"mode": "url", "elicitationId": "e-1", "url": "https://example.com/connect", "message": "Connect."});
    respond_error_data(-32042, "This request requires more information.", json!({"elicitations": [page]}))
}

/// A call that is refused until a person has been to a page: the page is shown once, and the call made again when the server
/// says that it is done, or some time later.
#[tokio::test]
async fn a_call_that_needs_a_page_first_is_made_again_after_it() {
    for tells in [true, false] {
        let script = |dir: &TempDir| {
            let complete = notify_with("notifications/elicitation/complete", json!({"elicitationId": "e-1"}));
            let told = background([wait_file(dir.join("go")), complete]);
            let first = if tells { vec![refused(), told] } else { vec![refused()] };
            Script::new().on(call("echo").nth(1), first)
        };
        for rig in Rig::each(script, |builder| builder) {
            let (shown, go) = (Arc::new(Mutex::new(Vec::new())), rig.dir.join("go"));
            let seen = shown.clone();
            let handler =
                Handlers::new().on("elicitation/create", json!({"elicitation": {"url": {}}}), move |params| {
                    seen.lock().unwrap().push(params.get("url").and_then(|url| url.as_text()).unwrap());
                    std::fs::write(&go, "").unwrap();
                    std::future::ready(Ok(json!({"action": "accept"}).into()))
                });
            let result = rig.client.call("echo", ()).handler(handler).timeout(ms(400)).await.unwrap();
            assert_eq!((result.text().as_str(), rig.sent("tools/call")), ("ok", 2), "{:?}", rig.over);
            assert_eq!(*shown.lock().unwrap(), ["https://example.com/connect"]);
        }
    }
}

/// Without a handler, or without consent, the refusal is the result.
#[tokio::test]
async fn a_page_that_nobody_opens_leaves_the_refusal() {
    for rig in everywhere(Script::new().on(call("echo"), [refused()])) {
        let error = rig.client.call("echo", ()).await.unwrap_err();
        assert_eq!((error.code(), rig.sent("tools/call")), (Some(-32042), 1));
        assert!(error.hint().unwrap().contains("handler"), "{error:?}");
        let decline = |_| std::future::ready(Ok(json!({"action": "decline"}).into()));
        let handler = Handlers::new().on("elicitation/create", json!({"elicitation": {"url": {}}}), decline);
        let error = rig.client.call("echo", ()).handler(handler).await.unwrap_err();
        assert_eq!((error.code(), rig.sent("tools/call")), (Some(-32042), 2));
    }
}
