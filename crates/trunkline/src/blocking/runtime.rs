//! The one background runtime: a current-thread runtime on a thread of its own, started at first use and never
//! ended. Callers poll their own call on their own thread; what it spawns runs here.

use std::future::{Future, pending};
use std::panic::resume_unwind;
use std::sync::{OnceLock, mpsc};
use std::thread::{self, ThreadId};
use std::{fmt, io};

use tokio::runtime::{Builder, Handle};

use crate::error::{Error, ErrorKind, Result};

struct Background {
    handle: Handle,
    thread: ThreadId,
}

fn background() -> Result<&'static Background> {
    static BACKGROUND: OnceLock<Result<Background>> = OnceLock::new();
    BACKGROUND.get_or_init(|| start().map_err(no_thread)).as_ref().map_err(Clone::clone)
}

fn start() -> io::Result<Background> {
    let (started, handle) = mpsc::channel();
    let run = move || {
        let runtime = Builder::new_current_thread().enable_all().build();
        let handle = runtime.as_ref().map(|runtime| runtime.handle().clone());
        let _ = started.send(handle.map_err(|error| io::Error::new(error.kind(), error.to_string()))); // it waits
        if let Ok(runtime) = runtime {
            runtime.block_on(pending::<()>());
        }
    };
    let thread = thread::Builder::new().name("trunkline".to_owned()).spawn(run)?.thread().id();
    let handle = handle.recv().map_err(io::Error::other)??;
    Ok(Background { handle, thread })
}

impl Background {
    fn is_here(&self) -> bool {
        thread::current().id() == self.thread
    }

    fn wait<T: Send>(&self, future: impl Future<Output = T> + Send) -> Result<T> {
        let outside = matches!(Handle::try_current(), Err(error) if error.is_missing_context());
        if outside {
            return Ok(self.handle.block_on(future));
        }
        // tokio refuses to block a thread that is inside a runtime, but another thread may wait for it
        thread::scope(|scope| {
            let waiting = thread::Builder::new().spawn_scoped(scope, || self.handle.block_on(future));
            Ok(waiting.map_err(no_thread)?.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }
}

/// Waits for `future`.
///
/// # Errors
/// [`ErrorKind::Unsupported`] on the background thread, which would wait for itself.
pub(super) fn wait<T: Send>(future: impl Future<Output = T> + Send) -> Result<T> {
    let background = background()?;
    if background.is_here() { Err(waits_for_itself()) } else { background.wait(future) }
}

/// Waits for a `future` that can fail.
pub(super) fn run<T: Send>(future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    wait(future)?
}

/// Waits for a `future` that ends something; on the background thread it goes on alone.
pub(super) fn finish(future: impl Future<Output = ()> + Send + 'static) {
    let Ok(background) = background() else { return }; // then nothing was ever connected
    if background.is_here() {
        background.handle.spawn(future);
    } else if let Err(error) = background.wait(future) {
        tracing::warn!(%error, "could not wait for the end");
    }
}

fn waits_for_itself() -> Error {
    let message =
        "A blocking call was made on the background thread of trunkline::blocking, which would wait for itself";
    Error::new(ErrorKind::Unsupported, message).with_hint(
        "In handlers, callbacks and functions of in-memory servers use the async client, or make the call on a \
         thread of its own (std::thread::spawn)",
    )
}

fn no_thread(error: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Limit, format!("Could not start a thread for blocking calls: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_wherever_it_is_called() {
        let slow = || async {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            7
        };
        assert_eq!(wait(slow()).unwrap(), 7);
        for runtime in [Builder::new_current_thread(), Builder::new_multi_thread()].iter_mut() {
            let runtime = runtime.build().unwrap();
            assert_eq!(runtime.block_on(async { wait(slow()).unwrap() }), 7);
            assert_eq!(runtime.block_on(runtime.spawn_blocking(move || wait(slow()).unwrap())).unwrap(), 7);
        }
        assert_eq!(wait(async { wait(slow()).unwrap() }).unwrap(), 7);
    }

    #[test]
    fn refuses_to_wait_for_itself() {
        let inside = wait(async { tokio::spawn(async { wait(async {}) }).await.unwrap() }).unwrap();
        let error = inside.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.hint().unwrap().contains("thread of its own"));
    }

    #[test]
    fn an_end_goes_on_alone_on_the_background_thread() {
        let (done, ended) = mpsc::channel();
        wait(async { tokio::spawn(async move { finish(async move { done.send(()).unwrap() }) }).await.unwrap() })
            .unwrap();
        ended.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let caught = |inside: bool| {
            let call = || wait(async { panic!("ouch") });
            std::panic::catch_unwind(|| match inside {
                true => Builder::new_current_thread().build().unwrap().block_on(async { call() }),
                false => call(),
            })
        };
        for inside in [true, false] {
            assert_eq!(caught(inside).unwrap_err().downcast_ref::<&str>(), Some(&"ouch"));
        }
    }
}
