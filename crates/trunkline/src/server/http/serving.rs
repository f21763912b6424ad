//! A server that runs: takes connections, and ends them in good order.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use super::endpoint::Endpoint;
use super::legacy;
use crate::connection::{Connection as _, SharedConnection};
use crate::error::Result;

/// How long to wait after the system refused a connection (it is out of files, say).
const PAUSE: Duration = Duration::from_millis(100);

/// How far a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Connections end once what runs on them is answered.
    Draining,
    /// Connections end at once.
    Gone,
}

/// A server that runs. Dropping the handle ends it at once.
pub struct HttpServing {
    endpoint: Arc<Endpoint>,
    connection: SharedConnection,
    address: SocketAddr,
    phase: watch::Sender<Phase>,
    accepting: JoinHandle<()>,
    sweeping: JoinHandle<()>,
    connections: Arc<Semaphore>,
}

impl HttpServing {
    pub(super) fn start(
        endpoint: Endpoint,
        connection: SharedConnection,
        listener: TcpListener,
        address: SocketAddr,
    ) -> Self {
        let endpoint = Arc::new(endpoint);
        let connections = Arc::new(Semaphore::new(endpoint.limits.max_connections));
        let phase = watch::Sender::new(Phase::Open);
        let accepting = tokio::spawn(accept(listener, endpoint.clone(), connections.clone(), phase.clone()));
        let sweeping = tokio::spawn(sweep(endpoint.clone()));
        Self { endpoint, connection, address, phase, accepting, sweeping, connections }
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The address of the MCP endpoint.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.endpoint.path)
    }

    /// The address of the stream of HTTP+SSE, where that is served.
    pub fn sse_url(&self) -> Option<String> {
        self.endpoint.legacy.then(|| format!("http://{}{}", self.address, legacy::EVENTS))
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.endpoint.sessions.count()
    }

    /// Stops in good order: takes no more connections, lets what runs go on for
    /// [`stop_grace`](super::HttpServerLimits::stop_grace), ends all sessions, then closes the served connection.
    ///
    /// # Errors
    /// Whatever closing the connection reports.
    pub async fn stop(self) -> Result<()> {
        let deadline = Instant::now() + self.endpoint.limits.stop_grace;
        self.accepting.abort();
        self.phase.send_replace(Phase::Draining);
        while self.endpoint.sessions.owed() > 0 && Instant::now() < deadline {
            sleep(Duration::from_millis(10)).await;
        }
        self.endpoint.sessions.close();
        let all = self.endpoint.limits.max_connections.try_into().unwrap_or(u32::MAX);
        // a client that doesn't read what is left for it doesn't hold this up for longer
        let ended = deadline.max(Instant::now() + PAUSE);
        let _ = timeout_at(ended, self.connections.acquire_many(all)).await;
        self.connection.close().await
    }
}

impl Drop for HttpServing {
    fn drop(&mut self) {
        self.accepting.abort();
        self.sweeping.abort();
        self.endpoint.sessions.close();
        self.phase.send_replace(Phase::Gone);
    }
}

impl fmt::Debug for HttpServing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServing").field("address", &self.address).finish_non_exhaustive()
    }
}

async fn accept(
    listener: TcpListener,
    endpoint: Arc<Endpoint>,
    connections: Arc<Semaphore>,
    phase: watch::Sender<Phase>,
) {
    while let Ok(permit) = connections.clone().acquire_owned().await {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "can't take a connection");
                sleep(PAUSE).await;
                continue;
            }
        };
        let (endpoint, mut phase) = (endpoint.clone(), phase.subscribe());
        tokio::spawn(async move {
            if let Err(error) = converse(stream, endpoint, &mut phase).await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(permit);
        });
    }
}

/// Answers the requests of one connection.
async fn converse(stream: TcpStream, endpoint: Arc<Endpoint>, phase: &mut watch::Receiver<Phase>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let head = endpoint.limits.head;
    let service = service_fn(move |request| {
        let endpoint = endpoint.clone();
        async move { Ok::<_, std::convert::Infallible>(endpoint.answer(request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head);
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = connection.as_mut() => return ended.map_err(io::Error::other),
        _ = phase.wait_for(|phase| *phase != Phase::Open) => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        ended = connection => ended.map_err(io::Error::other),
        _ = phase.wait_for(|phase| *phase == Phase::Gone) => Ok(()),
    }
}

/// Ends idle sessions, now and then.
async fn sweep(endpoint: Arc<Endpoint>) {
    let every = (endpoint.limits.idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(60));
    loop {
        sleep(every).await;
        endpoint.sessions.sweep();
    }
}
