//! Where messages arrive: answers go to their waiting calls, requests to the handler, notifications to progress
//! sinks and events. Runs on the task that reads; never waits, never calls user code that could.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use bytes::Bytes;

use super::Setting;
use super::cache::Cache;
use super::oddities::Oddities;
use super::questions::{Answering, Telling};
use super::waiting::{Calls, Waiter};
use crate::connection::{EventKind, Hold, Hub, LogMessage, Progress, SharedHandler};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{self, Limits};
use crate::protocol::jsonrpc::{self, Message, Outcome, RpcError, Unreadable};
use crate::protocol::{RawJson, era};
use crate::transport::{Inbox, Wire};

/// Which subscription a message belongs to, in its `_meta`.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The handshake isn't done; its failure is told by whoever opens the session.
const OPENING: u8 = 0;
const ESTABLISHED: u8 = 1;
/// This side has decided to end.
const ENDING: u8 = 2;

/// The receiving half of a session.
pub(crate) struct Desk {
    calls: Mutex<Calls>,
    next_id: AtomicU64,
    wire: OnceLock<Weak<Wire>>,
    pub(super) limits: Arc<Limits>,
    hub: Arc<Hub>,
    handler: Option<SharedHandler>,
    phase: AtomicU8,
    revision: OnceLock<String>,
    oddities: Oddities,
    pub(super) answering: Answering,
    pub(super) cache: Cache,
    pub(super) telling: Telling,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    pub(super) fn new(setting: &Setting) -> Self {
        let Setting { limits, hub, handler, redactor, turn: _ } = setting;
        Self {
            limits: limits.clone(),
            calls: Mutex::default(),
            next_id: AtomicU64::new(0),
            wire: OnceLock::new(),
            hub: hub.clone(),
            handler: handler.clone(),
            phase: AtomicU8::new(OPENING),
            revision: OnceLock::new(),
            oddities: Oddities::new(redactor.clone(), limits.max_warnings),
            answering: Answering::default(),
            cache: Cache::default(),
            telling: Telling::default(),
        }
    }

    pub(super) fn attach(&self, wire: &Arc<Wire>) {
        let _ = self.wire.set(Arc::downgrade(wire)); // attached once, by the session
    }

    pub(super) fn wire(&self) -> Option<Arc<Wire>> {
        self.wire.get().and_then(Weak::upgrade)
    }

    /// The revision that was agreed on.
    pub(super) fn agreed(&self, revision: &str) {
        let _ = self.revision.set(revision.to_owned()); // once a session
    }

    /// Whether the server speaks a revision without a handshake.
    pub(super) fn is_modern(&self) -> bool {
        self.revision.get().is_some_and(|revision| era::MODERN_REVISIONS.contains(&revision.as_str()))
    }

    pub(super) fn set_established(&self) {
        self.phase.store(ESTABLISHED, Ordering::SeqCst);
    }

    pub(super) fn set_ending(&self) {
        self.phase.store(ENDING, Ordering::SeqCst);
    }

    pub(super) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    pub(super) fn handler(&self) -> Option<&SharedHandler> {
        self.handler.as_ref()
    }

    /// Gives out an id; returns it with the number of calls under way.
    pub(super) fn expect(&self, waiter: Waiter) -> Result<(u64, usize)> {
        let mut calls = lock(&self.calls);
        if let Some(error) = &calls.over {
            return Err(error.clone());
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        calls.waiting.insert(id, waiter);
        Ok((id, calls.waiting.len()))
    }

    /// Frees an id; whether it was still waited for.
    pub(super) fn forget(&self, id: u64) -> bool {
        lock(&self.calls).waiting.remove(&id).is_some()
    }

    pub(super) fn over_because(&self) -> Option<Error> {
        lock(&self.calls).over.clone()
    }

    pub(super) fn oddities(&self) -> &Oddities {
        &self.oddities
    }

    /// Tells an oddity, once.
    pub(super) fn warn(&self, text: String) {
        if let Some(news) = self.oddities.news(text) {
            self.hub.emit(EventKind::Warning(news));
        }
    }

    fn skip(&self, line: &[u8], warning: &str) {
        self.oddities.note_noise(line);
        self.warn(warning.to_owned());
    }

    /// Shows a message to whoever follows the wire.
    pub(super) fn trace(&self, direction: &str, line: &[u8]) {
        let shown = |line: &[u8]| self.oddities.redacted(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
        tracing::trace!(target: "trunkline::wire", direction, message = %shown(line));
    }

    fn settle(&self, id: u64, outcome: Outcome) {
        let Some(waiter) = lock(&self.calls).waiting.remove(&id) else {
            tracing::debug!(id, "an answer that nobody waits for");
            return;
        };
        let answer = match outcome {
            Outcome::Result(result) => Ok(result),
            Outcome::Error(error) => Err(server_error(error)),
            Outcome::Malformed(line) => Err(broken_answer(&format!("neither a result nor an error: {line}"))),
        };
        let _ = waiter.answer.send(answer); // given up in this very moment
    }

    /// An answer without one of our ids. An error goes to the only call there is, if there is just one.
    fn stray(&self, id: Option<RawJson>, outcome: Outcome) {
        if let (None, Outcome::Error(error)) = (&id, &outcome) {
            let mut calls = lock(&self.calls);
            if calls.waiting.len() == 1 {
                let only = calls.waiting.drain().next();
                drop(calls);
                if let Some((_, waiter)) = only {
                    let error = server_error(error.clone()).with_may_have_run(true); // it may be about something else
                    let _ = waiter.answer.send(Err(error)); // given up in this very moment
                }
                return;
            }
            drop(calls);
            self.warn(format!("sent an error that belongs to no request: {}", error.message));
            return;
        }
        self.warn("sent an answer that belongs to no request; it was ignored".to_owned());
    }

    fn unreadable(&self, line: &[u8], why: Unreadable) {
        let apart = self.wire().is_some_and(|wire| !wire.is_a_pipe());
        match why {
            Unreadable::Noise | Unreadable::NotRpc if apart => {
                self.warn("sent something that is no JSON-RPC message; it was ignored".to_owned());
            }
            Unreadable::Noise => {
                self.skip(line, "writes text on its standard output that is no message; it was skipped")
            }
            Unreadable::NotRpc => self.skip(line, "sent JSON that is no JSON-RPC message; it was ignored"),
            Unreadable::Broken { id } => {
                self.warn("sent a broken message (not valid JSON)".to_owned());
                self.fail(id, broken_answer("not valid JSON"));
            }
            Unreadable::TooDeep { id } => {
                let max = self.limits.max_depth;
                self.warn(format!("sent a message that nests deeper than {max} (max_depth)"));
                let message = format!("The server's answer is invalid: it nests deeper than {max} (max_depth)");
                self.fail(id, limits::exceeded("max_depth", message).with_may_have_run(true));
            }
        }
    }

    /// An array came: of so many parts, of which so many were messages.
    fn array(&self, line: &[u8], parts: usize, messages: usize) {
        let revision = self.revision.get().filter(|revision| !era::has_arrays(revision));
        match (parts, revision) {
            (0, _) => self.unreadable(line, Unreadable::NotRpc),
            (_, Some(revision)) if messages > 0 => self.warn(format!(
                "sends several messages in one array, which its protocol version {revision} doesn't know"
            )),
            _ => {}
        }
    }

    /// Fails the call with this id, if it waits.
    fn fail(&self, id: Option<u64>, error: Error) {
        if let Some(waiter) = id.and_then(|id| lock(&self.calls).waiting.remove(&id)) {
            let _ = waiter.answer.send(Err(error)); // given up in this very moment
        }
    }

    fn notification(&self, method: &str, params: Option<RawJson>, about: Option<u64>) {
        let (params, max) = (params.unwrap_or_else(RawJson::empty_object), self.limits.max_notification);
        if method.len() + params.as_bytes().len() > max {
            return self.warn(format!("sent a notification of over {max} bytes (max_notification); it was dropped"));
        }
        match method {
            "notifications/progress" => self.progress(&params),
            "notifications/message" => {
                let level = params.text("level").unwrap_or_else(|| "info".to_owned());
                let data = params.get("data").unwrap_or_else(|| serde_json::Value::Null.into());
                self.log(LogMessage { level, logger: params.text("logger"), data }, about);
            }
            "notifications/tools/list_changed" => self.changed(EventKind::ToolsChanged),
            "notifications/resources/list_changed" => self.changed(EventKind::ResourcesChanged),
            "notifications/prompts/list_changed" => self.changed(EventKind::PromptsChanged),
            "notifications/resources/updated" => match params.text("uri") {
                Some(uri) => self.changed(EventKind::ResourceUpdated { uri }),
                None => self.warn("sent resources/updated without a uri".to_owned()),
            },
            "notifications/elicitation/complete" => match params.text("elicitationId") {
                Some(id) => self.hub.emit(EventKind::ElicitationComplete { id }),
                None => self.warn("sent elicitation/complete without an elicitationId".to_owned()),
            },
            "notifications/subscriptions/acknowledged" => self.acknowledged(&params, about),
            "notifications/cancelled" => {
                if let Some(id) = params.get("requestId") {
                    self.answering.take_back(&id);
                    self.fail(id.decode().ok(), ended_by_the_server());
                }
            }
            _ => tracing::debug!(method, "an unknown notification"),
        }
    }

    fn progress(&self, params: &RawJson) {
        let token = params.get("progressToken");
        let token = token.and_then(|token| token.decode::<u64>().ok().or_else(|| token.as_text()?.parse().ok()));
        let cx = token.and_then(|id| lock(&self.calls).waiting.get(&id).map(|waiter| waiter.cx.clone()));
        let Some(cx) = cx else { return }; // late, or a token that is not ours
        let number = |key| params.get(key).and_then(|value| value.decode::<f64>().ok());
        let message = params.text("message");
        let progress = Progress { progress: number("progress").unwrap_or(0.0), total: number("total"), message };
        // a sink that panics must not end the reading
        if catch_unwind(AssertUnwindSafe(|| cx.report_progress(&progress))).is_err() {
            tracing::error!("a progress sink panicked");
        }
    }

    /// Something is not what it was.
    pub(super) fn changed(&self, kind: EventKind) {
        match &kind {
            EventKind::ToolsChanged => self.cache.forget(|method, _| method == "tools/list"),
            EventKind::PromptsChanged => self.cache.forget(|method, _| method == "prompts/list"),
            EventKind::ResourcesChanged => self.cache.forget(|method, _| method.starts_with("resources/")),
            EventKind::ResourceUpdated { uri } => {
                self.cache.forget(|method, which| method == "resources/read" && which == uri);
            }
            _ => {}
        }
        self.hub.emit(kind);
    }

    /// The server goes on telling what it lists here.
    fn acknowledged(&self, params: &RawJson, about: Option<u64>) {
        let named = params.get("_meta").and_then(|meta| meta.get(SUBSCRIPTION_ID)).and_then(|id| id.decode().ok());
        let Some(id) = named.or(about) else { return };
        let waits = lock(&self.calls).waiting.get_mut(&id).and_then(|waiter| waiter.acknowledged.take());
        if let Some(waits) = waits {
            let _ = waits.send(params.field("notifications").unwrap_or_else(RawJson::empty_object)); // given up meanwhile
        }
    }

    /// Who answers a question that came with this call, or with none in particular.
    pub(super) fn handler_of_calls(&self, about: Option<u64>) -> Option<SharedHandler> {
        lock(&self.calls).handler(about)
    }

    /// Lets the time of the calls that a question belongs to stand still.
    pub(super) fn hold(&self, about: Option<u64>) -> Vec<Hold> {
        lock(&self.calls).hold(about)
    }

    /// A log message goes to the client whose call it belongs to, where that is known; else to whoever listens.
    fn log(&self, message: LogMessage, about: Option<u64>) {
        let hearer = lock(&self.calls).hearer(about);
        match hearer {
            Some(cx) => cx.log(&message),
            None => self.hub.emit(EventKind::Log(message)),
        }
    }

    fn take(self: &Arc<Self>, line: &Bytes, message: Result<Message, Unreadable>, about: Option<u64>) {
        match message {
            Ok(Message::Response { id, id_was_text, outcome, no_version }) => {
                if id_was_text {
                    self.warn("answers with ids as text instead of numbers".to_owned());
                }
                if no_version {
                    self.warn("leaves out \"jsonrpc\":\"2.0\"".to_owned());
                }
                self.settle(id, outcome);
            }
            Ok(Message::Stray { id, outcome }) => match about.filter(|_| id.is_none()) {
                Some(about) => self.settle(about, outcome),
                None => self.stray(id, outcome),
            },
            Ok(Message::Request { id, method, params }) => self.request(id, method, params, about),
            Ok(Message::Notification { method, params }) => self.notification(&method, params, about),
            Err(why) => self.unreadable(line, why),
        }
    }
}

/// What a session hands to its transport.
pub(super) struct Reception(pub(super) Arc<Desk>);

impl Inbox for Reception {
    fn message(&self, bytes: Bytes, about: Option<u64>) {
        let bytes = jsonrpc::without_mark(bytes);
        self.0.trace("in", &bytes);
        let (mut parts, mut messages) = (0, 0);
        let repaired = jsonrpc::split_within(bytes.clone(), self.0.limits.max_depth, &mut |message| {
            parts += 1;
            messages += usize::from(message.is_ok());
            self.0.take(&bytes, message, about)
        });
        if bytes.trim_ascii_start().starts_with(b"[") {
            self.0.array(&bytes, parts, messages);
        }
        if repaired {
            self.0.warn("sends text with broken characters; they were replaced".to_owned());
        }
    }

    fn awaits(&self, id: u64) -> bool {
        lock(&self.0.calls).waiting.contains_key(&id)
    }

    fn lost(&self, error: Error) {
        let error = error.map_text(|text| self.0.oddities.redacted(text.to_owned()));
        let news = lock(&self.0.calls).over.replace(error.clone()).is_none();
        if news && self.0.phase.load(Ordering::SeqCst) == ESTABLISHED {
            self.0.hub.emit(EventKind::Failed(error));
        }
    }

    fn stderr(&self, line: &str) {
        self.0.hub.emit(EventKind::Stderr(self.0.oddities.redacted(line.to_owned())));
    }

    fn warning(&self, text: String) {
        self.0.warn(text);
    }

    fn closed(&self, error: Error) {
        let error = match self.0.oddities.noise() {
            Some(noise) => error.with_context("stdout", noise),
            None => error,
        };
        let error = error.map_text(|text| self.0.oddities.redacted(text.to_owned()));
        let waiting = {
            let mut calls = lock(&self.0.calls);
            calls.over.get_or_insert_with(|| error.clone());
            std::mem::take(&mut calls.waiting)
        };
        if self.0.phase.load(Ordering::SeqCst) == ESTABLISHED {
            let dropped = self.0.wire().is_none(); // by whoever used it: nothing failed
            self.0.hub.emit(if dropped { EventKind::Closed } else { EventKind::Failed(error.clone()) });
        }
        for waiter in waiting.into_values() {
            let _ = waiter.answer.send(Err(error.clone().with_may_have_run(true))); // given up in this very moment
        }
        self.0.answering.take_all_back();
    }
}

/// A server may take back only what it tells by itself.
fn ended_by_the_server() -> Error {
    Error::new(ErrorKind::Cancelled, "The server ended the request").with_may_have_run(true)
}

fn broken_answer(why: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("The server's answer is invalid: {why}")).with_may_have_run(true)
}

/// What the server answered instead of a result. Some codes say that nothing was done; others leave it open.
fn server_error(error: RpcError) -> Error {
    const RESOURCE_NOT_FOUND: i64 = -32002;
    const REFUSED: [i64; 5] = [-32700, -32600, -32601, -32602, RESOURCE_NOT_FOUND];
    let RpcError { code, message, data } = error;
    Error::protocol(code, message, data)
        .with_kind_if(code == RESOURCE_NOT_FOUND, ErrorKind::NotFound)
        .with_may_have_run(!REFUSED.contains(&code))
}
