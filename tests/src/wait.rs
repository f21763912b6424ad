//! Bounded waits for tests: poll a condition, panic with its description at the limit.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(5);

/// How long a wait may take before the test fails: 20 s, times `$TRUNKLINE_TEST_SCALE`.
pub fn limit() -> Duration {
    let scale = std::env::var("TRUNKLINE_TEST_SCALE").ok().and_then(|text| text.parse::<f64>().ok());
    Duration::from_secs(20).mul_f64(scale.unwrap_or(1.0).max(1.0))
}

/// Polls every 5 ms until `check` gives a value; panics with `what` after [`limit`]. Blocks its thread: in an
/// async test wrap it in [`offload`].
pub fn eventually<T>(what: &str, check: impl FnMut() -> Option<T>) -> T {
    eventually_within(limit(), what, check)
}

/// [`eventually`] with its own limit.
pub fn eventually_within<T>(limit: Duration, what: &str, check: impl FnMut() -> Option<T>) -> T {
    poll(limit, check).unwrap_or_else(|| panic!("waited {limit:?} in vain for: {what}"))
}

/// Polls until the deadline; `None` if it passed.
pub(crate) fn poll<T>(limit: Duration, mut check: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        let value = check();
        if value.is_some() || Instant::now() > deadline {
            return value;
        }
        thread::sleep(STEP);
    }
}

/// Runs a blocking closure on a thread of its own; the future is ready when it is. Any runtime will do.
pub fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> impl Future<Output = T> {
    let finish = Arc::new(Mutex::new(Finish::default()));
    let guard = FinishGuard(Arc::clone(&finish));
    let thread = thread::spawn(move || {
        let _guard = guard;
        work()
    });
    Offloaded { thread: Some(thread), finish }
}

#[derive(Default)]
struct Finish {
    done: bool,
    waker: Option<Waker>,
}

/// Reports the end when it is dropped, so that a closure which panics wakes the future too.
struct FinishGuard(Arc<Mutex<Finish>>);

impl Drop for FinishGuard {
    fn drop(&mut self) {
        let mut finish = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        finish.done = true;
        if let Some(waker) = finish.waker.take() {
            waker.wake();
        }
    }
}

struct Offloaded<T> {
    thread: Option<thread::JoinHandle<T>>,
    finish: Arc<Mutex<Finish>>,
}

impl<T> Future for Offloaded<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        let mut finish = this.finish.lock().unwrap_or_else(PoisonError::into_inner);
        if !finish.done {
            finish.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let thread = this.thread.take().expect("polled after it was ready");
        Poll::Ready(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}
