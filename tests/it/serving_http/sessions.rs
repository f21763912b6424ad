//! Beginnings and endings: of sessions, of POSTs that stand alone, and of the server.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;
use trunkline::{Client, EventKind, Filtered, HttpAnswers, HttpServer, HttpServerLimits, HttpServing, ToolFilter};
use trunkline_tests::{Script, TempDir, eventually, notify, offload, set_tools, text, tool};

use super::{Peer, call, initialize, request, serving};

const NEWEST: &str = "2025-11-25";

/// A call that never ends, and what it notes.
struct Hanging(TempDir);

impl Hanging {
    fn new() -> Self {
        Self(TempDir::new())
    }

    fn call(&self, id: u64) -> Value {
        call(id, "hang", json!({"notes": self.0.join("notes")}))
    }

    async fn noted(&self, word: &'static str) {
        let path = self.0.join(format!("notes.{word}"));
        offload(move || eventually(word, || path.exists().then_some(()))).await;
    }
}

async fn status(peer: &Peer) -> u16 {
    peer.post(request(9, "ping", json!({}))).await.status.as_u16()
}

#[tokio::test]
async fn p95_delete_ends_a_session_with_all_that_runs_in_it() {
    let serving = serving(|http| http.answers(HttpAnswers::Sse)).await;
    let (peer, other) = (Peer::begin(&serving, NEWEST).await, Peer::begin(&serving, NEWEST).await);
    let hanging = Hanging::new();
    let mut stream = peer.post(hanging.call(1)).await;
    let mut standing = peer.get().await;
    hanging.noted("begun").await;
    assert_eq!(peer.send("DELETE", "/mcp", "").await.status.as_u16(), 200);
    hanging.noted("dropped").await;
    assert_eq!((stream.message().await, standing.message().await), (None, None));
    assert_eq!((status(&peer).await, status(&other).await, serving.sessions()), (404, 200, 1));
    assert_eq!(peer.send("DELETE", "/mcp", "").await.status.as_u16(), 404);
}

#[tokio::test]
async fn p95_a_session_that_nobody_uses_is_forgotten() {
    let limits = HttpServerLimits { idle: Duration::from_millis(80), ..HttpServerLimits::default() };
    let serving = serving(|http| http.limits(limits).answers(HttpAnswers::Sse)).await;
    let (idle, listening) = (Peer::begin(&serving, NEWEST).await, Peer::begin(&serving, NEWEST).await);
    let standing = listening.get().await;
    let hanging = Hanging::new();
    drop(idle.post(hanging.call(1)).await);
    hanging.noted("dropped").await;
    assert_eq!((status(&idle).await, status(&listening).await, serving.sessions()), (404, 200, 1));
    drop(standing);
    while serving.sessions() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn p95_a_client_that_does_not_read_costs_little() {
    let limits = HttpServerLimits { max_unsent: 20_000, max_notices: 10, ..HttpServerLimits::default() };
    let serving = serving(|http| http.limits(limits).answers(HttpAnswers::Json)).await;
    let peer = Peer::begin(&serving, NEWEST).await;
    peer.call(1, "count", json!({"steps": 100})).await;
    let mut standing = peer.get().await;
    for step in 91..=100 {
        assert_eq!(standing.message().await.unwrap().json()["params"]["progress"], json!(f64::from(step)));
    }
    drop(standing);
    let large = peer.post(call(2, "echo", json!({"text": "x".repeat(30_000)}))).await;
    assert_eq!((large.status.as_u16(), status(&peer).await, serving.sessions()), (404, 404, 0));
}

#[tokio::test]
async fn without_sessions_each_post_stands_alone() {
    let serving = serving(HttpServer::sessionless).await;
    let peer = Peer::of(&serving);
    let begun = peer.post(initialize(NEWEST)).await;
    assert_eq!(begun.header("mcp-session-id"), None);
    assert_eq!(begun.answer().await["result"]["protocolVersion"], NEWEST);
    assert_eq!(peer.with("mcp-session-id", "whatever").call(1, "echo", json!({"text": "x"})).await["id"], 1);
    let mut counted = peer.post(call(1, "count", json!({"steps": 2}))).await;
    for step in 1..=2 {
        let message = counted.message().await.unwrap();
        assert_eq!((message.id.as_deref(), &message.json()["params"]["progress"]), (None, &json!(f64::from(step))));
    }
    assert_eq!(counted.message().await.unwrap().json()["id"], 1);
    for method in ["GET", "DELETE"] {
        let reply = peer.send(method, "/mcp", "").await;
        assert_eq!((reply.status.as_u16(), reply.header("allow")), (405, Some("POST")));
    }
    let hanging = Hanging::new();
    let alone = tokio::spawn({
        let (peer, message) = (peer.clone(), hanging.call(1));
        async move { peer.post(message).await.answer().await }
    });
    hanging.noted("begun").await;
    alone.abort();
    hanging.noted("dropped").await;
    assert_eq!(serving.sessions(), 0);
}

/// Every client of a gateway hears once that a list changed, and what a filter hides stays hidden.
#[tokio::test]
async fn p50_each_client_is_told_once_of_a_change_on_its_standing_stream() {
    let script = Script::new().tools([tool("more")]).on(
        trunkline_tests::call("more"),
        [set_tools([tool("most"), tool("b")]), notify("notifications/tools/list_changed"), text("ok")],
    );
    let upstream = Client::stdio(crate::smoke::FAKE, script.args()).build().unwrap();
    let mut events = upstream.events();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let filtered = Filtered::new(upstream.connection(), ToolFilter::new([], ["b"]).unwrap());
    let serving = HttpServer::new(filtered).serve(listener).unwrap();
    let (peer, other) = (Peer::begin(&serving, NEWEST).await, Peer::begin(&serving, NEWEST).await);
    let mut streams = [peer.get().await, other.get().await];
    peer.call(1, "more", json!({})).await;
    for standing in &mut streams {
        assert_eq!(standing.message().await.unwrap().json()["method"], "notifications/tools/list_changed");
    }
    for peer in [peer, other] {
        let listed = peer.post(request(2, "tools/list", json!({}))).await.answer().await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert_eq!((tools.len(), &tools[0]["name"]), (1, &json!("most")));
    }
    serving.stop().await.unwrap();
    for mut standing in streams {
        assert!(standing.message().await.is_none());
    }
    while !matches!(events.next().await.unwrap().kind, EventKind::Closed) {}
}

async fn refuses(serving_at: std::net::SocketAddr) -> bool {
    TcpStream::connect(serving_at).await.is_err()
}

async fn running(answers: HttpAnswers, grace: Duration) -> (HttpServing, Peer) {
    let limits = HttpServerLimits { stop_grace: grace, ..HttpServerLimits::default() };
    let serving = serving(|http| http.limits(limits).answers(answers)).await;
    let peer = Peer::begin(&serving, NEWEST).await;
    (serving, peer)
}

#[tokio::test]
async fn stopping_lets_what_runs_come_to_its_end() {
    for answers in [HttpAnswers::Json, HttpAnswers::Sse] {
        let (serving, peer) = running(answers, trunkline_tests::limit()).await;
        let address = serving.local_addr();
        let gate = TempDir::new();
        let wait = call(1, "wait", json!({"file": gate.join("open"), "notes": gate.join("notes")}));
        let waiting = tokio::spawn(async move { peer.post(wait).await.answer().await });
        let begun = gate.join("notes.begun");
        offload(move || eventually("the call", || begun.exists().then_some(()))).await;
        let stopping = tokio::spawn(serving.stop());
        while !refuses(address).await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(!stopping.is_finished());
        gate.write("open", "");
        assert_eq!(waiting.await.unwrap()["result"]["content"][0]["text"], "done");
        stopping.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn stopping_ends_what_does_not_end() {
    let (serving, peer) = running(HttpAnswers::Sse, Duration::from_millis(50)).await;
    let (hanging, address) = (Hanging::new(), serving.local_addr());
    let mut stream = peer.post(hanging.call(1)).await;
    hanging.noted("begun").await;
    serving.stop().await.unwrap();
    hanging.noted("dropped").await;
    assert_eq!(stream.message().await, None);
    assert!(refuses(address).await);
}

#[tokio::test]
async fn dropping_the_handle_ends_everything_at_once() {
    let (serving, peer) = running(HttpAnswers::Sse, Duration::from_secs(5)).await;
    let (hanging, address) = (Hanging::new(), serving.local_addr());
    let stream = peer.post(hanging.call(1)).await;
    hanging.noted("begun").await;
    drop(serving);
    hanging.noted("dropped").await;
    while !refuses(address).await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(stream);
}
