//! [`SharedConnection`]: any connection behind one cloneable handle, without a foreign macro on its implementer.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Connection;
use super::context::CallContext;
use super::event::Events;
use crate::error::Result;
use crate::protocol::{
    Arguments, Prompt, PromptResult, RawJson, ReadResult, Resource, ResourceTemplate, ServerInfo, ToolDefinition,
    ToolResult,
};

type Answer<'a, T> = BoxFuture<'a, Result<T>>;

/// The twin of [`Connection`] that can be a trait object.
trait Erased: Send + Sync + 'static {
    fn list_tools<'a>(&'a self, cx: &'a CallContext) -> Answer<'a, Vec<ToolDefinition>>;
    fn call_tool<'a>(&'a self, name: &'a str, arguments: Arguments, cx: &'a CallContext) -> Answer<'a, ToolResult>;
    fn close(&self) -> Answer<'_, ()>;
    fn list_resources<'a>(&'a self, cx: &'a CallContext) -> Answer<'a, Vec<Resource>>;
    fn list_resource_templates<'a>(&'a self, cx: &'a CallContext) -> Answer<'a, Vec<ResourceTemplate>>;
    fn list_prompts<'a>(&'a self, cx: &'a CallContext) -> Answer<'a, Vec<Prompt>>;
    fn read_resource<'a>(&'a self, uri: &'a str, cx: &'a CallContext) -> Answer<'a, ReadResult>;
    fn get_prompt<'a>(&'a self, name: &'a str, arguments: Arguments, cx: &'a CallContext) -> Answer<'a, PromptResult>;
    fn request<'a>(&'a self, method: &'a str, params: Option<RawJson>, cx: &'a CallContext) -> Answer<'a, RawJson>;
    fn info(&self) -> Answer<'_, ServerInfo>;
    fn events(&self) -> Events;
}

impl<C: Connection> Erased for C {
    fn list_tools<'a>(&'a self, cx: &'a CallContext) -> Answer<'a, Vec<ToolDefinition>> {
        Box::pin(Connection::list_tools(self, cx))
    }
    fn call_tool<'a>(&'a self, name: &'a str, arguments: Arguments, cx: &'a CallContext) -> Answer<'a, ToolResult> {
        Box::pin(Connection::call_tool(self, name, arguments, cx))
    }
    fn close(&self) -> Answer<'_, ()> {
        Box::pin(Connection::close(self))
    }
    fn list_resources<'a>(&'a self, cx: &'a CallContext) -> Answer<'a, Vec<Resource>> {
        Box::pin(Connection::list_resources(self, cx))
    }
    fn list_resource_templates<'a>(&'a self, cx: &'a CallContext) -> Answer<'a, Vec<ResourceTemplate>> {
        Box::pin(Connection::list_resource_templates(self, cx))
    }
    fn list_prompts<'a>(&'a self, cx: &'a CallContext) -> Answer<'a, Vec<Prompt>> {
        Box::pin(Connection::list_prompts(self, cx))
    }
    fn read_resource<'a>(&'a self, uri: &'a str, cx: &'a CallContext) -> Answer<'a, ReadResult> {
        Box::pin(Connection::read_resource(self, uri, cx))
    }
    fn get_prompt<'a>(&'a self, name: &'a str, arguments: Arguments, cx: &'a CallContext) -> Answer<'a, PromptResult> {
        Box::pin(Connection::get_prompt(self, name, arguments, cx))
    }
    fn request<'a>(&'a self, method: &'a str, params: Option<RawJson>, cx: &'a CallContext) -> Answer<'a, RawJson> {
        Box::pin(Connection::request(self, method, params, cx))
    }
    fn info(&self) -> Answer<'_, ServerInfo> {
        Box::pin(Connection::info(self))
    }
    fn events(&self) -> Events {
        Connection::events(self)
    }
}

/// Any [`Connection`], cheap to clone and to keep in a list. It is a `Connection` itself.
#[derive(Clone)]
pub struct SharedConnection(Arc<dyn Erased>);

impl SharedConnection {
    /// Shares a connection.
    pub fn new(connection: impl Connection) -> Self {
        Self(Arc::new(connection))
    }
}

impl Connection for SharedConnection {
    async fn list_tools(&self, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        self.0.list_tools(cx).await
    }
    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        self.0.call_tool(name, arguments, cx).await
    }
    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
    async fn list_resources(&self, cx: &CallContext) -> Result<Vec<Resource>> {
        self.0.list_resources(cx).await
    }
    async fn list_resource_templates(&self, cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        self.0.list_resource_templates(cx).await
    }
    async fn list_prompts(&self, cx: &CallContext) -> Result<Vec<Prompt>> {
        self.0.list_prompts(cx).await
    }
    async fn read_resource(&self, uri: &str, cx: &CallContext) -> Result<ReadResult> {
        self.0.read_resource(uri, cx).await
    }
    async fn get_prompt(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<PromptResult> {
        self.0.get_prompt(name, arguments, cx).await
    }
    async fn request(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        self.0.request(method, params, cx).await
    }
    async fn info(&self) -> Result<ServerInfo> {
        self.0.info().await
    }
    fn events(&self) -> Events {
        self.0.events()
    }
}

/// A shared connection of a known type is a connection too.
impl<C: Connection> Connection for Arc<C> {
    async fn list_tools(&self, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        (**self).list_tools(cx).await
    }
    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        (**self).call_tool(name, arguments, cx).await
    }
    async fn close(&self) -> Result<()> {
        (**self).close().await
    }
    async fn list_resources(&self, cx: &CallContext) -> Result<Vec<Resource>> {
        (**self).list_resources(cx).await
    }
    async fn list_resource_templates(&self, cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        (**self).list_resource_templates(cx).await
    }
    async fn list_prompts(&self, cx: &CallContext) -> Result<Vec<Prompt>> {
        (**self).list_prompts(cx).await
    }
    async fn read_resource(&self, uri: &str, cx: &CallContext) -> Result<ReadResult> {
        (**self).read_resource(uri, cx).await
    }
    async fn get_prompt(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<PromptResult> {
        (**self).get_prompt(name, arguments, cx).await
    }
    async fn request(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        (**self).request(method, params, cx).await
    }
    async fn info(&self) -> Result<ServerInfo> {
        (**self).info().await
    }
    fn events(&self) -> Events {
        (**self).events()
    }
}

impl fmt::Debug for SharedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedConnection")
    }
}
