//! How long a call may take: a timeout that progress starts anew, under a hard cap.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use super::Setup;
use super::alarms::Alarms;
use super::login::Logins;
use crate::connection::CallContext;
use crate::error::{Error, ErrorKind, Result};

/// What a call is, for messages: its method, and which tool, resource or prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct What<'a>(pub(crate) &'a str, pub(crate) Option<&'a str>);

impl fmt::Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(name) => write!(f, "{} \"{name}\"", self.0),
            None => f.write_str(self.0),
        }
    }
}

/// The bounds of one call; a bound of zero is none.
#[derive(Clone, Copy)]
pub(super) struct Deadlines<'a> {
    timeout: Option<Duration>,
    cap: Option<Duration>,
    /// Who minds the time; each call itself where there is nobody.
    alarms: Option<&'a Alarms>,
    /// While somebody logs in, the time stands still.
    login: Option<&'a Logins>,
}

impl<'a> Deadlines<'a> {
    pub(super) fn of(setup: &'a Setup, alarms: &'a Alarms, cx: &CallContext) -> Self {
        let some = |duration: Duration| (!duration.is_zero()).then_some(duration);
        let timeout = some(cx.timeout().unwrap_or(setup.timeout));
        // an explicit timeout beyond the default cap is meant
        let cap = cx.max_timeout().unwrap_or_else(|| setup.max_timeout.max(cx.timeout().unwrap_or_default()));
        Self { timeout, cap: some(cap), alarms: Some(alarms), login: Some(&setup.login) }
    }
}

impl Deadlines<'_> {
    /// Waits until a login that is under way is over; whether one was.
    async fn stood_still(self) -> bool {
        match self.login {
            Some(login) => login.over().await,
            None => false,
        }
    }
}

/// Runs a call that no server of ours makes within what its context says, if it says anything.
pub(crate) async fn within_context<T, F>(
    what: What<'_>,
    cx: &CallContext,
    make: impl FnOnce(CallContext) -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let some = |duration: Option<Duration>| duration.filter(|duration| !duration.is_zero());
    let deadlines = Deadlines { timeout: some(cx.timeout()), cap: some(cx.max_timeout()), alarms: None, login: None };
    within(deadlines, what, cx, make).await
}

/// Runs the call that `make` makes from the context it is given, within the deadlines and until the context's switch
/// is thrown.
pub(super) async fn within<T, F>(
    deadlines: Deadlines<'_>,
    what: What<'_>,
    cx: &CallContext,
    make: impl FnOnce(CallContext) -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let Some(cancellation) = cx.cancellation() else { return timed(deadlines, what, cx, make).await };
    race(timed(deadlines, what, cx, make), cancellation.cancelled(), || {
        Error::new(ErrorKind::Cancelled, format!("{what} was cancelled")).with_may_have_run(true)
    })
    .await
}

async fn timed<T, F>(
    deadlines: Deadlines<'_>,
    what: What<'_>,
    cx: &CallContext,
    make: impl FnOnce(CallContext) -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let Deadlines { timeout: Some(timeout), cap, .. } = deadlines else {
        return match deadlines.cap {
            None => make(cx.clone()).await,
            Some(cap) => {
                let expired = async {
                    tokio::time::sleep(cap).await;
                    while deadlines.stood_still().await {
                        tokio::time::sleep(cap).await;
                    }
                };
                race(make(cx.clone()), expired, || too_long(what, cap, None)).await
            }
        };
    };
    let begun = Instant::now();
    let cx = cx.watched(begun, timeout, cap);
    let expiry = expiry(begun, timeout, deadlines, cx.clone());
    tokio::pin!(expiry);
    tokio::select! {
        biased;
        outcome = make(cx) => outcome,
        capped = &mut expiry => Err(match cap {
            Some(cap) if capped => too_long(what, cap, Some(timeout)),
            _ => no_answer(what, timeout, cap),
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

/// Ends when the call has no time left; whether it was the hard cap.
async fn expiry(begun: Instant, timeout: Duration, deadlines: Deadlines<'_>, cx: CallContext) -> bool {
    let mut since = Duration::ZERO;
    loop {
        let until = cx.last_progress().max(since) + timeout;
        let cap = deadlines.cap.map(|cap| since + cap);
        let capped = cap.is_some_and(|cap| cap <= until);
        let at = begun + cap.map_or(until, |cap| cap.min(until));
        match deadlines.alarms {
            Some(alarms) => alarms.at(at).await,
            None => tokio::time::sleep_until(at).await,
        }
        let moved = cx.last_progress() + timeout > until;
        if capped || !moved {
            if !deadlines.stood_still().await {
                return capped;
            }
            since = begun.elapsed(); // the time begins anew
        }
    }
}

fn no_answer(what: What<'_>, timeout: Duration, cap: Option<Duration>) -> Error {
    let cap = cap.map(|cap| format!("; max total {} s", cap.as_secs_f64())).unwrap_or_default();
    let message = format!("No answer to {what} within {} s (timeout{cap})", timeout.as_secs_f64());
    let hint = "Raise the timeout if the server is right to take so long: timeout in code and config, --timeout on the \
                command line";
    Error::new(ErrorKind::Deadline, message).with_hint(hint).with_may_have_run(true)
}

fn too_long(what: What<'_>, cap: Duration, timeout: Option<Duration>) -> Error {
    let timeout = timeout.map(|timeout| format!("; timeout {} s", timeout.as_secs_f64())).unwrap_or_default();
    let message = format!("{what} took over {} s in all (max total, maxTimeout{timeout})", cap.as_secs_f64());
    let hint = "Raise max_timeout in code, maxTimeout in the config";
    Error::new(ErrorKind::Deadline, message).with_hint(hint).with_may_have_run(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Progress;

    const TIMEOUT: Duration = Duration::from_millis(1000);

    fn bounds(cap: Option<u64>) -> Deadlines<'static> {
        Deadlines { timeout: Some(TIMEOUT), cap: cap.map(Duration::from_millis), alarms: None, login: None }
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
    async fn progress_extends_the_wait_whoever_minds_the_time() {
        let (cx, alarms) = (CallContext::new(), Alarms::default());
        let minded = Deadlines { alarms: Some(&alarms), ..bounds(Some(10_000)) };
        assert_eq!(within(minded, What("x", None), &cx, |cx| call(cx, 800, 3)).await.unwrap(), 3);
        assert!(within(minded, What("x", None), &cx, |cx| call(cx, 1200, 0)).await.is_err());
        let error = within(minded, What("x", None), &cx, |cx| call(cx, 800, 30)).await.unwrap_err();
        assert!(error.message().contains("max total"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn progress_extends_the_wait_up_to_the_cap() {
        let cx = CallContext::new();
        let outcome = within(bounds(Some(10_000)), What("x", None), &cx, |cx| call(cx, 800, 3)).await;
        assert_eq!(outcome.unwrap(), 3);
        let error = within(bounds(Some(2000)), What("x", None), &cx, |cx| call(cx, 800, 3)).await.unwrap_err();
        assert!(error.message().contains("max total"), "{error}");
        let error = within(bounds(None), What("x", None), &cx, |cx| call(cx, 1200, 0)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Deadline);
        assert!(error.message().contains("1 s (timeout)") && error.may_have_run());
    }

    #[tokio::test(start_paused = true)]
    async fn zero_is_no_bound() {
        let none = Deadlines { timeout: None, cap: None, alarms: None, login: None };
        assert_eq!(within(none, What("x", None), &CallContext::new(), |cx| call(cx, 1_000_000, 2)).await.unwrap(), 2);
        let capped = Deadlines { timeout: None, cap: Some(TIMEOUT), alarms: None, login: None };
        assert!(within(capped, What("x", None), &CallContext::new(), |cx| call(cx, 1_000_000, 2)).await.is_err());
    }
}
