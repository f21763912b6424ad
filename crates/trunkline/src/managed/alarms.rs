//! When the time of a server's calls is up. Nearly every call ends long before, so a call only notes its time, and one
//! task looks when the earliest has come; a timer of its own for each call would cost more than the rest of its way.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;
use tokio::time::Instant;

/// The alarms of one server.
#[derive(Clone, Default)]
pub(super) struct Alarms(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Tells the keeper of an earlier time.
    earlier: Notify,
}

#[derive(Default)]
struct State {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// When the keeper looks next; nothing where there is no keeper.
    next: Option<Instant>,
}

enum Slot {
    Free,
    Set(Instant, Waker),
    Rung,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings what is due; when to look again.
    fn ring(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut state = self.state();
        state.next = None;
        for index in 0..state.slots.len() {
            let Slot::Set(at, _) = state.slots[index] else { continue };
            if at > now {
                state.next = Some(state.next.map_or(at, |next| next.min(at)));
            } else if let Slot::Set(_, waker) = std::mem::replace(&mut state.slots[index], Slot::Rung) {
                waker.wake();
            }
        }
        state.next
    }
}

impl Alarms {
    /// Ends at `at`.
    pub(super) fn at(&self, at: Instant) -> Alarm<'_> {
        Alarm { alarms: self, at, slot: None }
    }

    /// Sees to it that somebody looks at `at`.
    fn keep(&self, mut state: MutexGuard<'_, State>, at: Instant) {
        let Some(next) = state.next else {
            state.next = Some(at);
            drop(state);
            tokio::spawn(keep(Keeper { shared: self.0.clone(), done: false }, at));
            return;
        };
        if at < next {
            state.next = Some(at);
            drop(state);
            self.0.earlier.notify_one();
        }
    }
}

/// The task that looks. Where its runtime ends first, whoever still waits is woken and sets up another.
struct Keeper {
    shared: Arc<Shared>,
    done: bool,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        if !self.done && state.next.take().is_some() {
            let wake = |slot: &Slot| {
                if let Slot::Set(_, waker) = slot {
                    waker.wake_by_ref()
                }
            };
            state.slots.iter().for_each(wake);
        }
    }
}

async fn keep(mut keeper: Keeper, mut at: Instant) {
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(at) => {}
            () = keeper.shared.earlier.notified() => {}
        }
        let Some(next) = keeper.shared.ring() else { break };
        at = next;
    }
    keeper.done = true;
}

/// Ends when its time has come.
pub(super) struct Alarm<'a> {
    alarms: &'a Alarms,
    at: Instant,
    slot: Option<usize>,
}

impl Future for Alarm<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.alarms.0.state();
        let slot = self.slot.or_else(|| state.free.pop()).unwrap_or(state.slots.len());
        if slot == state.slots.len() {
            state.slots.push(Slot::Free);
        }
        if matches!(state.slots[slot], Slot::Rung) {
            return Poll::Ready(());
        }
        state.slots[slot] = Slot::Set(self.at, cx.waker().clone());
        self.alarms.keep(state, self.at);
        self.slot = Some(slot);
        Poll::Pending
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        let Some(slot) = self.slot else { return };
        let mut state = self.alarms.0.state();
        let waker = std::mem::replace(&mut state.slots[slot], Slot::Free);
        state.free.push(slot);
        drop((state, waker));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_rings_at_its_time_whatever_the_order() {
        let alarms = Alarms::default();
        let begun = Instant::now();
        let rung = |seconds: u64| {
            let alarms = &alarms;
            async move {
                alarms.at(begun + Duration::from_secs(seconds)).await;
                begun.elapsed().as_secs()
            }
        };
        assert_eq!(tokio::join!(rung(5), rung(1), rung(3), rung(3)), (5, 1, 3, 3));
        assert_eq!(tokio::join!(rung(7), rung(2)), (7, 5), "a time that is past ends at once");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_given_up_leaves_nothing() {
        let alarms = Alarms::default();
        for _ in 0..100 {
            let late = alarms.at(Instant::now() + Duration::from_secs(60));
            assert!(tokio::time::timeout(Duration::from_millis(1), late).await.is_err());
        }
        assert_eq!(alarms.0.state().slots.len(), 1);
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert!(alarms.0.state().next.is_none(), "the keeper is gone");
    }

    #[test]
    fn the_end_of_the_keeper_s_runtime_is_survived() {
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (alarms, first) = (Alarms::default(), runtime());
        let early = alarms.at(Instant::now() + Duration::from_secs(60));
        first.block_on(async { assert!(tokio::time::timeout(Duration::from_millis(1), early).await.is_err()) });
        drop(first);
        runtime().block_on(alarms.at(Instant::now() + Duration::from_millis(5)));
    }
}
