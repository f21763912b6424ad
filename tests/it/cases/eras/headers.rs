//! What the headers of a modern request repeat of its body.

use serde_json::json;
use trunkline_tests::http::{HttpRequest, HttpScript, decoded, error, reply, result, rpc, send};
use trunkline_tests::tool;

use super::client;

/// A name goes into a header whatever it is, and can't smuggle in another.
#[tokio::test]
async fn p67_names_that_no_header_can_hold_are_encoded() {
    let names = ["plain", "café", "a\r\nX-Evil: 1", " lead", "trail\t", "=?base64?x?=", "日本"];
    let fake = HttpScript::new().modern().tools(names.map(tool)).start();
    let client = client(&fake);
    for name in names {
        client.call_tool(name, json!({"text": "x"})).await.unwrap(); // the fake compares header and body
    }
    for (call, name) in fake.log().rpc("tools/call").iter().zip(names) {
        assert_eq!(decoded(call.header("mcp-name").unwrap()), name);
        assert!(call.header("x-evil").is_none());
    }
    let plain = &fake.log().rpc("tools/call")[0];
    assert_eq!(plain.header("mcp-name"), Some("plain"));
}

#[tokio::test]
async fn p67_resources_and_prompts_are_named_too() {
    let capabilities = json!({"resources": {}, "prompts": {}});
    let fake = HttpScript::new()
        .modern()
        .capabilities(capabilities)
        .on(rpc("resources/read"), [result(json!({"contents": [{"uri": "x", "text": "r"}]}))])
        .on(rpc("prompts/get"), [result(json!({"messages": []}))])
        .start();
    let client = client(&fake);
    client.read_resource("file:///日本/a b.txt").await.unwrap();
    client.get_prompt("greet", ()).await.unwrap();
    let named = |method: &str| decoded(fake.log().rpc(method)[0].header("mcp-name").unwrap());
    assert_eq!((named("resources/read"), named("prompts/get")), ("file:///日本/a b.txt".into(), "greet".into()));
}

fn routed() -> serde_json::Value {
    json!({"name": "query", "inputSchema": {"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "limit": {"type": "integer", "x-mcp-header": "Limit"},
        "dry": {"type": "boolean", "x-mcp-header": "Method"},
        "text": {"type": "string"},
    }}})
}

fn params_of(request: &HttpRequest) -> [Option<String>; 3] {
    ["mcp-param-region", "mcp-param-limit", "mcp-param-method"].map(|name| request.header(name).map(decoded))
}

#[tokio::test]
async fn p67_annotated_parameters_are_repeated_in_headers() {
    let fake = HttpScript::new().modern().tools([routed()]).start();
    let client = client(&fake);
    client.list_tools().await.unwrap();
    for arguments in [
        json!({"region": "eu", "limit": 42, "dry": false, "text": "x"}),
        json!({"region": " é\n", "limit": null, "text": "x"}),
        json!({"region": "", "text": "x"}),
    ] {
        client.call_tool("query", arguments).await.unwrap();
    }
    let some = |text: &str| Some(text.to_owned());
    let sent: Vec<_> = fake.log().rpc("tools/call").iter().map(params_of).collect();
    assert_eq!(sent[0], [some("eu"), some("42"), some("false")]);
    assert_eq!(sent[1], [some(" é\n"), None, None]);
    assert_eq!(sent[2], [some(""), None, None]);
}

/// A server that misses a header gets it, once its tools were listed.
#[tokio::test]
async fn p67_a_tool_that_was_not_listed_yet_is_listed_when_a_header_is_missing() {
    let fake = HttpScript::new()
        .modern()
        .tools([routed()])
        .on(rpc("tools/call").lacks_header("mcp-param-region"), [error(-32020, "Mcp-Param-Region is missing")])
        .start();
    let client = client(&fake);
    client.call("query", json!({"region": "eu", "text": "x"})).await.unwrap();
    assert_eq!(fake.log().methods(), ["server/discover", "tools/call", "tools/list", "tools/call"]);
    let stubborn = HttpScript::new().modern().tools([routed()]).on(rpc("tools/call"), [error(-32020, "no")]).start();
    let client = super::client(&stubborn);
    let refused = client.call("query", json!({"region": "eu"})).await.unwrap_err();
    assert_eq!(refused.code(), Some(-32020));
    assert_eq!(stubborn.log().rpc("tools/call").len(), 2, "once more, and no more");
}

/// A tool that says it wrongly is left out and told; the others stay.
#[tokio::test]
async fn p67_a_bad_annotation_costs_its_tool() {
    let bad = |name: &str, header: &str| json!({"name": name, "inputSchema": {"properties": {"p": {"type": "string", "x-mcp-header": header}}}});
    let tools = [tool("echo"), bad("empty", ""), bad("blank", "a b"), bad("evil", "a\r\nX-Evil: 1")];
    let fake = HttpScript::new().modern().tools(tools.clone()).start();
    let client = client(&fake);
    let names: Vec<_> = client.list_tools().await.unwrap().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["echo"]);
    for name in ["empty", "blank", "evil"] {
        assert!(client.warnings().iter().any(|warning| warning.contains(name)), "{:?}", client.warnings());
    }
    // to a server of the legacy era the annotation means nothing
    let fake = HttpScript::new().tools(tools).start();
    let client = super::client(&fake);
    assert_eq!(client.list_tools().await.unwrap().len(), 4);
    client.call_tool("echo", json!({"text": "x"})).await.unwrap();
    assert!(fake.log().rpc("tools/call")[0].header("mcp-method").is_none());
}

/// The revision goes with every request, and nothing of a session does.
#[tokio::test]
async fn p53_modern_requests_name_their_version_and_no_session() {
    let answer = reply(200).header("Mcp-Session-Id", "A");
    let body = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
    let body = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{body}}}"#);
    let fake =
        HttpScript::new().modern().on(rpc("server/discover"), [send(answer.content("application/json", body))]).start();
    let client = client(&fake);
    client.list_tools().await.unwrap();
    client.call("echo", json!({"text": "x"})).await.unwrap();
    client.disconnect().await;
    assert_eq!(fake.log().methods(), ["server/discover", "tools/list", "tools/call"], "no GET, no DELETE");
    for request in fake.log().requests() {
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert!(request.header("mcp-session-id").is_none());
    }
}
