//! The messages of one POST, all read before any of them is acted on.

use bytes::Bytes;

use super::reply::Refusal;
use crate::protocol::RawJson;
use crate::protocol::jsonrpc::{self, INVALID_REQUEST, Message, PARSE_ERROR};

/// The messages of one body.
pub(super) struct Parcel {
    pub(super) messages: Vec<Message>,
    /// The ids of its requests.
    pub(super) ids: Vec<RawJson>,
    /// Whether it is an array.
    pub(super) batch: bool,
    /// Whether it is the request that begins a session.
    pub(super) initialize: bool,
}

impl Parcel {
    /// Reads a body; refuses one that isn't JSON-RPC through and through.
    pub(super) fn open(body: Bytes) -> Result<Self, Refusal> {
        let batch = body.trim_ascii_start().starts_with(b"[");
        let (mut messages, mut broken) = (Vec::new(), false);
        jsonrpc::split(body, &mut |message| match message {
            Ok(message) => messages.push(message),
            Err(_) => broken = true,
        });
        if broken {
            return Err(Refusal::bad_request("Not a JSON-RPC message").with_code(PARSE_ERROR));
        }
        if messages.is_empty() {
            return Err(Refusal::bad_request("The body holds no message").with_code(INVALID_REQUEST));
        }
        let (mut ids, mut initialize) = (Vec::new(), false);
        for message in &messages {
            if let Message::Request { id, method, .. } = message {
                ids.push(id.clone());
                initialize |= method == "initialize";
            }
        }
        if initialize && messages.len() > 1 {
            return Err(Refusal::bad_request("\"initialize\" can't be part of a batch").with_code(INVALID_REQUEST));
        }
        Ok(Self { messages, ids, batch, initialize })
    }
}
