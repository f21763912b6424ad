//! Checks of beginnings and endings: of calls and of connections.

use std::time::Duration;

use serde_json::json;
use trunkline::{Cancellation, ErrorKind, EventKind, State};

use super::kinds::Kind;

pub(super) async fn a_dropped_call_reaches_the_tool(kind: Kind) {
    let (arguments, notes) = kind.hanging();
    let (client, hang) = (kind.client.clone(), kind.name("hang"));
    let call = tokio::spawn(async move { client.call_tool(&hang, arguments).await });
    notes.wait("begun").await;
    call.abort();
    notes.wait("dropped").await;
    assert_eq!(kind.client.call_tool(&kind.name("echo"), json!({"text": "on"})).await.unwrap(), json!("on"));
}

pub(super) async fn a_call_that_takes_too_long_ends_on_both_sides(kind: Kind) {
    kind.client.connect().await.unwrap();
    let (arguments, notes) = kind.hanging();
    let call = kind.client.call(&kind.name("hang"), arguments).timeout(Duration::from_millis(300));
    let error = call.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert!(error.may_have_run() && error.message().contains("0.3 s"), "{error:?}");
    notes.wait("dropped").await;
    assert!(kind.client.connected(), "a slow call says nothing of the server");
}

pub(super) async fn a_switch_ends_a_call(kind: Kind) {
    let (arguments, notes) = kind.hanging();
    let (client, hang, switch) = (kind.client.clone(), kind.name("hang"), Cancellation::new());
    let cancellation = switch.clone();
    let call = tokio::spawn(async move { client.call(&hang, arguments).cancellation(cancellation).await });
    notes.wait("begun").await;
    switch.cancel();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(error.may_have_run());
    notes.wait("dropped").await;
}

pub(super) async fn closing_twice_is_fine_and_the_next_use_connects_again(kind: Kind) {
    let echo = kind.name("echo");
    for text in ["first", "second", "third"] {
        assert_eq!(kind.client.call_tool(&echo, json!({"text": text})).await.unwrap(), json!(text));
        assert!(kind.client.connected());
        kind.client.disconnect().await;
        kind.client.disconnect().await;
        assert!(!kind.client.connected());
    }
}

pub(super) async fn a_call_that_runs_does_not_outlive_the_connection(kind: Kind) {
    let (arguments, notes) = kind.hanging();
    let (client, hang) = (kind.client.clone(), kind.name("hang"));
    let call = tokio::spawn(async move { client.call_tool(&hang, arguments).await });
    notes.wait("begun").await;
    kind.client.disconnect().await;
    if !kind.ends_calls {
        assert!(!notes.has("dropped"), "a function of this process runs on");
        return call.abort();
    }
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error:?}");
    assert!(error.may_have_run(), "{error:?}");
}

pub(super) async fn events_tell_where_the_connection_stands(kind: Kind) {
    let mut events = kind.client.events();
    assert!(matches!(kind.client.state(), State::Idle));
    kind.client.connect().await.unwrap();
    assert!(matches!(kind.client.state(), State::Ready));
    kind.client.disconnect().await;
    assert!(matches!(kind.client.state(), State::Idle));
    let mut seen = Vec::new();
    while seen.last() != Some(&"closed") {
        let event = events.next().await.unwrap();
        if event.server == kind.client.label() {
            seen.extend(match event.kind {
                EventKind::Starting => Some("starting"),
                EventKind::Ready => Some("ready"),
                EventKind::Closed => Some("closed"),
                EventKind::Failed(error) => panic!("{error:?}"),
                _ => None,
            });
        }
    }
    assert_eq!(seen, ["starting", "ready", "closed"]);
}

pub(super) async fn clones_share_one_connection(kind: Kind) {
    let other = kind.client.clone();
    let (one, two) = tokio::join!(kind.client.connect(), other.connect());
    one.unwrap();
    two.unwrap();
    assert!(kind.client.connected() && other.connected());
    other.disconnect().await;
    assert!(!kind.client.connected());
}
