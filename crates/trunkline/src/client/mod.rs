//! The user's handle on one server: cheap to clone, names resolved, values unwrapped. Leaves connecting and
//! deadlines to `managed`.

mod asks;
mod builder;
mod call;
mod configured;
#[cfg(feature = "oauth")]
mod login;
mod names;
mod proxy;
mod task;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub use builder::ClientBuilder;
pub use call::Call;
pub use proxy::ToolProxy;
pub use task::TaskHandle;

use crate::connection::{CallContext, Connection, Events, SharedConnection};
use crate::error::Result;
use crate::lock::LockReport;
use crate::managed::{Managed, State};
use crate::protocol::{
    Arguments, IntoArguments, Prompt, PromptResult, RawJson, ReadResult, Resource, ResourceTemplate, ServerInfo,
    ToolDefinition, ToolResult,
};
use crate::suggest;
use names::Names;

/// One MCP server, connected when it is first used.
///
/// Clones share the connection; dropping the last one ends it and reaps the server's process. Every operation
/// connects by itself, callers at the same time share one handshake, and the next use after a crash connects
/// again. (Seed: `MCPClient`/`FastMCPClient`.)
///
/// ```no_run
/// use serde_json::json;
/// use trunkline::Client;
///
/// # async fn f() -> trunkline::Result<()> {
/// let files = Client::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]).build()?;
/// for tool in files.list_tools().await? {
///     println!("{}: {}", tool.name(), tool.description());
/// }
/// let text = files.call_tool("read_text_file", json!({"path": "README.md"})).await?;
/// files.disconnect().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    managed: Arc<Managed>,
    names: Arc<Names>,
}

impl Client {
    /// A server that runs as a subprocess of this one and speaks over its standard input and output.
    pub fn stdio<A: Into<String>>(command: impl Into<String>, args: impl IntoIterator<Item = A>) -> ClientBuilder {
        ClientBuilder::new().stdio(command, args)
    }

    /// A server at a URL: Streamable HTTP, or, where it doesn't speak that, the HTTP+SSE of revision 2024-11-05 (MCP
    /// specification, Transports, Backwards Compatibility). Needs the feature `http`.
    ///
    /// ```no_run
    /// use serde_json::json;
    /// use trunkline::Client;
    ///
    /// # async fn f() -> trunkline::Result<()> {
    /// let api = Client::http("https://example.com/mcp").bearer_env("API_TOKEN").build()?;
    /// let found = api.call_tool("search", json!({"query": "tides"})).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn http(url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new().http(url)
    }

    /// A server at an HTTP+SSE endpoint (revision 2024-11-05), and nothing else. Needs the feature `sse`.
    pub fn sse(url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new().sse(url)
    }

    /// The server, or the servers united, of a configuration.
    pub fn from_config(config: &crate::config::Config) -> ClientBuilder {
        ClientBuilder::new().config(config)
    }

    /// A connection that exists already: a [`StaticServer`](crate::StaticServer), a
    /// [`MultiServer`](crate::MultiServer), one of your own.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{Client, StaticServer};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Shout { text: String }
    ///
    /// let server = StaticServer::new().function("shout", "Shouts.", |a: Shout| a.text.to_uppercase());
    /// let client = Client::from_connection(server).build()?;
    /// assert_eq!(client.call_tool("shout", json!({"text": "hi"})).await?, json!("HI"));
    /// # Ok(()) }
    /// ```
    pub fn from_connection(connection: impl Connection) -> ClientBuilder {
        ClientBuilder::new().connection(connection)
    }

    /// A server in this process, spoken to over the real protocol (as opposed to
    /// [`from_connection`](Self::from_connection), which calls it directly).
    pub fn in_memory(server: impl Connection) -> ClientBuilder {
        ClientBuilder::new().in_memory(server)
    }

    fn new(managed: Managed, namespaced: bool) -> Self {
        let names = Names::new(&managed.setup().label, namespaced);
        Self { managed: Arc::new(managed), names: Arc::new(names) }
    }

    /// A client by wire names for a server that somebody else holds too.
    pub(crate) fn sharing(managed: Arc<Managed>) -> Self {
        let names = Names::new(&managed.setup().label, false);
        Self { managed, names: Arc::new(names) }
    }

    pub(crate) fn managed(&self) -> &Arc<Managed> {
        &self.managed
    }

    /// The server's label: in logs, errors and exposed names.
    pub fn label(&self) -> &str {
        &self.managed.setup().label
    }

    /// Connects now. Does nothing where it is connected.
    ///
    /// # Errors
    /// [`Unreachable`](crate::ErrorKind::Unreachable) when the server can't be started,
    /// [`Deadline`](crate::ErrorKind::Deadline) when it doesn't answer in time; the error shows the exit status
    /// and the last lines of its standard error.
    pub async fn connect(&self) -> Result<()> {
        self.managed.live().await.map(drop)
    }

    /// Ends the connection and waits until the server's process is gone. Calls that run fail at once. Never fails
    /// itself; the next use connects again.
    pub async fn disconnect(&self) {
        self.managed.disconnect().await;
    }

    /// Where the connection stands. Does no I/O.
    pub fn state(&self) -> State {
        self.managed.state()
    }

    /// Whether the server is ready for calls. Does no I/O.
    pub fn connected(&self) -> bool {
        matches!(self.state(), State::Ready)
    }

    /// What the server says of itself; connects for that.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn info(&self) -> Result<ServerInfo> {
        self.managed.info().await
    }

    /// Asks the server for its tools, over all pages. Nameless ones are left out and told in
    /// [`warnings`](Self::warnings).
    ///
    /// # Errors
    /// As [`connect`](Self::connect), or what the server answered.
    pub async fn list_tools(&self) -> Result<Vec<ToolProxy>> {
        let tools = self.managed.list_tools(&CallContext::new()).await?;
        Ok(tools.into_iter().map(|tool| ToolProxy::new(self.clone(), tool)).collect())
    }

    /// Calls a tool and unwraps what it gives: text where it is text, parsed JSON where it is JSON, otherwise
    /// the raw payload. `name` is the name on the wire, or the exposed name of a namespaced client.
    ///
    /// # Errors
    /// [`Tool`](crate::ErrorKind::Tool) when the tool reports an error, [`NotFound`](crate::ErrorKind::NotFound)
    /// for an unknown exposed name, else as [`connect`](Self::connect).
    pub async fn call_tool(&self, name: &str, arguments: impl IntoArguments) -> Result<Value> {
        let result = self.call_with(name, arguments.into_arguments()?, &CallContext::new()).await?;
        result.into_value(name).map_err(|error| error.with_context("server", self.label()))
    }

    /// Prepares a call with a timeout, `_meta`, progress or a handler of its own; awaiting it makes the call and
    /// gives the whole [`ToolResult`](crate::ToolResult), error results included.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use trunkline::{Client, StaticServer};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// # let client = Client::from_connection(StaticServer::new().function("ping", "", || "pong")).build()?;
    /// let result = client.call("ping", ()).timeout(Duration::from_secs(5)).await?;
    /// assert_eq!(result.text(), "pong");
    /// # Ok(()) }
    /// ```
    pub fn call(&self, name: &str, arguments: impl IntoArguments) -> Call {
        Call::new(self.clone(), name, arguments.into_arguments())
    }

    /// The server's resources; empty where it has none.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_resources(&self) -> Result<Vec<Resource>> {
        let list = self.managed.list_resources(&CallContext::new()).await?;
        Ok(list.into_iter().map(|entry| entry.of_server(self.label())).collect())
    }

    /// The server's resource templates; empty where it has none.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        let list = self.managed.list_resource_templates(&CallContext::new()).await?;
        Ok(list.into_iter().map(|entry| entry.of_server(self.label())).collect())
    }

    /// The server's prompts; empty where it has none.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>> {
        let list = self.managed.list_prompts(&CallContext::new()).await?;
        Ok(list.into_iter().map(|entry| entry.of_server(self.label())).collect())
    }

    /// Reads a resource as text; several texts are joined by a newline.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) when there are only bytes, else as
    /// [`list_tools`](Self::list_tools).
    pub async fn read_resource(&self, uri: &str) -> Result<String> {
        let read = self.read_resource_contents(uri).await?;
        read.text().map_err(|error| error.with_context("uri", uri).with_context("server", self.label()))
    }

    /// Reads a resource with all it holds, bytes included.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn read_resource_contents(&self, uri: &str) -> Result<ReadResult> {
        self.managed.read_resource(uri, &CallContext::new()).await
    }

    /// Renders a prompt as text: its text parts joined by a blank line. Arguments that aren't text are sent as
    /// JSON text.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn get_prompt(&self, name: &str, arguments: impl IntoArguments) -> Result<String> {
        Ok(self.get_prompt_messages(name, arguments).await?.text())
    }

    /// Renders a prompt with all its messages and blocks.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn get_prompt_messages(&self, name: &str, arguments: impl IntoArguments) -> Result<PromptResult> {
        self.managed.get_prompt(name, arguments.into_arguments()?, &CallContext::new()).await
    }

    /// Any request of the protocol, raw in and raw out.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn request(&self, method: &str, params: Option<RawJson>) -> Result<RawJson> {
        self.managed.request(method, params, &CallContext::new()).await
    }

    /// What happens on the server's side from now on, across reconnects.
    pub fn events(&self) -> Events {
        self.managed.events()
    }

    /// What the server does oddly and was put up with, each once.
    pub fn warnings(&self) -> Vec<String> {
        self.managed.hub().warnings()
    }

    /// What the server wrote on its standard output since it was connected that is no message, in a sentence: how many lines,
    /// and the first of them. It was skipped.
    pub fn stray_output(&self) -> Option<String> {
        self.managed.noise()
    }

    /// How the tools that the server listed last differ from what was agreed to; nothing before the first list, and
    /// without a [`lock`](ClientBuilder::lock). Does no I/O.
    pub fn lock_report(&self) -> Option<LockReport> {
        self.managed.setup().lock.as_ref()?.last().map(|report| (*report).clone())
    }

    /// Asks the server for its tools again and forgets what was known of them.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn refresh(&self) -> Result<()> {
        self.managed.catalogue().clear();
        self.managed.list_tools(&CallContext::new().with_fresh_answers()).await.map(drop)
    }

    /// The connection underneath, by wire names: to wrap it, to serve it, to put it behind a
    /// [`MultiServer`](crate::MultiServer).
    pub fn connection(&self) -> SharedConnection {
        SharedConnection::new(self.managed.clone())
    }

    async fn call_with(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        let wire = self.wire_name(name, cx).await?;
        self.managed.call_tool(&wire, arguments, cx).await
    }

    /// The name on the wire for a name a user gave; what has to be listed for it stays within the call's bounds.
    async fn wire_name<'a>(&self, name: &'a str, cx: &CallContext) -> Result<Cow<'a, str>> {
        if !self.names.namespaced() {
            return Ok(Cow::Borrowed(name));
        }
        for listed in [self.managed.catalogue().tools(self.managed.hub()), None] {
            let tools = match listed {
                Some(tools) => tools,
                // the call itself hasn't left
                None => {
                    self.managed.list_tools(&cx.bounds()).await.map_err(|error| error.with_may_have_run(false))?.into()
                }
            };
            if let Some(wire) = self.names.wire(name, &tools) {
                return Ok(Cow::Owned(wire));
            }
        }
        let exposed = self.names.all();
        Err(suggest::unknown("tool", name, self.label(), exposed.iter().map(String::as_str)))
    }

    pub(crate) fn exposed(&self, tool: &ToolDefinition) -> String {
        self.names.exposed(tool.name())
    }
}

impl From<Client> for crate::multi::Member {
    fn from(client: Client) -> Self {
        Self(client.managed)
    }
}

impl From<&Client> for crate::multi::Member {
    fn from(client: &Client) -> Self {
        Self(client.managed.clone())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.managed.fmt(f)
    }
}
