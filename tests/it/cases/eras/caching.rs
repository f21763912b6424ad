//! Answers that hold for a while, by the word of the server.

use serde_json::{Value, json};
use trunkline::{CallContext, Connection, EventKind, Limits};
use trunkline_tests::*;

use super::set_up;
use crate::rig::Over;

fn for_long(tools: &[&str]) -> Value {
    let tools: Vec<_> = tools.iter().map(|name| tool(name)).collect();
    json!({"resultType": "complete", "ttlMs": 600_000, "cacheScope": "private", "tools": tools})
}

/// A list that holds isn't asked for again, until the server says that it changed or somebody wants it fresh.
#[tokio::test]
async fn a_list_that_holds_is_not_asked_for_again() {
    let script = Script::new()
        .on(on_method("tools/list").nth(1), [respond(for_long(&["echo"]))])
        .on("tools/list", [respond(for_long(&["echo", "more"]))])
        .on(call("echo"), [notify("notifications/tools/list_changed"), default_answer()]);
    for rig in set_up(script, |builder| builder) {
        let mut events = rig.client.events();
        for _ in 0..3 {
            assert_eq!(rig.client.list_tools().await.unwrap().len(), 1);
        }
        assert_eq!(rig.sent("tools/list"), 1);
        rig.call("echo").await.unwrap();
        let changed = async { while !matches!(events.next().await.unwrap().kind, EventKind::ToolsChanged) {} };
        tokio::time::timeout(limit(), changed).await.unwrap();
        assert_eq!(rig.client.list_tools().await.unwrap().len(), 2);
        assert_eq!(rig.sent("tools/list"), 2);
        let fresh = CallContext::new().with_fresh_answers();
        rig.client.connection().list_tools(&fresh).await.unwrap();
        assert_eq!(rig.sent("tools/list"), 3, "{:?}", rig.over);
    }
}

/// Each page holds for itself; what says nothing of its time, and what a caller adds to, is asked for each time.
#[tokio::test]
async fn what_says_nothing_of_its_time_is_asked_for_each_time() {
    let held = |ttl: i64| json!({"resultType": "complete", "ttlMs": ttl, "contents": [{"uri": "x:1", "text": "ok"}]});
    let script = Script::new()
        .resources([json!({"uri": "x:1", "name": "x"})])
        .on(read("x:1"), [respond(held(600_000))])
        .on(read("x:2"), [respond(held(0))]);
    for rig in set_up(script, |builder| builder) {
        for uri in ["x:1", "x:1", "x:2", "x:2"] {
            rig.client.read_resource(uri).await.unwrap();
        }
        let uris: Vec<_> = rig.log.sent("resources/read").iter().map(|read| read.params()["uri"].clone()).collect();
        assert_eq!(uris, ["x:1", "x:2", "x:2"]);
        rig.client.list_resources().await.unwrap();
        rig.client.list_resources().await.unwrap();
        assert_eq!(rig.sent("resources/list"), 2, "ttlMs is 0");
    }
}

/// A tool that nobody has heard of is looked for at the server, whatever holds.
#[tokio::test]
async fn an_unknown_name_is_looked_for_at_the_server() {
    let script = Script::new()
        .tools([tool("echo"), tool("more")])
        .on(on_method("tools/list").nth(1), [respond(for_long(&["echo"]))])
        .on("tools/list", [respond(for_long(&["echo", "more"]))]);
    for rig in set_up(script, |builder| builder.namespaced(true)) {
        assert_eq!(rig.client.list_tools().await.unwrap().len(), 1);
        assert_eq!(rig.call("fake_more").await.unwrap(), "ok", "{:?}", rig.over);
    }
}

/// Off by its limit, and nothing in the legacy era.
#[tokio::test]
async fn it_can_be_turned_off() {
    let script = Script::new().on("tools/list", [respond(for_long(&["echo"]))]);
    let limits = Limits { max_cached: 0, ..crate::rig::limits() };
    for rig in set_up(script.clone(), move |builder| builder.limits(limits.clone())) {
        rig.client.list_tools().await.unwrap();
        rig.client.list_tools().await.unwrap();
        assert_eq!(rig.sent("tools/list"), 2);
    }
    let rig = crate::rig::Rig::over(Over::Stdio, |_| script, |builder| builder);
    rig.client.list_tools().await.unwrap();
    rig.client.list_tools().await.unwrap();
    assert_eq!(rig.sent("tools/list"), 2, "the legacy era has no such word");
}

/// What holds is never used in place of an error.
#[tokio::test]
async fn a_server_that_is_gone_answers_nothing() {
    let script = Script::new()
        .on("tools/list", [respond(for_long(&["echo"]))])
        .on(on_method("server/discover").start(2), [exit(3)])
        .on("initialize", [exit(3)])
        .on(call("echo"), [exit(3)]);
    let rig = crate::rig::Rig::over(Over::Stdio, |_| script.modern(), |builder| builder);
    rig.client.list_tools().await.unwrap();
    rig.call("echo").await.unwrap_err();
    rig.client.list_tools().await.unwrap_err();
}
