//! Carries whole messages, and knows no MCP method. What goes out is a line of JSON-RPC; what comes in goes
//! to an [`Inbox`], where it is read, without a queue between.

// without a process to start, or without HTTP, some of what is offered here has no taker
#![cfg_attr(not(all(unix, feature = "stdio", feature = "http", feature = "sse")), allow(dead_code, unused_variables))]

mod framing;
#[cfg(feature = "http")]
mod http;
#[cfg(any(test, fuzzing))]
pub(crate) mod laws;
mod memory;
#[cfg(all(unix, feature = "stdio"))]
mod stdio;
mod stream;

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

pub(crate) use crate::auth::Pause;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

#[cfg(feature = "http")]
pub(crate) use http::{Endpoint, Proxies};
#[cfg(feature = "oauth")]
pub(crate) use http::{Reach, Visit, VisitBody, Visited, Visitor};
pub(crate) use stream::own_stdio;

/// Where a transport delivers. Called in the order of each stream; must not block.
pub(crate) trait Inbox: Send + Sync + 'static {
    /// A whole message, without its line end, and the request it is known to be about.
    fn message(&self, bytes: Bytes, about: Option<u64>);
    /// Whether somebody still waits for the answer to this request.
    fn awaits(&self, _id: u64) -> bool {
        true
    }
    /// No new request can be made; those under way end each as they do.
    fn lost(&self, _error: Error) {}
    /// A line the server wrote on its standard error.
    fn stderr(&self, line: &str);
    /// Something odd that was put up with.
    fn warning(&self, text: String);
    /// Nothing more will come; the error says why, with the evidence there is.
    fn closed(&self, error: Error);
}

/// What a message is, for transports that treat kinds differently.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Expects an answer under this id. `eager`: few are under way, so write at once instead of gathering.
    Request { id: u64, eager: bool },
    /// A notification or a reply.
    Other,
}

/// What a message says in the headers of its request as well, where there are headers: names in small letters, values that
/// can be sent.
pub(crate) type Tags = Vec<(Cow<'static, str>, String)>;

/// What the requests of a session have in common, where each says so.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    /// The revision of the protocol.
    pub(crate) revision: Option<String>,
    /// Whether there is no session to take part in: nothing is kept between requests, no stream is taken up again.
    pub(crate) stateless: bool,
}

/// The right to run a server's process; there is one a server, so that its processes never overlap.
pub(crate) type Turn = tokio::sync::OwnedSemaphorePermit;

/// A message that a transport took.
pub(crate) struct Sent {
    place: u64,
    exchange: Option<Exchange>,
}

/// What is left to do for the answer to a request: to be driven by whoever waits for it. Ends when nothing more will
/// come for it; why. Dropped, it gives the answer up.
pub(crate) struct Exchange(Pin<Box<dyn Future<Output = Error> + Send>>);

impl Exchange {
    #[cfg_attr(not(feature = "http"), expect(dead_code))]
    fn new(work: impl Future<Output = Error> + Send + 'static) -> Self {
        Self(Box::pin(work))
    }

    pub(crate) async fn run(&mut self) -> Error {
        self.0.as_mut().await
    }

    /// The answer is there: leaves the rest to the background, for a moment, so that what it used can be used again.
    pub(crate) fn leave(self) {
        const MOMENT: Duration = Duration::from_secs(1);
        tokio::spawn(tokio::time::timeout(MOMENT, self.0));
    }
}

impl Sent {
    fn at(place: u64) -> Self {
        Self { place, exchange: None }
    }

    pub(crate) fn take_exchange(&mut self) -> Option<Exchange> {
        self.exchange.take()
    }
}

/// How to reach a server.
#[derive(Clone)]
pub(crate) enum Recipe {
    /// Start this command and speak over its standard input and output.
    Stdio(Launch),
    /// A server in this process.
    Memory(Arc<dyn Peer>),
    /// Streamable HTTP.
    #[cfg(feature = "http")]
    Http(Endpoint),
    /// The HTTP+SSE of revision 2024-11-05.
    #[cfg(feature = "sse")]
    Sse(Endpoint),
}

impl Recipe {
    /// Stands still while somebody logs in to the server.
    pub(crate) fn pause(&self) -> Pause {
        match self {
            #[cfg(feature = "http")]
            Self::Http(endpoint) => endpoint.pause(),
            #[cfg(feature = "sse")]
            Self::Sse(endpoint) => endpoint.pause(),
            _ => Pause::default(),
        }
    }
}

/// Takes the wire of a session that was accepted.
pub(crate) type Attach = Box<dyn FnOnce(Wire) + Send>;

/// The other side of a memory transport.
pub(crate) trait Peer: Send + Sync {
    /// A new session's inbox, and who takes the wire to its client.
    fn accept(&self) -> (Arc<dyn Inbox>, Attach);
}

/// A command to start, everything resolved.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    /// What the server is called.
    pub(crate) label: String,
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    /// The whole environment of the child.
    pub(crate) env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    pub(crate) cwd: Option<std::path::PathBuf>,
}

/// An open transport. Dropping the last handle ends it in the background.
pub(crate) enum Wire {
    Memory(memory::MemoryWire),
    Stream(stream::StreamWire),
    #[cfg(all(unix, feature = "stdio"))]
    Stdio(stdio::StdioWire),
    #[cfg(feature = "http")]
    Http(http::HttpWire),
    #[cfg(feature = "sse")]
    Sse(http::SseWire),
}

/// What is known of a peer, for error messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    /// How many bytes came on the standard output.
    pub(crate) received: u64,
    /// How many bytes came on the standard error.
    pub(crate) stderr_bytes: u64,
    /// The last lines of the standard error.
    pub(crate) stderr: Vec<String>,
    /// Whether the peer is known to be alive.
    pub(crate) alive: bool,
    /// Over HTTP: what the last request waits for.
    pub(crate) waits: Option<&'static str>,
}

/// How a transport ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CloseReport {
    /// The signal that was needed to end the server, where it didn't go by itself.
    pub(crate) forced: Option<&'static str>,
    /// How a server's process ended, in words.
    pub(crate) exit: Option<String>,
}

impl Wire {
    /// Opens the transport a recipe names. A process holds the turn until nothing is left of it.
    pub(crate) fn open(recipe: &Recipe, limits: &Limits, inbox: Arc<dyn Inbox>, turn: Turn) -> Result<Wire> {
        match recipe {
            Recipe::Memory(peer) => {
                let (other_inbox, attach) = peer.accept();
                let (wire, other) = memory::pair(inbox, other_inbox);
                attach(other);
                Ok(wire)
            }
            #[cfg(feature = "http")]
            Recipe::Http(endpoint) => http::HttpWire::open(endpoint, limits, inbox).map(Wire::Http),
            #[cfg(feature = "sse")]
            Recipe::Sse(endpoint) => http::SseWire::open(endpoint, limits, inbox).map(Wire::Sse),
            #[cfg(all(unix, feature = "stdio"))]
            Recipe::Stdio(launch) => stdio::start(launch, limits, inbox, turn).map(Wire::Stdio),
            #[cfg(not(all(unix, feature = "stdio")))]
            Recipe::Stdio(launch) => {
                let _ = (limits, inbox, turn);
                let error =
                    Error::config(format!("Can't start \"{}\": this build has no stdio transport", launch.command));
                Err(error.with_hint("Build trunkline with the feature \"stdio\", on a Unix system"))
            }
        }
    }

    /// Sends one message. It certainly did not leave where this fails, unless the error says otherwise.
    pub(crate) async fn send(&self, kind: Kind, line: Vec<u8>, tags: Tags) -> Result<Sent> {
        match self {
            #[cfg(feature = "http")]
            Wire::Http(wire) => Ok(Sent { place: 0, exchange: wire.send(kind, line, tags).await? }),
            #[cfg(feature = "sse")]
            Wire::Sse(wire) => Ok(Sent { place: 0, exchange: wire.send(kind, line).await? }),
            _ => self.tell(kind, line),
        }
    }

    /// Whether everything the server writes is meant to be a message.
    pub(crate) fn is_a_pipe(&self) -> bool {
        match self {
            #[cfg(feature = "http")]
            Wire::Http(_) => false,
            #[cfg(feature = "sse")]
            Wire::Sse(_) => false,
            _ => true,
        }
    }

    /// Whether a message that was taken certainly never reached the peer whole.
    pub(crate) fn lost(&self, sent: &Sent) -> bool {
        match self {
            #[cfg(all(unix, feature = "stdio"))]
            Wire::Stdio(wire) => wire.lost(sent.place),
            _ => false,
        }
    }

    /// Like [`send`](Self::send) from where nothing can be awaited (a destructor).
    pub(crate) fn tell(&self, kind: Kind, line: Vec<u8>) -> Result<Sent> {
        let place = match self {
            Wire::Memory(wire) => wire.send(line).map(|()| 0),
            Wire::Stream(wire) => wire.send(&line).map(|()| 0),
            #[cfg(all(unix, feature = "stdio"))]
            Wire::Stdio(wire) => wire.send(kind, &line),
            #[cfg(feature = "http")]
            Wire::Http(wire) => {
                wire.tell(line);
                Ok(0)
            }
            #[cfg(feature = "sse")]
            Wire::Sse(wire) => {
                wire.tell(line);
                Ok(0)
            }
        };
        place.map(Sent::at)
    }

    /// What requests have in common from now on, for transports that say it with every request.
    pub(crate) fn agree(&self, _terms: Terms) {
        #[cfg(feature = "http")]
        if let Wire::Http(wire) = self {
            wire.agree(&_terms);
        }
    }

    /// Whether requests have headers of their own, and a stream each.
    pub(crate) fn has_headers(&self) -> bool {
        match self {
            #[cfg(feature = "http")]
            Wire::Http(_) => true,
            _ => false,
        }
    }

    /// The handshake is done: opens what the server may say things on by itself, where that is apart.
    pub(crate) async fn listen(&self) {
        #[cfg(feature = "http")]
        if let Wire::Http(wire) = self {
            wire.listen().await;
        }
    }

    /// Ends the transport and waits until everything it owned is gone. Bounded by the limits' graces.
    pub(crate) async fn close(&self) -> CloseReport {
        match self {
            Wire::Memory(wire) => wire.close(),
            Wire::Stream(wire) => wire.close().await,
            #[cfg(all(unix, feature = "stdio"))]
            Wire::Stdio(wire) => return wire.close().await,
            #[cfg(feature = "http")]
            Wire::Http(wire) => wire.close().await,
            #[cfg(feature = "sse")]
            Wire::Sse(wire) => wire.close(),
        }
        CloseReport::default()
    }

    pub(crate) fn evidence(&self) -> Evidence {
        match self {
            #[cfg(all(unix, feature = "stdio"))]
            Wire::Stdio(wire) => wire.evidence(),
            #[cfg(feature = "http")]
            Wire::Http(wire) => wire.evidence(),
            #[cfg(feature = "sse")]
            Wire::Sse(wire) => wire.evidence(),
            _ => Evidence { alive: true, ..Evidence::default() },
        }
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Closed, "The connection is closed")
}
