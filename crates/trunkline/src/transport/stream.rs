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
    #[cfg(unix)]
    if let Some((input, output)) = own_pipes() {
        return Wire::Stream(over(input, output, limits, inbox));
    }
    Wire::Stream(over(tokio::io::stdin(), tokio::io::stdout(), limits, inbox))
}

/// Standard input and output as pipes, which need no helper thread; nothing where they are something else.
#[cfg(unix)]
fn own_pipes() -> Option<(tokio::net::unix::pipe::Receiver, tokio::net::unix::pipe::Sender)> {
    use std::os::fd::AsFd;
    use tokio::net::unix::pipe::{Receiver, Sender};
    let input = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
    let output = std::io::stdout().as_fd().try_clone_to_owned().ok()?;
    Some((Receiver::from_owned_fd(input).ok()?, Sender::from_owned_fd(output).ok()?))
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
