//! Lists that change: only the server that says so is asked again, before its tools are used next.

use serde_json::json;
use trunkline::{Client, EventKind, Filtered, ToolFilter};
use trunkline_tests::*;

use super::{Servers, marked};
use crate::rig::Rig;

/// Its first call brings a tool, another schema and word of it.
fn changing() -> Script {
    let schema = json!({"type": "object", "required": ["new"]});
    let after = [json!({"name": "a", "inputSchema": schema}), tool("b")];
    Script::new()
        .tools([tool("a")])
        .on(call("a").nth(1), [set_tools(after), notify("notifications/tools/list_changed"), text("changed")])
}

#[tokio::test]
async fn p50_a_changed_list_is_asked_for_again_before_the_next_use() {
    let servers = Servers::with([("s", changing()), ("other", marked("other", &["x"]))]);
    assert_eq!(servers.tools().await, ["s_a", "other_x"]);
    assert_eq!(servers.call("s_a").await.unwrap(), "changed");
    assert_eq!(servers.multi.members()[0].tools, None, "what was known is stale");
    assert_eq!(servers.call("s_b").await.unwrap(), "ok");
    assert_eq!(servers.multi.members()[0].tools, Some(2));
    assert_eq!((servers.sent("s", "tools/list"), servers.sent("other", "tools/list")), (2, 1));
    let tools = servers.multi.tools().await.unwrap();
    assert_eq!(tools[0].input_schema().to_value()["required"], json!(["new"]));
    assert_eq!(tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["s_a", "s_b", "other_x"]);
}

#[tokio::test]
async fn p50_a_tool_that_is_gone_is_not_called() {
    let script = Script::new()
        .tools([tool("a"), tool("b")])
        .on(call("a"), [set_tools([tool("a")]), notify("notifications/tools/list_changed"), text("ok")]);
    let servers = Servers::with([("s", script)]);
    servers.call("s_b").await.unwrap();
    servers.call("s_a").await.unwrap();
    assert_eq!(servers.call("s_b").await.unwrap_err().kind(), trunkline::ErrorKind::NotFound);
    assert_eq!(servers.sent("s", "tools/call"), 2);
}

#[tokio::test]
async fn p50_a_namespaced_client_learns_of_changes_too() {
    let rig = Rig::with(|_| changing(), |builder| builder.label("s").namespaced(true));
    assert_eq!(rig.client.call_tool("s_a", ()).await.unwrap(), json!("changed"));
    assert_eq!(rig.client.call_tool("s_b", ()).await.unwrap(), json!("ok"));
    assert_eq!(rig.sent("tools/list"), 2);
    rig.client.call_tool("s_b", ()).await.unwrap();
    assert_eq!(rig.sent("tools/list"), 2);
}

#[tokio::test]
async fn the_first_list_of_a_server_is_kept() {
    let rig = Rig::with(|_| Script::new(), |builder| builder.label("s").namespaced(true));
    rig.client.list_tools().await.unwrap();
    rig.client.call_tool("s_echo", ()).await.unwrap();
    assert_eq!(rig.sent("tools/list"), 1);
}

#[tokio::test]
async fn p50_a_filter_still_hides_what_it_hid() {
    let rig = Rig::with(|_| changing(), |builder| builder);
    let filter = ToolFilter::new([], ["b"]).unwrap();
    let client = Client::from_connection(Filtered::new(rig.client.connection(), filter)).build().unwrap();
    let mut events = client.events();
    let names = async || {
        let tools = client.list_tools().await.unwrap();
        tools.iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["a"]);
    assert_eq!(client.call_tool("a", ()).await.unwrap(), json!("changed"));
    while !matches!(events.next().await.unwrap().kind, EventKind::ToolsChanged) {}
    assert_eq!(names().await, ["a"]);
    assert_eq!(client.list_tools().await.unwrap()[0].input_schema().to_value()["required"], json!(["new"]));
    for denied in [
        client.call_tool("b", ()).await.map(drop),
        client.request("tools/call", Some(json!({"name": "b"}).into())).await.map(drop),
    ] {
        let error = denied.unwrap_err();
        assert!(error.message().contains("\"b\" is not permitted"), "{error}");
    }
    let raw = client.request("tools/list", None).await.unwrap().to_value();
    assert_eq!(raw["tools"].as_array().unwrap().len(), 1);
    assert_eq!(rig.sent("tools/call"), 1);
}

#[tokio::test]
async fn p50_what_a_server_lists_after_a_crash_is_what_counts() {
    let script = Script::new()
        .tools([tool("a"), tool("crash")])
        .on(call("crash"), [exit(7)])
        .on(on_method("tools/list").start(2), [respond(json!({"tools": [tool("a"), tool("new")]}))])
        .on(call("new"), [text("new")]);
    let servers = Servers::with([("s", script)]);
    assert_eq!(servers.tools().await, ["s_a", "s_crash"]);
    servers.call("s_crash").await.unwrap_err();
    assert_eq!(servers.call("s_new").await.unwrap(), "new");
    assert_eq!(servers.tools().await, ["s_a", "s_new"]);
}
