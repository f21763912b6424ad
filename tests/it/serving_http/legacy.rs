//! HTTP+SSE of revision 2024-11-05.

use serde_json::json;
use trunkline::HttpServer;
use trunkline_tests::{TempDir, eventually, offload};

use super::{Peer, Reply, call, initialize, notification, request, serving};

/// Opens the stream; where messages go.
async fn open(peer: &Peer) -> (Reply, String) {
    let mut stream = peer.send("GET", "/sse", "").await;
    assert!(stream.streams());
    let endpoint = stream.block().await.unwrap();
    assert_eq!((endpoint.event.as_deref(), endpoint.id), (Some("endpoint"), None));
    (stream, endpoint.data.unwrap())
}

#[tokio::test]
async fn everything_comes_on_the_one_stream() {
    let serving = serving(HttpServer::legacy_sse).await;
    assert!(serving.sse_url().unwrap().ends_with("/sse"));
    let peer = Peer::of(&serving);
    let ((mut stream, endpoint), (mut other, _)) = (open(&peer).await, open(&peer).await);
    assert!(endpoint.starts_with("/messages?sessionId="), "{endpoint}");
    for message in [
        initialize("2024-11-05"),
        notification("notifications/initialized", json!({})),
        call(1, "count", json!({"steps": 2})),
        json!([request(2, "ping", json!({})), notification("n", json!({}))]),
    ] {
        let reply = peer.send("POST", &endpoint, &message.to_string()).await;
        assert_eq!((reply.status.as_u16(), reply.rest().await.as_str()), (202, ""));
    }
    let first = stream.message().await.unwrap();
    assert_eq!(
        (first.event.as_deref(), &first.json()["result"]["protocolVersion"]),
        (Some("message"), &json!("2024-11-05"))
    );
    let mut seen = Vec::new();
    for _ in 0..4 {
        let message = stream.message().await.unwrap().json();
        seen.push(message.get("id").or(message["params"].get("progress")).unwrap().clone());
    }
    seen.sort_by_key(ToString::to_string);
    assert_eq!(json!(seen), json!([1, 1.0, 2, 2.0]));
    assert_eq!(serving.sessions(), 2);
    drop(stream);
    let nothing = tokio::time::timeout(std::time::Duration::from_millis(50), other.message()).await;
    assert!(nothing.is_err(), "another client hears nothing of it");
}

#[tokio::test]
async fn the_session_ends_with_its_stream() {
    let serving = serving(HttpServer::legacy_sse).await;
    let peer = Peer::of(&serving);
    let (stream, endpoint) = open(&peer).await;
    let dir = TempDir::new();
    let hang = call(1, "hang", json!({"notes": dir.join("notes")})).to_string();
    assert_eq!(peer.send("POST", &endpoint, &hang).await.status.as_u16(), 202);
    let noted = |word: &'static str| {
        let path = dir.join(format!("notes.{word}"));
        offload(move || eventually(word, || path.exists().then_some(())))
    };
    noted("begun").await;
    drop(stream);
    noted("dropped").await;
    assert_eq!(peer.send("POST", &endpoint, &hang).await.status.as_u16(), 404);
    assert_eq!(serving.sessions(), 0);
}

#[tokio::test]
async fn what_is_wrong_has_its_status() {
    let serving = serving(HttpServer::legacy_sse).await;
    let peer = Peer::of(&serving);
    let (_stream, endpoint) = open(&peer).await;
    let modern = Peer::begin(&serving, "2025-11-25").await;
    let session = modern.headers.iter().find(|(name, _)| *name == "mcp-session-id").unwrap().1.clone();
    let ping = request(1, "ping", json!({})).to_string();
    for (method, path, body, status) in [
        ("POST", "/sse", &*ping, 405),
        ("GET", &endpoint, "", 405),
        ("POST", "/messages", &ping, 400),
        ("POST", "/messages?sessionId=nobody", &ping, 404),
        ("POST", &format!("/messages?sessionId={session}"), &ping, 404),
        ("POST", &endpoint, "garbage", 400),
        ("POST", &format!("{endpoint}&x=1"), &ping, 202),
    ] {
        assert_eq!(peer.send(method, path, body).await.status.as_u16(), status, "{method} {path}");
    }
    let html = peer.with("accept", "text/html");
    assert_eq!(html.send("GET", "/sse", "").await.status.as_u16(), 406);
    let text = peer.with("content-type", "text/plain");
    assert_eq!(text.send("POST", &endpoint, &ping).await.status.as_u16(), 415);
    let id = endpoint.split('=').next_back().unwrap();
    assert_eq!(modern.with("mcp-session-id", id).post(request(1, "ping", json!({}))).await.status.as_u16(), 404);
    let without = super::serving(|http| http).await;
    assert_eq!(Peer::of(&without).send("GET", "/sse", "").await.status.as_u16(), 404);
}
