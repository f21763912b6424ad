//! Where messages arrive: answers go to their waiting calls, requests to the handler, notifications to progress
//! sinks and events. Runs on the task that reads; never waits, never calls user code that could.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::connection::{CallContext, EventKind, Handler, Hub, LogMessage, Progress, SharedHandler};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;
use crate::protocol::jsonrpc::{self, INTERNAL_ERROR, METHOD_NOT_FOUND, Message, Outcome, RpcError, Unreadable};
use crate::redact::Redactor;
use crate::transport::{Inbox, Kind, Wire};

/// How many odd lines are kept for diagnostics.
const KEPT_NOISE: usize = 20;
/// How many different oddities of one session are told; a server can make them up without end.
const MOST_WARNINGS: usize = 200;

/// The handshake isn't done; its failure is told by whoever opens the session.
const OPENING: u8 = 0;
const ESTABLISHED: u8 = 1;
/// This side has decided to end.
const ENDING: u8 = 2;

/// A call that waits for its answer.
pub(super) struct Waiter {
    pub(super) answer: oneshot::Sender<Result<RawJson>>,
    pub(super) cx: CallContext,
}

/// The receiving half of a session.
pub(crate) struct Desk {
    calls: Mutex<Calls>,
    next_id: AtomicU64,
    wire: OnceLock<Weak<Wire>>,
    hub: Arc<Hub>,
    handler: Option<SharedHandler>,
    redactor: Redactor,
    phase: AtomicU8,
    oddities: Mutex<Oddities>,
    /// Answers to the server that are being worked on, by the raw id of its request.
    answering: Mutex<HashMap<RawJson, AbortHandle>>,
}

#[derive(Default)]
struct Calls {
    waiting: HashMap<u64, Waiter, BuildHasherDefault<IdHasher>>,
    over: Option<Error>,
}

/// Spreads our own ids, which only count up; no need for more.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u64(&mut self, id: u64) {
        self.0 = (self.0 ^ id).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

#[derive(Default)]
struct Oddities {
    noise: Vec<String>,
    noise_count: usize,
    told: HashSet<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    pub(super) fn new(hub: Arc<Hub>, handler: Option<SharedHandler>, redactor: Redactor) -> Self {
        Self {
            calls: Mutex::default(),
            next_id: AtomicU64::new(0),
            wire: OnceLock::new(),
            hub,
            handler,
            redactor,
            phase: AtomicU8::new(OPENING),
            oddities: Mutex::default(),
            answering: Mutex::default(),
        }
    }

    pub(super) fn attach(&self, wire: &Arc<Wire>) {
        let _ = self.wire.set(Arc::downgrade(wire)); // attached once, by the session
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

    /// Tells an oddity once, and only so many.
    pub(super) fn warn(&self, text: String) {
        let text = self.redacted(text);
        tracing::debug!(warning = %text, "the server does something odd");
        let mut oddities = lock(&self.oddities);
        let news = oddities.told.len() < MOST_WARNINGS && oddities.told.insert(text.clone());
        drop(oddities);
        if news {
            self.hub.emit(EventKind::Warning(text));
        }
    }

    fn redacted(&self, text: String) -> String {
        match self.redactor.redact(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked,
        }
    }

    /// Shows a message to whoever follows the wire.
    pub(super) fn trace(&self, direction: &str, line: &[u8]) {
        let message = |line: &[u8]| self.redacted(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
        tracing::trace!(target: "trunkline::wire", direction, message = %message(line));
    }

    /// What the server's standard output held that was no message, in one sentence.
    pub(super) fn noise(&self) -> Option<String> {
        let oddities = lock(&self.oddities);
        let first = oddities.noise.first()?;
        let framing = oddities.noise.iter().any(|line| line.to_ascii_lowercase().starts_with("content-length:"));
        let pretty = oddities.noise.iter().any(|line| matches!(line.trim(), "{" | "["));
        let advice = match (framing, pretty) {
            (true, _) => "; it seems to frame messages by Content-Length headers, which MCP doesn't",
            (_, true) => "; it seems to spread one message over several lines, which MCP doesn't allow",
            _ => "",
        };
        let lines =
            if oddities.noise_count == 1 { "1 line".to_owned() } else { format!("{} lines", oddities.noise_count) };
        Some(format!("It wrote {lines} on its standard output that are no messages (first: {first}){advice}"))
    }

    fn note_noise(&self, line: &[u8], warning: &str) {
        let mut oddities = lock(&self.oddities);
        oddities.noise_count += 1;
        if oddities.noise.len() < KEPT_NOISE {
            oddities.noise.push(jsonrpc::snippet(line));
        }
        drop(oddities);
        self.warn(warning.to_owned());
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
                    let _ = waiter.answer.send(Err(server_error(error.clone()))); // given up in this very moment
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
        match why {
            Unreadable::Noise => {
                self.note_noise(line, "writes text on its standard output that is no message; it was skipped");
            }
            Unreadable::NotRpc => self.note_noise(line, "sent JSON that is no JSON-RPC message; it was ignored"),
            Unreadable::Broken { id, why } => {
                self.warn(format!("sent a broken message ({why})"));
                if let Some(waiter) = id.and_then(|id| lock(&self.calls).waiting.remove(&id)) {
                    let _ = waiter.answer.send(Err(broken_answer(why))); // given up in this very moment
                }
            }
        }
    }

    fn notification(&self, method: &str, params: Option<RawJson>) {
        let params = params.unwrap_or_else(RawJson::empty_object);
        match method {
            "notifications/progress" => self.progress(&params),
            "notifications/message" => self.hub.emit(EventKind::Log(LogMessage {
                level: params.text("level").unwrap_or_else(|| "info".to_owned()),
                logger: params.text("logger"),
                data: params.get("data").unwrap_or_else(|| serde_json::Value::Null.into()),
            })),
            "notifications/tools/list_changed" => self.hub.emit(EventKind::ToolsChanged),
            "notifications/resources/list_changed" => self.hub.emit(EventKind::ResourcesChanged),
            "notifications/prompts/list_changed" => self.hub.emit(EventKind::PromptsChanged),
            "notifications/resources/updated" => match params.text("uri") {
                Some(uri) => self.hub.emit(EventKind::ResourceUpdated { uri }),
                None => self.warn("sent resources/updated without a uri".to_owned()),
            },
            "notifications/cancelled" => {
                let running = params.get("requestId").and_then(|id| lock(&self.answering).remove(&id));
                if let Some(answering) = running {
                    answering.abort();
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

    /// Answers a request of the server: `ping` at once, the rest by the handler in a task of its own.
    fn request(self: &Arc<Self>, id: RawJson, method: String, params: Option<RawJson>) {
        if method == "ping" {
            return self.reply(jsonrpc::result(&id, &RawJson::empty_object()));
        }
        let Some(handler) = self.handler_of_calls().or_else(|| self.handler.clone()) else {
            let message = format!("This client doesn't answer \"{method}\"");
            return self.reply(jsonrpc::error(&id, METHOD_NOT_FOUND, &message, None));
        };
        let mut answering = lock(&self.answering);
        let (desk, key) = (Arc::downgrade(self), id.clone());
        let task = tokio::spawn(async move {
            let handled = AssertUnwindSafe(handler.handle(&method, params.unwrap_or_else(RawJson::empty_object)));
            let outcome = handled.catch_unwind().await.unwrap_or_else(|_| Err(handler_panicked(&method)));
            let Some(desk) = desk.upgrade() else { return };
            if lock(&desk.answering).remove(&id).is_some() {
                desk.reply(match outcome {
                    Ok(result) => jsonrpc::result(&id, &result),
                    Err(error) => jsonrpc::error(&id, error_code(&error), error.message(), error.data()),
                });
            }
        });
        answering.insert(key, task.abort_handle());
    }

    /// The handler of the only call that brought one; two could be meant, so neither is guessed.
    fn handler_of_calls(&self) -> Option<SharedHandler> {
        let calls = lock(&self.calls);
        let mut handlers = calls.waiting.values().filter_map(|waiter| waiter.cx.handler());
        handlers.next().filter(|_| handlers.next().is_none()).cloned()
    }

    fn reply(&self, line: Bytes) {
        self.trace("out", &line);
        if let Some(wire) = self.wire.get().and_then(Weak::upgrade) {
            let _ = wire.tell(Kind::Other, line); // a server that is gone needs no answer
        }
    }

    fn take(self: &Arc<Self>, line: &Bytes, message: Result<Message, Unreadable>) {
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
            Ok(Message::Stray { id, outcome }) => self.stray(id, outcome),
            Ok(Message::Request { id, method, params }) => self.request(id, method, params),
            Ok(Message::Notification { method, params }) => self.notification(&method, params),
            Err(why) => self.unreadable(line, why),
        }
    }
}

/// What a session hands to its transport.
pub(super) struct Reception(pub(super) Arc<Desk>);

impl Inbox for Reception {
    fn message(&self, bytes: Bytes) {
        self.0.trace("in", &bytes);
        let repaired = jsonrpc::split(bytes.clone(), &mut |message| self.0.take(&bytes, message));
        if repaired {
            self.0.warn("sends text with broken characters; they were replaced".to_owned());
        }
    }

    fn stderr(&self, line: &str) {
        self.0.hub.emit(EventKind::Stderr(self.0.redacted(line.to_owned())));
    }

    fn warning(&self, text: String) {
        self.0.warn(text);
    }

    fn closed(&self, error: Error) {
        let error = match self.0.noise() {
            Some(noise) => error.with_context("stdout", noise),
            None => error,
        };
        let error = error.map_text(|text| self.0.redacted(text.to_owned()));
        let waiting = {
            let mut calls = lock(&self.0.calls);
            calls.over.get_or_insert_with(|| error.clone());
            std::mem::take(&mut calls.waiting)
        };
        if self.0.phase.load(Ordering::SeqCst) == ESTABLISHED {
            self.0.hub.emit(EventKind::Failed(error.clone()));
        }
        for waiter in waiting.into_values() {
            let _ = waiter.answer.send(Err(error.clone().with_may_have_run(true))); // given up in this very moment
        }
        for (_, answering) in lock(&self.0.answering).drain() {
            answering.abort();
        }
    }
}

fn handler_panicked(method: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("This client failed to answer \"{method}\""))
}

fn broken_answer(why: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("The server's answer is invalid: {why}")).with_may_have_run(true)
}

fn server_error(error: RpcError) -> Error {
    const RESOURCE_NOT_FOUND: i64 = -32002;
    let RpcError { code, message, data } = error;
    Error::protocol(code, message, data).with_kind_if(code == RESOURCE_NOT_FOUND, ErrorKind::NotFound)
}

fn error_code(error: &Error) -> i64 {
    match error.kind() {
        ErrorKind::Unsupported => METHOD_NOT_FOUND,
        _ => error.code().unwrap_or(INTERNAL_ERROR),
    }
}
