//! One server's part of a tape: its label there, and the order of its calls.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::line::{Call, Line};
use super::recorder::Recorder;
use super::take::Studio;
use super::tape::Tape;
use crate::connection::{Connection, EventKind};
use crate::error::Error;
use crate::protocol::RawJson;
use crate::redact::Redactor;

/// A server on a tape. Clones are the same server, through all its reconnects.
#[derive(Clone)]
pub(crate) struct Track(Arc<Shared>);

struct Shared {
    tape: Tape,
    server: String,
    _label: Arc<()>,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    begun: u64,
    running: BTreeSet<u64>,
    info: Option<RawJson>,
}

impl Track {
    pub(crate) fn new(tape: &Tape, label: &str) -> Self {
        let (server, token) = tape.label(label);
        Self(Arc::new(Shared { tape: tape.clone(), server, _label: token, calls: Mutex::default() }))
    }

    /// Listens to a connection. Where whoever uses it `repeats` a call that never left it, that isn't noted.
    pub(crate) fn recorder<C: Connection>(&self, connection: C, secrets: Redactor, repeats: bool) -> Recorder<C> {
        Recorder::new(Studio::new(self.clone(), connection.events(), repeats), connection).redacting(secrets)
    }

    /// Notes that the server could not be connected to.
    pub(crate) fn failed(&self, error: &Error) {
        self.put(|server| Line::Down { server, error: error.clone() }, &Redactor::default());
    }

    pub(super) fn tape(&self) -> &Tape {
        &self.0.tape
    }

    pub(super) fn server(&self) -> &str {
        &self.0.server
    }

    /// Whether no call runs.
    pub(super) fn is_idle(&self) -> bool {
        self.calls().running.is_empty()
    }

    /// A number for a call that begins now.
    pub(super) fn call_begins(&self) -> u64 {
        let mut calls = self.calls();
        calls.begun += 1;
        let number = calls.begun;
        calls.running.insert(number);
        number
    }

    pub(super) fn call_ends(&self, number: u64, secrets: &Redactor, call: Call) {
        let mut calls = self.calls(); // held until the line is written: the lines have the order of the ends
        let overtook = calls.running.range(..number).count();
        calls.running.remove(&number);
        self.put(|server| Line::Call { server, overtook, call: Box::new(call) }, secrets);
    }

    /// A call ends as if it had never been made.
    pub(super) fn call_vanishes(&self, number: u64) {
        self.calls().running.remove(&number);
    }

    pub(super) fn event(&self, event: EventKind, secrets: &Redactor) {
        self.put(|server| Line::Event { server, event }, secrets);
    }

    /// Notes what the server says of itself, unless it has said just that.
    pub(super) fn info(&self, info: &RawJson, secrets: &Redactor) {
        let mut calls = self.calls();
        if calls.info.as_ref() != Some(info) {
            calls.info = Some(info.clone());
            self.put(|server| Line::Info { server, info: info.clone() }, secrets);
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, line: impl FnOnce(String) -> Line, secrets: &Redactor) {
        self.0.tape.put(&line(self.0.server.clone()), secrets);
    }
}
