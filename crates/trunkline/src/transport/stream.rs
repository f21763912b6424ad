//! Lines over any pair of byte streams, such as this process's own standard input and output.

use std::sync::Arc;
use std::sync::Mutex;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

use super::framing::{Outbox, read_lines};
use super::{Inbox, Wire, gone};
use crate::error::Result;
use crate::limits::Limits;

/// Both directions of a byte stream.
pub(crate) struct StreamWire {
    outbox: Arc<Outbox>,
    reader: JoinHandle<()>,
    flusher: Mutex<Option<JoinHandle<()>>>,
}

/// Speaks over this process's standard input and output.
pub(crate) fn own_stdio(limits: &Limits, inbox: Arc<dyn Inbox>) -> Wire {
    use tokio::io::{stdin, stdout};
    #[cfg(unix)]
    return Wire::Stream(match (own::input(), own::output()) {
        (Some(input), Some(output)) => over(input, output, limits, inbox),
        (Some(input), None) => over(input, stdout(), limits, inbox),
        (None, Some(output)) => over(stdin(), output, limits, inbox),
        (None, None) => over(stdin(), stdout(), limits, inbox),
    });
    #[cfg(not(unix))]
    Wire::Stream(over(stdin(), stdout(), limits, inbox))
}

/// Standard input and output as pipes, which need no helper thread; nothing where they are something else. What is
/// turned into a pipe here must be used as one: it doesn't block any more.
#[cfg(unix)]
mod own {
    use std::fs::File;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt as _;

    use tokio::net::unix::pipe::{Receiver, Sender};

    pub(super) fn input() -> Option<Receiver> {
        Receiver::from_owned_fd(pipe(std::io::stdin())?).ok()
    }

    pub(super) fn output() -> Option<Sender> {
        Sender::from_owned_fd(pipe(std::io::stdout())?).ok()
    }

    fn pipe(stream: impl AsFd) -> Option<OwnedFd> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        file.metadata().ok()?.file_type().is_fifo().then(|| file.into())
    }
}

/// Speaks over these streams.
pub(crate) fn over(
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
    limits: &Limits,
    inbox: Arc<dyn Inbox>,
) -> StreamWire {
    let outbox = Outbox::new(limits.max_unsent, None);
    let flusher = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.flush(output).await }
    });
    let max_message = limits.max_message;
    let reader = tokio::spawn(async move {
        let end = read_lines(input, max_message, &*inbox, &|_| {}).await;
        inbox.closed(end.err().unwrap_or_else(gone));
    });
    StreamWire { outbox, reader, flusher: Mutex::new(Some(flusher)) }
}

impl StreamWire {
    pub(crate) fn send(&self, line: &[u8]) -> Result<()> {
        self.outbox.send(line, false).map(drop)
    }

    /// Writes what is left, then stops.
    pub(crate) async fn close(&self) {
        self.reader.abort();
        self.outbox.close();
        let flusher = self.flusher.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(flusher) = flusher {
            let _ = flusher.await; // an aborted flusher has nothing to say
        }
    }
}

impl Drop for StreamWire {
    fn drop(&mut self) {
        self.reader.abort();
        self.outbox.close();
    }
}
