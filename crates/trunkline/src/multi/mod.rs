//! Several servers behind one connection: united in a stable order, calls routed by table, dead ones put up with.
//! Leaves connecting to `managed` and names to `name`.

mod flight;
mod gather;
mod instructions;
mod member;
mod requests;
mod resources;
mod roster;
mod routes;
mod starter;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};

pub(crate) use gather::gather;
pub use gather::{Outcome, ServerListing};
pub use member::{Member, MemberStatus};
pub(crate) use roster::Place;

use crate::connection::{CallContext, Connection, EventKind, Events, Hub, SharedConnection};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::managed::State;
use crate::name::{self, Namer};
use crate::protocol::{
    Arguments, Completion, CompletionQuery, IntoArguments, Prompt, PromptResult, RawJson, ReadResult, Resource,
    ResourceTemplate, ServerInfo, ToolDefinition, ToolResult,
};
use crate::suggest;
use member::Seat;
use starter::Starter;

/// Several servers as one. Clones share the members. (Seed: `MultiMCPClient`.)
///
/// Tools carry their server's label in front. A server that is dead is data ([`members`](Self::members),
/// [`failures`](Self::failures)) and a warning, never a reason to lose the others; it is tried again later. A
/// call waits for its own server alone.
///
/// ```
/// use serde_json::json;
/// use trunkline::{Client, MultiServer, StaticServer};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
/// let server = || StaticServer::new().function("ping", "Answers pong.", || "pong");
/// let mut multi = MultiServer::new();
/// multi.add(Client::from_connection(server()).label("alpha").build()?)?;
/// multi.add(Client::from_connection(server()).label("beta").build()?)?;
///
/// let names: Vec<_> = multi.tools().await?.iter().map(|tool| tool.name().to_owned()).collect();
/// assert_eq!(names, ["alpha_ping", "beta_ping"]);
/// assert_eq!(multi.call("beta_ping", json!({})).await?, json!("pong"));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct MultiServer(Arc<Shared>);

struct Shared {
    seats: RwLock<Seats>,
    hub: Arc<Hub>,
    limits: Limits,
    starter: Arc<Starter>,
    routes: routes::Routes,
}

/// Lists that are still asked for would keep their servers.
impl Drop for Shared {
    fn drop(&mut self) {
        let seats = self.seats.get_mut().unwrap_or_else(PoisonError::into_inner);
        seats.all.iter().for_each(|seat| seat.abort());
    }
}

#[derive(Default)]
struct Seats {
    all: Vec<Arc<Seat>>,
    namer: Arc<Namer>,
}

impl Default for MultiServer {
    fn default() -> Self {
        Self::new()
    }
}

impl MultiServer {
    /// No server yet.
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// No server yet; `settle`, `start_permits` and `permit_hold` of these limits apply.
    pub fn with_limits(limits: Limits) -> Self {
        let (hub, seats, routes) = (Hub::new("", &limits), RwLock::default(), routes::Routes::default());
        let starter = Starter::new(&limits, hub.clone());
        Self(Arc::new(Shared { seats, hub, limits, starter, routes }))
    }

    /// Adds a server: a [`Client`](crate::Client), which stays as it is and shares its connection. A label that
    /// is taken becomes `label_2`, with a warning. Seen at the next listing or at the next unknown name.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) when this very client is a member already.
    pub fn add(&mut self, member: impl Into<Member>) -> Result<&mut Self> {
        let managed = member.into().0;
        let mut seats = self.0.seats.write().unwrap_or_else(PoisonError::into_inner);
        if seats.all.iter().any(|seat| Arc::ptr_eq(&seat.managed, &managed)) {
            let message = format!("The client \"{}\" is a member already", managed.setup().label);
            return Err(Error::config(message));
        }
        let wanted = &managed.setup().label;
        let label = name::unique_label(wanted, |label| seats.all.iter().any(|seat| seat.label == label));
        let renamed =
            (label != *wanted).then(|| format!("the label \"{wanted}\" is taken: this server is \"{label}\""));
        managed.hub().add_parent(&self.0.hub, renamed.is_some().then_some(&label));
        seats.all.push(Arc::new(Seat::new(label, managed)));
        seats.namer = Arc::new(Namer::new(seats.all.iter().map(|seat| seat.label.as_str())));
        drop(seats);
        self.0.hub.advance();
        if let Some(warning) = renamed {
            self.0.hub.emit(EventKind::Warning(warning));
        }
        Ok(self)
    }

    fn seats(&self) -> Vec<Arc<Seat>> {
        self.0.seats.read().unwrap_or_else(PoisonError::into_inner).all.clone()
    }

    fn namer(&self) -> Arc<Namer> {
        self.0.seats.read().unwrap_or_else(PoisonError::into_inner).namer.clone()
    }

    fn seat(&self, server: &str) -> Result<Arc<Seat>> {
        let seats = self.seats();
        let found = seats.iter().find(|seat| seat.label == server).cloned();
        found.ok_or_else(|| suggest::unknown("server", server, "", seats.iter().map(|seat| seat.label.as_str())))
    }

    /// The members and where each stands. Does no I/O.
    pub fn members(&self) -> Vec<MemberStatus> {
        self.seats().iter().map(|seat| seat.status()).collect()
    }

    /// The members that are dead, and why. Does no I/O.
    pub fn failures(&self) -> Vec<(String, Error)> {
        let failed = |seat: &Arc<Seat>| match seat.managed.state() {
            State::Failed(error) => Some((seat.label.clone(), error)),
            _ => None,
        };
        self.seats().iter().filter_map(failed).collect()
    }

    /// Oddities of the members, and members that could not be reached.
    pub fn warnings(&self) -> Vec<String> {
        self.0.hub.warnings()
    }

    /// One member as a connection by wire names.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) when there is no such member.
    pub fn member(&self, server: &str) -> Result<SharedConnection> {
        Ok(SharedConnection::new(self.seat(server)?.managed.clone()))
    }

    /// The name under which a member's tool or prompt is shown: a pure function of the labels and the name.
    pub fn exposed_name(&self, server: &str, name: &str) -> String {
        self.namer().exposed(server, name)
    }

    /// The tools of all members, by exposed name.
    ///
    /// # Errors
    /// When a required member is dead, or all are.
    pub async fn tools(&self) -> Result<Vec<ToolDefinition>> {
        self.list_tools(&CallContext::new()).await
    }

    /// Calls a tool by its exposed name and unwraps the result.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) for an unknown name, [`Tool`](crate::ErrorKind::Tool) when the tool reports an
    /// error, else what its server failed with.
    pub async fn call(&self, name: &str, arguments: impl IntoArguments) -> Result<Value> {
        let (arguments, cx) = (arguments.into_arguments()?, CallContext::new());
        let route = self.route(name, &cx).await?;
        let result = route.seat.managed.call_tool(&route.wire, arguments, &cx).await?;
        result.into_value(name).map_err(|error| error.with_context("server", route.seat.label.clone()))
    }

    /// Reads a resource as text. A URI that several members offer must be read with
    /// [`read_resource_from`](Self::read_resource_from).
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound), [`Ambiguous`](crate::ErrorKind::Ambiguous), or what its server failed with.
    pub async fn read(&self, uri: &str) -> Result<String> {
        self.read_resource(uri, &CallContext::new()).await?.text()
    }

    /// Reads a resource of the member `server`.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) when there is no such member, or what it failed with.
    pub async fn read_resource_from(&self, server: &str, uri: &str) -> Result<ReadResult> {
        self.seat(server)?.managed.read_resource(uri, &CallContext::new()).await
    }

    /// Renders a prompt as text, by its exposed name, or by its own where that is unique.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound), [`Ambiguous`](crate::ErrorKind::Ambiguous), or what its server failed with.
    pub async fn prompt(&self, name: &str, arguments: impl IntoArguments) -> Result<String> {
        Ok(self.get_prompt(name, arguments.into_arguments()?, &CallContext::new()).await?.text())
    }

    /// How an argument of a prompt (by the name that [`prompt`](Self::prompt) takes), or a variable of a resource template,
    /// may go on.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound), [`Ambiguous`](crate::ErrorKind::Ambiguous), or what its server failed with.
    pub async fn complete(&self, query: &CompletionQuery) -> Result<Completion> {
        let (params, cx) = (Some(query.params()), CallContext::new());
        Box::pin(self.relay("completion/complete", params, &cx)).await.map(Completion::from_raw)
    }

    /// Connects to all members at once and waits until each is ready or has failed.
    pub async fn connect(&self) {
        let seats = self.seats();
        gather(seats.iter().map(|seat| self.0.starter.ready(&seat.managed)), None, |_, _| false).await;
    }

    /// Ends the connections of all members.
    pub async fn disconnect(&self) {
        let disconnect = async |seat: Arc<Seat>| {
            seat.abort();
            seat.managed.disconnect().await;
        };
        futures_util::future::join_all(self.seats().into_iter().map(disconnect)).await;
    }
}

impl Connection for MultiServer {
    async fn list_tools(&self, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        let listings = self.tools_by_server(cx).await;
        let namer = self.namer();
        let rename = |server: &str, tool: ToolDefinition| {
            let exposed = namer.exposed(server, tool.name());
            tool.with("name", Value::from(exposed))
        };
        self.united(listings, rename)
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        let route = self.route(name, cx).await?;
        route.seat.managed.call_tool(&route.wire, arguments, cx).await
    }

    async fn close(&self) -> Result<()> {
        self.disconnect().await;
        Ok(())
    }

    async fn list_resources(&self, cx: &CallContext) -> Result<Vec<Resource>> {
        self.united(self.resources_by_server(cx).await, |server, resource| resource.of_server(server))
    }

    async fn list_resource_templates(&self, cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        self.united(self.templates_by_server(cx).await, |server, template| template.of_server(server))
    }

    async fn list_prompts(&self, cx: &CallContext) -> Result<Vec<Prompt>> {
        let namer = self.namer();
        self.united(self.prompts_by_server(cx).await, |server, prompt| {
            let exposed = namer.exposed(server, prompt.name());
            prompt.with("name", Value::from(exposed)).of_server(server)
        })
    }

    async fn read_resource(&self, uri: &str, cx: &CallContext) -> Result<ReadResult> {
        self.owner_of(uri, cx).await?.managed.read_resource(uri, cx).await
    }

    async fn get_prompt(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<PromptResult> {
        let (seat, wire) = self.prompt_owner(name, cx).await?;
        seat.managed.get_prompt(&wire, arguments, cx).await
    }

    async fn request(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        self.relay(method, params, cx).await
    }

    async fn info(&self) -> Result<ServerInfo> {
        let capabilities = json!({
            "tools": {"listChanged": true}, "resources": {"listChanged": true}, "prompts": {"listChanged": true}
        });
        let info = ServerInfo::new("trunkline", env!("CARGO_PKG_VERSION"), capabilities);
        Ok(match self.instructions().await {
            Some(text) => info.with_instructions(&text),
            None => info,
        })
    }

    fn events(&self) -> Events {
        self.0.hub.listen()
    }
}

impl fmt::Debug for MultiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.members()).finish()
    }
}
