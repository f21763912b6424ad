//! What is asked of the client while a call runs: the handler that a call's context carries sends the request on the
//! call's own way and waits for the client's answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::json;
use tokio::sync::oneshot;

use super::desk::ServerDesk;
use super::outlet::Route;
use crate::connection::Handler;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;
use crate::protocol::jsonrpc::{self, METHOD_NOT_FOUND, Meta, Outcome, Params, RpcError};

/// The questions that wait for the client's answer.
#[derive(Default)]
pub(super) struct Questions(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    next_id: u64,
    answers: HashMap<u64, oneshot::Sender<Outcome>>,
}

impl Questions {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect(&self) -> (u64, oneshot::Receiver<Outcome>) {
        let (answer, receiver) = oneshot::channel();
        let mut waiting = self.waiting();
        let id = waiting.next_id;
        waiting.next_id += 1;
        waiting.answers.insert(id, answer);
        (id, receiver)
    }

    fn forget(&self, id: u64) -> bool {
        self.waiting().answers.remove(&id).is_some()
    }

    /// The client answered.
    pub(super) fn settle(&self, id: u64, outcome: Outcome) {
        let answer = self.waiting().answers.remove(&id);
        if let Some(answer) = answer {
            let _ = answer.send(outcome); // given up in this very moment
        }
    }

    /// The client is gone.
    pub(super) fn give_up(&self) {
        self.waiting().answers.clear();
    }
}

/// Asks the client on behalf of one call.
pub(super) struct Asking {
    pub(super) desk: Weak<ServerDesk>,
    /// The id of the call.
    pub(super) call: RawJson,
    /// What the client declared in the handshake.
    pub(super) capabilities: RawJson,
}

impl Handler for Asking {
    fn capabilities(&self) -> RawJson {
        self.capabilities.clone()
    }

    async fn handle(&self, method: &str, params: RawJson) -> Result<RawJson> {
        let desk = self.desk.upgrade().ok_or_else(gone)?;
        let (id, answer) = desk.questions.expect();
        let unasked = Unasked { desk: desk.clone(), call: &self.call, id };
        desk.send(Route::Ask(&self.call), jsonrpc::request(id, method, Params::Raw(&params), Meta::default()));
        let outcome = answer.await;
        drop(unasked);
        match outcome.map_err(|_| gone())? {
            Outcome::Result(result) => Ok(result),
            Outcome::Error(RpcError { code: METHOD_NOT_FOUND, message, .. }) => {
                Err(Error::new(ErrorKind::Unsupported, message))
            }
            Outcome::Error(RpcError { code, message, data }) => Err(Error::protocol(code, message, data)),
            Outcome::Malformed(line) => {
                Err(Error::new(ErrorKind::Protocol, format!("The client answered \"{method}\" with {line}")))
            }
        }
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Closed, "The client is gone")
}

/// Takes a question back that nobody waits for any more.
struct Unasked<'a> {
    desk: Arc<ServerDesk>,
    call: &'a RawJson,
    id: u64,
}

impl Drop for Unasked<'_> {
    fn drop(&mut self) {
        if self.desk.questions.forget(self.id) {
            let params = RawJson::from(json!({"requestId": self.id}));
            let line = jsonrpc::notification("notifications/cancelled", Params::Raw(&params));
            self.desk.send(Route::During(self.call), line);
        }
    }
}
