//! What the server asks: every request gets one answer, by a handler in a task of its own or a refusal, unless the
//! server takes it back.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures_util::FutureExt;
use tokio::task::AbortHandle;

use super::Session;
use super::desk::Desk;
use crate::connection::{Handler, RootChanges};
use crate::error::{Error, ErrorKind};
use crate::protocol::RawJson;
use crate::protocol::jsonrpc::{self, INTERNAL_ERROR, METHOD_NOT_FOUND, Params};
use crate::transport::Kind;

/// Answers that are being worked on, by the raw id of the server's request.
#[derive(Default)]
pub(super) struct Answering(Mutex<HashMap<RawJson, AbortHandle>>);

impl Answering {
    fn running(&self) -> MutexGuard<'_, HashMap<RawJson, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server no longer wants the answer to this request.
    pub(super) fn take_back(&self, id: &RawJson) {
        if let Some(answer) = self.running().remove(id) {
            answer.abort();
        }
    }

    /// The server no longer wants any answer.
    pub(super) fn take_all_back(&self) {
        self.running().drain().for_each(|(_, answer)| answer.abort());
    }
}

/// The task that tells the server of changed roots; it ends with the session.
#[derive(Default)]
pub(super) struct Telling(OnceLock<AbortHandle>);

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.get().inspect(|task| task.abort());
    }
}

impl Session {
    /// Tells a server of a revision that knows this each time the roots change.
    pub(super) fn tell_of_roots(&self, mut changes: RootChanges) {
        if changes.is_none() {
            return;
        }
        let desk = Arc::downgrade(&self.desk);
        let task = tokio::spawn(async move {
            loop {
                changes.next().await;
                let Some(desk) = desk.upgrade() else { return };
                desk.reply(jsonrpc::notification("notifications/roots/list_changed", Params::None));
            }
        });
        let _ = self.desk.telling.0.set(task.abort_handle()); // one handshake a session
    }
}

impl Desk {
    /// Answers a request of the server: `ping` at once, the rest by the handler in a task of its own.
    pub(super) fn request(self: &Arc<Self>, id: RawJson, method: String, params: Option<RawJson>, about: Option<u64>) {
        if self.over_because().is_some() {
            return; // no answer would leave any more
        }
        if method == "ping" {
            return self.reply(jsonrpc::result(&id, &RawJson::empty_object()));
        }
        if self.is_modern() {
            let told = format!("asks \"{method}\" by a request of its own, which its protocol version doesn't have");
            return self.warn(format!("{told}; it was ignored")); // and no answer may be written
        }
        let Some(handler) = self.handler_of_calls(about).or_else(|| self.handler().cloned()) else {
            let message = format!("This client doesn't answer \"{method}\"");
            return self.reply(jsonrpc::error(&id, METHOD_NOT_FOUND, &message, None));
        };
        let mut running = self.answering.running();
        let max = self.limits.max_questions;
        if running.len() >= max {
            drop(running);
            self.warn(format!("asks more than {max} things at once (max_questions); the rest is refused"));
            let message = format!("This client answers at most {max} requests at once");
            return self.reply(jsonrpc::error(&id, INTERNAL_ERROR, &message, None));
        }
        let (desk, key, hold) = (Arc::downgrade(self), id.clone(), self.hold(about));
        let task = tokio::spawn(async move {
            let _hold = hold;
            let handled = AssertUnwindSafe(handler.handle(&method, params.unwrap_or_else(RawJson::empty_object)));
            let outcome = handled.catch_unwind().await.unwrap_or_else(|_| Err(handler_panicked(&method)));
            let Some(desk) = desk.upgrade() else { return };
            if desk.answering.running().remove(&id).is_some() {
                desk.reply(match outcome {
                    Ok(result) => jsonrpc::result(&id, &result),
                    Err(error) => jsonrpc::error(&id, error_code(&error), error.message(), error.data()),
                });
            }
        });
        running.insert(key, task.abort_handle());
    }

    fn reply(&self, line: Vec<u8>) {
        self.trace("out", &line);
        if let Some(wire) = self.wire() {
            let _ = wire.tell(Kind::Other, line); // a server that is gone needs to hear nothing
        }
    }
}

fn handler_panicked(method: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("This client failed to answer \"{method}\""))
}

fn error_code(error: &Error) -> i64 {
    match error.kind() {
        ErrorKind::Unsupported => METHOD_NOT_FOUND,
        _ => error.code().unwrap_or(INTERNAL_ERROR),
    }
}
