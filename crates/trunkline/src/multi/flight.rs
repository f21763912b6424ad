//! Asking a member for a list, once at a time: whoever wants it meanwhile waits for the same answer, and an
//! answer that nobody waits for any more is still taken in. Knows nothing of what is listed.

use std::future::Future;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::error::{Error, ErrorKind, Result};

/// A list, or why there is none.
pub(super) type Answer<T> = Result<Arc<[T]>>;

/// The one request for a list that may be under way.
pub(super) struct Flight<T>(Mutex<Option<Running<T>>>);

struct Running<T> {
    landing: Landing<T>,
    begun: Instant,
    fate: Arc<AtomicU8>,
    task: AbortHandle,
}

/// Nobody has gone on without the answer.
const ALOFT: u8 = 0;
/// Somebody has.
const MISSED: u8 = 1;
/// The answer is there.
const LANDED: u8 = 2;

/// Where the answer will be.
pub(super) struct Landing<T>(watch::Receiver<Option<Answer<T>>>);

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Send + Sync + 'static> Flight<T> {
    fn lock(&self) -> MutexGuard<'_, Option<Running<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the request that is under way, or makes it. `late` is called when the list arrives after
    /// somebody had to do without it.
    pub(super) fn join<F>(&self, ask: impl FnOnce() -> F, late: impl FnOnce() + Send + 'static) -> Landing<T>
    where
        F: Future<Output = Answer<T>> + Send + 'static,
    {
        let mut running = self.lock();
        if let Some(running) = running.as_ref().filter(|running| running.is_aloft()) {
            return Landing(running.landing.0.clone());
        }
        let (land, landing) = watch::channel(None);
        let (asking, fate) = (ask(), Arc::new(AtomicU8::new(ALOFT)));
        let landed = fate.clone();
        let task = tokio::spawn(async move {
            let answer = asking.await;
            let listed = answer.is_ok();
            let _ = land.send(Some(answer)); // everybody may have given up
            if landed.swap(LANDED, Ordering::SeqCst) == MISSED && listed {
                late();
            }
        });
        let landing = Landing(landing);
        let share = Landing(landing.0.clone());
        *running = Some(Running { landing, begun: Instant::now(), fate, task: task.abort_handle() });
        share
    }

    /// Somebody goes on without the list, unless it has come in this very moment.
    pub(super) fn miss(&self) -> Option<Answer<T>> {
        let running = self.lock();
        let running = running.as_ref()?;
        match running.fate.compare_exchange(ALOFT, MISSED, Ordering::SeqCst, Ordering::SeqCst) {
            Err(LANDED) => running.landing.0.borrow().clone(),
            _ => None,
        }
    }

    /// Whether a request is under way for longer than `patience`.
    pub(super) fn is_overdue(&self, patience: Duration) -> bool {
        self.lock().as_ref().is_some_and(|running| running.is_aloft() && running.begun.elapsed() >= patience)
    }

    /// Gives the request up that is under way.
    pub(super) fn abort(&self) {
        if let Some(running) = self.lock().take() {
            running.task.abort();
        }
    }
}

impl<T> Running<T> {
    fn is_aloft(&self) -> bool {
        self.landing.0.has_changed().is_ok() && self.landing.0.borrow().is_none()
    }
}

impl<T> Landing<T> {
    /// The answer, once it is there.
    pub(super) async fn answer(mut self) -> Answer<T> {
        let given_up = || Error::new(ErrorKind::Closed, "The connection was closed while the list was asked for");
        match self.0.wait_for(Option::is_some).await {
            Ok(answer) => answer.clone().unwrap_or_else(|| Err(given_up())),
            Err(_) => Err(given_up()),
        }
    }
}
