//! A server that is connected, as long as it is.

use std::time::Instant;

use tokio::task::AbortHandle;

use crate::connection::{CallContext, Connection, SharedConnection};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Arguments, ToolResult};
use crate::redact::Redactor;
use crate::session::Session;

/// What there is once a server is connected. Dropping it ends the server in the background.
pub(crate) struct Live {
    pub(super) connection: SharedConnection,
    pub(super) session: Option<Session>,
    /// Whether the connection is the session itself, with nothing between.
    pub(super) bare: bool,
    pub(super) redactor: Redactor,
    pub(super) since: Instant,
    /// How often in a row it had failed before.
    pub(super) failures: u32,
    /// Passes on the events of a connection that isn't a session of ours.
    pub(super) _listening: Option<Listening>,
}

/// A task that ends with whoever holds this.
pub(super) struct Listening(pub(super) AbortHandle);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Live {
    /// Why it is over, if it is.
    pub(super) fn over(&self) -> Option<Error> {
        self.session.as_ref().and_then(Session::over_because)
    }

    /// Calls a tool: straight on the session where nothing is between, which saves each call a box.
    pub(super) async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        match self.session.as_ref().filter(|_| self.bare) {
            Some(session) => session.call_tool(name, arguments, cx).await,
            None => self.connection.call_tool(name, arguments, cx).await,
        }
    }

    pub(super) fn never_left(&self, error: &Error) -> bool {
        self.session.is_some() && error.kind() == ErrorKind::Closed && !error.may_have_run()
    }

    /// Ends it and waits until everything is gone.
    pub(super) async fn end(&self, label: &str) {
        match &self.session {
            Some(session) => {
                let report = session.end().await;
                tracing::debug!(server = label, forced = ?report.forced, exit = ?report.exit, "disconnected");
            }
            None => {
                if let Err(error) = self.connection.close().await {
                    tracing::debug!(server = label, %error, "closing the connection failed");
                }
            }
        }
    }
}
