//! One attempt to connect at a time, shared by everybody who needs the server, and what came of it.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot, watch};

use super::live::Live;
use super::wishes::Wishes;
use super::{Managed, Setup, open};
use crate::connection::{EventKind, Hub};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// What an attempt comes to, for whoever waits for it. Its sender is gone once the attempt has let go of all.
pub(super) type Opened = watch::Receiver<Option<Result<Arc<Live>>>>;

/// Where a server stands.
pub(super) enum Phase {
    Idle,
    /// Dropping `stop` ends the attempt.
    Connecting {
        opened: Opened,
        _stop: oneshot::Sender<()>,
    },
    Ready(Arc<Live>),
    Failed(Failure),
    Closing(Closing),
}

impl Phase {
    /// How it failed last, if it did. A connection that broke within `memory` of its beginning counts as a failure
    /// of that beginning, so that a server which only ever starts doesn't start for ever.
    pub(super) fn failure(&self, memory: Duration) -> Option<Failure> {
        match self {
            Self::Failed(failure) => Some(failure.clone()),
            Self::Ready(live) if live.since.elapsed() < memory => {
                live.over().map(|error| Failure { error, at: live.since, times: live.failures + 1 })
            }
            _ => None,
        }
    }
}

/// What is being closed. Who connects meanwhile waits for its end, by the turn; who closes too waits here.
#[derive(Clone)]
pub(super) enum Closing {
    Live(Arc<Live>),
    Attempt(Opened),
}

impl Closing {
    pub(super) async fn ended(&self, label: &str) {
        match self {
            Self::Live(live) => live.end(label).await,
            Self::Attempt(opened) => drop(opened.clone().wait_for(|_| false).await), // until its sender is gone
        }
    }
}

#[derive(Clone)]
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) at: Instant,
    /// How often in a row.
    pub(super) times: u32,
}

impl Failure {
    /// How long it rests: twice as long after each failure, and a little longer by chance, which stays what it is.
    pub(super) fn rest(&self, limits: &Limits) -> Duration {
        const MORE: f64 = 0.25;
        static CHANCE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let doubled = limits.min_backoff.saturating_mul(2u32.saturating_pow(self.times.saturating_sub(1)));
        let share = (CHANCE.hash_one(self.at) >> 32) as f64 / f64::from(u32::MAX);
        doubled.min(limits.max_backoff.mul_f64(1.0 / (1.0 + MORE))).mul_f64(1.0 + MORE * share)
    }
}

pub(super) fn lock(phase: &Mutex<Phase>) -> MutexGuard<'_, Phase> {
    phase.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An attempt that runs in a task of its own, so that it outlives whoever began it, but not the `Managed`.
pub(super) struct Attempt {
    setup: Arc<Setup>,
    hub: Arc<Hub>,
    turns: Arc<Semaphore>,
    phase: Weak<Mutex<Phase>>,
    wishes: Arc<Wishes>,
    done: watch::Sender<Option<Result<Arc<Live>>>>,
}

impl Attempt {
    /// The live connection, or the attempt under way; starts one where there is none.
    pub(super) fn begin(managed: &Managed) -> Result<Arc<Live>, Opened> {
        let Managed { setup, hub, turns, phase: shared, wishes, .. } = managed;
        let mut phase = lock(shared);
        let failures = match &*phase {
            Phase::Ready(live) if live.over().is_none() => return Ok(live.clone()),
            // an attempt whose sender is gone was dropped with its runtime
            Phase::Connecting { opened, .. } if opened.has_changed().is_ok() => return Err(opened.clone()),
            other => other.failure(setup.limits.max_backoff).map_or(0, |failure| failure.times),
        };
        let (done, opened) = watch::channel(None);
        let (stop, stopped) = oneshot::channel();
        let (setup, hub, turns, wishes) = (setup.clone(), hub.clone(), turns.clone(), wishes.clone());
        let attempt = Attempt { setup, hub, turns, phase: Arc::downgrade(shared), wishes, done };
        tokio::spawn(attempt.run(stopped, failures));
        *phase = Phase::Connecting { opened: opened.clone(), _stop: stop };
        Err(opened)
    }

    async fn run(self, stopped: oneshot::Receiver<()>, failures: u32) {
        self.hub.emit(EventKind::Starting);
        let outcome = open::open(&self.setup, &self.hub, &self.turns, stopped).await;
        let outcome = outcome.map(|live| Arc::new(Live { failures, ..live }));
        if let Ok(live) = &outcome {
            self.wishes.renew(live, &self.hub, self.setup.limits.settle).await;
        }
        let (phase, event) = match outcome.clone() {
            Ok(live) => (Phase::Ready(live), EventKind::Ready),
            Err(error) => (
                Phase::Failed(Failure { error: error.clone(), at: Instant::now(), times: failures + 1 }),
                EventKind::Failed(error),
            ),
        };
        if self.settle(phase) {
            self.hub.emit(event);
        } else if let Ok(live) = &outcome {
            live.end(&self.setup.label).await; // closed in the very moment it was ready
        }
        let _ = self.done.send(Some(outcome)); // everybody may have given up
    }

    /// Settles the phase, unless the attempt isn't wanted any more.
    fn settle(&self, settled: Phase) -> bool {
        let Some(shared) = self.phase.upgrade() else { return false };
        let mut phase = lock(&shared);
        let own = matches!(&*phase, Phase::Connecting { opened, .. } if self.done.subscribe().same_channel(opened));
        if own {
            *phase = settled;
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn rests_double_up_to_a_cap_and_differ_by_chance() {
        let limits = Limits::default();
        let failed = |times, later| {
            let at = Instant::now() + Duration::from_millis(later);
            Failure { error: Error::new(ErrorKind::Closed, "gone"), at, times }
        };
        for (times, least) in [(1, 500), (2, 1000), (3, 2000), (6, 16_000), (7, 24_000), (1000, 24_000)] {
            let rests: Vec<_> = (0..50).map(|later| failed(times, later).rest(&limits)).collect();
            let (low, high) = (Duration::from_millis(least), Duration::from_millis(least * 5 / 4));
            assert!(rests.iter().all(|rest| (low..=high).contains(rest)), "{times}: {rests:?}");
            assert!(rests.iter().any(|rest| *rest > (low + high) / 2), "chance has its part: {rests:?}");
            assert!(rests.iter().any(|rest| *rest < (low + high) / 2), "{rests:?}");
        }
        let failure = failed(3, 0);
        assert_eq!(failure.rest(&limits), failure.rest(&limits));
    }
}
