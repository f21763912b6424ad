//! One client's requests, each answered in a task of its own, and the server's notifications to it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::logging::{self, Threshold};
use crate::connection::{CallContext, Connection, EventKind, LogMessage, Progress, SharedConnection};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;
use crate::protocol::era::{NEWEST_HANDSHAKE, speaks};
use crate::protocol::jsonrpc::{self, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, Params, Unreadable};
use crate::transport::{Inbox, Kind, Wire};

/// The protocol's code for a resource that doesn't exist.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// The serving side of one session.
pub(crate) struct ServerDesk {
    connection: SharedConnection,
    state: Mutex<State>,
    over: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    wire: Option<Arc<Wire>>,
    running: HashMap<RawJson, AbortHandle>,
    forwarding: Option<AbortHandle>,
    subscribed: HashSet<String>,
    logged: Threshold,
}

impl ServerDesk {
    pub(super) fn new(connection: SharedConnection) -> Arc<Self> {
        Arc::new(Self { connection, state: Mutex::default(), over: watch::Sender::new(false) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the wire to the client and begins to pass events on.
    pub(super) fn attach(self: &Arc<Self>, wire: Wire) {
        let mut events = self.connection.events();
        let desk = Arc::downgrade(self);
        let forwarding = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                let Some(desk) = desk.upgrade() else { return };
                desk.forward(&event.kind);
            }
        });
        let mut state = self.state();
        state.wire = Some(Arc::new(wire));
        state.forwarding = Some(forwarding.abort_handle());
    }

    /// Waits until the client is gone, then until what was answered is written.
    pub(super) async fn until_closed(&self) {
        let _ = self.over.subscribe().wait_for(|over| *over).await; // this desk holds the sender
        let wire = self.state().wire.take();
        if let Some(wire) = wire {
            wire.close().await;
        }
    }

    fn forward(&self, event: &EventKind) {
        match event {
            EventKind::ToolsChanged => self.notify("notifications/tools/list_changed", None),
            EventKind::ResourcesChanged => self.notify("notifications/resources/list_changed", None),
            EventKind::PromptsChanged => self.notify("notifications/prompts/list_changed", None),
            EventKind::ResourceUpdated { uri } if self.state().subscribed.contains(uri) => {
                self.notify("notifications/resources/updated", Some(json!({"uri": uri})));
            }
            EventKind::Log(message) => self.log(message),
            _ => {}
        }
    }

    fn log(&self, message: &LogMessage) {
        if !self.state().logged.permits(&message.level) {
            return;
        }
        let mut params = json!({"level": message.level, "data": message.data.to_value()});
        if let Some(logger) = &message.logger {
            params["logger"] = logger.clone().into();
        }
        self.notify("notifications/message", Some(params));
    }

    fn notify(&self, method: &str, params: Option<Value>) {
        let params = params.map(RawJson::from);
        self.send(jsonrpc::notification(method, params.as_ref().map_or(Params::None, Params::Raw)));
    }

    fn send(&self, line: Bytes) {
        let wire = self.state().wire.clone();
        if let Some(wire) = wire {
            let _ = wire.tell(Kind::Other, line); // a client that is gone needs no answer
        }
    }

    fn request(self: &Arc<Self>, id: RawJson, method: String, params: Option<RawJson>) {
        let mut state = self.state();
        if state.running.contains_key(&id) {
            drop(state);
            let message = format!("The id {id} is in use by a request that runs");
            return self.send(jsonrpc::error(&id, jsonrpc::INVALID_REQUEST, &message, None));
        }
        let (desk, key) = (self.clone(), id.clone());
        let task = tokio::spawn(async move {
            let outcome = desk.answer(&method, params).await;
            if desk.state().running.remove(&id).is_some() {
                desk.send(match outcome {
                    Ok(result) => jsonrpc::result(&id, &result),
                    Err(error) => error_line(&id, &method, &error),
                });
            }
        });
        state.running.insert(key, task.abort_handle());
    }

    async fn answer(self: &Arc<Self>, method: &str, params: Option<RawJson>) -> Result<RawJson> {
        match method {
            "initialize" => self.initialize(params.as_ref()).await,
            "ping" => Ok(RawJson::empty_object()),
            "logging/setLevel" => self.set_level(params).await,
            _ => {
                let cx = self.context(params.as_ref());
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
        let mut result = logging::declared(&info).with_member("protocolVersion", &Value::from(revision).into());
        if info.name().is_empty() {
            let server = json!({"name": "trunkline", "version": env!("CARGO_PKG_VERSION")});
            result = result.with_member("serverInfo", &server.into());
        }
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

    /// What travels with a request: its `_meta`, where its progress and its log messages go.
    fn context(self: &Arc<Self>, params: Option<&RawJson>) -> CallContext {
        let desk = Arc::downgrade(self);
        let mut cx = CallContext::new().on_log(move |message| {
            if let Some(desk) = desk.upgrade() {
                desk.log(message);
            }
        });
        let Some(meta) = params.and_then(|params| params.field("_meta")) else { return cx };
        if let Some(token) = meta.field("progressToken") {
            let desk = Arc::downgrade(self);
            cx = cx.on_progress(move |progress| {
                if let Some(desk) = desk.upgrade() {
                    desk.notify("notifications/progress", Some(progress_params(&token, progress)));
                }
            });
        }
        cx.with_meta(meta)
    }

    fn take(self: &Arc<Self>, message: Result<Message, Unreadable>) {
        match message {
            Ok(Message::Request { id, method, params }) => self.request(id, method, params),
            Ok(Message::Notification { method, params }) if method == "notifications/cancelled" => {
                let id = params.and_then(|params| params.get("requestId"));
                let task = id.and_then(|id| self.state().running.remove(&id));
                if let Some(task) = task {
                    task.abort();
                }
            }
            Ok(_) => {}
            Err(_) => {
                let null = RawJson::from(Value::Null);
                self.send(jsonrpc::error(&null, jsonrpc::PARSE_ERROR, "Not a JSON-RPC message", None));
            }
        }
    }
}

fn progress_params(token: &RawJson, progress: &Progress) -> Value {
    let mut params = json!({"progressToken": token.to_value(), "progress": progress.progress});
    if let Some(total) = progress.total {
        params["total"] = total.into();
    }
    if let Some(message) = &progress.message {
        params["message"] = message.clone().into();
    }
    params
}

fn error_line(id: &RawJson, method: &str, error: &Error) -> Bytes {
    let code = match error.kind() {
        _ if error.code().is_some() => error.code().unwrap_or(INTERNAL_ERROR),
        ErrorKind::Unsupported => METHOD_NOT_FOUND,
        ErrorKind::NotFound if method == "resources/read" => RESOURCE_NOT_FOUND,
        ErrorKind::NotFound | ErrorKind::InvalidArguments | ErrorKind::Ambiguous => INVALID_PARAMS,
        _ => INTERNAL_ERROR,
    };
    let message = match error.hint() {
        Some(hint) => format!("{}. {hint}", error.message().trim_end_matches('.')),
        None => error.message().to_owned(),
    };
    jsonrpc::error(id, code, &message, error.data())
}

impl Inbox for Arc<ServerDesk> {
    fn message(&self, bytes: Bytes) {
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
        self.over.send_replace(true);
    }
}
