//! `Step`: one thing the fake does with a request, and the function that makes each. The table with all of them is in
//! the module's text; `play` does them.

use std::sync::Arc;

use serde_json::json;

use super::bridge::Lines;
use super::event::Event;
use super::gate::Gate;
use super::request::HttpRequest;
use super::rule::HttpMatch;
use crate::json::Json;

type Act = Arc<dyn Fn(&HttpRequest) -> Vec<Step> + Send + Sync>;

/// One thing the fake does. Made by the functions of this module.
#[derive(Clone)]
pub enum Step {
    Result(Json),
    Error { code: i64, message: String },
    Default,
    Send(Reply),
    Open(Reply),
    Body(Vec<u8>),
    Push(Event),
    Listen,
    Follow(Lines),
    Wire(Vec<u8>),
    Pieces { bytes: usize, pause_us: u64 },
    EndAt { bytes: usize, reset: bool },
    End { reset: bool },
    Refuse,
    Hang,
    Wait(Gate),
    WaitRequest(Arc<HttpMatch>),
    Pause(u64),
    Set { name: String, value: String },
    Act(Act),
    Forever(Vec<Step>),
}

/// How the end of a response's body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length,
    Chunked,
    Close,
}

/// A response.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) framing: Framing,
}

/// A response with this status, no header and no body.
pub fn reply(status: u16) -> Reply {
    Reply { status, headers: Vec::new(), body: Vec::new(), framing: Framing::Length }
}

/// A redirect.
pub fn redirect(status: u16, location: &str) -> Reply {
    reply(status).header("Location", location)
}

/// What servers say of a session they don't know.
pub fn lost_session() -> Reply {
    let error = json!({"code": -32001, "message": "Session not found"});
    reply(404).json(json!({"jsonrpc": "2.0", "error": error, "id": null}))
}

impl Reply {
    /// A further header.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The body.
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Reply {
        self.body = body.as_ref().to_owned();
        self
    }

    /// A body of this content type.
    pub fn content(self, kind: &str, body: impl AsRef<[u8]>) -> Reply {
        self.header("Content-Type", kind).body(body)
    }

    /// A JSON body.
    pub fn json(self, value: impl Into<Json>) -> Reply {
        self.content("application/json", value.into().text())
    }

    /// The body goes out in chunks.
    pub fn chunked(self) -> Reply {
        Reply { framing: Framing::Chunked, ..self }
    }

    /// The body ends with the connection.
    pub fn until_closed(self) -> Reply {
        Reply { framing: Framing::Close, ..self }
    }
}

impl From<Reply> for Step {
    fn from(reply: Reply) -> Step {
        Step::Send(reply)
    }
}

/// Answer with this result.
pub fn result(result: impl Into<Json>) -> Step {
    Step::Result(result.into())
}

/// Answer a tool call with one text block.
pub fn text_result(text: &str) -> Step {
    result(json!({"content": [{"type": "text", "text": text}]}))
}

/// Answer with a JSON-RPC error, under status 200.
pub fn error(code: i64, message: &str) -> Step {
    Step::Error { code, message: message.to_owned() }
}

/// Answer as though no rule had matched.
pub fn default_answer() -> Step {
    Step::Default
}

/// Send a whole response.
pub fn send(reply: Reply) -> Step {
    Step::Send(reply)
}

/// Send the head of a response. Its body, if it has one, is the beginning of what follows.
pub fn open(reply: Reply) -> Step {
    Step::Open(reply)
}

/// Begin an event stream, in chunks.
pub fn sse() -> Step {
    open(reply(200).header("Content-Type", "text/event-stream").header("Cache-Control", "no-cache").chunked())
}

/// Send an event.
pub fn event(event: Event) -> Step {
    body(event.text())
}

/// Send a comment.
pub fn comment(text: &str) -> Step {
    body(format!(": {text}\n\n"))
}

/// Send part of the body, in a chunk of its own where there are chunks.
pub fn body(bytes: impl AsRef<[u8]>) -> Step {
    Step::Body(bytes.as_ref().to_owned())
}

/// Send an event on the streams that listen.
pub fn push(event: Event) -> Step {
    Step::Push(event)
}

/// Go on with what is pushed.
pub fn listen() -> Step {
    Step::Listen
}

/// Write these bytes onto the connection as they are.
pub fn wire(bytes: impl AsRef<[u8]>) -> Step {
    Step::Wire(bytes.as_ref().to_owned())
}

/// From now on write so many bytes at a time, with a pause of so many microseconds after each.
pub fn pieces(bytes: usize, pause_us: u64) -> Step {
    Step::Pieces { bytes, pause_us }
}

/// Close the connection after this many more bytes.
pub fn cut_at(bytes: usize) -> Step {
    Step::EndAt { bytes, reset: false }
}

/// Reset the connection after this many more bytes.
pub fn reset_at(bytes: usize) -> Step {
    Step::EndAt { bytes, reset: true }
}

/// Close the connection. After a whole response this is a server that tires of an idle connection.
pub fn cut() -> Step {
    Step::End { reset: false }
}

/// Reset the connection. Over HTTP/2, the stream alone.
pub fn reset() -> Step {
    Step::End { reset: true }
}

/// Over HTTP/2: resets the stream with the word that nothing was done for it.
pub fn refuse() -> Step {
    Step::Refuse
}

/// Do nothing more until the client goes.
pub fn hang() -> Step {
    Step::Hang
}

/// Wait until the test opens the gate.
pub fn wait(gate: &Gate) -> Step {
    Step::Wait(gate.clone())
}

/// Wait until a request that matches has come, before or after this one.
pub fn wait_request(on: HttpMatch) -> Step {
    Step::WaitRequest(Arc::new(on))
}

/// Wait for a time. Prefer an event: [`wait`], [`wait_request`].
pub fn pause(ms: u64) -> Step {
    Step::Pause(ms)
}

/// Set a variable, for [`HttpMatch::when`].
pub fn set(name: &str, value: &str) -> Step {
    Step::Set { name: name.to_owned(), value: value.to_owned() }
}

/// Do what the closure says for this request.
pub fn act(f: impl Fn(&HttpRequest) -> Vec<Step> + Send + Sync + 'static) -> Step {
    Step::Act(Arc::new(f))
}

/// Do these things until the client goes.
pub fn forever(steps: impl IntoIterator<Item = Step>) -> Step {
    Step::Forever(steps.into_iter().collect())
}
