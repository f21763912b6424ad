//! Closing: from anywhere, in any order, at any time, more than once, and nobody else notices.

use std::time::Instant;

use trunkline::{ErrorKind, State};
use trunkline_tests::*;

use crate::rig::{Rig, assert_took, ms, rig};

/// One that holds calls of `slow` until it ends.
fn slow() -> Script {
    Script::new().tools([tool("echo"), tool("slow")]).on(call("slow"), [])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p87_closing_one_server_does_not_touch_another() {
    let (first, second) = (rig(slow()), rig(slow()));
    let third = rig(Script::new().on("initialize", []));
    first.client.connect().await.unwrap();
    let running = tokio::spawn({
        let client = second.client.clone();
        async move { client.call("slow", ()).await }
    });
    let starting = tokio::spawn({
        let client = third.client.clone();
        async move { client.connect().await }
    });
    second.wait_sent("tools/call", 1).await;
    third.wait_sent("initialize", 1).await;
    let client = first.client.clone();
    tokio::spawn(async move { client.disconnect().await }).await.unwrap();
    assert!(!alive(first.pid()));
    assert_eq!(second.call("echo").await.unwrap(), "ok");
    starting.abort();
    let pid = third.pid();
    drop(third);
    offload(move || wait_gone(pid)).await;
    assert!(!running.is_finished());
    second.client.disconnect().await;
    second.client.disconnect().await;
    assert_eq!(running.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    assert!(!alive(second.pid()));
}

/// Nobody waits for an answer any more once the connection is being closed, however long the server takes to end.
#[tokio::test]
async fn p87_closing_ends_the_calls_under_way_at_once() {
    let rig = Rig::with(
        |dir| slow().on("@eof", [wait_file(dir.join("go")), exit(0)]),
        |builder| builder.limits(trunkline::Limits { exit_grace: ms(60_000), ..crate::rig::limits() }),
    );
    rig.client.connect().await.unwrap();
    let called = async {
        let begun = Instant::now();
        let error = rig.call("slow").await.unwrap_err();
        rig.dir.write("go", "");
        (begun, error)
    };
    let closed = async {
        rig.wait_sent("tools/call", 1).await;
        rig.client.disconnect().await;
    };
    let ((begun, error), ()) = tokio::join!(called, closed);
    assert_took(begun, ms(0));
    assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::Closed, true));
    assert_eq!(error.message(), "The connection was closed");
    assert_eq!(rig.sent("notifications/cancelled"), 0, "the end of the input says it all");
    assert!(matches!(rig.client.state(), State::Idle));
}

/// Everybody who closes waits for the end, also those who come late.
#[tokio::test]
async fn p87_closing_twice_at_once_waits_for_the_same_end() {
    let rig = rig(Script::new().ignore_eof());
    rig.client.connect().await.unwrap();
    let begun = Instant::now();
    let end = async {
        rig.client.disconnect().await;
        assert!(!alive(rig.pid()));
    };
    let same_end = async {
        rig.client.disconnect().await;
        assert!(!alive(rig.pid()));
    };
    tokio::join!(end, same_end);
    assert_took(begun, ms(300));
}

#[tokio::test]
async fn p87_closing_while_connecting_ends_the_attempt() {
    let rig = rig(Script::new().ignore_eof().on("initialize", []));
    let connected = async {
        let error = rig.client.connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
        assert_eq!(error.message(), "The connection was closed while it was being opened");
        assert_eq!(error.get("server"), Some("fake"));
    };
    let closed = async {
        rig.wait_sent("initialize", 1).await;
        rig.client.disconnect().await;
        assert!(!alive(rig.pid()), "who closes waits for the end");
    };
    tokio::join!(connected, closed);
    assert!(matches!(rig.client.state(), State::Idle));
    assert_eq!(rig.sent("notifications/cancelled"), 0, "initialize must not be cancelled");
}

#[tokio::test]
async fn p87_a_closed_client_connects_again_when_it_is_used() {
    let rig = rig(Script::new().on(call("echo"), [text("$START")]));
    rig.client.disconnect().await;
    for start in ["1", "2"] {
        assert_eq!(rig.call("echo").await.unwrap(), start);
        rig.client.disconnect().await;
    }
}

/// What is still to be written when the connection is closed is written: nothing is cut off.
#[tokio::test]
async fn p87_the_last_message_before_a_close_arrives_whole() {
    let rig = rig(slow());
    rig.client.connect().await.unwrap();
    let big = serde_json::json!({"text": "x".repeat(1 << 20)});
    let call = tokio::spawn(rig.client.call("slow", big).into_future());
    rig.wait_sent("notifications/initialized", 1).await;
    call.abort(); // cancelled while most of it waits to be written, or before it was written at all
    let _ = call.await;
    rig.client.disconnect().await;
    let calls = rig.log.sent("tools/call");
    assert!(calls.iter().all(|call| call.text.len() > 1 << 20));
    assert_eq!(rig.sent("notifications/cancelled"), calls.len());
}

/// Dropping a client closes its connection; listeners hear of an end, not of a failure.
#[tokio::test]
async fn p87_dropping_a_client_is_no_failure() {
    let rig = rig(Script::new());
    rig.client.connect().await.unwrap();
    let mut events = rig.client.events();
    let Rig { client, dir: _dir, log: _log, .. } = rig;
    drop(client);
    let mut heard = Vec::new();
    while let Some(event) = events.next().await {
        heard.push(event.kind);
    }
    assert!(matches!(heard.as_slice(), [trunkline::EventKind::Closed]), "{heard:?}");
}
