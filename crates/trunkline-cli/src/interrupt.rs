//! Ctrl-C and SIGTERM: the first ends the work in an orderly way, the second ends the program at once.

use std::future::Future;

use crate::exit::{Exit, Failure, Outcome};

/// Listens for signals.
pub(crate) struct Interrupts {
    #[cfg(unix)]
    streams: [(tokio::signal::unix::Signal, Exit); 2],
}

impl Interrupts {
    /// Takes the signals over from here on. Where that fails they do what they always do: end the process.
    #[cfg(unix)]
    pub(crate) fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let streams = [
            (signal(SignalKind::interrupt())?, Exit::Interrupted),
            (signal(SignalKind::terminate())?, Exit::Terminated),
        ];
        Ok(Self { streams })
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for a signal; gives the exit code that goes with it.
    pub(crate) async fn next(&mut self) -> Exit {
        #[cfg(unix)]
        {
            let [(interrupt, interrupted), (terminate, terminated)] = &mut self.streams;
            tokio::select! {
                _ = interrupt.recv() => *interrupted,
                _ = terminate.recv() => *terminated,
            }
        }
        #[cfg(not(unix))]
        {
            match tokio::signal::ctrl_c().await {
                Ok(()) => Exit::Interrupted,
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// Does `work` until a signal comes. Dropping the work cancels its calls at their servers.
    pub(crate) async fn guard<T>(&mut self, work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        tokio::select! {
            outcome = work => outcome,
            exit = self.next() => Err(Failure::interrupted(exit)),
        }
    }
}
