//! The twins of a client and of its tools.

use std::time::Duration;

use serde_json::Value;

use super::call::Call;
use super::events::Events;
use super::runtime::{finish, run};
use crate::client::{self, ClientBuilder};
use crate::connection::SharedConnection;
use crate::error::Result;
use crate::lock::LockReport;
use crate::managed::State;
use crate::multi::Member;
use crate::protocol::{
    Completion, CompletionQuery, IntoArguments, Prompt, PromptResult, RawJson, ReadResult, Resource, ResourceTemplate,
    ServerInfo,
};
use crate::toolset::ToolSource;

/// One MCP server, connected when it is first used. Twin of [`Client`](crate::Client), which says more of each
/// method.
///
/// Clones share the connection; dropping the last one ends it and reaps the server's process.
///
/// ```
/// use serde_json::json;
/// use trunkline::{Client, StaticServer};
///
/// # fn main() -> trunkline::Result<()> {
/// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Shout { text: String }
/// let server = StaticServer::new()
///     .function("shout", "Shouts.", |a: Shout| a.text.to_uppercase())
///     .resource("file://greeting", "hello");
/// let client = Client::from_connection(server).build_blocking()?;
/// assert_eq!(client.call_tool("shout", json!({"text": "hi"}))?, json!("HI"));
/// assert_eq!(client.read_resource("file://greeting")?, "hello");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Client(client::Client);

impl ClientBuilder {
    /// Builds the [blocking](crate::blocking) client without connecting.
    ///
    /// ```
    /// use trunkline::Client;
    ///
    /// let client = Client::stdio("mcp-server-time", [""; 0]).build_blocking()?;
    /// assert_eq!(client.label(), "mcp-server-time");
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_blocking(self) -> Result<Client> {
        self.build().map(Client)
    }
}

impl Client {
    /// The async client behind this one; they share the connection.
    ///
    /// ```
    /// use trunkline::{Client, StaticServer, ToolSet};
    ///
    /// let client = Client::from_connection(StaticServer::new()).build_blocking()?;
    /// let tools = ToolSet::builder().mcp(client.inner()).build()?;
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    pub fn inner(&self) -> &client::Client {
        &self.0
    }

    /// The server's label.
    pub fn label(&self) -> &str {
        self.0.label()
    }

    /// Connects now. Does nothing where it is connected.
    ///
    /// # Errors
    /// As [`Client::connect`](crate::Client::connect).
    pub fn connect(&self) -> Result<()> {
        run(self.0.connect())
    }

    /// Ends the connection and waits until the server's process is gone. Never fails. On the background thread it
    /// doesn't wait.
    pub fn disconnect(&self) {
        let client = self.0.clone();
        finish(async move { client.disconnect().await });
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.0.state()
    }

    /// Whether the server is ready for calls.
    pub fn connected(&self) -> bool {
        self.0.connected()
    }

    /// What the server says of itself.
    ///
    /// # Errors
    /// As [`Client::info`](crate::Client::info).
    pub fn info(&self) -> Result<ServerInfo> {
        run(self.0.info())
    }

    /// The server's tools.
    ///
    /// # Errors
    /// As [`Client::list_tools`](crate::Client::list_tools).
    pub fn list_tools(&self) -> Result<Vec<ToolProxy>> {
        Ok(run(self.0.list_tools())?.into_iter().map(ToolProxy).collect())
    }

    /// Calls a tool and unwraps what it gives.
    ///
    /// # Errors
    /// As [`Client::call_tool`](crate::Client::call_tool).
    pub fn call_tool(&self, name: &str, arguments: impl IntoArguments) -> Result<Value> {
        run(self.0.call_tool(name, arguments.into_arguments()?))
    }

    /// Prepares a call with options of its own, made by [`run`](Call::run).
    pub fn call(&self, name: &str, arguments: impl IntoArguments) -> Call {
        Call(self.0.call(name, arguments))
    }

    /// The server's resources.
    ///
    /// # Errors
    /// As [`Client::list_resources`](crate::Client::list_resources).
    pub fn list_resources(&self) -> Result<Vec<Resource>> {
        run(self.0.list_resources())
    }

    /// The server's resource templates.
    ///
    /// # Errors
    /// As [`Client::list_resource_templates`](crate::Client::list_resource_templates).
    pub fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        run(self.0.list_resource_templates())
    }

    /// The server's prompts.
    ///
    /// # Errors
    /// As [`Client::list_prompts`](crate::Client::list_prompts).
    pub fn list_prompts(&self) -> Result<Vec<Prompt>> {
        run(self.0.list_prompts())
    }

    /// Reads a resource as text.
    ///
    /// # Errors
    /// As [`Client::read_resource`](crate::Client::read_resource).
    pub fn read_resource(&self, uri: &str) -> Result<String> {
        run(self.0.read_resource(uri))
    }

    /// Reads a resource with all it holds.
    ///
    /// # Errors
    /// As [`Client::read_resource_contents`](crate::Client::read_resource_contents).
    pub fn read_resource_contents(&self, uri: &str) -> Result<ReadResult> {
        run(self.0.read_resource_contents(uri))
    }

    /// Renders a prompt as text.
    ///
    /// # Errors
    /// As [`Client::get_prompt`](crate::Client::get_prompt).
    pub fn get_prompt(&self, name: &str, arguments: impl IntoArguments) -> Result<String> {
        run(self.0.get_prompt(name, arguments.into_arguments()?))
    }

    /// Renders a prompt with all its messages.
    ///
    /// # Errors
    /// As [`Client::get_prompt_messages`](crate::Client::get_prompt_messages).
    pub fn get_prompt_messages(&self, name: &str, arguments: impl IntoArguments) -> Result<PromptResult> {
        run(self.0.get_prompt_messages(name, arguments.into_arguments()?))
    }

    /// How an argument of a prompt, or a variable of a resource template, may go on.
    ///
    /// # Errors
    /// As [`Client::complete`](crate::Client::complete).
    pub fn complete(&self, query: &CompletionQuery) -> Result<Completion> {
        run(self.0.complete(query))
    }

    /// Whether the server answers, and after how long.
    ///
    /// # Errors
    /// As [`Client::ping`](crate::Client::ping).
    pub fn ping(&self) -> Result<Duration> {
        run(self.0.ping())
    }

    /// Any request of the protocol, raw in and raw out.
    ///
    /// # Errors
    /// As [`Client::request`](crate::Client::request).
    pub fn request(&self, method: &str, params: Option<RawJson>) -> Result<RawJson> {
        run(self.0.request(method, params))
    }

    /// What happens on the server's side from now on, across reconnects, as an iterator that waits.
    pub fn events(&self) -> Events {
        self.0.events().into()
    }

    /// How the tools that the server listed last differ from what was agreed to.
    pub fn lock_report(&self) -> Option<LockReport> {
        self.0.lock_report()
    }

    /// What the server does oddly and was put up with, each once.
    pub fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    /// What the server wrote on its standard output since it was connected that is no message, in a sentence.
    pub fn stray_output(&self) -> Option<String> {
        self.0.stray_output()
    }

    /// Asks the server for its tools again and forgets what was known of them.
    ///
    /// # Errors
    /// As [`Client::refresh`](crate::Client::refresh).
    pub fn refresh(&self) -> Result<()> {
        run(self.0.refresh())
    }

    /// The connection underneath, by wire names.
    pub fn connection(&self) -> SharedConnection {
        self.0.connection()
    }
}

impl From<client::Client> for Client {
    fn from(client: client::Client) -> Self {
        Self(client)
    }
}

impl From<&Client> for Member {
    fn from(client: &Client) -> Self {
        (&client.0).into()
    }
}

impl From<Client> for Member {
    fn from(client: Client) -> Self {
        client.0.into()
    }
}

impl From<&Client> for ToolSource {
    fn from(client: &Client) -> Self {
        (&client.0).into()
    }
}

impl From<Client> for ToolSource {
    fn from(client: Client) -> Self {
        client.0.into()
    }
}

/// A tool of a server. Twin of [`ToolProxy`](crate::ToolProxy).
///
/// ```
/// use trunkline::{Client, StaticServer};
///
/// # fn main() -> trunkline::Result<()> {
/// let server = StaticServer::new().function("ping", "Answers pong.", || "pong");
/// let client = Client::from_connection(server).build_blocking()?;
/// for tool in client.list_tools()? {
///     assert_eq!((tool.name(), tool.server()), ("ping", "static"));
///     assert_eq!(tool.invoke(())?, "pong");
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ToolProxy(client::ToolProxy);

impl ToolProxy {
    /// The async tool behind this one: a [`Tool`](crate::Tool).
    pub fn inner(&self) -> &client::ToolProxy {
        &self.0
    }

    /// The name to show and to call it by.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The name the server knows it by.
    pub fn wire_name(&self) -> &str {
        self.0.wire_name()
    }

    /// The label of its server.
    pub fn server(&self) -> &str {
        self.0.server()
    }

    /// What it does.
    pub fn description(&self) -> String {
        self.0.description()
    }

    /// The JSON Schema of its arguments.
    pub fn input_schema(&self) -> RawJson {
        self.0.input_schema()
    }

    /// Calls it and unwraps the result.
    ///
    /// # Errors
    /// As [`Client::call_tool`](crate::Client::call_tool).
    pub fn invoke(&self, arguments: impl IntoArguments) -> Result<Value> {
        run(self.0.invoke(arguments.into_arguments()?))
    }
}
