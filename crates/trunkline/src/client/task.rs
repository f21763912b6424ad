//! A task of a server, in the hands of a user.

use super::Client;
use crate::connection::{CallContext, Connection};
use crate::error::Result;
use crate::protocol::{RawJson, Task, ToolResult};
use crate::tasks::{self, Asker};

/// A call that its server goes on with as a task, by the task's id. Dropping it changes nothing.
#[derive(Debug, Clone)]
pub struct TaskHandle {
    client: Client,
    id: String,
}

impl Client {
    /// A task of this server: one that [`Call::detached`](crate::Call::detached) left, here or in another process.
    ///
    /// ```no_run
    /// # async fn example(client: trunkline::Client) -> trunkline::Result<()> {
    /// let started = client.call("render", serde_json::json!({"pages": 400})).detached().await?;
    /// if let Some(task) = started.task() {
    ///     let result = client.task(task.id()).wait().await?;
    ///     println!("{}", result.text());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn task(&self, id: impl Into<String>) -> TaskHandle {
        TaskHandle { client: self.clone(), id: id.into() }
    }
}

impl TaskHandle {
    /// What the server calls it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Asks where it stands.
    ///
    /// # Errors
    /// As any request; [`Protocol`](crate::ErrorKind::Protocol) where the server doesn't know the task.
    pub async fn get(&self) -> Result<Task> {
        tasks::get(self, &self.id).await
    }

    /// Waits for its end, asking as often as the server suggests, and gives its result. What the server asks meanwhile is
    /// answered by the client's handler. Giving up the wait leaves the task as it is.
    ///
    /// # Errors
    /// The error that it ended with; [`Cancelled`](crate::ErrorKind::Cancelled) where it was cancelled;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where it needs an answer that nobody gives.
    pub async fn wait(&self) -> Result<ToolResult> {
        self.wait_with(&CallContext::new()).await
    }

    /// The same, with a handler of its own, or reports of what the server says of the task as progress.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub async fn wait_with(&self, cx: &CallContext) -> Result<ToolResult> {
        let handler = cx.handler().or(self.client.managed.setup().handler.as_ref());
        tasks::follow(self, self.get().await?, handler, cx).await.map(ToolResult::from_raw)
    }

    /// Asks the server to give it up. It may go on all the same, or be done already.
    ///
    /// # Errors
    /// As any request.
    pub async fn cancel(&self) -> Result<()> {
        self.ask("tasks/cancel", tasks::named(&self.id)).await.map(drop)
    }
}

impl Asker for TaskHandle {
    async fn ask(&self, method: &'static str, params: RawJson) -> Result<RawJson> {
        self.client.managed.request(method, Some(params), &CallContext::new()).await
    }
}
