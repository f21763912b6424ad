//! Which status each request gets.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use trunkline::{ErrorKind, HttpServer, HttpServerLimits};
use trunkline_tests::contract::server;

use super::{Peer, call, initialize, notification, request, serving};

/// The status, and the code of the error that belongs to no request.
async fn refused(peer: &Peer, method: &str, path: &str, body: &str) -> (u16, Option<i64>) {
    let reply = peer.send(method, path, body).await;
    let status = reply.status.as_u16();
    let body: Value = serde_json::from_str(&reply.rest().await).unwrap_or_default();
    assert!(body.get("id").is_none_or(Value::is_null), "{body}");
    (status, body["error"]["code"].as_i64())
}

#[tokio::test]
async fn p75_a_foreign_host_or_origin_is_refused_before_anything_else() {
    let serving = serving(|http| http.legacy_sse()).await;
    let peer = Peer::begin(&serving, "2025-11-25").await;
    let port = serving.local_addr().port();
    for (name, value, allowed) in [
        ("host", format!("localhost:{port}"), true),
        ("host", format!("[::1]:{port}"), true),
        ("host", "evil.example".to_owned(), false),
        ("origin", "http://localhost:6274".to_owned(), true),
        ("origin", "http://evil.example".to_owned(), false),
        ("origin", "null".to_owned(), false),
    ] {
        let peer = peer.with(name, &value);
        let ping = request(1, "ping", json!({})).to_string();
        for (method, path, body) in
            [("POST", "/mcp", &*ping), ("GET", "/mcp", ""), ("GET", "/sse", ""), ("PUT", "/x", "{")]
        {
            let status = peer.send(method, path, body).await.status.as_u16();
            assert_eq!(status == 403, !allowed, "{name}: {value}: {method} {path}: {status}");
        }
    }
    assert_eq!(refused(&peer.without("host"), "POST", "/mcp", "{}").await.0, 403);
    let evil = peer.with("origin", "http://evil.example");
    assert_eq!(refused(&evil, "DELETE", "/mcp", "").await, (403, Some(-32000)));
    assert_eq!(serving.sessions(), 1, "the session lives on");
}

#[tokio::test]
async fn what_is_wrong_has_its_status() {
    let serving = serving(|http| http).await;
    let peer = Peer::begin(&serving, "2025-11-25").await;
    let ping = request(1, "ping", json!({})).to_string();
    let html = peer.with("accept", "text/html");
    for (peer, method, path, body, expected) in [
        (&peer, "POST", "/other", &*ping, (404, Some(-32000))),
        (&peer, "PUT", "/mcp", &ping, (405, Some(-32000))),
        (&peer, "OPTIONS", "/mcp", "", (405, Some(-32000))),
        (&peer.with("content-type", "text/plain"), "POST", "/mcp", &ping, (415, Some(-32000))),
        (&peer.without("content-type"), "POST", "/mcp", &ping, (415, Some(-32000))),
        (&html, "POST", "/mcp", &ping, (406, Some(-32000))),
        (&html, "GET", "/mcp", "", (406, Some(-32000))),
        (&peer.with("accept", "application/json"), "GET", "/mcp", "", (406, Some(-32000))),
        (&peer, "POST", "/mcp", "", (400, Some(-32700))),
        (&peer, "POST", "/mcp", "not json", (400, Some(-32700))),
        (&peer, "POST", "/mcp", r#"{"jsonrpc":"2.0","id":1,"#, (400, Some(-32700))),
        (&peer, "POST", "/mcp", "{}", (400, Some(-32700))),
        (&peer, "POST", "/mcp", "7", (400, Some(-32700))),
        (&peer, "POST", "/mcp", "[]", (400, Some(-32600))),
        (&peer.without("mcp-session-id"), "POST", "/mcp", &ping, (400, Some(-32000))),
        (&peer.without("mcp-session-id"), "GET", "/mcp", "", (400, Some(-32000))),
        (&peer.without("mcp-session-id"), "DELETE", "/mcp", "", (400, Some(-32000))),
        (&peer.with("mcp-session-id", "nobody"), "POST", "/mcp", &ping, (404, Some(-32001))),
        (&peer.with("mcp-session-id", "nobody"), "GET", "/mcp", "", (404, Some(-32001))),
        (&peer.with("mcp-session-id", "nobody"), "DELETE", "/mcp", "", (404, Some(-32001))),
        (&peer.with("mcp-protocol-version", "1999-01-01"), "POST", "/mcp", &ping, (400, Some(-32000))),
        (&peer.with("mcp-protocol-version", "2026-07-28"), "GET", "/mcp", "", (400, Some(-32000))),
        (&peer.with("last-event-id", "what"), "GET", "/mcp", "", (400, Some(-32000))),
        (&peer.with("last-event-id", "99-1"), "GET", "/mcp", "", (400, Some(-32000))),
        (&peer.with("last-event-id", "0-1"), "GET", "/mcp", "", (400, Some(-32000))),
        (&peer, "POST", "/mcp", &initialize("2025-11-25").to_string(), (400, Some(-32000))),
    ] {
        assert_eq!(refused(peer, method, path, body).await, expected, "{method} {path} {body} {:?}", peer.headers);
    }
    let stale = peer.with("mcp-session-id", "nobody");
    let initialize = initialize("2025-11-25").to_string();
    assert_eq!(refused(&stale, "POST", "/mcp", &initialize).await, (404, Some(-32001)));
    let reply = peer.send("PUT", "/mcp", "").await;
    assert_eq!(reply.header("allow"), Some("GET, POST, DELETE"));
    assert_eq!(serving.sessions(), 1);
    assert_eq!(peer.post(request(2, "ping", json!({}))).await.answer().await["result"], json!({}), "it goes on");
}

#[tokio::test]
async fn p94_what_needs_no_answer_gets_202() {
    let serving = serving(|http| http).await;
    let peer = Peer::begin(&serving, "2025-03-26").await;
    for message in [
        notification("notifications/initialized", json!({})),
        notification("notifications/vendor", json!([1])),
        json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}}),
        json!([notification("a", json!({})), notification("b", json!({}))]),
    ] {
        let reply = peer.post(message.clone()).await;
        assert_eq!(reply.status.as_u16(), 202, "{message}");
        assert_eq!(reply.rest().await, "", "{message}");
    }
    let slash = peer.send("POST", "/mcp/?a=b", &request(1, "ping", json!({})).to_string()).await;
    assert_eq!(slash.answer().await["id"], 1);
}

#[tokio::test]
async fn p20_batches_belong_to_one_revision() {
    let serving = serving(|http| http).await;
    let batch =
        json!([request(1, "ping", json!({})), notification("n", json!({})), call(2, "echo", json!({"text": "x"}))]);
    let old = Peer::begin(&serving, "2025-03-26").await;
    let mut answers = old.post(batch.clone()).await.answer().await.as_array().unwrap().clone();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!((&answers[1]["id"], answers.len()), (&json!(2), 2));
    let single = old.post(json!([request(3, "ping", json!({}))])).await.answer().await;
    assert_eq!(single, json!([{"jsonrpc": "2.0", "id": 3, "result": {}}]));
    let begin = json!([initialize("2025-03-26"), request(1, "ping", json!({}))]).to_string();
    assert_eq!(refused(&old.without("mcp-session-id"), "POST", "/mcp", &begin).await, (400, Some(-32600)));
    let new = Peer::begin(&serving, "2025-06-18").await;
    assert_eq!(refused(&new, "POST", "/mcp", &batch.to_string()).await, (400, Some(-32600)));
}

#[tokio::test]
async fn p92_ids_in_use_and_too_many_requests_are_refused() {
    let limits = HttpServerLimits { max_running: 2, max_sessions: 2, max_body: 2000, ..HttpServerLimits::default() };
    let serving = serving(|http| http.limits(limits)).await;
    let peer = Peer::begin(&serving, "2025-03-26").await;
    let dir = trunkline_tests::TempDir::new();
    let hang = |id| call(id, "hang", json!({"notes": dir.join("notes")}));
    let hanging = tokio::spawn({
        let (peer, message) = (peer.clone(), hang(1));
        async move { peer.post(message).await.answer().await }
    });
    let begun = dir.join("notes.begun");
    trunkline_tests::offload(move || trunkline_tests::eventually("the call", || begun.exists().then_some(()))).await;
    let ping = |id: u64| request(id, "ping", json!({}));
    assert_eq!(refused(&peer, "POST", "/mcp", &ping(1).to_string()).await, (400, Some(-32600)));
    assert_eq!(refused(&peer, "POST", "/mcp", &json!([ping(2), ping(2)]).to_string()).await, (429, Some(-32000)));
    assert_eq!(peer.post(ping(2)).await.answer().await["id"], 2);
    hanging.abort();
    let long = call(3, "echo", json!({"text": "x".repeat(2000)})).to_string();
    assert_eq!(refused(&peer, "POST", "/mcp", &long).await, (413, Some(-32000)));
    Peer::begin(&serving, "2025-11-25").await;
    let reply = Peer::of(&serving).post(initialize("2025-11-25")).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("10")));
}

#[tokio::test]
async fn a_client_that_dawdles_is_let_go() {
    let short = Duration::from_millis(50);
    let limits = HttpServerLimits { head: short, body: short, ..HttpServerLimits::default() };
    let serving = serving(|http| http.limits(limits)).await;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for (text, expected) in [("", ""), (head, ""), (&format!("{head}Content-Length: 9\r\n\r\n{{"), "HTTP/1.1 408")] {
        let mut stream = TcpStream::connect(serving.local_addr()).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(trunkline_tests::limit(), stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert!(answer.starts_with(expected) && answer.is_empty() == expected.is_empty(), "{text:?}: {answer}");
    }
}

#[tokio::test]
async fn p75_only_a_named_host_is_served_to_others() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let error = HttpServer::new(server()).serve(listener).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.hint().unwrap().contains("127.0.0.1"), "{error:?}");
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let serving = HttpServer::new(server()).allow_host("mcp.example").serve(listener).unwrap();
    let mut peer = Peer::of(&serving);
    peer.address = format!("127.0.0.1:{}", serving.local_addr().port());
    assert_eq!(peer.with("host", "mcp.example").post(initialize("2025-11-25")).await.status.as_u16(), 200);
    assert_eq!(peer.with("host", "localhost").post(initialize("2025-11-25")).await.status.as_u16(), 403);
}

#[tokio::test]
async fn p75_no_page_of_another_site_may_read_an_answer() {
    let serving = serving(|http| http).await;
    let peer = Peer::begin(&serving, "2025-11-25").await;
    let ping = request(1, "ping", json!({})).to_string();
    for (origin, method, body) in
        [("http://localhost:6274", "POST", &*ping), ("http://localhost", "OPTIONS", ""), ("http://evil", "OPTIONS", "")]
    {
        let reply = peer.with("origin", origin).send(method, "/mcp", body).await;
        assert!(reply.headers.keys().all(|name| !name.as_str().starts_with("access-control-")), "{:?}", reply.headers);
    }
}
