//! One client's requests, each answered in a task of its own, and the server's notifications to it.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
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
use crate::connection::{CallContext, Connection, EventKind, LogMessage, SharedConnection};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;
use crate::protocol::era::{NEWEST_HANDSHAKE, speaks};
use crate::protocol::jsonrpc::{self, METHOD_NOT_FOUND, Message, Params, Unreadable};
use crate::transport::Inbox;

/// The serving side of one session.
pub(crate) struct ServerDesk {
    connection: SharedConnection,
    state: Mutex<State>,
    pub(super) questions: Questions,
    over: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    outlet: Option<Arc<dyn Outlet>>,
    running: HashMap<RawJson, AbortHandle>,
    forwarding: Option<AbortHandle>,
    subscribed: HashSet<String>,
    logged: Threshold,
    revision: Option<String>,
    /// The client's capabilities, where it has any.
    client: Option<RawJson>,
}

impl ServerDesk {
    pub(super) fn new(connection: SharedConnection) -> Arc<Self> {
        let (questions, over) = (Questions::default(), watch::Sender::new(false));
        Arc::new(Self { connection, state: Mutex::default(), questions, over })
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
            EventKind::ResourceUpdated { uri } if self.state().subscribed.contains(uri) => {
                self.notify(Route::Apart, "notifications/resources/updated", Some(json!({"uri": uri})));
            }
            EventKind::Log(message) => self.log(Route::Apart, message),
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
                let uri = params.as_ref().and_then(|params| params.text("uri"));
                let result = self.connection.request(method, params, &cx).await?;
                self.note_subscription(method, uri);
                Ok(result)
            }
        }
    }

    /// Remembers what the client wants to hear of: others may have subscribed on the same connection.
    fn note_subscription(&self, method: &str, uri: Option<String>) {
        match (method, uri) {
            ("resources/subscribe", Some(uri)) => drop(self.state().subscribed.insert(uri)),
            ("resources/unsubscribe", Some(uri)) => drop(self.state().subscribed.remove(&uri)),
            _ => {}
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
        let mut cx = CallContext::new().on_log(move |message| {
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
        self.over.send_replace(true);
    }
}
