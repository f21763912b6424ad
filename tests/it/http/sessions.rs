//! Sessions over Streamable HTTP: their id, their loss, their end.

use serde_json::json;
use trunkline::{Client, ErrorKind};
use trunkline_tests::http::*;

#[tokio::test]
async fn a_session_is_named_by_every_request_and_ended_at_the_end() {
    let fake = HttpScript::new().strict_version().start();
    let client = Client::http(fake.url()).build().unwrap();
    assert_eq!(client.list_tools().await.unwrap()[0].name(), "echo");
    assert_eq!(client.call_tool("echo", json!({"text": "hi"})).await.unwrap(), json!("hi"));
    client.disconnect().await;
    let log = fake.log();
    assert_eq!(log.of("DELETE").len(), 1);
    assert_eq!(log.of("DELETE")[0].header("mcp-session-id"), Some("A"));
    assert!(log.rpc("initialize")[0].header("mcp-protocol-version").is_none());
}

#[tokio::test]
async fn p52_a_lost_session_is_made_anew_once_for_all() {
    let fake = HttpScript::new().start();
    let client = Client::http(fake.url()).build().unwrap();
    client.call_tool("echo", json!({"text": "1"})).await.unwrap();
    fake.forget_sessions();
    let calls = (0..10).map(|n| {
        let client = client.clone();
        async move { client.call_tool("echo", json!({"text": n.to_string()})).await }
    });
    for (n, result) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(result.unwrap(), json!(n));
    }
    let log = fake.log();
    assert_eq!(log.rpc("initialize").len(), 2);
    assert!(log.rpc("initialize")[1].header("mcp-session-id").is_none());
}

#[tokio::test]
async fn p52_a_server_that_always_forgets_is_an_error_and_no_loop() {
    let fake = HttpScript::new().on(rpc("tools/call"), [send(lost_session())]).start();
    let client = Client::http(fake.url()).build().unwrap();
    let error = client.call_tool("echo", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(!error.may_have_run());
    assert_eq!((fake.log().rpc("initialize").len(), fake.log().rpc("tools/call").len()), (2, 2));
}
