//! The mirror over HTTP: answers Streamable HTTP (revisions 2025-03-26 to 2025-11-25) and, where it is asked for, the
//! HTTP+SSE of 2024-11-05, from any [`Connection`]. Each session has a desk of its own; what the desk says goes to the
//! session's mailbox and from there to whichever stream it belongs to.

mod body;
mod endpoint;
mod events;
mod get;
mod guard;
mod legacy;
mod limits;
mod mailbox;
mod parcel;
mod post;
mod reply;
mod serving;
mod session;
mod sessions;

use std::fmt;
use std::sync::Arc;

use tokio::net::TcpListener;

pub use limits::HttpServerLimits;
pub use serving::HttpServing;

use crate::connection::{Connection, SharedConnection};
use crate::error::{Error, Result};
use endpoint::Endpoint;
use guard::Guard;
use sessions::Sessions;

/// In which form requests are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpAnswers {
    /// As JSON where the answer is all there is to say and comes soon; else as an event stream.
    #[default]
    Auto,
    /// Always as JSON. What is said while a request runs (progress, log messages, questions) goes to the session's
    /// standing stream.
    Json,
    /// Always as an event stream.
    Sse,
}

/// Serves a [`Connection`] over Streamable HTTP (MCP specification 2025-11-25, Transports).
///
/// One endpoint, by default `/mcp`. On a loopback address it answers only under this machine's own names, and only
/// to pages from there (the guard against DNS rebinding); on any other address the allowed hosts have to be named. It knows
/// no authentication and no TLS: what is reachable from outside belongs behind something that does.
///
/// ```
/// use tokio::net::TcpListener;
/// use trunkline::{HttpServer, StaticServer};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = StaticServer::new().function("ping", "Answers pong.", || "pong");
/// let serving = HttpServer::new(server).serve(TcpListener::bind("127.0.0.1:0").await?)?;
/// assert!(serving.url().ends_with("/mcp"));
/// serving.stop().await?;
/// # Ok(()) }
/// ```
#[must_use]
pub struct HttpServer {
    connection: SharedConnection,
    path: String,
    answers: HttpAnswers,
    sessionless: bool,
    legacy: bool,
    guard: Guard,
    limits: HttpServerLimits,
}

impl HttpServer {
    /// Serves this connection, with sessions, under `/mcp`.
    pub fn new(connection: impl Connection) -> Self {
        Self {
            connection: SharedConnection::new(connection),
            path: "/mcp".to_owned(),
            answers: HttpAnswers::default(),
            sessionless: false,
            legacy: false,
            guard: Guard::default(),
            limits: HttpServerLimits::default(),
        }
    }

    /// The path of the endpoint, such as `/mcp`.
    pub fn path(mut self, path: &str) -> Self {
        self.path = format!("/{}", path.trim_matches('/'));
        self
    }

    /// In which form requests are answered.
    pub fn answers(mut self, answers: HttpAnswers) -> Self {
        self.answers = answers;
        self
    }

    /// Gives out no sessions: each POST stands alone, and there is no standing stream, no resuming and nothing that the
    /// server can ask its client. A client that drops its request ends it, since the answer could reach nobody.
    pub fn sessionless(mut self) -> Self {
        self.sessionless = true;
        self
    }

    /// Serves the HTTP+SSE of revision 2024-11-05 too: its stream under `/sse`, its messages under `/messages`.
    pub fn legacy_sse(mut self) -> Self {
        self.legacy = true;
        self
    }

    /// Answers under this host too: `mcp.example.com` whatever the port, `mcp.example.com:8443` with just that one.
    pub fn allow_host(mut self, host: &str) -> Self {
        self.guard.hosts.push(host.to_owned());
        self
    }

    /// Answers pages of this origin too, such as `https://app.example.com`.
    pub fn allow_origin(mut self, origin: &str) -> Self {
        self.guard.origins.push(origin.to_owned());
        self
    }

    /// Answers under any host and to pages of any origin. Only behind something that looks at them.
    pub fn allow_anyone(mut self) -> Self {
        self.guard.open = true;
        self
    }

    /// Other bounds.
    pub fn limits(mut self, limits: HttpServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Starts to serve on this listener. Needs a runtime of tokio.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where the listener has no address, or where it can be reached
    /// from outside and no host is allowed.
    pub fn serve(self, listener: TcpListener) -> Result<HttpServing> {
        let address = listener.local_addr();
        let address =
            address.map_err(|error| Error::config("The listener has no address to serve on").with_source(error))?;
        let guard = self.guard.listening(address);
        if !guard.is_set() {
            let error = Error::config(format!("{address} can be reached from outside, and no host is allowed"));
            return Err(error.with_hint("Listen on 127.0.0.1, or name the hosts with allow_host"));
        }
        let limits = Arc::new(self.limits);
        let endpoint = Endpoint {
            path: self.path,
            answers: self.answers,
            sessionless: self.sessionless,
            legacy: self.legacy,
            guard,
            sessions: Sessions::new(self.connection.clone(), limits.clone()),
            limits,
        };
        Ok(HttpServing::start(endpoint, self.connection, listener, address))
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("path", &self.path).field("answers", &self.answers).finish_non_exhaustive()
    }
}
