//! What passes through a gateway over HTTP is what the server wrote, but for names.

use serde_json::json;
use trunkline::ErrorKind;
use trunkline_tests::*;

use super::Gateway;
use crate::serving_http::{Peer, request};

#[tokio::test]
async fn p96_definitions_and_results_pass_byte_for_byte_but_for_the_name() {
    let listed = r#"{"x-first":1.0,"name":"t","icons":[{"src":"i"}],"annotations":{"readOnlyHint":true,"x":null},"inputSchema":{"type":"object","x":1e2},"outputSchema":{"type":"object"},"_meta":{"ui":{"a":[1]}}}"#;
    let result = r#"{"future":1,"content":[{"type":"hologram_v9","x":-0.0}],"structuredContent":{"id":123456789012345678901234567890,"f":1e400},"isError":false,"_meta":{"k":"v"}}"#;
    let shown = r#"{"uri":"a:1","name":"n","size":9007199254740993,"x":{"y":null}}"#;
    let script = Script::new().tools([raw(listed)]).resources([raw(shown)]).on("tools/call", [respond(raw(result))]);
    let gateway = Gateway::of([("s", script)]).await;
    let peer = Peer::begin(&gateway.serving, "2025-11-25").await;
    let text = async |message| peer.post(message).await.rest().await;
    let list = text(request(1, "tools/list", json!({}))).await;
    let renamed = listed.replace(r#""name":"t""#, r#""name":"s_t""#);
    assert_eq!(list, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{renamed}]}}}}"#));
    let resources = text(request(2, "resources/list", json!({}))).await;
    assert_eq!(resources, format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"resources":[{shown}]}}}}"#));
    let called = text(request(3, "tools/call", json!({"name": "s_t", "arguments": {}}))).await;
    assert_eq!(called, format!(r#"{{"jsonrpc":"2.0","id":3,"result":{result}}}"#));
}

#[tokio::test]
async fn p49_every_list_is_one_page_and_a_forged_cursor_is_refused() {
    let page = |from: usize, to: usize| (from..to).map(|n| tool(&format!("t{n}"))).collect::<Vec<_>>();
    let script = Script::new().pages("tools/list", [page(0, 8), page(8, 14)]).resources([resource("a:1")]);
    let gateway = Gateway::of([("s", script)]).await;
    let client = gateway.client("c").build().unwrap();
    let names: std::collections::BTreeSet<_> =
        client.list_tools().await.unwrap().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names.len(), 14);
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        for cursor in [json!("p2"), json!(""), json!({"at": 1})] {
            let error = client.request(method, Some(json!({"cursor": cursor}).into())).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Protocol, Some(-32602)), "{method}: {error}");
        }
    }
}
