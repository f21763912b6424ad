//! What a modern server goes on telling: a request that stays open.

use serde_json::json;
use trunkline::{ErrorKind, EventKind, Events};
use trunkline_tests::http::{Event, HttpScript, error, rpc};
use trunkline_tests::*;

use super::{client, set_up};
use crate::rig::Over;

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

fn agree() -> Action {
    let id = json!({"io.modelcontextprotocol/subscriptionId": "$ID"});
    notify_with(
        ACKNOWLEDGED,
        json!({"_meta": id, "notifications": {"toolsListChanged": true, "resourceSubscriptions": ["x:1"]}}),
    )
}

async fn next(events: &mut Events, wanted: impl Fn(&EventKind) -> bool) {
    let found = async { while !wanted(&events.next().await.expect("an event").kind) {} };
    tokio::time::timeout(limit(), found).await.expect("the event comes");
}

/// Changes of lists are listened to where the server tells them, over a pipe and over a stream.
#[tokio::test]
async fn changes_are_listened_to_where_the_server_tells_them() {
    let script =
        Script::new().capabilities(json!({"tools": {"listChanged": true}, "prompts": {"listChanged": false}})).on(
            "subscriptions/listen",
            [agree(), background([wait_line("\"tools/call\""), notify("notifications/tools/list_changed")])],
        );
    for rig in set_up(script, |builder| builder) {
        let mut events = rig.client.events();
        rig.client.connect().await.unwrap();
        rig.wait_sent("subscriptions/listen", 1).await;
        let asked = rig.log.sent("subscriptions/listen")[0].params();
        assert_eq!(asked["notifications"], json!({"toolsListChanged": true}));
        rig.call("echo").await.unwrap();
        next(&mut events, |kind| matches!(kind, EventKind::ToolsChanged)).await;
        rig.client.disconnect().await;
        if rig.over == Over::Stdio {
            assert_eq!(rig.sent("notifications/cancelled"), 1, "it is taken back in the end");
        }
    }
}

/// Subscribing to a resource means the same in both eras.
#[tokio::test]
async fn a_subscription_is_a_request_that_stays_open() {
    let capabilities = json!({"resources": {"subscribe": true}});
    let script = Script::new().capabilities(capabilities).on("subscriptions/listen", [agree()]);
    for rig in set_up(script, |builder| builder) {
        let uri = |uri: &str| Some(json!({"uri": uri}).into());
        rig.client.request("resources/subscribe", uri("x:1")).await.unwrap();
        let error = rig.client.request("resources/subscribe", uri("x:2")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "it was not agreed to: {error}");
        rig.client.request("resources/unsubscribe", uri("x:1")).await.unwrap();
        assert_eq!((rig.sent("resources/subscribe"), rig.sent("resources/unsubscribe")), (0, 0));
        if rig.over == Over::Stdio {
            let taken_back = rig.wait_sent("notifications/cancelled", 2).await;
            let opened = rig.log.sent("subscriptions/listen");
            let ids = [opened[1].id(), opened[0].id()]; // the refused one first
            assert_eq!([0, 1].map(|at: usize| taken_back[at].params()["requestId"].clone()), ids);
        }
    }
}

/// A stream that breaks is opened again, and what may have been missed is told.
#[tokio::test]
async fn a_stream_that_breaks_is_opened_again() {
    let capabilities = json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}});
    let fake = HttpScript::new().modern().capabilities(capabilities).start();
    let client = client(&fake);
    client.connect().await.unwrap();
    client.request("resources/subscribe", Some(json!({"uri": "x:1"}).into())).await.unwrap();
    let mut events = client.events();
    fake.push(Event::notification("notifications/resources/updated", json!({"uri": "x:1"})));
    next(&mut events, |kind| matches!(kind, EventKind::ResourceUpdated { uri } if uri == "x:1")).await;
    let mut events = client.events();
    fake.end_streams();
    fake.log().wait_rpc("subscriptions/listen", 4).await;
    next(&mut events, |kind| matches!(kind, EventKind::ToolsChanged | EventKind::ResourceUpdated { .. })).await;
    client.disconnect().await;
    assert!(fake.log().requests().iter().all(|request| request.method == "POST"));
}

/// A server that doesn't know the request costs nothing but the events.
#[tokio::test]
async fn a_server_that_refuses_is_used_without() {
    let fake = HttpScript::new()
        .modern()
        .capabilities(json!({"tools": {"listChanged": true}}))
        .on(rpc("subscriptions/listen"), [error(-32601, "Method not found")])
        .start();
    let client = client(&fake);
    assert_eq!(client.call_tool("echo", json!({"text": "x"})).await.unwrap(), json!("x"));
    let refused = client.request("resources/subscribe", Some(json!({"uri": "x:1"}).into())).await.unwrap_err();
    assert_eq!(refused.code(), Some(-32601));
    assert_eq!(fake.log().rpc("subscriptions/listen").len(), 2, "neither is asked again");
}

/// A subscription survives the process it was made with.
#[tokio::test]
async fn p52_a_subscription_is_made_anew_on_a_new_process() {
    let script = Script::new()
        .modern()
        .capabilities(json!({"tools": {}, "resources": {"subscribe": true}}))
        .tools([tool("echo"), tool("quit")])
        .on("subscriptions/listen", [agree()])
        .on(call("quit"), [exit(1)]);
    let rig = crate::rig::rig(script);
    rig.client.request("resources/subscribe", Some(json!({"uri": "x:1"}).into())).await.unwrap();
    rig.call("quit").await.unwrap_err();
    rig.call("echo").await.unwrap();
    rig.wait_sent("subscriptions/listen", 2).await;
}
