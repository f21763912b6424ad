//! The mirror of a session: answers a wire from any [`Connection`]. Leaves where the wire comes from to
//! `transport`, and what is answered to the connection.

// over a pipe nobody looks at what a message belongs to
#![cfg_attr(not(feature = "serve-http"), allow(dead_code))]

mod asking;
mod desk;
#[cfg(feature = "serve-http")]
mod http;
mod lines;
mod logging;
mod outlet;
mod subscriptions;

use std::sync::Arc;

use crate::connection::{Connection, SharedConnection};
use crate::error::Result;
use crate::limits::Limits;
use crate::transport::{self, Inbox, Peer, Wire};
use desk::ServerDesk;
#[cfg(feature = "serve-http")]
pub use http::{HttpAnswers, HttpServer, HttpServerLimits, HttpServing};

/// Serves `connection` over this process's standard input and output until the input ends.
///
/// Nothing else may write to the standard output meanwhile. See MCP specification, Transports, stdio.
///
/// # Errors
/// Whatever closing the connection reports.
///
/// ```no_run
/// # async fn f() -> trunkline::Result<()> {
/// use trunkline::StaticServer;
///
/// let server = StaticServer::new().function("ping", "Answers pong.", || "pong");
/// trunkline::serve_stdio(server).await
/// # }
/// ```
pub async fn serve_stdio(connection: impl Connection) -> Result<()> {
    let connection = SharedConnection::new(connection);
    let desk = ServerDesk::new(connection.clone());
    let wire = Arc::new(transport::own_stdio(&Limits::default(), Arc::new(desk.clone())));
    desk.attach(wire.clone());
    desk.until_closed().await;
    wire.close().await; // once what was answered is written
    connection.close().await
}

/// A server in this process, reached over a memory transport: every session speaks the real protocol.
pub(crate) fn peer(connection: SharedConnection) -> Arc<dyn Peer> {
    Arc::new(MemoryPeer(connection))
}

struct MemoryPeer(SharedConnection);

impl Peer for MemoryPeer {
    fn accept(&self) -> (Arc<dyn Inbox>, Box<dyn FnOnce(Wire) + Send>) {
        let desk = ServerDesk::new(self.0.clone());
        (Arc::new(desk.clone()), Box::new(move |wire| desk.attach(Arc::new(wire))))
    }
}
