//! What a call asks its client, and how the answer finds its way back.

use serde_json::{Value, json};
use tokio::net::TcpListener;
use trunkline::{CallContext, Client, ErrorKind, Handler, Handlers, HttpAnswers, HttpServer, StaticServer};

use super::{Peer, call, notification, request};

/// Asks for the roots, and says what came of it.
async fn ask(cx: CallContext) -> String {
    let Some(handler) = cx.handler() else { return "nobody to ask".to_owned() };
    assert_eq!(handler.capabilities().to_value(), json!({"roots": {}}));
    match handler.handle("roots/list", json!({}).into()).await {
        Ok(answer) => answer.to_string(),
        Err(error) => format!("{} {}", error.kind(), error.message()),
    }
}

fn server() -> StaticServer {
    StaticServer::new().function("ask", "", ask)
}

async fn begin(peer: &Peer, capabilities: Value) -> Peer {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities});
    let reply = peer.post(request(0, "initialize", params)).await;
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    peer.with("mcp-session-id", &session)
}

#[tokio::test]
async fn p94_a_question_goes_on_the_stream_of_its_call() {
    for answers in [HttpAnswers::Auto, HttpAnswers::Sse, HttpAnswers::Json] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let serving = HttpServer::new(server()).answers(answers).serve(listener).unwrap();
        let peer = begin(&Peer::of(&serving), json!({"roots": {}})).await;
        let other = begin(&Peer::of(&serving), json!({"roots": {}})).await;
        let mut standing = peer.get().await;
        let calling = tokio::spawn({
            let peer = peer.clone();
            async move { peer.post(call(7, "ask", json!({}))).await }
        });
        let (question, stream) = if answers == HttpAnswers::Json {
            (standing.message().await.unwrap().json(), None)
        } else {
            let mut stream = calling.await.unwrap();
            (stream.message().await.unwrap().json(), Some(stream))
        };
        assert_eq!((&question["method"], &question["id"]), (&json!("roots/list"), &json!(0)));
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
        assert_eq!(other.post(answer.clone()).await.status.as_u16(), 202, "another session's answer is not ours");
        assert_eq!(peer.post(answer).await.status.as_u16(), 202);
        let result = match stream {
            Some(stream) => stream.answer().await,
            None => Value::Null,
        };
        if answers != HttpAnswers::Json {
            assert_eq!(result["result"]["content"][0]["text"], r#"{"roots":[]}"#);
        }
    }
}

#[tokio::test]
async fn p93_a_question_is_taken_back_with_its_call() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let serving = HttpServer::new(server()).answers(HttpAnswers::Sse).serve(listener).unwrap();
    let peer = begin(&Peer::of(&serving), json!({"roots": {}})).await;
    let mut standing = peer.get().await;
    let mut stream = peer.post(call(7, "ask", json!({}))).await;
    assert_eq!(stream.message().await.unwrap().json()["method"], "roots/list");
    peer.post(notification("notifications/cancelled", json!({"requestId": 7}))).await;
    assert_eq!(stream.message().await, None);
    let taken_back = standing.message().await.unwrap().json();
    assert_eq!(
        (&taken_back["method"], &taken_back["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!(0))
    );
    let unasked = begin(&Peer::of(&serving), json!({})).await;
    assert_eq!(unasked.call(1, "ask", json!({})).await["result"]["content"][0]["text"], "nobody to ask");
}

#[tokio::test]
async fn over_any_transport_the_handler_of_the_client_answers() {
    let handlers = Handlers::new().roots(["file:///home"]);
    let client = Client::in_memory(server()).handler(handlers).build().unwrap();
    assert_eq!(client.call_tool("ask", ()).await.unwrap(), json!({"roots": [{"uri": "file:///home"}]}));
    let refusing = Handlers::new().on("roots/list", json!({"roots": {}}), |_| async {
        Err(trunkline::Error::new(ErrorKind::Protocol, "not today"))
    });
    let client = Client::in_memory(server()).handler(refusing).build().unwrap();
    assert!(client.call_tool("ask", ()).await.unwrap().as_str().unwrap().contains("not today"));
    let client = Client::in_memory(server()).build().unwrap();
    assert_eq!(client.call_tool("ask", ()).await.unwrap(), json!("nobody to ask"));
}
