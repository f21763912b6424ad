//! A server that is connected when it is needed: the recipe is kept, everybody shares one handshake, the next
//! use after a crash connects again. Owns the deadlines and what errors say about the server.

mod alarms;
mod attempt;
mod catalogue;
mod deadline;
mod live;
mod login;
mod open;
mod outputs;
mod over;
mod spoken;
mod wishes;

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tracing::Instrument as _;

use crate::cassette::Track;
use crate::config::{ServerSpec, Shown};
use crate::connection::{
    CallContext, Connection, EventKind, Events, Handler as _, Hub, SharedConnection, SharedHandler,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::lock::Pin;
use crate::protocol::{
    Arguments, Prompt, PromptResult, Protocol, RawJson, ReadResult, Resource, ResourceTemplate, ServerInfo,
    ToolDefinition, ToolResult,
};
pub(crate) use crate::session::Identity;
use alarms::Alarms;
use attempt::{Attempt, Closing, Opened, Phase, lock};
use catalogue::Catalogue;
pub(crate) use deadline::{What, within_context};
pub(crate) use live::Live;
pub(crate) use login::Logins;
pub(crate) use spoken::Spoken;
use wishes::Wishes;

/// How a server is reached, made anew for each connect (variables are resolved then).
pub(crate) type Plan = Arc<dyn Fn() -> Result<Planned> + Send + Sync>;

/// What a plan comes to.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "one is made a connect")]
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
    /// What it is, for people.
    pub(crate) shown: Option<Shown>,
    pub(crate) timeout: Duration,
    pub(crate) start_timeout: Duration,
    pub(crate) max_timeout: Duration,
    pub(crate) handler: Option<SharedHandler>,
    pub(crate) identity: Identity,
    pub(crate) limits: Arc<Limits>,
    /// A dead one is an error for whoever unites servers.
    pub(crate) required: bool,
    /// Whether a result that doesn't fit its tool's output schema is an error.
    pub(crate) strict_output: bool,
    /// Which revisions of the protocol to speak, whatever its entry says.
    pub(crate) protocol: Option<Protocol>,
    /// The file and line it was configured in.
    pub(crate) origin: Option<String>,
    /// What an HTTP server of a guessed kind spoke last.
    pub(crate) spoken: Spoken,
    /// How it is logged in to.
    pub(crate) login: Logins,
    /// Where to record what is asked of it.
    pub(crate) track: Option<Track>,
    /// What was agreed to of its tools.
    pub(crate) lock: Option<Arc<Pin>>,
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
    /// One turn: the server's processes never overlap.
    turns: Arc<Semaphore>,
    /// Where only so many calls may be under way.
    flights: Option<Semaphore>,
    catalogue: Catalogue,
    alarms: Alarms,
    wishes: Arc<Wishes>,
}

impl Managed {
    pub(crate) fn new(mut setup: Setup) -> Self {
        let of_this_server = |handler: SharedHandler| handler.for_server(&setup.label).unwrap_or(handler);
        setup.handler = setup.handler.map(of_this_server);
        let hub = Hub::new(&setup.label, &setup.limits);
        let (phase, turns) = (Arc::new(Mutex::new(Phase::Idle)), Arc::new(Semaphore::new(1)));
        let flights = Some(setup.limits.max_calls).filter(|most| *most > 0);
        let flights = flights.map(|most| Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        let (catalogue, alarms, wishes) = (Catalogue::default(), Alarms::default(), Arc::default());
        Self { setup: Arc::new(setup), hub, phase, turns, flights, catalogue, alarms, wishes }
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

    pub(crate) fn state(&self) -> State {
        match &*lock(&self.phase) {
            Phase::Idle | Phase::Closing(_) => State::Idle,
            Phase::Connecting { .. } => State::Starting,
            Phase::Ready(live) => live.over().map_or(State::Ready, |error| State::Failed(self.told(error, live))),
            Phase::Failed(failure) => State::Failed(failure.error.clone()),
        }
    }

    /// Connects where that is needed. Callers at the same time share one attempt, which goes on when they give up.
    pub(crate) async fn live(&self) -> Result<Arc<Live>> {
        self.live_for(&CallContext::new()).await
    }

    async fn live_for(&self, cx: &CallContext) -> Result<Arc<Live>> {
        let opened = match Attempt::begin(self) {
            Ok(live) => return Ok(live),
            Err(opened) => opened,
        };
        let Some(cancellation) = cx.cancellation() else { return self.joined(opened).await };
        tokio::select! {
            outcome = self.joined(opened) => outcome,
            () = cancellation.cancelled() => {
                Err(self.labelled(Error::new(ErrorKind::Cancelled, "The call was cancelled while the server started")))
            }
        }
    }

    async fn joined(&self, mut opened: Opened) -> Result<Arc<Live>> {
        let outcome = opened.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(|| Err(self.labelled(open::closed_meanwhile())))
    }

    /// Whether a list over many servers should try this one: not while it rests after failing. A server that ran
    /// and broke for the first time needs no rest.
    pub(crate) fn due(&self) -> Result<(), Error> {
        let limits = &self.setup.limits;
        let failure = match &*lock(&self.phase) {
            Phase::Ready(live) if live.failures == 0 => None,
            phase => phase.failure(limits.max_backoff),
        };
        let Some(failure) = failure else { return Ok(()) };
        let rested = failure.at.elapsed() >= failure.rest(limits);
        if rested { Ok(()) } else { Err(self.labelled(failure.error)) }
    }

    /// Whether using it would start it.
    pub(crate) fn needs_start(&self) -> bool {
        !matches!(&*lock(&self.phase), Phase::Ready(live) if live.over().is_none())
    }

    /// Ends the connection, waits until everything is gone, never fails. The next use connects again.
    pub(crate) async fn disconnect(&self) {
        let (closing, first) = {
            let mut phase = lock(&self.phase);
            let (closing, first) = match std::mem::replace(&mut *phase, Phase::Idle) {
                Phase::Idle | Phase::Failed(_) => return,
                Phase::Ready(live) => (Closing::Live(live), true),
                Phase::Connecting { opened, .. } => (Closing::Attempt(opened), true),
                Phase::Closing(closing) => (closing, false),
            };
            *phase = Phase::Closing(closing.clone());
            (closing, first)
        };
        self.wishes.forget();
        closing.ended(&self.setup.label).await;
        let mut phase = lock(&self.phase);
        if matches!(*phase, Phase::Closing(_)) {
            *phase = Phase::Idle;
        }
        drop(phase);
        if first {
            self.hub.emit(EventKind::Closed);
        }
    }

    /// Makes a call under its deadlines. A call that certainly never left is made once more on a new connection.
    pub(crate) async fn call<T, F>(
        &self,
        what: What<'_>,
        cx: &CallContext,
        make: impl Fn(Arc<Live>, CallContext) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let (mut again, cx) = (true, &cx.of_server(&self.setup.label));
        loop {
            let live = self.live_for(cx).await?;
            let limits = deadline::Deadlines::of(&self.setup, &self.alarms, cx);
            let span = tracing::debug_span!("call", server = %self.setup.label, %what); // never the arguments
            let cx = &self.answered(&live, cx);
            let made = deadline::within(limits, what, cx, |cx| make(live.clone(), cx));
            let outcome = made.instrument(span).await;
            match outcome {
                Err(error) if again && live.never_left(&error) => again = false,
                Err(error) => return Err(self.told(error, &live)),
                Ok(value) => return Ok(value),
            }
        }
    }

    /// A session knows who answers its server; a connection that exists already is told with each call.
    fn answered(&self, live: &Live, cx: &CallContext) -> CallContext {
        match &self.setup.handler {
            Some(handler) if live.session.is_none() && cx.handler().is_none() => {
                cx.clone().with_shared_handler(handler.clone())
            }
            _ => cx.clone(),
        }
    }

    /// The right to have a call under way, where there is a bound to them. First come, first served.
    async fn flight(&self) -> Option<SemaphorePermit<'_>> {
        let flights = self.flights.as_ref()?;
        if let Ok(free) = flights.try_acquire() {
            return Some(free);
        }
        tracing::debug!(server = %self.setup.label, "a call waits for its turn (max_calls)");
        flights.acquire().await.ok() // never closed
    }

    pub(crate) fn labelled(&self, error: Error) -> Error {
        error.with_context("server", self.setup.label.clone())
    }

    /// An error with what is known of the server, and without its secrets.
    fn told(&self, error: Error, live: &Live) -> Error {
        let error = match error.get("exit") {
            Some(_) => error.with_hint("The next use starts it again; its last words may say why it ended"),
            None => error,
        };
        open::describe(&self.setup, live.session.as_ref(), &live.redactor, error)
    }

    /// What the server that is connected wrote on its standard output that is no message.
    pub(crate) fn noise(&self) -> Option<String> {
        match &*lock(&self.phase) {
            Phase::Ready(live) => live.session.as_ref()?.noise().map(|noise| live.redactor.redact(&noise).into_owned()),
            _ => None,
        }
    }

    pub(crate) fn events(&self) -> Events {
        self.hub.listen()
    }
}

impl Connection for Managed {
    async fn list_tools(&self, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        let make = async |live: Arc<Live>, cx: CallContext| {
            let generation = self.catalogue.asking(&self.hub); // after the connect, which makes older lists stale
            live.connection.list_tools(&cx).await.map(|tools| (generation, tools))
        };
        let (generation, tools) = self.call(What("tools/list", None), cx, make).await?;
        self.catalogue.store(generation, &tools, &self.hub);
        Ok(tools)
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        let mut outputs = self.catalogue.outputs(&self.hub);
        if outputs.is_none() && self.setup.strict_output {
            self.list_tools(&cx.bounds()).await?;
            outputs = self.catalogue.outputs(&self.hub);
        }
        let make = async |live: Arc<Live>, cx: CallContext| {
            let _flight = self.flight().await;
            let result = live.call_tool(name, arguments.clone(), &cx).await?;
            let Some(outputs) = &outputs else { return Ok(result) };
            let tell = |text: String| self.hub.emit(EventKind::Warning(live.redactor.redact(&text).into_owned()));
            outputs.checked(name, result, self.setup.strict_output, &self.setup.limits, tell)
        };
        self.call(What("tools/call", Some(name)), cx, make).await.map_err(|error| error.with_context("tool", name))
    }

    async fn close(&self) -> Result<()> {
        self.disconnect().await;
        Ok(())
    }

    async fn list_resources(&self, cx: &CallContext) -> Result<Vec<Resource>> {
        self.call(What("resources/list", None), cx, async |live, cx| live.connection.list_resources(&cx).await).await
    }

    async fn list_resource_templates(&self, cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        self.call(What("resources/templates/list", None), cx, async |live, cx| {
            live.connection.list_resource_templates(&cx).await
        })
        .await
    }

    async fn list_prompts(&self, cx: &CallContext) -> Result<Vec<Prompt>> {
        self.call(What("prompts/list", None), cx, async |live, cx| live.connection.list_prompts(&cx).await).await
    }

    async fn read_resource(&self, uri: &str, cx: &CallContext) -> Result<ReadResult> {
        let what = What("resources/read", Some(uri));
        let read = self.call(what, cx, async |live, cx| live.connection.read_resource(uri, &cx).await).await;
        read.map_err(|error| error.with_context("uri", uri))
    }

    async fn get_prompt(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<PromptResult> {
        let what = What("prompts/get", Some(name));
        let make =
            async |live: Arc<Live>, cx: CallContext| live.connection.get_prompt(name, arguments.clone(), &cx).await;
        self.call(what, cx, make).await.map_err(|error| error.with_context("prompt", name))
    }

    async fn request(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        let make = async |live: Arc<Live>, cx: CallContext| live.connection.request(method, params.clone(), &cx).await;
        let result = self.call(What(method, None), cx, make).await?;
        self.wishes.note(method, params.as_ref());
        Ok(result)
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
