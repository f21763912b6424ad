//! A connection with only some of its tools: the others are neither listed nor called. A model of how to wrap a
//! connection.

use std::fmt;

use crate::config::ToolFilter;
use crate::connection::{CallContext, Connection, Events, dispatch};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{
    Arguments, Prompt, PromptResult, RawJson, ReadResult, Resource, ResourceTemplate, ServerInfo, ToolDefinition,
    ToolResult,
};

/// A connection that shows only the tools a [`ToolFilter`] permits.
///
/// ```
/// use trunkline::{CallContext, Connection, Filtered, StaticServer, ToolFilter};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
/// let server = StaticServer::new().function("read", "", || 1).function("write", "", || 2);
/// let safe = Filtered::new(server, ToolFilter::new(["r*"], []).unwrap());
/// assert_eq!(safe.list_tools(&CallContext::new()).await?.len(), 1);
/// # Ok(()) }
/// ```
pub struct Filtered<C> {
    inner: C,
    filter: ToolFilter,
}

impl<C: Connection> Filtered<C> {
    /// Shows of `inner` only what `filter` permits.
    pub fn new(inner: C, filter: ToolFilter) -> Self {
        Self { inner, filter }
    }

    fn permit(&self, tool: &str) -> Result<()> {
        if self.filter.permits(tool) {
            return Ok(());
        }
        let message = format!("The tool \"{tool}\" is not permitted by this client's tool filter");
        Err(Error::new(ErrorKind::NotFound, message)
            .with_hint("Change tools.allow or tools.deny of this server if it should be")
            .with_context("tool", tool))
    }
}

impl<C: Connection> Connection for Filtered<C> {
    async fn list_tools(&self, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        let mut tools = self.inner.list_tools(cx).await?;
        tools.retain(|tool| self.filter.permits(tool.name()));
        Ok(tools)
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        self.permit(name)?;
        self.inner.call_tool(name, arguments, cx).await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }

    async fn list_resources(&self, cx: &CallContext) -> Result<Vec<Resource>> {
        self.inner.list_resources(cx).await
    }

    async fn list_resource_templates(&self, cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        self.inner.list_resource_templates(cx).await
    }

    async fn list_prompts(&self, cx: &CallContext) -> Result<Vec<Prompt>> {
        self.inner.list_prompts(cx).await
    }

    async fn read_resource(&self, uri: &str, cx: &CallContext) -> Result<ReadResult> {
        self.inner.read_resource(uri, cx).await
    }

    async fn get_prompt(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<PromptResult> {
        self.inner.get_prompt(name, arguments, cx).await
    }

    async fn request(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        match method {
            "tools/list" => dispatch(self, method, params, cx).await,
            "tools/call" => {
                if let Some(name) = params.as_ref().and_then(|params| params.text("name")) {
                    self.permit(&name)?;
                }
                self.inner.request(method, params, cx).await
            }
            _ => self.inner.request(method, params, cx).await,
        }
    }

    async fn info(&self) -> Result<ServerInfo> {
        self.inner.info().await
    }

    fn events(&self) -> Events {
        self.inner.events()
    }
}

impl<C> fmt::Debug for Filtered<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filtered").field("filter", &self.filter).finish_non_exhaustive()
    }
}
