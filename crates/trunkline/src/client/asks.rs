//! What a client asks a server beside tools, resources and prompts: whether it is there, and how an argument may go on.

use std::time::Duration;

use tokio::time::Instant;

use super::Client;
use crate::connection::{CallContext, Connection};
use crate::error::{Error, ErrorKind, Result};
use crate::managed::Managed;
use crate::protocol::jsonrpc::METHOD_NOT_FOUND;
use crate::protocol::{Completion, CompletionQuery};

impl Client {
    /// How an argument of a prompt, or a variable of a resource template, may go on.
    ///
    /// ```no_run
    /// use trunkline::{Client, CompletionQuery};
    ///
    /// # async fn f(client: Client) -> trunkline::Result<()> {
    /// let languages = client.complete(&CompletionQuery::prompt("review", "language", "py")).await?.values();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) when the server completes nothing, else as
    /// [`list_tools`](Self::list_tools).
    pub async fn complete(&self, query: &CompletionQuery) -> Result<Completion> {
        let completed = complete(&**self.managed(), query, &CallContext::new()).await;
        completed.map_err(|error| error.with_context("server", self.label()))
    }

    /// Whether the server answers, and after how long; connects for that first, which doesn't count.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn ping(&self) -> Result<Duration> {
        self.connect().await?;
        let begun = Instant::now();
        Managed::request(self.managed(), "ping", None, &CallContext::new()).await?;
        Ok(begun.elapsed())
    }
}

async fn complete(connection: &impl Connection, query: &CompletionQuery, cx: &CallContext) -> Result<Completion> {
    match connection.request("completion/complete", Some(query.params()), cx).await {
        Ok(result) => Ok(Completion::from_raw(result)),
        Err(error) if error.code() == Some(METHOD_NOT_FOUND) => {
            let message = format!("The server completes nothing: {}", error.message());
            Err(Error::new(ErrorKind::Unsupported, message))
        }
        Err(error) => Err(error),
    }
}
