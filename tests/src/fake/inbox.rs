//! What was read, for those who wait for it: lines of the client, replies to the fake's requests, and the end of
//! what is still being handled.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::lock;

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<String>,
    /// By the text of the id; `None` while it is awaited.
    replies: HashMap<String, Option<String>>,
    running: usize,
}

impl Inbox {
    pub(crate) fn push(&self, line: String) {
        self.change(|state| state.lines.push(line));
    }

    /// How many lines have been read.
    pub(crate) fn seen(&self) -> usize {
        lock(&self.state).lines.len()
    }

    /// Announces that the reply to this id will be awaited.
    pub(crate) fn expect(&self, id: &str) {
        self.change(|state| state.replies.insert(id.to_owned(), None));
    }

    /// Hands a reply over; false if nobody expects one.
    pub(crate) fn deliver(&self, id: &str, reply: &str) -> bool {
        self.change(|state| match state.replies.get_mut(id) {
            Some(slot @ None) => {
                *slot = Some(reply.to_owned());
                true
            }
            _ => false,
        })
    }

    /// The reply to an announced id, or `None` after the limit.
    pub(crate) fn reply(&self, id: &str, limit: Duration) -> Option<String> {
        self.wait(limit, |state| state.replies.get(id).cloned().flatten())
    }

    /// Waits for a line that contains the text and came after the first `seen`.
    pub(crate) fn wait_line(&self, seen: usize, text: &str, limit: Duration) -> bool {
        self.wait(limit, |state| state.lines[seen..].iter().any(|line| line.contains(text)).then_some(())).is_some()
    }

    pub(crate) fn begin(&self) {
        self.change(|state| state.running += 1);
    }

    pub(crate) fn end(&self) {
        self.change(|state| state.running -= 1);
    }

    pub(crate) fn wait_idle(&self, limit: Duration) {
        self.wait(limit, |state| (state.running == 0).then_some(()));
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut lock(&self.state));
        self.changed.notify_all();
        result
    }

    fn wait<T>(&self, limit: Duration, check: impl Fn(&State) -> Option<T>) -> Option<T> {
        let mut found = None;
        let not_yet = |state: &mut State| {
            found = check(state);
            found.is_none()
        };
        let waited = self.changed.wait_timeout_while(lock(&self.state), limit, not_yet);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        found
    }
}
