//! Deadlines of calls, and how progress moves them.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::json;
use trunkline::{Client, ClientBuilder, ErrorKind, Progress};
use trunkline_tests::*;

use crate::rig::{Over, Rig, assert_took, everywhere, ms};

/// Reports with this token every 150 ms, answers after 1.2 s.
fn working(token: serde_json::Value) -> Script {
    let report = notify_with("notifications/progress", json!({"progressToken": token, "progress": "$I"}));
    Script::new().on(call("echo"), [background([repeat(8, [sleep(150), report]), text("done")])])
}

fn bounds(timeout: u64, max_timeout: u64) -> impl Fn(ClientBuilder) -> ClientBuilder {
    move |builder| builder.timeout(ms(timeout)).max_timeout(ms(max_timeout))
}

/// The token is always sent, so that progress counts though nobody listens to it.
#[tokio::test]
async fn p83_progress_starts_the_wait_anew() {
    for rig in Rig::each(|_| working(json!("$TOKEN")), bounds(900, 60_000)) {
        let begun = Instant::now();
        assert_eq!(rig.call("echo").await.unwrap(), "done");
        assert_took(begun, ms(1200));
        assert!(rig.log.sent("tools/call")[0].params()["_meta"]["progressToken"].is_u64());
    }
}

#[tokio::test]
async fn p83_progress_does_not_move_the_hard_cap() {
    for rig in Rig::each(|_| working(json!("$TOKEN")), bounds(900, 1000)) {
        rig.client.connect().await.unwrap();
        let begun = Instant::now();
        let error = rig.call("echo").await.unwrap_err();
        assert_took(begun, ms(1000));
        assert_eq!(error.kind(), ErrorKind::Deadline);
        assert!(error.message().contains("over 1 s in all (max total, maxTimeout; timeout 0.9 s)"), "{error}");
        assert!(error.hint().unwrap().contains("max_timeout"), "{error:?}");
    }
}

/// Somebody else's progress says nothing of this call.
#[tokio::test]
async fn p83_progress_with_another_token_moves_nothing() {
    for token in [json!("tool-call-1"), json!(4711), json!(null), json!("0$TOKEN.5")] {
        for rig in Rig::each(|_| working(token.clone()), bounds(500, 60_000)) {
            rig.client.connect().await.unwrap();
            let begun = Instant::now();
            let error = rig.call("echo").await.unwrap_err();
            assert_took(begun, ms(500));
            assert!(
                error.message().contains("No answer to tools/call \"echo\" within 0.5 s (timeout; max total 60 s)"),
                "{error}"
            );
            assert!(error.hint().unwrap().contains("Raise the timeout"), "{error:?}");
        }
    }
}

/// Each limit can be set for the client and for one call; zero is none.
#[tokio::test]
async fn p65_p83_each_limit_can_be_set_and_taken_away() {
    let slow = || Script::new().on(call("echo"), [background([sleep(700), text("done")])]);
    let short = Rig::with(|_| slow(), bounds(200, 60_000));
    assert_eq!(short.call("echo").await.unwrap_err().kind(), ErrorKind::Deadline);
    for call in [
        short.client.call("echo", ()).timeout(ms(60_000)),
        short.client.call("echo", ()).timeout(ms(0)),
        short.client.call("echo", ()).timeout(ms(0)).max_timeout(ms(0)),
    ] {
        assert_eq!(call.await.unwrap().text(), "done");
    }
    let capped = short.client.call("echo", ()).timeout(ms(0)).max_timeout(ms(200)).await.unwrap_err();
    assert!(capped.message().contains("over 0.2 s in all"), "{capped}");
    let unbounded = Rig::with(|_| slow(), bounds(0, 0));
    assert_eq!(unbounded.call("echo").await.unwrap(), "done");
    let capped = Rig::with(|_| slow(), bounds(0, 200));
    assert!(capped.call("echo").await.unwrap_err().message().contains("max total"));
}

async fn reports_of(client: &Client) -> Vec<Progress> {
    let seen: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let sink = seen.clone();
    let call = client.call("echo", ()).on_progress(move |progress| sink.lock().unwrap().push(progress.clone()));
    assert_eq!(call.await.unwrap().text(), "ok");
    let seen = seen.lock().unwrap();
    seen.clone()
}

/// Tokens come back as text, numbers go down, fields are missing, the last report is late: all of it is put up with.
#[tokio::test]
async fn p84_odd_progress_reaches_its_listener() {
    let report = |params| notify_with("notifications/progress", params);
    for rig in everywhere(Script::new().on(
        call("echo"),
        [
            report(json!({"progressToken": "tool-call-1", "progress": 9})),
            report(json!({"progressToken": "$TOKEN", "progress": 0.5, "total": null})),
            line(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"$TOKEN","progress":0.4,"total":2,"message":"m"}}"#),
            report(json!({"progressToken": "$TOKEN"})),
            text("ok"),
            report(json!({"progressToken": "$TOKEN", "progress": 1})),
        ],
    )) {
    for _ in 0..2 {
        let mut seen = reports_of(&rig.client).await;
        // over HTTP the late one comes on another stream, so it may overtake the answer
        seen.retain(|report| rig.over != Over::Http || report.progress < 1.0);
        let expected = [
            Progress::new(0.5, None, None),
            Progress::new(0.4, Some(2.0), Some("m".to_owned())),
            Progress::new(0.0, None, None),
        ];
        assert_eq!(seen, expected);
    }
    }
}

/// A listener that panics is its owner's fault, not the connection's end.
#[tokio::test]
async fn p84_a_listener_that_panics_does_not_end_the_session() {
    for rig in everywhere(Script::new().on(call("echo"), [progress(1.0, None), text("ok")])) {
        for _ in 0..2 {
            let result = rig.client.call("echo", ()).on_progress(|_| panic!("on purpose")).await;
            assert_eq!(result.unwrap().text(), "ok");
        }
        assert_eq!(rig.starts(), 1);
    }
}
