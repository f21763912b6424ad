//! The twin of many servers as one.

use serde_json::Value;

use super::events::Events;
use super::runtime::{finish, run, wait};
use crate::connection::{CallContext, Connection as _, SharedConnection};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::multi::{self, Member, MemberStatus, ServerListing};
use crate::protocol::{
    Completion, CompletionQuery, IntoArguments, Prompt, PromptResult, ReadResult, Resource, ResourceTemplate,
    ToolDefinition, ToolResult,
};

/// Several servers as one. Twin of [`MultiServer`](crate::MultiServer), which says more of each method.
///
/// ```
/// use serde_json::json;
/// use trunkline::{Client, StaticServer, blocking};
///
/// # fn main() -> trunkline::Result<()> {
/// let server = || StaticServer::new().function("ping", "Answers pong.", || "pong");
/// let mut multi = blocking::MultiServer::new();
/// multi.add(Client::from_connection(server()).label("alpha").build()?)?;
/// multi.add(Client::from_connection(server()).label("beta").build()?)?;
///
/// let names: Vec<_> = multi.tools()?.iter().map(|tool| tool.name().to_owned()).collect();
/// assert_eq!(names, ["alpha_ping", "beta_ping"]);
/// assert_eq!(multi.call("beta_ping", json!({}))?, json!("pong"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct MultiServer(multi::MultiServer);

impl MultiServer {
    /// No server yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No server yet; `settle`, `start_permits` and `permit_hold` of these limits apply.
    pub fn with_limits(limits: Limits) -> Self {
        multi::MultiServer::with_limits(limits).into()
    }

    /// The async one behind this; they share the members.
    pub fn inner(&self) -> &multi::MultiServer {
        &self.0
    }

    /// Adds a server: an async or a blocking client.
    ///
    /// # Errors
    /// As [`MultiServer::add`](crate::MultiServer::add).
    pub fn add(&mut self, member: impl Into<Member>) -> Result<&mut Self> {
        self.0.add(member)?;
        Ok(self)
    }

    /// The members and where each stands.
    pub fn members(&self) -> Vec<MemberStatus> {
        self.0.members()
    }

    /// The members that are dead, and why.
    pub fn failures(&self) -> Vec<(String, Error)> {
        self.0.failures()
    }

    /// Oddities of the members, and members that could not be reached.
    pub fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    /// One member as a connection by wire names.
    ///
    /// # Errors
    /// As [`MultiServer::member`](crate::MultiServer::member).
    pub fn member(&self, server: &str) -> Result<SharedConnection> {
        self.0.member(server)
    }

    /// The name under which a member's tool or prompt is shown.
    pub fn exposed_name(&self, server: &str, name: &str) -> String {
        self.0.exposed_name(server, name)
    }

    /// The tools of all members, by exposed name.
    ///
    /// # Errors
    /// As [`MultiServer::tools`](crate::MultiServer::tools).
    pub fn tools(&self) -> Result<Vec<ToolDefinition>> {
        run(self.0.tools())
    }

    /// Each member's tools, by wire name.
    ///
    /// # Errors
    /// On the background thread.
    pub fn tools_by_server(&self, cx: &CallContext) -> Result<Vec<ServerListing<ToolDefinition>>> {
        wait(self.0.tools_by_server(cx))
    }

    /// The resources of all members.
    ///
    /// # Errors
    /// As [`tools`](Self::tools).
    pub fn list_resources(&self) -> Result<Vec<Resource>> {
        run(self.0.list_resources(&CallContext::new()))
    }

    /// Each member's resources.
    ///
    /// # Errors
    /// On the background thread.
    pub fn resources_by_server(&self, cx: &CallContext) -> Result<Vec<ServerListing<Resource>>> {
        wait(self.0.resources_by_server(cx))
    }

    /// The resource templates of all members.
    ///
    /// # Errors
    /// As [`tools`](Self::tools).
    pub fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        run(self.0.list_resource_templates(&CallContext::new()))
    }

    /// Each member's resource templates.
    ///
    /// # Errors
    /// On the background thread.
    pub fn templates_by_server(&self, cx: &CallContext) -> Result<Vec<ServerListing<ResourceTemplate>>> {
        wait(self.0.templates_by_server(cx))
    }

    /// The prompts of all members, by exposed name.
    ///
    /// # Errors
    /// As [`tools`](Self::tools).
    pub fn list_prompts(&self) -> Result<Vec<Prompt>> {
        run(self.0.list_prompts(&CallContext::new()))
    }

    /// Each member's prompts, by wire name.
    ///
    /// # Errors
    /// On the background thread.
    pub fn prompts_by_server(&self, cx: &CallContext) -> Result<Vec<ServerListing<Prompt>>> {
        wait(self.0.prompts_by_server(cx))
    }

    /// Calls a tool by its exposed name and unwraps the result.
    ///
    /// # Errors
    /// As [`MultiServer::call`](crate::MultiServer::call).
    pub fn call(&self, name: &str, arguments: impl IntoArguments) -> Result<Value> {
        run(self.0.call(name, arguments.into_arguments()?))
    }

    /// Calls a tool by its exposed name with a context of its own and gives the whole result, error results included.
    ///
    /// # Errors
    /// As [`call`](Self::call), but an error that the tool reports is a result.
    pub fn call_tool(&self, name: &str, arguments: impl IntoArguments, cx: &CallContext) -> Result<ToolResult> {
        run(self.0.call_tool(name, arguments.into_arguments()?, cx))
    }

    /// Reads a resource as text.
    ///
    /// # Errors
    /// As [`MultiServer::read`](crate::MultiServer::read).
    pub fn read(&self, uri: &str) -> Result<String> {
        run(self.0.read(uri))
    }

    /// Reads a resource of the member `server`.
    ///
    /// # Errors
    /// As [`MultiServer::read_resource_from`](crate::MultiServer::read_resource_from).
    pub fn read_resource_from(&self, server: &str, uri: &str) -> Result<ReadResult> {
        run(self.0.read_resource_from(server, uri))
    }

    /// Renders a prompt as text.
    ///
    /// # Errors
    /// As [`MultiServer::prompt`](crate::MultiServer::prompt).
    pub fn prompt(&self, name: &str, arguments: impl IntoArguments) -> Result<String> {
        run(self.0.prompt(name, arguments.into_arguments()?))
    }

    /// Renders a prompt with all its messages.
    ///
    /// # Errors
    /// As [`prompt`](Self::prompt).
    pub fn get_prompt(&self, name: &str, arguments: impl IntoArguments) -> Result<PromptResult> {
        run(self.0.get_prompt(name, arguments.into_arguments()?, &CallContext::new()))
    }

    /// How an argument of a prompt, or a variable of a resource template, may go on.
    ///
    /// # Errors
    /// As [`MultiServer::complete`](crate::MultiServer::complete).
    pub fn complete(&self, query: &CompletionQuery) -> Result<Completion> {
        run(self.0.complete(query))
    }

    /// Connects to all members at once and waits until each is ready or has failed.
    ///
    /// # Errors
    /// On the background thread.
    pub fn connect(&self) -> Result<()> {
        wait(self.0.connect())
    }

    /// Ends the connections of all members. On the background thread it doesn't wait.
    pub fn disconnect(&self) {
        let multi = self.0.clone();
        finish(async move { multi.disconnect().await });
    }

    /// What happens on all members from now on, as an iterator that waits.
    pub fn events(&self) -> Events {
        self.0.events().into()
    }
}

impl From<multi::MultiServer> for MultiServer {
    fn from(multi: multi::MultiServer) -> Self {
        Self(multi)
    }
}
