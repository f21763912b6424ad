//! What the fake answers without rules, and the settings that change it.

use serde_json::{Value, json};
use trunkline_tests::*;

use crate::peer::Peer;

#[test]
fn initialize_has_the_defaults() {
    let mut peer = Peer::start(&Script::new());
    peer.request(1, "initialize", json!({"protocolVersion": "2025-11-25"}));
    let expected = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "fake", "version": "1"},
    });
    assert_eq!(peer.json(), json!({"jsonrpc": "2.0", "id": 1, "result": expected}));
    peer.notify("notifications/initialized");
    peer.request(2, "server/discover", json!({}));
    assert_eq!(peer.json()["error"]["code"], json!(-32601));
}

#[test]
fn initialize_can_be_set() {
    let script = Script::new()
        .echo_version()
        .resources([resource("a:1")])
        .prompts([prompt("p")])
        .server_info(json!({"name": "other"}))
        .instructions("do \"this\"");
    let mut peer = Peer::start(&script);
    peer.request(1, "initialize", json!({"protocolVersion": "2025-03-26"}));
    let expected = json!({
        "protocolVersion": "2025-03-26",
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "other"},
        "instructions": "do \"this\"",
    });
    assert_eq!(peer.json()["result"], expected);

    let script = Script::new().version("2024-11-05").capabilities(raw(r#"{"z":{},"a":{}}"#));
    let mut peer = Peer::start(&script);
    peer.request(1, "initialize", json!({}));
    let line = peer.line();
    assert!(line.contains(r#""protocolVersion":"2024-11-05","capabilities":{"z":{},"a":{}}"#), "{line}");
}

#[test]
fn lists_calls_reads_and_prompts_have_defaults() {
    let script = Script::new()
        .tools([tool("echo"), tool("add")])
        .resources([resource("a:1")])
        .templates([template("b:{x}")])
        .prompts([prompt("p")]);
    let mut peer = Peer::start(&script);
    let mut ask = |method: &str, params: Value| {
        peer.request(1, method, params);
        peer.json()
    };
    assert_eq!(ask("ping", json!({}))["result"], json!({}));
    assert_eq!(ask("tools/list", json!({}))["result"], json!({"tools": [tool("echo"), tool("add")]}));
    assert_eq!(ask("resources/list", json!({}))["result"], json!({"resources": [resource("a:1")]}));
    assert_eq!(ask("resources/templates/list", json!({}))["result"], json!({"resourceTemplates": [template("b:{x}")]}));
    assert_eq!(ask("prompts/list", json!({}))["result"], json!({"prompts": [prompt("p")]}));
    assert_eq!(ask("tools/call", json!({"name": "add"}))["result"]["content"], json!([{"type": "text", "text": "ok"}]));
    assert_eq!(ask("tools/call", json!({"name": "sub"}))["error"]["code"], json!(-32602));
    assert_eq!(ask("resources/read", json!({"uri": "a:1"}))["result"]["contents"][0]["text"], json!("ok"));
    assert_eq!(ask("resources/read", json!({"uri": "a:2"}))["error"]["code"], json!(-32002));
    assert_eq!(ask("prompts/get", json!({"name": "p"}))["result"]["messages"][0]["role"], json!("user"));
    assert_eq!(ask("prompts/get", json!({"name": "q"}))["error"]["code"], json!(-32602));
    assert_eq!(ask("no/such", json!({}))["error"]["code"], json!(-32601));
}

#[test]
fn a_list_that_was_never_set_is_an_unknown_method() {
    let mut peer = Peer::start(&Script::new());
    peer.request(1, "resources/list", json!({}));
    assert_eq!(peer.json()["error"]["code"], json!(-32601));
}

#[test]
fn ids_are_echoed_by_their_text() {
    let mut peer = Peer::start(&Script::new());
    for id in ["1", "\"1\"", "1.50", "18446744073709551616", "\"\\u00e9\""] {
        peer.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert_eq!(peer.line(), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

#[test]
fn pages_follow_their_cursors() {
    let mut peer = Peer::start(
        &Script::new().pages("tools/list", [["a", "b"], ["c", "d"], ["e", "f"]].map(|page| page.map(tool))),
    );
    let mut page = |params: Value| {
        peer.request(1, "tools/list", params);
        peer.json()
    };
    let names = |answer: &Value| {
        let tools = answer["result"]["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<String>()
    };
    let first = page(json!({}));
    assert_eq!((names(&first).as_str(), &first["result"]["nextCursor"]), ("ab", &json!("p2")));
    let second = page(json!({"cursor": "p2"}));
    assert_eq!((names(&second).as_str(), &second["result"]["nextCursor"]), ("cd", &json!("p3")));
    let third = page(json!({"cursor": "p3"}));
    assert_eq!((names(&third).as_str(), third["result"].get("nextCursor")), ("ef", None));
    assert_eq!(page(json!({"cursor": "x"}))["error"]["code"], json!(-32602));
}

#[test]
fn modern_only_wants_the_version_in_each_request() {
    let mut peer = Peer::start(&Script::new().modern());
    let meta = |version: &str| json!({"io.modelcontextprotocol/protocolVersion": version});
    peer.request(1, "initialize", json!({"protocolVersion": "2025-11-25"}));
    let refusal = peer.json()["error"].take();
    assert_eq!(refusal["code"], json!(-32022));
    assert_eq!(refusal["data"], json!({"supported": ["2026-07-28"], "requested": "2025-11-25"}));
    peer.request(2, "server/discover", json!({"_meta": meta("2026-07-28")}));
    let found = peer.json()["result"].take();
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!((&found["resultType"], &found["cacheScope"]), (&json!("complete"), &json!("private")));
    peer.request(3, "tools/list", json!({}));
    assert_eq!(peer.json()["error"]["code"], json!(-32602));
    peer.request(4, "tools/list", json!({"_meta": meta("2031-01-01")}));
    assert_eq!(peer.json()["error"]["code"], json!(-32022));
    peer.request(5, "tools/call", json!({"name": "echo", "_meta": meta("2026-07-28")}));
    let result = peer.json()["result"].take();
    assert_eq!((&result["resultType"], &result["content"][0]["text"]), (&json!("complete"), &json!("ok")));
}

#[test]
fn both_eras_answers_each_in_its_own() {
    let mut peer = Peer::start(&Script::new().both_eras());
    peer.request(1, "initialize", json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(peer.json()["result"]["protocolVersion"], json!("2025-06-18"));
    peer.request(2, "tools/list", json!({}));
    assert_eq!(peer.json()["result"], json!({"tools": [tool("echo")]}));
    peer.request(3, "tools/list", json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}));
    assert_eq!(peer.json()["result"]["resultType"], json!("complete"));
}
