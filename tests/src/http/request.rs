//! `HttpRequest`: one request as it came, and what it holds of JSON-RPC.

use std::time::Instant;

use serde_json::Value;

use crate::json::Json;

/// A request that a client sent.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// When its last byte had come.
    pub at: Instant,
    /// The connection it came on, counted from 1.
    pub connection: usize,
    pub method: String,
    /// What stood on the request line: usually a path with its query; a whole address at a proxy.
    pub target: String,
    /// `HTTP/1.1`, or `HTTP/2`.
    pub version: String,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// What stands for a connection on which nothing came yet.
    pub(crate) fn nobody(connection: usize) -> HttpRequest {
        let empty = String::new;
        let (method, target, version) = (empty(), empty(), empty());
        HttpRequest { at: Instant::now(), connection, method, target, version, headers: Vec::new(), body: Vec::new() }
    }

    /// The header's value; the first, where there are several.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null where it isn't.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The JSON-RPC method, if the body is a message that has one.
    pub fn rpc_method(&self) -> Option<String> {
        self.json()["method"].as_str().map(str::to_owned)
    }

    /// The message's params; null where there are none.
    pub fn params(&self) -> Value {
        self.json()["params"].take()
    }

    /// `params.name` or `params.uri`.
    pub fn name(&self) -> Option<String> {
        let params = self.params();
        params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned)
    }

    /// The exact text of the message's id; `null` where it has none.
    pub fn id(&self) -> String {
        #[derive(serde::Deserialize)]
        struct Message {
            id: Option<Json>,
        }
        let message: Option<Message> = serde_json::from_slice(&self.body).ok();
        message.and_then(|message| message.id).map_or_else(|| "null".to_owned(), |id| id.text().to_owned())
    }

    /// Whether an answer is owed: the message is a request.
    pub fn wants_answer(&self) -> bool {
        self.rpc_method().is_some() && self.id() != "null"
    }
}
