//! The calls that wait for their answers, and what a message that names none of them belongs to.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use tokio::sync::oneshot;

use crate::connection::{CallContext, Hold, SharedHandler};
use crate::error::{Error, Result};
use crate::protocol::RawJson;

/// A call that waits for its answer.
pub(super) struct Waiter {
    pub(super) answer: oneshot::Sender<Result<RawJson>>,
    pub(super) cx: CallContext,
    /// Whether it can make the server ask something, or log.
    pub(super) works: bool,
    /// Told what the server agreed to tell, where this is a stream of that.
    pub(super) acknowledged: Option<oneshot::Sender<RawJson>>,
}

/// All calls under way, by id, or why there are no more.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) waiting: HashMap<u64, Waiter, BuildHasherDefault<IdHasher>>,
    pub(super) over: Option<Error>,
}

impl Calls {
    /// Who answers a question: the call it came `about`; else one of those under way, if all of them are made for the
    /// same client. What could be meant for two is nobody's: nothing is guessed.
    pub(super) fn handler(&self, about: Option<u64>) -> Option<SharedHandler> {
        if let Some(waiter) = about.and_then(|id| self.waiting.get(&id)) {
            return waiter.cx.handler().cloned();
        }
        let party = self.party()?;
        let mut handlers = self.causes().filter_map(|waiter| waiter.cx.handler());
        handlers.next().filter(|_| party.is_some() || handlers.next().is_none()).cloned()
    }

    /// The call of another program's client that a log message belongs to, by the same rule.
    pub(super) fn hearer(&self, about: Option<u64>) -> Option<CallContext> {
        let own = about.and_then(|id| self.waiting.get(&id));
        let waiter = own.or_else(|| self.party().flatten().and_then(|_| self.causes().next()))?;
        waiter.cx.party().map(|_| waiter.cx.clone())
    }

    /// Lets the time of the calls that a question belongs to stand still.
    pub(super) fn hold(&self, about: Option<u64>) -> Vec<Hold> {
        match about.and_then(|id| self.waiting.get(&id)) {
            Some(waiter) => vec![waiter.cx.hold()],
            None => self.causes().map(|waiter| waiter.cx.hold()).collect(),
        }
    }

    /// What may have made the server speak: calls that make it work, where there are any.
    fn causes(&self) -> impl Iterator<Item = &Waiter> {
        let works = self.waiting.values().any(|waiter| waiter.works);
        self.waiting.values().filter(move |waiter| waiter.works == works)
    }

    /// For whom all of these are made, where that is one and the same: another program's client, or this program.
    fn party(&self) -> Option<Option<u64>> {
        let mut parties = self.causes().map(|waiter| waiter.cx.party());
        let first = parties.next()?;
        parties.all(|other| other == first).then_some(first)
    }
}

/// Spreads our own ids, which only count up; no need for more.
#[derive(Default)]
pub(super) struct IdHasher(u64);

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
