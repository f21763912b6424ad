//! Redirects: followed within the origin, where the request stays what it is; never with credentials to elsewhere.

use serde_json::json;
use trunkline::ErrorKind;
use trunkline_tests::http::*;

use super::{all_of, at, client, echo};

#[tokio::test]
async fn p61_a_redirect_that_keeps_the_request_is_followed() {
    for status in [307, 308] {
        let back = act(|request| match request.rpc_method().as_deref() {
            Some("initialize") => vec![result(
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "f", "version": "1"}}),
            )],
            Some("tools/call") => vec![text_result("moved")],
            Some("tools/list") => vec![result(json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}))],
            _ => vec![send(reply(202))],
        });
        let fake = HttpScript::new()
            .sessionless()
            .on(post().path("/mcp"), [send(redirect(status, "/mcp/?a=b"))])
            .on(post().path("/mcp/"), [back])
            .start();
        let client = at(fake.url()).bearer("T-1").build().unwrap();
        assert_eq!(echo(&client, "x").await.unwrap(), json!("moved"));
        let log = fake.log();
        let all = log.requests();
        let (first, second) = (&all[0], &all[1]);
        assert_eq!((first.target.as_str(), second.target.as_str()), ("/mcp", "/mcp/?a=b"));
        assert_eq!((&first.body, first.method.as_str()), (&second.body, second.method.as_str()));
        assert_eq!(second.header("authorization"), Some("Bearer T-1"));
        let at_first = log.rpc("tools/call").iter().filter(|call| call.path() == "/mcp").count();
        assert_eq!(at_first, usize::from(status == 307), "a permanent redirect is remembered");
    }
}

#[tokio::test]
async fn p61_a_redirect_that_would_change_the_request_names_the_new_url() {
    for status in [301, 302, 303] {
        let fake = HttpScript::new().on(post(), [send(redirect(status, "/mcp2"))]).start();
        let error = client(&fake).connect().await.unwrap_err();
        let new = format!("{}/mcp2", fake.origin());
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.message().contains(&new) && error.hint().unwrap().contains(&new), "{error:?}");
        assert!(fake.log().of("GET").is_empty());
        assert!(!error.may_have_run());
    }
}

#[tokio::test]
async fn p61_a_circle_ends_after_three_hops() {
    let fake = HttpScript::new().on(post(), [send(redirect(307, "/mcp"))]).start();
    let error = client(&fake).connect().await.unwrap_err();
    assert!(error.message().contains("more than 3"), "{error}");
    assert_eq!(fake.log().rpc("initialize").len(), 4);
}

#[tokio::test]
async fn p62_nothing_goes_to_another_origin() {
    let other = HttpScript::new().start();
    for (method, status) in [("initialize", 307), ("tools/call", 307), ("tools/call", 308), ("tools/call", 302)] {
        let fake = HttpScript::new().on(rpc(method), [send(redirect(status, &other.url()))]).start();
        let client = at(fake.url()).bearer("T-1").build().unwrap();
        let error = echo(&client, "x").await.unwrap_err();
        let (here, there) = (fake.origin(), other.origin());
        assert!(error.message().contains(&here) && error.message().contains(&there), "{error}");
        assert!(error.hint().unwrap().contains(&other.url()), "{error:?}");
    }
    assert_eq!(other.log().connections(), 0);
}

#[tokio::test]
async fn p62_the_streams_and_the_end_go_nowhere_else_either() {
    let other = HttpScript::new().listening().start();
    let away = || [send(redirect(307, &other.url()))];
    let fake = HttpScript::new().on(get(), away()).on(delete(), away()).start();
    let client = client(&fake);
    echo(&client, "x").await.unwrap();
    client.disconnect().await;
    assert_eq!(fake.log().of("DELETE").len(), 1);
    assert_eq!(other.log().connections(), 0);
}

#[tokio::test]
async fn p62_only_http_is_followed() {
    for target in ["file:///etc/passwd", "unix:/run/docker.sock", "ftp://127.0.0.1/x", "javascript:1", "http://", ""] {
        let fake = HttpScript::new().on(post(), [send(redirect(307, target))]).start();
        let error = client(&fake).connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.message().contains("no http or https URL"), "{}", all_of(&error));
    }
}
