//! Every bound of a served HTTP endpoint, by name.

use std::time::Duration;

/// The bounds of an [`HttpServer`](crate::HttpServer).
///
/// ```
/// use std::time::Duration;
/// use trunkline::HttpServerLimits;
///
/// let limits = HttpServerLimits { max_sessions: 50, ..HttpServerLimits::default() };
/// assert_eq!(limits.idle, Duration::from_secs(30 * 60));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HttpServerLimits {
    /// How many TCP connections may be open; more have to wait until one ends. 4096.
    pub max_connections: usize,
    /// How many sessions there may be; more are refused with status 503. 1000.
    pub max_sessions: usize,
    /// How many requests of one session may run at once; more are refused with status 429. 256.
    pub max_running: usize,
    /// The largest body of a request, in bytes; a larger one is refused with status 413. 8 MiB.
    pub max_body: usize,
    /// How long a client may take to send the head of a request; also how long a connection may lie idle. 60 s.
    pub head: Duration,
    /// How long a client may take to send the body of a request. 30 s.
    pub body: Duration,
    /// A session that nothing came from and that no stream is open to is ended after this time. 30 min.
    pub idle: Duration,
    /// How many bytes a session keeps of what was already sent, so that a broken stream can be resumed. 1 MiB.
    pub replay: usize,
    /// How many bytes may wait for a client that doesn't read; its session is ended when there are more. 64 MiB.
    pub max_unsent: usize,
    /// How many notifications may wait for a client that doesn't read; the oldest are lost when there are more. 256.
    pub max_notices: usize,
    /// How long to wait for an answer before a stream is opened for it, where the form is [`Auto`](crate::HttpAnswers).
    /// 2 s.
    pub patience: Duration,
    /// How often a silent stream carries a comment, so that nothing between takes it for dead. 15 s.
    pub keep_alive: Duration,
    /// How long a client should wait before it opens a broken stream again. 1 s.
    pub retry: Duration,
    /// After this time the stream of a request is closed, for the client to resume it; only for clients of revision
    /// 2025-11-25, who know that it can happen. Never.
    pub max_stream: Option<Duration>,
    /// How long requests may still run after [`stop`](crate::HttpServing::stop). 5 s.
    pub stop_grace: Duration,
}

impl Default for HttpServerLimits {
    fn default() -> Self {
        Self {
            max_connections: 4096,
            max_sessions: 1000,
            max_running: 256,
            max_body: 8 << 20,
            head: Duration::from_secs(60),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(30 * 60),
            replay: 1 << 20,
            max_unsent: 64 << 20,
            max_notices: 256,
            patience: Duration::from_secs(2),
            keep_alive: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            max_stream: None,
            stop_grace: Duration::from_secs(5),
        }
    }
}
