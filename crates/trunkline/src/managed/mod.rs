//! A server that is connected when it is needed: the recipe is kept, everybody shares one handshake, the next
//! use after a crash connects again. Owns the deadlines and what errors say about the server.

mod catalogue;
mod deadline;
mod open;

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::config::ServerSpec;
use crate::connection::{CallContext, Connection, EventKind, Events, Hub, SharedConnection, SharedHandler};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::protocol::{
    Arguments, Prompt, PromptResult, RawJson, ReadResult, Resource, ResourceTemplate, ServerInfo, ToolDefinition,
    ToolResult,
};
use crate::redact::Redactor;
use crate::session::{Identity, Session};
use catalogue::Catalogue;
pub(crate) use deadline::{What, within_context};
pub(crate) use open::no_http;

/// How a server is reached, made anew for each connect (variables are resolved then).
pub(crate) type Plan = Arc<dyn Fn() -> Result<Planned> + Send + Sync>;

/// What a plan comes to.
#[derive(Clone)]
pub(crate) enum Planned {
    /// Reach this server.
    Server(ServerSpec),
    /// Serve this connection in memory and speak to it over the protocol.
    Memory(SharedConnection),
    /// There is a connection already.
    Existing(SharedConnection),
}

/// Everything about a server that doesn't change.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) label: String,
    pub(crate) plan: Plan,
    /// What it is, for people: the command line or the URL, without secrets.
    pub(crate) shown: String,
    pub(crate) timeout: Duration,
    pub(crate) start_timeout: Duration,
    pub(crate) max_timeout: Duration,
    pub(crate) handler: Option<SharedHandler>,
    pub(crate) identity: Identity,
    pub(crate) limits: Arc<Limits>,
    /// A dead one is an error for whoever unites servers.
    pub(crate) required: bool,
    /// The file and line it was configured in.
    pub(crate) origin: Option<String>,
}

/// Where a connection stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum State {
    /// Not connected; the next use connects.
    Idle,
    /// Being started.
    Starting,
    /// Ready for calls.
    Ready,
    /// It could not be started or ended by itself; why. The next use tries again.
    Failed(Error),
}

/// A server with its recipe. Dropping it ends the server.
pub(crate) struct Managed {
    setup: Arc<Setup>,
    hub: Arc<Hub>,
    phase: Arc<Mutex<Phase>>,
    catalogue: Catalogue,
}

type Opened = watch::Receiver<Option<Result<Live>>>;

enum Phase {
    Idle,
    Connecting { opened: Opened, task: AbortHandle },
    Ready(Live),
    Failed(Failure),
}

#[derive(Clone)]
struct Failure {
    error: Error,
    at: Instant,
    /// How often in a row.
    times: u32,
}

/// What there is once a server is connected.
#[derive(Clone)]
pub(crate) struct Live {
    connection: SharedConnection,
    session: Option<Session>,
    redactor: Redactor,
    /// Passes on the events of a connection that isn't a session of ours.
    _listening: Option<Arc<Listening>>,
}

/// A task that ends with whoever holds this.
struct Listening(AbortHandle);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Managed {
    pub(crate) fn new(setup: Setup) -> Self {
        let hub = Hub::new(&setup.label);
        Self { setup: Arc::new(setup), hub, phase: Arc::new(Mutex::new(Phase::Idle)), catalogue: Catalogue::default() }
    }

    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> State {
        match &*self.phase() {
            Phase::Idle => State::Idle,
            Phase::Connecting { .. } => State::Starting,
            Phase::Ready(live) => live.over().map_or(State::Ready, |error| State::Failed(self.told(error, live))),
            Phase::Failed(failure) => State::Failed(failure.error.clone()),
        }
    }

    /// Connects where that is needed. Callers at the same time share one attempt, which goes on when they give up.
    pub(crate) async fn live(&self) -> Result<Live> {
        let mut opened = match self.begin() {
            Ok(live) => return Ok(live),
            Err(opened) => opened,
        };
        match opened.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or_else(|| Err(self.closed_meanwhile())),
            Err(_) => Err(self.closed_meanwhile()),
        }
    }

    fn closed_meanwhile(&self) -> Error {
        self.labelled(Error::new(ErrorKind::Closed, "The connection was closed while it was being opened"))
    }

    /// The live connection, or the attempt under way; starts one where there is none.
    fn begin(&self) -> Result<Live, Opened> {
        let mut phase = self.phase();
        let times = match &*phase {
            Phase::Ready(live) if live.over().is_none() => return Ok(live.clone()),
            Phase::Connecting { opened, .. } => return Err(opened.clone()),
            Phase::Failed(failure) => failure.times,
            _ => 0,
        };
        let (done, opened) = watch::channel(None);
        let (setup, hub, shared) = (self.setup.clone(), self.hub.clone(), self.phase.clone());
        let task = tokio::spawn(async move {
            hub.emit(EventKind::Starting);
            let outcome = open::open(&setup, &hub).await;
            let event = match &outcome {
                Ok(_) => EventKind::Ready,
                Err(error) => EventKind::Failed(error.clone()),
            };
            *shared.lock().unwrap_or_else(PoisonError::into_inner) = match outcome.clone() {
                Ok(live) => Phase::Ready(live),
                Err(error) => Phase::Failed(Failure { error, at: Instant::now(), times: times + 1 }),
            };
            hub.emit(event);
            let _ = done.send(Some(outcome)); // everybody may have given up
        });
        *phase = Phase::Connecting { opened: opened.clone(), task: task.abort_handle() };
        Err(opened)
    }

    /// Whether a list over many servers should try this one: not while it rests after failing.
    pub(crate) fn due(&self) -> Result<(), Error> {
        match &*self.phase() {
            Phase::Failed(failure) => {
                let pause = Duration::from_millis(250) * 2u32.saturating_pow(failure.times.min(16));
                let rested = failure.at.elapsed() >= pause.min(self.setup.limits.max_backoff);
                if rested { Ok(()) } else { Err(failure.error.clone()) }
            }
            _ => Ok(()),
        }
    }

    /// Whether using it would start it.
    pub(crate) fn needs_start(&self) -> bool {
        !matches!(&*self.phase(), Phase::Ready(live) if live.over().is_none())
    }

    /// Ends the connection, waits until everything is gone, never fails. The next use connects again.
    pub(crate) async fn disconnect(&self) {
        let phase = std::mem::replace(&mut *self.phase(), Phase::Idle);
        match phase {
            Phase::Ready(live) => {
                live.end(&self.setup.label).await;
                self.hub.emit(EventKind::Closed);
            }
            Phase::Connecting { task, mut opened } => {
                task.abort();
                let _ = opened.wait_for(|_| false).await; // until the task has let go
                self.hub.emit(EventKind::Closed);
            }
            Phase::Idle | Phase::Failed(_) => {}
        }
        let leftover = std::mem::replace(&mut *self.phase(), Phase::Idle);
        if let Phase::Ready(live) = leftover {
            live.end(&self.setup.label).await; // it became ready in this very moment
        }
    }

    /// Makes a call under its deadlines. A call that certainly never left is made once more on a new connection.
    pub(crate) async fn call<T, F>(
        &self,
        what: What<'_>,
        cx: &CallContext,
        make: impl Fn(SharedConnection, CallContext) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let mut again = true;
        loop {
            let live = self.live().await?;
            let limits = deadline::Deadlines::of(&self.setup, cx);
            let outcome = deadline::within(limits, what, cx, |cx| make(live.connection.clone(), cx)).await;
            match outcome {
                Err(error) if again && live.never_left(&error) => again = false,
                Err(error) => return Err(self.told(error, &live)),
                Ok(value) => return Ok(value),
            }
        }
    }

    fn labelled(&self, error: Error) -> Error {
        error.with_context("server", self.setup.label.clone())
    }

    /// An error with what is known of the server, and without its secrets.
    fn told(&self, error: Error, live: &Live) -> Error {
        open::describe(&self.setup, live.session.as_ref(), &live.redactor, error)
    }

    pub(crate) fn events(&self) -> Events {
        self.hub.listen()
    }
}

impl Live {
    /// Why it is over, if it is.
    fn over(&self) -> Option<Error> {
        self.session.as_ref().and_then(Session::over_because)
    }

    fn never_left(&self, error: &Error) -> bool {
        self.session.is_some() && error.kind() == ErrorKind::Closed && !error.may_have_run()
    }

    async fn end(&self, label: &str) {
        match &self.session {
            Some(session) => {
                let report = session.end().await;
                tracing::debug!(server = label, forced = ?report.forced, "disconnected");
            }
            None => {
                if let Err(error) = self.connection.close().await {
                    tracing::debug!(server = label, %error, "closing the connection failed");
                }
            }
        }
    }

    pub(crate) fn connection(&self) -> &SharedConnection {
        &self.connection
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        if let Phase::Connecting { task, .. } = &*self.phase() {
            task.abort();
        }
    }
}

impl Connection for Managed {
    async fn list_tools(&self, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        let make = async |live: SharedConnection, cx: CallContext| {
            let generation = self.catalogue.asking(&self.hub); // after the connect, which makes older lists stale
            live.list_tools(&cx).await.map(|tools| (generation, tools))
        };
        let (generation, tools) = self.call(What("tools/list", None), cx, make).await?;
        self.catalogue.store(generation, &tools, &self.hub);
        Ok(tools)
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        let make = async |live: SharedConnection, cx: CallContext| live.call_tool(name, arguments.clone(), &cx).await;
        self.call(What("tools/call", Some(name)), cx, make).await.map_err(|error| error.with_context("tool", name))
    }

    async fn close(&self) -> Result<()> {
        self.disconnect().await;
        Ok(())
    }

    async fn list_resources(&self, cx: &CallContext) -> Result<Vec<Resource>> {
        self.call(What("resources/list", None), cx, async |live, cx| live.list_resources(&cx).await).await
    }

    async fn list_resource_templates(&self, cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        self.call(What("resources/templates/list", None), cx, async |live, cx| live.list_resource_templates(&cx).await).await
    }

    async fn list_prompts(&self, cx: &CallContext) -> Result<Vec<Prompt>> {
        self.call(What("prompts/list", None), cx, async |live, cx| live.list_prompts(&cx).await).await
    }

    async fn read_resource(&self, uri: &str, cx: &CallContext) -> Result<ReadResult> {
        let what = What("resources/read", Some(uri));
        let read = self.call(what, cx, async |live, cx| live.read_resource(uri, &cx).await).await;
        read.map_err(|error| error.with_context("uri", uri))
    }

    async fn get_prompt(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<PromptResult> {
        let what = What("prompts/get", Some(name));
        let make = async |live: SharedConnection, cx: CallContext| live.get_prompt(name, arguments.clone(), &cx).await;
        self.call(what, cx, make).await.map_err(|error| error.with_context("prompt", name))
    }

    async fn request(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        self.call(What(method, None), cx, async |live, cx| live.request(method, params.clone(), &cx).await).await
    }

    async fn info(&self) -> Result<ServerInfo> {
        self.live().await?.connection.info().await
    }

    fn events(&self) -> Events {
        Managed::events(self)
    }
}

impl fmt::Debug for Managed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managed").field("label", &self.setup.label).field("state", &self.state()).finish()
    }
}
