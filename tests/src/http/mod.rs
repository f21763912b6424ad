//! A scripted HTTP server in this process: how a test says what its server does over HTTP, beside its assertions.
//!
//! ```no_run
//! use serde_json::json;
//! use trunkline_tests::http::*;
//!
//! # async fn f() {
//! let gate = Gate::new();
//! let fake = HttpScript::new()
//!     .on(rpc_call("slow").nth(1), [wait(&gate), result(json!({"content": []}))])
//!     .on(rpc_call("cut"), [sse(), event(Event::empty().id("1").retry(300)), cut()])
//!     .on(get().header("last-event-id", "1"), [sse(), event(Event::result(json!({"content": []})))])
//!     .start();
//! // … connect a client to fake.url(), then:
//! fake.log().wait_rpc("tools/call", 1).await;
//! gate.open();
//! assert_eq!(fake.log().rpc("tools/call").len(), 1);
//! # }
//! ```
//!
//! The fake has a thread of its own, so a test may block; it ends with its value. Everything a client sent is in
//! [`HttpLog`]. [`HttpScript::start_tls`] is the same server behind TLS, with HTTP/2 where the client wants it.
//! [`Bridge`] puts the program `fake` behind HTTP, to play the same script over every transport.
//! [`Proxy`] stands between a client and any server; [`ForwardProxy`] is what `HTTPS_PROXY` names.
//!
//! # What it does without rules
//!
//! It serves `/mcp`, and 404 elsewhere. `initialize` → version 2025-06-18 and the header `Mcp-Session-Id: A` (`B` for
//! the next one …); a request with an id that is not known → 404 with code -32001, without one → 400; `tools/list` → the
//! tool `echo`; a call of a listed tool → the argument `text`, else all its arguments as text; `ping` → `{}`; anything
//! else with an id → -32601; notifications and replies → 202; `GET` → 405; `DELETE` → 200, and the session is over.
//!
//! # Settings
//!
//! | setting | meaning |
//! | --- | --- |
//! | `version(v)`, `echo_version()` | the version `initialize` answers; the one the client asked for |
//! | `capabilities(json)`, `tools(items)` | the other parts; default: the tool `echo` |
//! | `sse_answers()` | answers come as one event on a stream instead of as JSON |
//! | `sessionless()` | gives out no session id, and asks for none |
//! | `strict_version()` | 400 for a request whose `MCP-Protocol-Version` isn't the one that was agreed on |
//! | `listening()` | `GET` → an event stream, which carries what is pushed |
//! | `modern()` | 2026-07-28 only: `server/discover` answers, a request whose headers or `_meta` aren't as they have to be → 400 with its code, `subscriptions/listen` → an event stream, which carries what is pushed |
//! | `legacy_sse()` | HTTP+SSE of 2024-11-05: `GET /sse` → the stream and its `endpoint` event, `POST /messages` → 202 |
//!
//! # Rules
//!
//! `on(match, steps)`: the first rule that matches answers instead of the default. A match is [`post()`], [`get()`],
//! [`delete()`], [`any()`], [`rpc(method)`](rpc), [`rpc_call(tool)`](rpc_call) or [`accepted()`] (a connection was
//! accepted; nothing is read before the steps are done), refined by the methods of [`HttpMatch`].
//!
//! `before(f)` is asked of each request before any rule, and does it where it gives steps.
//!
//! # Steps
//!
//! | step | does |
//! | --- | --- |
//! | [`result(json)`](result), [`error(code, message)`](error) | answers the JSON-RPC request, in one JSON body |
//! | [`default_answer()`] | answers as without rules: `[pause(50), default_answer()]` |
//! | [`send(reply)`](send) | any response: [`reply(status)`](reply)`.header(..).body(..)`, [`redirect`], [`lost_session`] |
//! | [`open(reply)`](open), [`sse()`] | only the head of a response; the body follows step by step and ends with the steps |
//! | [`event`], [`comment`], [`body`] | parts of the body |
//! | [`push(event)`](push) | an event for the streams that [`listen`] |
//! | [`listen()`] | the body goes on with what is pushed, until the client goes or [`HttpFake::end_streams`] |
//! | [`wire(bytes)`](wire) | bytes straight onto the connection, outside any framing |
//! | [`pieces(n, us)`](pieces) | from now on n bytes at a time, with a pause after each |
//! | [`cut_at(n)`](cut_at), [`reset_at(n)`](reset_at) | end the connection after n more bytes, wherever that is |
//! | [`cut()`], [`reset()`] | end the connection now, in order or with a reset |
//! | [`refuse()`] | HTTP/2: resets the stream, saying that nothing was done for it |
//! | [`hang()`] | nothing more, until the client goes |
//! | [`wait(&gate)`](wait), [`wait_request(match)`](wait_request), [`pause(ms)`](pause) | wait for the test, for another request, for a time |
//! | [`set(name, value)`](set) | a variable for [`HttpMatch::when`] |
//! | [`act(f)`](act) | the steps that a closure gives for this request |
//! | [`forever(steps)`](forever) | again and again |
//!
//! In every text, `$ID` is the JSON of the request's id and `$SESSION` its session.
#![allow(missing_debug_implementations, reason = "a script holds closures")]

mod bridge;
mod connection;
mod defaults;
mod event;
mod fake;
mod forward;
mod gate;
mod http2;
mod leaving;
mod log;
mod modern;
mod play;
mod proxy;
mod reader;
mod request;
mod rule;
mod script;
mod state;
mod step;
mod tls;
mod writer;

pub use bridge::Bridge;
pub use event::Event;
pub use fake::HttpFake;
pub use forward::ForwardProxy;
pub use gate::Gate;
pub use leaving::Leaving;
pub use log::HttpLog;
pub use modern::decoded;
pub use proxy::Proxy;
pub use request::HttpRequest;
pub use rule::{HttpMatch, accepted, any, delete, get, post, rpc, rpc_call};
pub use script::HttpScript;
pub use step::*;
pub use tls::{TestCa, Tls};
