//! One call with options of its own.

use std::future::IntoFuture;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::Client;
use crate::connection::{CallContext, Cancellation, Handler, Progress};
use crate::error::Result;
use crate::protocol::{Arguments, RawJson, ToolResult};

/// A call that is made when it is awaited. Dropping the future tells the server.
#[derive(Debug)]
#[must_use = "a call is made when it is awaited"]
pub struct Call {
    client: Client,
    name: String,
    arguments: Result<Arguments>,
    cx: CallContext,
}

impl Call {
    pub(super) fn new(client: Client, name: &str, arguments: Result<Arguments>) -> Self {
        Self { client, name: name.to_owned(), arguments, cx: CallContext::new() }
    }

    fn edit(mut self, f: impl FnOnce(CallContext) -> CallContext) -> Self {
        self.cx = f(self.cx);
        self
    }

    /// How long to wait; progress starts the wait anew. Zero: no limit.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.edit(|cx| cx.with_timeout(timeout))
    }

    /// How long the call may take in all, whatever progress it reports. Zero: no limit.
    pub fn max_timeout(self, max_timeout: Duration) -> Self {
        self.edit(|cx| cx.with_max_timeout(max_timeout))
    }

    /// Members for the request's `_meta` object.
    pub fn meta(self, meta: impl Into<RawJson>) -> Self {
        let meta = meta.into();
        self.edit(|cx| cx.with_meta(meta))
    }

    /// Calls `sink` for each progress report.
    pub fn on_progress(self, sink: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.edit(|cx| cx.on_progress(sink))
    }

    /// Who answers what the server asks during this call.
    pub fn handler(self, handler: impl Handler) -> Self {
        self.edit(|cx| cx.with_handler(handler))
    }

    /// Doesn't wait for the end of a call that its server goes on with as a task (the tasks extension, SEP-2663): the result then
    /// has a [`task`](ToolResult::task), to be asked about with [`Client::task`]. A server that answers at once is not
    /// held up by this. Without it a call is followed to its end, and its task cancelled where nobody waits any more.
    pub fn detached(self) -> Self {
        self.edit(CallContext::detached)
    }

    /// Ends the call early when `cancellation` fires.
    pub fn cancellation(self, cancellation: Cancellation) -> Self {
        self.edit(|cx| cx.with_cancellation(cancellation))
    }
}

impl IntoFuture for Call {
    type Output = Result<ToolResult>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { client, name, arguments, cx } = self;
            client.call_with(&name, arguments?, &cx).await
        })
    }
}
