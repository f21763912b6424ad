//! Several servers served on as one, over the protocol: what a gateway is made of. Only names change on the way.

use serde_json::{Value, json};
use trunkline::{Client, ErrorKind, EventKind, Events, Limits};
use trunkline_tests::*;

use super::{Servers, marked, touch};
use crate::rig::{limits, ms};

/// A client, over the protocol, of all these servers.
fn downstream(servers: &Servers) -> Client {
    Client::in_memory(servers.multi.clone()).build().unwrap()
}

async fn changes(events: &mut Events) {
    while !matches!(events.next().await.unwrap().kind, EventKind::ToolsChanged) {}
}

/// A tool definition and a result with fields that nobody knows.
fn strange_tool() -> &'static str {
    r#"{"x-first":1.0,"name":"t","icons":[{"src":"i"}],"annotations":{"readOnlyHint":true,"x":null},"inputSchema":{"type":"object","x":1e2},"outputSchema":{"type":"object"},"_meta":{"ui":{"a":[1]}}}"#
}

fn strange_result() -> &'static str {
    r#"{"future":1,"content":[{"type":"hologram_v9","x":-0.0}],"structuredContent":{"id":9007199254740993},"isError":false,"_meta":{"k":"v"}}"#
}

fn strange() -> Script {
    let contents = raw(r#"{"contents":[{"uri":"a:1","blob":"AAEC","x":1.0}],"_meta":{"k":1},"ttlMs":5}"#);
    let messages =
        raw(r#"{"x":1.0,"messages":[{"role":"user","content":[{"type":"text","text":"t","y":2.0}],"z":3}]}"#);
    Script::new()
        .tools([raw(strange_tool())])
        .resources([resource("a:1")])
        .prompts([prompt("p")])
        .on("tools/call", [respond(raw(strange_result()))])
        .on("resources/read", [respond(contents)])
        .on("prompts/get", [respond(messages)])
}

#[tokio::test]
async fn p96_definitions_and_results_pass_with_fields_that_nobody_knows() {
    let servers = Servers::with([("s", strange())]);
    let client = downstream(&servers);
    let tools = client.request("tools/list", None).await.unwrap();
    let tool = tools.get("tools").unwrap().items().next().unwrap();
    for (key, value) in trunkline::RawJson::parse(strange_tool()).unwrap().members() {
        let passed = tool.get(&key).unwrap().to_string();
        assert_eq!(passed, if key == "name" { "\"s_t\"".to_owned() } else { value.to_string() }, "{key}");
    }
    assert_eq!(tool.members().count(), 7);
    let result = client.call("s_t", ()).await.unwrap();
    assert_eq!(result.raw().to_string(), strange_result());
    let read = client.read_resource_contents("a:1").await.unwrap();
    assert_eq!(
        read.raw().to_string(),
        r#"{"contents":[{"uri":"a:1","blob":"AAEC","x":1.0}],"_meta":{"k":1},"ttlMs":5}"#
    );
    let prompt = client.get_prompt_messages("s_p", ()).await.unwrap();
    assert!(prompt.raw().to_string().contains(r#""y":2.0}],"z":3}"#), "{prompt:?}");
}

#[tokio::test]
async fn p49_p96_params_pass_with_fields_that_nobody_knows() {
    let servers = Servers::with([("s", strange())]);
    let client = downstream(&servers);
    for (method, params) in [
        ("tools/call", json!({"name": "s_t", "arguments": {"a": 1}, "task": {"ttl": 5}, "_meta": {"own": 1}})),
        ("resources/read", json!({"uri": "a:1", "x": 1})),
        ("prompts/get", json!({"name": "s_p", "arguments": {"n": 7}, "x": 1})),
    ] {
        client.request(method, Some(params.clone().into())).await.unwrap();
        let mut sent = servers.log("s").sent(method)[0].params();
        let meta = sent["_meta"].take();
        assert_eq!(meta["own"], params["_meta"]["own"], "{method}");
        for (key, value) in params.as_object().unwrap().iter().filter(|(key, _)| *key != "_meta") {
            let value =
                if key == "name" { json!(value.as_str().unwrap().trim_start_matches("s_")) } else { value.clone() };
            assert_eq!(sent[key], value, "{method} {key}");
        }
    }
}

#[tokio::test]
async fn p96_errors_pass_with_code_and_data() {
    let data = raw(r#"{"id":9007199254740993}"#);
    let script = Script::new().on(call("echo"), [respond_error_data(-32050, "quota", data)]);
    let servers = Servers::with([("s", script)]);
    let error = downstream(&servers).call("s_echo", ()).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (Some(-32050), "quota"));
    assert_eq!(error.data().unwrap().to_string(), r#"{"id":9007199254740993}"#);
}

#[tokio::test]
async fn p49_a_long_list_is_served_as_one_page_and_a_forged_cursor_refused() {
    let page = |from: usize, to: usize| (from..to).map(|n| tool(&format!("t{n}"))).collect::<Vec<_>>();
    let servers = Servers::with([("s", Script::new().pages("tools/list", [page(0, 8), page(8, 14)]))]);
    let client = downstream(&servers);
    let raw = client.request("tools/list", None).await.unwrap().to_value();
    assert_eq!((raw["tools"].as_array().unwrap().len(), &raw["nextCursor"]), (14, &Value::Null));
    for cursor in [json!("p2"), json!("")] {
        let error = client.request("tools/list", Some(json!({"cursor": cursor}).into())).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602));
    }
}

#[tokio::test]
async fn p49_a_single_server_that_is_served_on_keeps_its_own_pages() {
    let page = |from: usize, to: usize| (from..to).map(|n| tool(&format!("t{n}"))).collect::<Vec<_>>();
    let mut servers = Servers::new();
    let upstream = servers.add("s", Script::new().pages("tools/list", [page(0, 8), page(8, 14)]));
    let client = Client::in_memory(upstream.connection()).build().unwrap();
    assert_eq!(client.list_tools().await.unwrap().len(), 14);
    assert_eq!(servers.log("s").sent("tools/list")[1].params()["cursor"], "p2");
}

#[tokio::test]
async fn each_client_hears_of_a_change_once() {
    let change = [set_tools([tool("a"), tool("b")]), notify("notifications/tools/list_changed"), text("ok")];
    let servers = Servers::with([("s", Script::new().tools([tool("a")]).on(call("a").nth(1), change))]);
    let clients = [downstream(&servers), downstream(&servers)];
    let mut listening = clients.clone().map(|client| client.events());
    for client in &clients {
        assert_eq!(client.list_tools().await.unwrap().len(), 1);
    }
    clients[0].call("s_a", ()).await.unwrap();
    for (client, events) in clients.iter().zip(&mut listening) {
        changes(events).await;
        assert_eq!(client.list_tools().await.unwrap().len(), 2);
        client.call("s_b", ()).await.unwrap();
        client.disconnect().await;
        let mut more = 0;
        loop {
            match events.next().await.unwrap().kind {
                EventKind::ToolsChanged => more += 1,
                EventKind::Closed => break,
                _ => {}
            }
        }
        assert_eq!(more, 0);
    }
}

#[tokio::test]
async fn p89_clients_are_told_when_a_late_server_is_there() {
    let mut servers = Servers::bounded(Limits { settle: ms(200), ..limits() });
    let go = servers.dir.join("go");
    servers.add("a", marked("a", &["x"]));
    servers.add("late", marked("late", &["x"]).on("initialize", [wait_file(&go), default_answer()]));
    let client = downstream(&servers);
    let mut events = client.events();
    let names = async || {
        let tools = client.list_tools().await.unwrap();
        tools.iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["a_x"]);
    touch(&go);
    changes(&mut events).await;
    assert_eq!(names().await, ["a_x", "late_x"]);
}

#[tokio::test]
async fn p93_updates_of_a_resource_reach_those_who_subscribed() {
    let script = Script::new()
        .capabilities(json!({"tools": {}, "resources": {"subscribe": true}}))
        .resources([resource("a:1"), resource("a:2")])
        .on(
            call("echo"),
            [
                notify_with("notifications/resources/updated", json!({"uri": "a:1"})),
                notify_with("notifications/resources/updated", json!({"uri": "a:2"})),
                notify("notifications/tools/list_changed"),
                text("ok"),
            ],
        );
    let servers = Servers::with([("s", script)]);
    let (subscribed, other) = (downstream(&servers), downstream(&servers));
    let mut listening = [subscribed.events(), other.events()];
    other.connect().await.unwrap();
    let subscription = json!({"uri": "a:1"});
    subscribed.request("resources/subscribe", Some(subscription.clone().into())).await.unwrap();
    assert_eq!(servers.log("s").sent("resources/subscribe")[0].params()["uri"], "a:1");
    for (expected, unsubscribe) in [([vec!["a:1"], vec![]], true), ([vec![], vec![]], false)] {
        subscribed.call("s_echo", ()).await.unwrap();
        for (events, expected) in listening.iter_mut().zip(expected) {
            let mut updated = Vec::new();
            loop {
                match events.next().await.unwrap().kind {
                    EventKind::ResourceUpdated { uri } => updated.push(uri),
                    EventKind::ToolsChanged => break,
                    _ => {}
                }
            }
            assert_eq!(updated, expected);
        }
        if unsubscribe {
            subscribed.request("resources/unsubscribe", Some(subscription.clone().into())).await.unwrap();
        }
    }
}

#[tokio::test]
async fn completion_goes_to_the_server_of_the_prompt_or_template() {
    let completing = |mark: &str| {
        Script::new()
            .prompts([prompt("p")])
            .templates([template(&format!("{mark}:///{{path}}"))])
            .on("completion/complete", [respond(json!({"completion": {"values": [mark]}}))])
    };
    let servers = Servers::with(["a", "b"].map(|label| (label, completing(label))));
    let client = downstream(&servers);
    let argument = json!({"name": "path", "value": "x"});
    for (reference, mark, sent) in [
        (json!({"type": "ref/prompt", "name": "b_p"}), "b", json!({"type": "ref/prompt", "name": "p"})),
        (
            json!({"type": "ref/resource", "uri": "a:///{path}"}),
            "a",
            json!({"type": "ref/resource", "uri": "a:///{path}"}),
        ),
    ] {
        let params = json!({"ref": reference, "argument": argument, "x": 1});
        let result = client.request("completion/complete", Some(params.into())).await.unwrap();
        assert_eq!(result.to_value()["completion"]["values"], json!([mark]));
        let passed = servers.log(mark).sent("completion/complete")[0].params();
        assert_eq!((&passed["ref"], &passed["argument"], &passed["x"]), (&sent, &argument, &json!(1)));
    }
    let unknown = json!({"ref": {"type": "ref/prompt", "name": "c_p"}, "argument": argument});
    let error = client.request("completion/complete", Some(unknown.into())).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Protocol, Some(-32602)));
}
