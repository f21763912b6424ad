//! Every bound of the lower layers, by name, so that users can move them and tests can shrink them.

use std::time::Duration;

/// The bounds of the lower layers. The deadlines of calls belong to the client, not here.
///
/// ```
/// use trunkline::Limits;
///
/// let limits = Limits { max_message: 64 << 20, ..Limits::default() };
/// assert_eq!(limits.max_pages, 1000);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The largest message from a server, in bytes. A larger one ends the connection. 32 MiB.
    pub max_message: usize,
    /// How much may wait to be written to a server that doesn't read, in bytes. 64 MiB.
    pub max_unsent: usize,
    /// How much of a server's standard error is kept, in bytes. 64 KiB.
    pub stderr_tail: usize,
    /// How many pages a list may have. 1000.
    pub max_pages: usize,
    /// How many entries a list may have. 100,000.
    pub max_items: usize,
    /// How long a server, and whatever it started, may take to end after its standard input is closed, before SIGTERM.
    /// 2 s. It takes the same where this process ends without a word; the longest of all its servers holds then.
    pub exit_grace: Duration,
    /// How long they may take after SIGTERM, before SIGKILL. 2 s; likewise.
    pub term_grace: Duration,
    /// How long the system may take to clear up after SIGKILL, before nobody waits any more. 1 s. So closing a server
    /// takes no longer than this and the two graces together, and a moment.
    pub kill_grace: Duration,
    /// How long name, connection and TLS of an HTTP server may take together. 10 s; zero: no limit.
    pub connect_timeout: Duration,
    /// How long a stream of an HTTP server may be silent, comments included, while a request waits on it. No limit by
    /// default (zero): the timeout of the call holds anyway.
    pub stream_silence: Duration,
    /// How long the first request waits for an HTTP server's standing stream. 250 ms.
    pub stream_wait: Duration,
    /// How often in a row a broken stream of a request is taken up again without a message from it. 5.
    pub max_resumes: usize,
    /// How long an HTTP server may take to end a session. 2 s.
    pub close_grace: Duration,
    /// How long an unused HTTP connection is kept. 60 s, or less where the server says so.
    pub http_idle: Duration,
    /// How many unused HTTP connections to one server are kept. 64.
    pub http_idle_connections: usize,
    /// How many servers may be starting at once. 32.
    pub start_permits: usize,
    /// How long a starting server holds its start permit at most, so that silent ones never block others. 1 s.
    pub permit_hold: Duration,
    /// How long a list over many servers waits for the rest after the last one settled. 3 s.
    pub settle: Duration,
    /// How long a server rests that failed once before a list over many servers tries it again: twice as long after each
    /// further failure, and up to a quarter more by chance, so that many don't come back at once. 500 ms. A call that
    /// needs the server always tries.
    pub min_backoff: Duration,
    /// The longest such rest. 30 s. A server that ran for as long counts as sound again.
    pub max_backoff: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message: 32 << 20,
            max_unsent: 64 << 20,
            stderr_tail: 64 << 10,
            max_pages: 1000,
            max_items: 100_000,
            exit_grace: Duration::from_secs(2),
            term_grace: Duration::from_secs(2),
            kill_grace: Duration::from_secs(1),
            connect_timeout: Duration::from_secs(10),
            stream_silence: Duration::ZERO,
            stream_wait: Duration::from_millis(250),
            max_resumes: 5,
            close_grace: Duration::from_secs(2),
            http_idle: Duration::from_secs(60),
            http_idle_connections: 64,
            start_permits: 32,
            permit_hold: Duration::from_secs(1),
            settle: Duration::from_secs(3),
            min_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(30),
        }
    }
}
