//! How a tool set is put together. Nothing here does I/O.

use std::collections::HashSet;

use super::ToolSet;
use super::hook::{self, Hook, IntoDecision, PendingCall};
use super::table::Entry;
use crate::client::{Client, ClientBuilder};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::multi::MultiServer;
use crate::name;
use crate::tool::{SharedTool, Tool};

/// How many calls of [`ToolSet::call_many`] run at once.
const CONCURRENCY: usize = 8;

/// Where remote tools come from: made from a [`Client`], a [`ClientBuilder`] or a [`MultiServer`].
///
/// ```
/// use trunkline::{Client, ToolSource};
///
/// let source = ToolSource::from(Client::stdio("mcp-server-time", [""; 0]));
/// ```
#[derive(Debug, Clone)]
pub struct ToolSource(Source);

#[derive(Debug, Clone)]
enum Source {
    Client(Client),
    Builder(Box<ClientBuilder>),
    Multi(MultiServer),
}

impl From<Client> for ToolSource {
    fn from(client: Client) -> Self {
        Self(Source::Client(client))
    }
}

impl From<&Client> for ToolSource {
    fn from(client: &Client) -> Self {
        client.clone().into()
    }
}

impl From<ClientBuilder> for ToolSource {
    fn from(builder: ClientBuilder) -> Self {
        Self(Source::Builder(Box::new(builder)))
    }
}

impl From<MultiServer> for ToolSource {
    fn from(multi: MultiServer) -> Self {
        Self(Source::Multi(multi))
    }
}

impl From<&MultiServer> for ToolSource {
    fn from(multi: &MultiServer) -> Self {
        multi.clone().into()
    }
}

/// Puts a [`ToolSet`] together.
///
/// ```
/// use std::time::Duration;
/// use trunkline::{Client, FunctionTool, StaticServer, ToolSet};
///
/// # fn main() -> trunkline::Result<()> {
/// let server = StaticServer::new().function("ping", "Answers pong.", || "pong");
/// let tools = ToolSet::builder()
///     .tool(FunctionTool::new("now", "The time of day.", || "noon"))
///     .mcp(Client::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]).label("files"))
///     .mcp(Client::from_connection(server).timeout(Duration::from_secs(5)))
///     .build()?;
/// # Ok(()) }
/// ```
#[must_use = "a builder does nothing until it is built"]
#[derive(Clone)]
pub struct ToolSetBuilder {
    local: Vec<SharedTool>,
    sources: Vec<Source>,
    hook: Option<Hook>,
    concurrency: usize,
    limits: Limits,
}

impl Default for ToolSetBuilder {
    fn default() -> Self {
        let (local, sources, limits) = (Vec::new(), Vec::new(), Limits::default());
        Self { local, sources, hook: None, concurrency: CONCURRENCY, limits }
    }
}

impl ToolSetBuilder {
    /// Adds a tool of this process: a [`FunctionTool`](crate::FunctionTool), what `#[tool]` makes, or a [`Tool`] of
    /// your own. Its name stays as it is, whatever servers offer.
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.local.push(SharedTool::new(tool));
        self
    }

    /// Adds the tools of a server, or of many united. They are listed under the names that the client, or the
    /// [`MultiServer`], gives them: a [namespaced](ClientBuilder::namespaced) client puts its label in front.
    pub fn mcp(mut self, source: impl Into<ToolSource>) -> Self {
        self.sources.push(source.into().0);
        self
    }

    /// Has `hook` decide on every call before it is made. It may be sync or async; one at most, a later one
    /// replaces it.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{Decision, ErrorKind, FunctionTool, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let tools = ToolSet::builder()
    ///     .tool(FunctionTool::new("wipe", "Deletes everything.", || "gone"))
    ///     .before_call(|call| match call.name() {
    ///         "wipe" => Decision::refuse("Deleting is not allowed here."),
    ///         _ => Decision::approve(),
    ///     })
    ///     .build()?;
    /// assert_eq!(tools.call_text("wipe", json!({})).await, "Error: Deleting is not allowed here.");
    /// # Ok(()) }
    /// ```
    pub fn before_call<F, D>(mut self, hook: F) -> Self
    where
        F: Fn(PendingCall) -> D + Send + Sync + 'static,
        D: IntoDecision + Send + 'static,
    {
        self.hook = Some(hook::shared(hook));
        self
    }

    /// How many calls of [`ToolSet::call_many`] run at once. 8 by default.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// The bounds of listing many servers: `settle`, `start_permits` and `permit_hold` of these limits apply.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Builds the set without connecting to anything.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) when two tools of this process have one name, one was put together
    /// wrongly ([`Tool::check`]) or has a name that models don't take; when a client is given twice or can't be
    /// built; when `concurrency` is zero.
    pub fn build(self) -> Result<ToolSet> {
        if self.concurrency == 0 {
            return Err(Error::config("concurrency is zero: no call could ever be made"));
        }
        check(&self.local)?;
        let local = self.local.into_iter().map(Entry::local).collect();
        let mut set = super::Shared::new(local, self.hook, self.concurrency, self.limits);
        for source in self.sources {
            match source {
                Source::Client(client) => set.add_client(client)?,
                Source::Builder(builder) => set.add_client(builder.build()?)?,
                Source::Multi(multi) => set.add_multi(multi)?,
            }
        }
        Ok(ToolSet::of(set))
    }
}

fn check(tools: &[SharedTool]) -> Result<()> {
    let mut names = HashSet::new();
    for tool in tools {
        tool.check()?;
        let name = tool.definition().name();
        if name::legal(name, "", name) != name {
            return Err(Error::config(format!("Models don't take {name:?} as the name of a tool"))
                .with_hint("Use at most 64 of the letters a to z, digits, \"_\" and \"-\""));
        }
        if !names.insert(name) {
            return Err(Error::config(format!("Two tools of this process are named \"{name}\""))
                .with_hint("Rename one of them"));
        }
    }
    Ok(())
}

impl std::fmt::Debug for ToolSetBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolSetBuilder")
            .field("local", &self.local)
            .field("sources", &self.sources)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
