//! One call as it is recorded: what comes while it runs, and how it ends, even if nobody waits for that.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use super::line::Call;
use super::note::{self, Note};
use super::track::Track;
use crate::connection::{CallContext, Cancellation, EventKind, Events};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;
use crate::redact::Redactor;

/// What the takes of one recorder share.
pub(super) struct Studio {
    pub(super) track: Track,
    pub(super) secrets: Redactor,
    pub(super) introduced: AtomicBool,
    events: Mutex<Events>,
    /// Whether a call that certainly never left is made again by the caller.
    repeats: bool,
}

impl Studio {
    pub(super) fn new(track: Track, events: Events, repeats: bool) -> Self {
        let (secrets, introduced) = (Redactor::default(), AtomicBool::new(false));
        Self { track, secrets, introduced, events: Mutex::new(events), repeats }
    }

    /// What happened since this was asked last, as far as it matters later on.
    fn news(&self) -> Vec<EventKind> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let news = std::iter::from_fn(|| events.try_next()).map(|event| event.kind).inspect(|event| {
            if let EventKind::Lagged(lost) = event {
                tracing::warn!(server = self.track.server(), "{lost} events came too fast to be recorded");
            }
        });
        news.filter(note::is_kept).collect()
    }

    /// Writes what happened while no call ran.
    pub(super) fn write_news(&self) {
        if self.track.is_idle() {
            for event in self.news() {
                self.track.event(event, &self.secrets);
            }
        }
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        self.write_news();
    }
}

/// A call under way. Dropped before its end, it is recorded as one that was given up.
pub(super) struct Take {
    studio: Arc<Studio>,
    number: u64,
    method: String,
    params: Option<RawJson>,
    notes: Arc<Mutex<Vec<Note>>>,
    caller: CallContext,
    ended: bool,
}

impl Take {
    /// Begins a call made in `caller`.
    pub(super) fn begin(studio: &Arc<Studio>, method: &str, params: Option<RawJson>, caller: &CallContext) -> Self {
        studio.write_news();
        let number = studio.track.call_begins();
        let (studio, method, notes) = (studio.clone(), method.to_owned(), Arc::default());
        Self { studio, number, method, params, notes, caller: caller.clone(), ended: false }
    }

    /// The context for the connection underneath: progress and log messages are noted, then handed on.
    pub(super) fn context(&self) -> CallContext {
        let (notes, caller) = (self.notes.clone(), self.caller.clone());
        let cx = self.caller.clone().on_log(move |message| {
            push(&notes, Note::Log(message.clone()));
            caller.log(message);
        });
        if !self.caller.wants_progress() {
            return cx;
        }
        let (notes, caller) = (self.notes.clone(), self.caller.clone());
        cx.on_progress(move |progress| {
            push(&notes, Note::Progress(progress.clone()));
            caller.report_progress(progress);
        })
    }

    pub(super) fn end(mut self, outcome: Result<RawJson>) {
        self.write(outcome);
    }

    fn write(&mut self, outcome: Result<RawJson>) {
        self.ended = true;
        let never_left = |error: &Error| error.kind() == ErrorKind::Closed && !error.may_have_run();
        if self.studio.repeats && outcome.as_ref().is_err_and(never_left) {
            return self.studio.track.call_vanishes(self.number);
        }
        let mut during = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        during.extend(self.studio.news().into_iter().map(Note::Event));
        let (method, params) = (std::mem::take(&mut self.method), self.params.take());
        let call = Call { method, params, during, outcome };
        self.studio.track.call_ends(self.number, &self.studio.secrets, call);
    }

    fn given_up(&self) -> Error {
        let cancelled = self.caller.cancellation().is_some_and(Cancellation::is_cancelled);
        let (kind, why) = match () {
            () if cancelled => (ErrorKind::Cancelled, "the call was cancelled"),
            () if self.caller.is_overdue() => (ErrorKind::Deadline, "no answer came in time"),
            () => (ErrorKind::Cancelled, "nobody waited for the answer any more"),
        };
        Error::new(kind, format!("{}: {why} when this was recorded", self.method)).with_may_have_run(true)
    }
}

fn push(notes: &Mutex<Vec<Note>>, note: Note) {
    notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
}

impl Drop for Take {
    fn drop(&mut self) {
        if !self.ended {
            let error = self.given_up();
            self.write(Err(error));
        }
    }
}
