//! A connection that notes on a tape what goes through it, and changes nothing of it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::line::{params_of, trimmed};
use super::take::{Studio, Take};
use crate::connection::{CallContext, Connection, Events, listed};
use crate::error::Result;
use crate::protocol::{
    Arguments, Prompt, PromptResult, RawJson, ReadResult, Resource, ResourceTemplate, ServerInfo, ToolDefinition,
    ToolResult,
};
use crate::redact::Redactor;

/// A connection that records every call on a [`Tape`](super::Tape); made by
/// [`Tape::recorder`](super::Tape::recorder). Results, errors, progress, log
/// messages and events pass through unchanged.
///
/// What is recorded is what the user of the connection sees: a list over all its pages, an error with the word on
/// whether the call may have run. A call that is given up is recorded as one that failed with
/// [`Cancelled`](crate::ErrorKind::Cancelled) or [`Deadline`](crate::ErrorKind::Deadline). `_meta` of requests is not
/// recorded.
///
/// ```
/// use trunkline::{CallContext, Connection, StaticServer, Tape};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let file = dir.path().join("t.jsonl");
/// let tape = Tape::create(&file)?;
/// let server = tape.recorder("docs", StaticServer::new().resource("docs://intro", "Hello."));
/// server.read_resource("docs://intro", &CallContext::new()).await?;
/// assert!(std::fs::read_to_string(&file).unwrap().contains(r#""method":"resources/read""#));
/// # Ok(()) }
/// ```
pub struct Recorder<C> {
    inner: C,
    studio: Arc<Studio>,
}

impl<C: Connection> Recorder<C> {
    pub(super) fn new(studio: Studio, inner: C) -> Self {
        Self { inner, studio: Arc::new(studio) }
    }

    /// The same recorder, which also writes as `***` what `secrets` finds.
    #[must_use]
    pub fn redacting(mut self, secrets: Redactor) -> Self {
        if let Some(studio) = Arc::get_mut(&mut self.studio) {
            studio.secrets = secrets; // no take holds it: nothing was called yet
        }
        self
    }

    /// Makes one call and notes it.
    async fn take<T>(
        &self,
        (method, params): (&str, Option<RawJson>),
        cx: &CallContext,
        make: impl AsyncFnOnce(&CallContext) -> Result<T>,
        raw: impl FnOnce(&T) -> RawJson,
    ) -> Result<T> {
        let take = Take::begin(&self.studio, method, params, cx);
        let outcome = make(&take.context()).await;
        if outcome.is_ok() && !self.studio.introduced.load(Ordering::Relaxed) {
            let _ = self.info().await; // which notes it
        }
        take.end(outcome.as_ref().map(raw).map_err(Clone::clone));
        outcome
    }
}

impl<C: Connection> Connection for Recorder<C> {
    async fn list_tools(&self, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        let make = async |cx: &CallContext| self.inner.list_tools(cx).await;
        self.take(("tools/list", None), cx, make, |list| listed("tools", list.iter().map(|x| x.raw()))).await
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        let params = params_of("name", name, Some(&arguments));
        let make = async |cx: &CallContext| self.inner.call_tool(name, arguments, cx).await;
        self.take(("tools/call", Some(params)), cx, make, ToolResult::raw).await
    }

    async fn close(&self) -> Result<()> {
        self.studio.write_news();
        self.inner.close().await
    }

    async fn list_resources(&self, cx: &CallContext) -> Result<Vec<Resource>> {
        let make = async |cx: &CallContext| self.inner.list_resources(cx).await;
        self.take(("resources/list", None), cx, make, |list| listed("resources", list.iter().map(|x| x.raw()))).await
    }

    async fn list_resource_templates(&self, cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        let make = async |cx: &CallContext| self.inner.list_resource_templates(cx).await;
        let raw = |list: &Vec<ResourceTemplate>| listed("resourceTemplates", list.iter().map(|x| x.raw()));
        self.take(("resources/templates/list", None), cx, make, raw).await
    }

    async fn list_prompts(&self, cx: &CallContext) -> Result<Vec<Prompt>> {
        let make = async |cx: &CallContext| self.inner.list_prompts(cx).await;
        self.take(("prompts/list", None), cx, make, |list| listed("prompts", list.iter().map(|x| x.raw()))).await
    }

    async fn read_resource(&self, uri: &str, cx: &CallContext) -> Result<ReadResult> {
        let params = params_of("uri", uri, None);
        let make = async |cx: &CallContext| self.inner.read_resource(uri, cx).await;
        self.take(("resources/read", Some(params)), cx, make, |read| read.raw().clone()).await
    }

    async fn get_prompt(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<PromptResult> {
        let params = params_of("name", name, Some(&arguments));
        let make = async |cx: &CallContext| self.inner.get_prompt(name, arguments, cx).await;
        self.take(("prompts/get", Some(params)), cx, make, |prompt| prompt.raw().clone()).await
    }

    async fn request(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        let make = async |cx: &CallContext| self.inner.request(method, params.clone(), cx).await;
        self.take((method, trimmed(params.clone())), cx, make, RawJson::clone).await
    }

    async fn info(&self) -> Result<ServerInfo> {
        let info = self.inner.info().await?;
        self.studio.introduced.store(true, Ordering::Relaxed);
        self.studio.track.info(info.raw(), &self.studio.secrets);
        Ok(info)
    }

    fn events(&self) -> Events {
        self.inner.events()
    }
}

impl<C> fmt::Debug for Recorder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (server, tape) = (self.studio.track.server(), self.studio.track.tape());
        f.debug_struct("Recorder").field("server", &server).field("tape", tape).finish_non_exhaustive()
    }
}
