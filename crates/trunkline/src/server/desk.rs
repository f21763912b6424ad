//! One client's requests, each answered in a task of its own, and the server's notifications to it.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::asking::{Asking, Questions};
use super::lines::{error_line, panicked, progress_params};
use super::logging::{self, Threshold};
use super::outlet::{Outlet, Route};
use super::subscriptions::Subscriptions;
use crate::connection::{CallContext, Connection, EventKind, LogMessage, SharedConnection};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;
use crate::protocol::era::{NEWEST_HANDSHAKE, speaks};
use crate::protocol::jsonrpc::{self, METHOD_NOT_FOUND, Message, Params, Unreadable};
use crate::transport::Inbox;

/// The serving side of one session.
pub(crate) struct ServerDesk {
    connection: SharedConnection,
    /// Tells this client's calls from those of others on the same connection.
    party: u64,
    /// Whether others are served from the same connection.
    shares: bool,
    /// What they and this client want to hear of.
    subscriptions: Arc<Subscriptions>,
    state: Mutex<State>,
    pub(super) questions: Questions,
    over: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    outlet: Option<Arc<dyn Outlet>>,
    running: HashMap<RawJson, AbortHandle>,
    forwarding: Option<AbortHandle>,
    logged: Threshold,
    revision: Option<String>,
    /// The client's capabilities, where it has any.
    client: Option<RawJson>,
}

impl ServerDesk {
    /// For the only client of a connection.
    pub(super) fn new(connection: SharedConnection) -> Arc<Self> {
        Self::with(connection, false, Arc::default())
    }

    /// For one of several clients, which share these subscriptions.
    #[cfg(feature = "serve-http")]
    pub(super) fn of_several(connection: SharedConnection, subscriptions: Arc<Subscriptions>) -> Arc<Self> {
        Self::with(connection, true, subscriptions)
    }

    fn with(connection: SharedConnection, shares: bool, subscriptions: Arc<Subscriptions>) -> Arc<Self> {
        static PARTIES: AtomicU64 = AtomicU64::new(0);
        let party = PARTIES.fetch_add(1, Ordering::Relaxed);
        let (questions, over) = (Questions::default(), watch::Sender::new(false));
        Arc::new(Self { connection, party, shares, subscriptions, state: Mutex::default(), questions, over })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the way to the client and begins to pass events on.
    pub(super) fn attach(self: &Arc<Self>, outlet: Arc<dyn Outlet>) {
        let mut events = self.connection.events();
        let desk = Arc::downgrade(self);
        let forwarding = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                let Some(desk) = desk.upgrade() else { return };
                desk.forward(&event.kind);
            }
        });
        self.answer_to(outlet);
        self.state().forwarding = Some(forwarding.abort_handle());
    }

    /// Takes the way to the client, for answers alone.
    pub(super) fn answer_to(&self, outlet: Arc<dyn Outlet>) {
        self.state().outlet = Some(outlet);
    }

    /// The revision that was agreed on, once it was.
    pub(super) fn revision(&self) -> Option<String> {
        self.state().revision.clone()
    }

    /// Waits until the client is gone.
    pub(super) async fn until_closed(&self) {
        let _ = self.over.subscribe().wait_for(|over| *over).await; // this desk holds the sender
    }

    fn forward(&self, event: &EventKind) {
        match event {
            EventKind::ToolsChanged => self.notify(Route::Apart, "notifications/tools/list_changed", None),
            EventKind::ResourcesChanged => self.notify(Route::Apart, "notifications/resources/list_changed", None),
            EventKind::PromptsChanged => self.notify(Route::Apart, "notifications/prompts/list_changed", None),
            EventKind::ResourceUpdated { uri } if self.subscriptions.holds(uri, self.party) => {
                self.notify(Route::Apart, "notifications/resources/updated", Some(json!({"uri": uri})));
            }
            // what belongs to no call may tell of another client's
            EventKind::ElicitationComplete { id } if !self.shares => {
                let params = json!({"elicitationId": id});
                self.notify(Route::Apart, "notifications/elicitation/complete", Some(params));
            }
            EventKind::Log(message) if !self.shares => self.log(Route::Apart, message),
            _ => {}
        }
    }

    fn log(&self, route: Route<'_>, message: &LogMessage) {
        if !self.state().logged.permits(&message.level) {
            return;
        }
        let mut params = json!({"level": message.level, "data": message.data.to_value()});
        if let Some(logger) = &message.logger {
            params["logger"] = logger.clone().into();
        }
        self.notify(route, "notifications/message", Some(params));
    }

    fn notify(&self, route: Route<'_>, method: &str, params: Option<Value>) {
        let params = params.map(RawJson::from);
        self.send(route, jsonrpc::notification(method, params.as_ref().map_or(Params::None, Params::Raw)));
    }

    pub(super) fn send(&self, route: Route<'_>, line: Vec<u8>) {
        let outlet = self.state().outlet.clone();
        if let Some(outlet) = outlet {
            outlet.send(route, line);
        }
    }

    fn request(self: &Arc<Self>, id: RawJson, method: String, params: Option<RawJson>) {
        let mut state = self.state();
        if state.running.contains_key(&id) {
            drop(state);
            let message = format!("The id {id} is in use by a request that runs");
            return self.send(Route::Apart, jsonrpc::error(&id, jsonrpc::INVALID_REQUEST, &message, None));
        }
        let (desk, key) = (self.clone(), id.clone());
        let task = tokio::spawn(async move {
            let answer = AssertUnwindSafe(desk.answer(&id, &method, params)).catch_unwind().await;
            let outcome = answer.unwrap_or_else(|_| Err(panicked(&method)));
            if desk.state().running.remove(&id).is_some() {
                let line = match outcome {
                    Ok(result) => jsonrpc::result(&id, &result),
                    Err(error) => error_line(&id, &method, &error),
                };
                desk.send(Route::Answer(&id), line);
            }
        });
        state.running.insert(key, task.abort_handle());
    }

    fn cancel(&self, id: &RawJson) {
        let (task, outlet) = {
            let mut state = self.state();
            (state.running.remove(id), state.outlet.clone())
        };
        if let Some(task) = task {
            task.abort();
            outlet.inspect(|outlet| outlet.unanswered(id));
        }
    }

    async fn answer(self: &Arc<Self>, id: &RawJson, method: &str, params: Option<RawJson>) -> Result<RawJson> {
        match method {
            "initialize" => self.initialize(params.as_ref()).await,
            "ping" => Ok(RawJson::empty_object()),
            "logging/setLevel" => self.set_level(params).await,
            _ => {
                let cx = self.context(id, params.as_ref());
                let uri = params.as_ref().and_then(|params| params.text("uri")).unwrap_or_default();
                match method {
                    "resources/subscribe" => self.subscriptions.add(uri.clone(), self.party),
                    "resources/unsubscribe" if self.leaves_to_others(&uri) => return Ok(RawJson::empty_object()),
                    _ => {}
                }
                let outcome = self.connection.request(method, params, &cx).await;
                if (method, outcome.is_ok()) == ("resources/subscribe", false) || method == "resources/unsubscribe" {
                    self.subscriptions.remove(&uri, self.party);
                }
                outcome
            }
        }
    }

    /// Ends a subscription of this client that others have too, of which the server must not hear.
    fn leaves_to_others(&self, uri: &str) -> bool {
        let shared = self.subscriptions.holds(uri, self.party) && self.subscriptions.shared(uri, self.party);
        if shared {
            self.subscriptions.remove(uri, self.party);
        }
        shared
    }

    /// Tells the server of the subscriptions that were this client's alone.
    fn unsubscribe(&self) {
        let left = self.subscriptions.leave(self.party);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let connection = self.connection.clone();
        if !left.is_empty() && self.shares {
            runtime.spawn(async move {
                for uri in left {
                    let params = RawJson::from(json!({"uri": uri}));
                    let cx = CallContext::new();
                    if let Err(error) = connection.request("resources/unsubscribe", Some(params), &cx).await {
                        tracing::debug!(%error, "a subscription could not be ended");
                    }
                }
            });
        }
    }

    async fn initialize(&self, params: Option<&RawJson>) -> Result<RawJson> {
        let info = self.connection.info().await?;
        let asked = params.and_then(|params| params.text("protocolVersion"));
        let revision = asked.filter(|revision| speaks(revision)).unwrap_or_else(|| NEWEST_HANDSHAKE.to_owned());
        let mut result = logging::declared(&info).with_member("protocolVersion", &Value::from(&*revision).into());
        if info.name().is_empty() {
            let server = json!({"name": "trunkline", "version": env!("CARGO_PKG_VERSION")});
            result = result.with_member("serverInfo", &server.into());
        }
        let client = params.and_then(|params| params.field("capabilities"));
        let mut state = self.state();
        state.client = client.filter(|client| client.members().next().is_some());
        state.revision = Some(revision);
        Ok(result)
    }

    /// Minds the level here, and passes it on to a server that logs on its own.
    async fn set_level(&self, params: Option<RawJson>) -> Result<RawJson> {
        self.state().logged = Threshold::asked(params.as_ref())?;
        match self.connection.request("logging/setLevel", params, &CallContext::new()).await {
            Err(error) if error.kind() == ErrorKind::Unsupported || error.code() == Some(METHOD_NOT_FOUND) => {
                Ok(RawJson::empty_object())
            }
            outcome => outcome,
        }
    }

    /// What travels with a request: its `_meta`, where its progress, its log messages and its questions go.
    fn context(self: &Arc<Self>, id: &RawJson, params: Option<&RawJson>) -> CallContext {
        let (desk, call) = (Arc::downgrade(self), id.clone());
        let mut cx = CallContext::new().for_party(self.party).on_log(move |message| {
            if let Some(desk) = desk.upgrade() {
                desk.log(Route::During(&call), message);
            }
        });
        if let Some(capabilities) = self.state().client.clone() {
            let asking = Asking { desk: Arc::downgrade(self), call: id.clone(), capabilities: capabilities.clone() };
            cx = cx.with_handler(asking).with_client_capabilities(capabilities);
        }
        let Some(meta) = params.and_then(|params| params.field("_meta")) else { return cx };
        if let Some(token) = meta.field("progressToken") {
            let (desk, call) = (Arc::downgrade(self), id.clone());
            cx = cx.on_progress(move |progress| {
                if let Some(desk) = desk.upgrade() {
                    let params = progress_params(&token, progress);
                    desk.notify(Route::During(&call), "notifications/progress", Some(params));
                }
            });
        }
        cx.with_meta(meta)
    }

    /// Takes what the client sent.
    pub(super) fn take(self: &Arc<Self>, message: Result<Message, Unreadable>) {
        match message {
            Ok(Message::Request { id, method, params }) => self.request(id, method, params),
            Ok(Message::Notification { method, params }) if method == "notifications/cancelled" => {
                if let Some(id) = params.and_then(|params| params.get("requestId")) {
                    self.cancel(&id);
                }
            }
            Ok(Message::Response { id, outcome, .. }) => self.questions.settle(id, outcome),
            Ok(_) => {}
            Err(_) => {
                let null = RawJson::from(Value::Null);
                self.send(Route::Apart, jsonrpc::error(&null, jsonrpc::PARSE_ERROR, "Not a JSON-RPC message", None));
            }
        }
    }
}

impl Inbox for Arc<ServerDesk> {
    fn message(&self, bytes: Bytes, _: Option<u64>) {
        jsonrpc::split(bytes, &mut |message| self.take(message));
    }

    fn stderr(&self, _: &str) {}

    fn warning(&self, _: String) {}

    fn closed(&self, _: Error) {
        let (running, forwarding) = {
            let mut state = self.state();
            (std::mem::take(&mut state.running), state.forwarding.take())
        };
        running.into_values().chain(forwarding).for_each(|task| task.abort());
        self.questions.give_up();
        self.unsubscribe();
        self.over.send_replace(true);
    }
}
