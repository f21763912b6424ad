//! How long a call may take: a timeout that progress starts anew, under a hard cap.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::Setup;
use crate::connection::CallContext;
use crate::error::{Error, ErrorKind, Result};

/// The bounds of one call; a bound of zero is none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    timeout: Option<Duration>,
    cap: Option<Duration>,
}

impl Deadlines {
    pub(super) fn of(setup: &Setup, cx: &CallContext) -> Self {
        let some = |duration: Duration| (!duration.is_zero()).then_some(duration);
        let timeout = some(cx.timeout().unwrap_or(setup.timeout));
        // an explicit timeout beyond the default cap is meant
        let cap = cx.max_timeout().unwrap_or_else(|| setup.max_timeout.max(cx.timeout().unwrap_or_default()));
        Self { timeout, cap: some(cap) }
    }
}

/// When the last progress came, in milliseconds since the call began.
type LastProgress = Arc<AtomicU64>;

/// Runs the call that `make` makes from the context it is given, within the deadlines.
pub(super) async fn within<T, F>(
    deadlines: Deadlines,
    what: &str,
    cx: &CallContext,
    make: impl FnOnce(CallContext) -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let Deadlines { timeout: Some(timeout), cap } = deadlines else {
        return match deadlines.cap {
            None => make(cx.clone()).await,
            Some(cap) => {
                let expired = async || tokio::time::sleep(cap).await;
                race(make(cx.clone()), expired(), || too_long(what, cap)).await
            }
        };
    };
    let begun = Instant::now();
    let last = LastProgress::default();
    let cx = with_progress(cx, begun, last.clone());
    let expiry = expiry(begun, timeout, cap, last);
    tokio::pin!(expiry);
    tokio::select! {
        biased;
        outcome = make(cx) => outcome,
        capped = &mut expiry => Err(match cap {
            Some(cap) if capped => too_long(what, cap),
            _ => no_answer(what, timeout),
        }),
    }
}

async fn race<T>(
    call: impl Future<Output = Result<T>>,
    expired: impl Future,
    error: impl FnOnce() -> Error,
) -> Result<T> {
    tokio::select! {
        biased;
        outcome = call => outcome,
        _ = expired => Err(error()),
    }
}

/// The caller's context with the time of each progress report noted on the way.
fn with_progress(cx: &CallContext, begun: Instant, last: LastProgress) -> CallContext {
    let caller = cx.clone();
    cx.clone().on_progress(move |progress| {
        last.store(begun.elapsed().as_millis() as u64, Ordering::Relaxed);
        caller.report_progress(progress);
    })
}

/// Ends when the call has no time left; whether it was the hard cap.
async fn expiry(begun: Instant, timeout: Duration, cap: Option<Duration>, last: LastProgress) -> bool {
    loop {
        let until = Duration::from_millis(last.load(Ordering::Relaxed)) + timeout;
        let capped = cap.is_some_and(|cap| cap <= until);
        tokio::time::sleep_until(begun + cap.map_or(until, |cap| cap.min(until))).await;
        let moved = Duration::from_millis(last.load(Ordering::Relaxed)) + timeout > until;
        if capped || !moved {
            return capped;
        }
    }
}

fn no_answer(what: &str, timeout: Duration) -> Error {
    let message = format!("No answer to {what} within {} s (timeout)", timeout.as_secs_f64());
    let hint = "Raise the timeout if the server is right to take so long: timeout in code and config, --timeout on the \
                command line";
    Error::new(ErrorKind::Deadline, message).with_hint(hint).with_may_have_run(true)
}

fn too_long(what: &str, cap: Duration) -> Error {
    let message = format!("{what} took over {} s in all (max total, maxTimeout)", cap.as_secs_f64());
    let hint = "Raise max_timeout in code, maxTimeout in the config";
    Error::new(ErrorKind::Deadline, message).with_hint(hint).with_may_have_run(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Progress;

    const TIMEOUT: Duration = Duration::from_millis(1000);

    fn bounds(cap: Option<u64>) -> Deadlines {
        Deadlines { timeout: Some(TIMEOUT), cap: cap.map(Duration::from_millis) }
    }

    async fn call(cx: CallContext, progress_every: u64, reports: u32) -> Result<u32> {
        for _ in 0..reports {
            tokio::time::sleep(Duration::from_millis(progress_every)).await;
            cx.report_progress(&Progress::new(1.0, None, None));
        }
        tokio::time::sleep(Duration::from_millis(progress_every)).await;
        Ok(reports)
    }

    #[tokio::test(start_paused = true)]
    async fn progress_extends_the_wait_up_to_the_cap() {
        let cx = CallContext::new();
        let outcome = within(bounds(Some(10_000)), "x", &cx, |cx| call(cx, 800, 3)).await;
        assert_eq!(outcome.unwrap(), 3);
        let error = within(bounds(Some(2000)), "x", &cx, |cx| call(cx, 800, 3)).await.unwrap_err();
        assert!(error.message().contains("max total"), "{error}");
        let error = within(bounds(None), "x", &cx, |cx| call(cx, 1200, 0)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Deadline);
        assert!(error.message().contains("1 s (timeout)") && error.may_have_run());
    }

    #[tokio::test(start_paused = true)]
    async fn zero_is_no_bound() {
        let none = Deadlines { timeout: None, cap: None };
        assert_eq!(within(none, "x", &CallContext::new(), |cx| call(cx, 1_000_000, 2)).await.unwrap(), 2);
        let capped = Deadlines { timeout: None, cap: Some(TIMEOUT) };
        assert!(within(capped, "x", &CallContext::new(), |cx| call(cx, 1_000_000, 2)).await.is_err());
    }
}
