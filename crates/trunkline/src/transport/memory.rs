//! Two ends in one process, for tests and for a server that is a library.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{Inbox, Wire, gone};
use crate::error::Result;

/// One end.
#[derive(Debug)]
pub(crate) struct MemoryWire(Mutex<Option<mpsc::UnboundedSender<Bytes>>>);

/// Connects two inboxes; returns the wire of each. Needs a runtime.
pub(crate) fn pair(left: Arc<dyn Inbox>, right: Arc<dyn Inbox>) -> (Wire, Wire) {
    let (to_right, at_right) = mpsc::unbounded_channel();
    let (to_left, at_left) = mpsc::unbounded_channel();
    tokio::spawn(deliver(at_left, left));
    tokio::spawn(deliver(at_right, right));
    let wire = |sender| Wire::Memory(MemoryWire(Mutex::new(Some(sender))));
    (wire(to_right), wire(to_left))
}

async fn deliver(mut messages: mpsc::UnboundedReceiver<Bytes>, inbox: Arc<dyn Inbox>) {
    while let Some(mut message) = messages.recv().await {
        message.truncate(message.trim_ascii_end().len());
        inbox.message(message, None);
    }
    inbox.closed(gone());
}

impl MemoryWire {
    pub(crate) fn send(&self, line: Vec<u8>) -> Result<()> {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = sender.as_ref().map(|sender| sender.send(line.into()));
        if matches!(sent, Some(Ok(()))) { Ok(()) } else { Err(gone()) }
    }

    pub(crate) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
