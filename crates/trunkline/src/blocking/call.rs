//! The twin of a call with options of its own.

use std::future::IntoFuture as _;
use std::time::Duration;

use super::runtime;
use crate::client;
use crate::connection::{Cancellation, Handler, Progress};
use crate::error::Result;
use crate::protocol::{RawJson, ToolResult};

/// A call that is made by [`run`](Self::run). Twin of [`Call`](crate::Call).
///
/// ```
/// use std::time::Duration;
/// use trunkline::{Client, StaticServer};
///
/// # fn main() -> trunkline::Result<()> {
/// let server = StaticServer::new().function("ping", "Answers pong.", || "pong");
/// let client = Client::from_connection(server).build_blocking()?;
/// let call = client.call("ping", ()).timeout(Duration::from_secs(5)).on_progress(|report| println!("{report:?}"));
/// assert_eq!(call.run()?.text(), "pong");
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a call is made when it is run"]
pub struct Call(pub(super) client::Call);

impl Call {
    /// How long to wait; progress starts the wait anew. Zero: no limit.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self(self.0.timeout(timeout))
    }

    /// How long the call may take in all, whatever progress it reports. Zero: no limit.
    pub fn max_timeout(self, max_timeout: Duration) -> Self {
        Self(self.0.max_timeout(max_timeout))
    }

    /// Members for the request's `_meta` object.
    pub fn meta(self, meta: impl Into<RawJson>) -> Self {
        Self(self.0.meta(meta))
    }

    /// Calls `sink` for each progress report, on the background thread: be quick.
    pub fn on_progress(self, sink: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        Self(self.0.on_progress(sink))
    }

    /// Who answers what the server asks during this call.
    pub fn handler(self, handler: impl Handler) -> Self {
        Self(self.0.handler(handler))
    }

    /// Ends the call early when `cancellation` fires, from whatever thread.
    ///
    /// ```
    /// use trunkline::{Cancellation, Client, ErrorKind};
    ///
    /// # fn main() -> trunkline::Result<()> {
    /// # let server = trunkline::StaticServer::new().function("wait", "", || std::future::pending::<i32>());
    /// let client = Client::in_memory(server).build_blocking()?;
    /// let switch = Cancellation::new();
    /// let call = client.call("wait", ()).cancellation(switch.clone());
    /// let waiting = std::thread::spawn(move || call.run());
    /// switch.cancel();
    /// assert_eq!(waiting.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    /// # Ok(()) }
    /// ```
    pub fn cancellation(self, cancellation: Cancellation) -> Self {
        Self(self.0.cancellation(cancellation))
    }

    /// Makes the call and gives the whole result, error results included.
    ///
    /// # Errors
    /// As [`Client::call_tool`](crate::Client::call_tool), but an error that the tool reports is a result.
    pub fn run(self) -> Result<ToolResult> {
        runtime::run(self.0.into_future())
    }
}
