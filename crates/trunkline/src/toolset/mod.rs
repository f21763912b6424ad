//! What an agent holds: tools of this process and of servers in one set, with nothing to tell them apart. Checks
//! arguments, asks the hook, bounds what runs at once. Leaves connecting to the clients and naming by label to
//! them too.

mod builder;
mod calls;
mod hook;
mod listing;
mod model;
mod server;
mod table;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

pub use builder::{ToolSetBuilder, ToolSource};
pub use hook::{Decision, IntoDecision, PendingCall};

use crate::client::Client;
use crate::connection::{CallContext, Hub};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::multi::MultiServer;
use crate::protocol::{Arguments, ToolDefinition, ToolResult};
use crate::tool::{SharedTool, Tool};
use hook::Hook;
use server::Server;
use table::{Entry, Table};

/// The tools of an agent: functions of this process and tools of servers, called the same way. Clones share
/// everything. (Seed: the tools bound by `Windlass.agent().tool(f).mcp(…)`.)
///
/// Arguments are checked against the tool's schema before they leave. A server that is dead is a warning and a
/// [failure](Self::failures), never a reason to lose the others. A name that was once listed keeps meaning the same
/// tool.
///
/// The loop of an agent: show the model the definitions, run what it asks for, hand it what came of that, until it
/// asks for nothing more.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::{Value, json};
/// use trunkline::{Client, FunctionTool, StaticServer, ToolDefinition, ToolSet};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// /// Stands for the model: asks for two calls, then answers.
/// fn model(_tools: &[ToolDefinition], seen: &[String]) -> Result<Vec<(&'static str, Value)>, String> {
///     match seen {
///         [] => Ok(vec![("add", json!({"a": 2, "b": 3})), ("shout", json!({"text": "hi"}))]),
///         results => Err(format!("The tools say {}", results.join(" and "))),
///     }
/// }
///
/// # #[derive(Deserialize, JsonSchema)] struct Shout { text: String }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
/// # let server = StaticServer::new().function("shout", "Makes text loud.", |x: Shout| x.text.to_uppercase());
/// # let client = Client::from_connection(server).build()?;
/// let tools = ToolSet::builder()
///     .tool(FunctionTool::new("add", "Adds two numbers.", |x: Add| x.a + x.b))
///     .mcp(client) // as well Client::stdio("npx", ["-y", "some-mcp-server"]), or a MultiServer
///     .build()?;
///
/// let definitions = tools.definitions().await?;
/// let mut seen = Vec::new();
/// let answer = loop {
///     match model(&definitions, &seen) {
///         Ok(calls) => seen.extend(tools.call_many_text(calls).await),
///         Err(answer) => break answer,
///     }
/// };
/// assert_eq!(answer, "The tools say 5 and HI");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ToolSet(Arc<Shared>);

/// What the clones of a set share.
struct Shared {
    local: Vec<Arc<Entry>>,
    /// Unites the clients that were given by themselves. Its hub is the set's.
    own: MultiServer,
    slots: Vec<Slot>,
    hook: Option<Hook>,
    concurrency: usize,
    settle: Duration,
    table: Mutex<Table>,
}

/// A source of remote tools.
enum Slot {
    Client(Client),
    Multi(MultiServer),
}

impl Shared {
    fn new(local: Vec<Arc<Entry>>, hook: Option<Hook>, concurrency: usize, limits: Limits) -> Self {
        let (table, settle) = (Mutex::new(Table::new(&local)), limits.settle);
        let own = MultiServer::with_limits(limits);
        Self { local, own, slots: Vec::new(), hook, concurrency, settle, table }
    }

    fn add_client(&mut self, client: Client) -> Result<()> {
        self.own.add(&client)?;
        self.slots.push(Slot::Client(client));
        Ok(())
    }

    fn add_multi(&mut self, multi: MultiServer) -> Result<()> {
        let same = |slot: &Slot| matches!(slot, Slot::Multi(known) if Arc::ptr_eq(known.hub(), multi.hub()));
        if self.slots.iter().any(same) {
            return Err(Error::config("This MultiServer is in the set already"));
        }
        multi.hub().add_parent(self.own.hub(), None);
        self.slots.push(Slot::Multi(multi));
        Ok(())
    }
}

impl ToolSet {
    /// Starts a set.
    pub fn builder() -> ToolSetBuilder {
        ToolSetBuilder::default()
    }

    /// What to show a model: the tools of this process in their order, then those of the servers in theirs.
    ///
    /// Asks all servers at once. One that is dead is left out, with a warning; one that hasn't answered 3 s after
    /// the others have goes on starting in the background and is there next time.
    ///
    /// ```
    /// use trunkline::{Client, FunctionTool, StaticServer, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let tools = ToolSet::builder()
    ///     .tool(FunctionTool::new("now", "The time of day.", || "noon"))
    ///     .mcp(Client::from_connection(StaticServer::new().function("ping", "Answers pong.", || "pong")))
    ///     .mcp(Client::stdio("no-such-command-here", [""; 0]))
    ///     .build()?;
    /// let names: Vec<_> = tools.definitions().await?.iter().map(|tool| tool.name().to_owned()).collect();
    /// assert_eq!(names, ["now", "ping"]);
    /// assert!(tools.warnings()[0].starts_with("server \"no-such-command-here\" is left out"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When a required server is dead, or when all are and there is no tool of this process.
    pub async fn definitions(&self) -> Result<Vec<ToolDefinition>> {
        Ok(self.list().await?.iter().map(|entry| entry.definition().clone()).collect())
    }

    /// The same tools as things to call, for whoever binds tools one by one. Calling one is calling it through this
    /// set: checked, and asked about.
    ///
    /// ```
    /// use trunkline::{CallContext, FunctionTool, IntoArguments, Tool, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let set = ToolSet::builder().tool(FunctionTool::new("now", "The time of day.", || "noon")).build()?;
    /// for tool in set.tools().await? {
    ///     println!("{}", tool.definition().name());
    ///     let result = tool.call(().into_arguments()?, &CallContext::new()).await?;
    ///     assert_eq!(result.text(), "noon");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub async fn tools(&self) -> Result<Vec<SharedTool>> {
        let bound = |entry| SharedTool::new(Bound { set: self.clone(), entry });
        Ok(self.list().await?.into_iter().map(bound).collect())
    }

    /// The label of the server that a listed tool is of; nothing for a tool of this process. Does no I/O.
    ///
    /// ```
    /// use trunkline::{Client, StaticServer, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let server = StaticServer::new().function("ping", "Answers pong.", || "pong");
    /// let tools = ToolSet::builder().mcp(Client::from_connection(server).label("net")).build()?;
    /// tools.definitions().await?;
    /// assert_eq!(tools.server("ping").as_deref(), Some("net"));
    /// # Ok(()) }
    /// ```
    pub fn server(&self, name: &str) -> Option<String> {
        Some(self.table().get(name)?.server.as_deref()?.to_owned())
    }

    /// What was odd and put up with: servers left out, tools that got another name, schemas that can't be used,
    /// and the warnings of the servers. Each once.
    pub fn warnings(&self) -> Vec<String> {
        self.hub().warnings()
    }

    /// The servers that gave no tools when they were asked last, and why. Does no I/O.
    pub fn failures(&self) -> Vec<(String, Error)> {
        self.table().failures()
    }

    /// Ends the connections of all servers and waits until their processes are gone. Never fails; the next use
    /// connects again.
    pub async fn disconnect(&self) {
        let multis = self.0.slots.iter().filter_map(|slot| match slot {
            Slot::Multi(multi) => Some(multi),
            Slot::Client(_) => None, // a member of `own`
        });
        join_all(multis.chain([&self.0.own]).map(MultiServer::disconnect)).await;
    }

    fn of(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    fn servers(&self) -> Vec<Server> {
        server::servers(&self.0.own, &self.0.slots)
    }

    fn hub(&self) -> &Hub {
        self.0.own.hub()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One tool of a set, called through it.
struct Bound {
    set: ToolSet,
    entry: Arc<Entry>,
}

impl Tool for Bound {
    fn definition(&self) -> &ToolDefinition {
        self.entry.definition()
    }

    async fn call(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        self.set.call_result(self.entry.name(), arguments, cx).await
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolSet").field(&*self.table()).finish()
    }
}
