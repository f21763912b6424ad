//! The serving side over HTTP, request by request, over plain connections.

mod legacy;
mod questions;
mod rmcp;
mod sessions;
mod status;
mod streams;

use std::pin::Pin;

use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::{HeaderMap, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use trunkline::{HttpServer, HttpServing};
use trunkline_tests::contract::server;
use trunkline_tests::limit;

/// The contract server over HTTP.
async fn serving(set_up: impl FnOnce(HttpServer) -> HttpServer) -> HttpServing {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    set_up(HttpServer::new(server())).serve(listener).unwrap()
}

/// A client that says exactly what it is told.
#[derive(Clone)]
pub(crate) struct Peer {
    address: String,
    headers: Vec<(&'static str, String)>,
}

impl Peer {
    /// One that says what a well-behaved client says, without a session.
    pub(crate) fn of(serving: &HttpServing) -> Peer {
        let accept = "application/json, text/event-stream".to_owned();
        let address = serving.local_addr().to_string();
        let host = ("host", address.clone());
        Peer { address, headers: vec![host, ("accept", accept), ("content-type", "application/json".to_owned())] }
    }

    /// One in a session of this revision.
    pub(crate) async fn begin(serving: &HttpServing, revision: &str) -> Peer {
        Peer::of(serving).begun(revision).await
    }

    /// The same in a session.
    pub(crate) async fn begun(&self, revision: &str) -> Peer {
        let reply = self.post(initialize(revision)).await;
        assert_eq!(reply.status, StatusCode::OK);
        let session = reply.headers["mcp-session-id"].to_str().unwrap().to_owned();
        let answer = reply.answer().await;
        assert_eq!(answer["result"]["protocolVersion"], json!(revision));
        self.with("mcp-session-id", &session).with("mcp-protocol-version", revision)
    }

    /// The same with another header.
    pub(crate) fn with(&self, name: &'static str, value: &str) -> Peer {
        let mut peer = self.without(name);
        peer.headers.push((name, value.to_owned()));
        peer
    }

    fn without(&self, name: &str) -> Peer {
        let mut peer = self.clone();
        peer.headers.retain(|(other, _)| *other != name);
        peer
    }

    pub(crate) async fn post(&self, message: Value) -> Reply {
        self.send("POST", "/mcp", &message.to_string()).await
    }

    pub(crate) async fn get(&self) -> Reply {
        self.send("GET", "/mcp", "").await
    }

    /// A call that gets one answer.
    pub(crate) async fn call(&self, id: u64, tool: &str, arguments: Value) -> Value {
        self.post(call(id, tool, arguments)).await.answer().await
    }

    /// One request on a connection of its own.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Reply {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let asked = sender.send_request(request.body(body.to_owned()).unwrap());
        let (head, body) = tokio::time::timeout(limit(), asked).await.unwrap().unwrap().into_parts();
        Reply { status: head.status, headers: head.headers, body, text: String::new(), _sender: sender }
    }
}

/// A response. Dropping it closes its connection.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    text: String,
    _sender: http1::SendRequest<String>,
}

/// A block of an event stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Block {
    id: Option<String>,
    event: Option<String>,
    retry: Option<u64>,
    data: Option<String>,
}

impl Block {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.data.as_deref().unwrap_or_default()).unwrap()
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    fn streams(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// Reads on; false at the end.
    async fn more(&mut self) -> bool {
        let body = &mut self.body;
        let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx));
        match tokio::time::timeout(limit(), frame).await.expect("more of the body") {
            Some(frame) => {
                self.text += std::str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap();
                true
            }
            None => false,
        }
    }

    pub(crate) async fn rest(mut self) -> String {
        while self.more().await {}
        self.text
    }

    /// The next block of the stream; nothing at its end.
    pub(crate) async fn block(&mut self) -> Option<Block> {
        let at = loop {
            match self.text.find("\n\n") {
                Some(at) => break at,
                None if self.more().await => {}
                None => return None,
            }
        };
        let text: String = self.text.drain(..at + 2).collect();
        let mut block = Block::default();
        for line in text.lines() {
            match line.split_once(": ").or(line.split_once(':')) {
                Some(("id", id)) => block.id = Some(id.to_owned()),
                Some(("event", event)) => block.event = Some(event.to_owned()),
                Some(("retry", retry)) => block.retry = Some(retry.parse().unwrap()),
                Some(("data", data)) => block.data = Some(data.to_owned()),
                _ => {}
            }
        }
        Some(block)
    }

    /// The next block that holds a message.
    pub(crate) async fn message(&mut self) -> Option<Block> {
        loop {
            let block = self.block().await?;
            if block.data.as_deref().is_some_and(|data| !data.is_empty()) {
                return Some(block);
            }
        }
    }

    /// The one answer, in whichever form.
    pub(crate) async fn answer(mut self) -> Value {
        if !self.streams() {
            let text = self.rest().await;
            return serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text:?}"));
        }
        loop {
            let message = self.message().await.expect("an answer").json();
            if message.get("method").is_none() {
                return message;
            }
        }
    }
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

pub(crate) fn initialize(revision: &str) -> Value {
    let client = json!({"name": "peer", "version": "1"});
    request(0, "initialize", json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client}))
}

/// A call that wants progress.
pub(crate) fn call(id: u64, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}}))
}
