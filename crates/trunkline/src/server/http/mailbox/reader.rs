//! Reading a stream: what waits, until it ends or somebody else takes over.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Notify;

use super::stream::{Stream, Taken};
use super::{Mailbox, STANDING};

/// A connection that reads a stream. Dropping it leaves the stream to be resumed, where it can be.
pub(in crate::server::http) struct Reader {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) stream: u64,
    pub(super) wake: Arc<Notify>,
}

impl Reader {
    pub(in crate::server::http) fn stream(&self) -> u64 {
        self.stream
    }

    /// Something may have come.
    pub(in crate::server::http) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// What waits, up to about so many bytes.
    pub(in crate::server::http) fn take(&self, most: usize) -> Taken {
        let mut boxes = self.mailbox.boxes();
        let over = boxes.over;
        let Some(stream) = boxes.streams.get_mut(&self.stream).filter(|stream| self.reads(stream)) else {
            return Taken { events: Vec::new(), done: true };
        };
        let events = stream.take(most);
        let done = events.is_empty() && (over || stream.complete());
        if !events.is_empty() {
            let most = self.mailbox.limits.replay;
            boxes.forget(most);
        }
        Taken { events, done }
    }

    fn reads(&self, stream: &Stream) -> bool {
        stream.reader.as_ref().is_some_and(|reader| Arc::ptr_eq(reader, &self.wake))
    }

    /// The client knows an id of this stream from now on.
    pub(in crate::server::http) fn set_resumable(&self) {
        if let Some(stream) = self.mailbox.boxes().streams.get_mut(&self.stream) {
            stream.resumable = true;
        }
    }

    /// Waits until all requests are answered and gives the answers; `None` if the session ends before.
    pub(in crate::server::http) async fn answers(&self) -> Option<Vec<Bytes>> {
        while !self.with(|stream| stream.complete())? {
            self.woken().await;
        }
        Some(self.take(usize::MAX).events.into_iter().map(|event| event.line).collect())
    }

    /// Waits until it is clear that there is nothing but answers, or that there is more; the latter too once the
    /// future is dropped. `None` if the session ends before.
    pub(in crate::server::http) async fn nothing_but_answers(&self) -> Option<bool> {
        loop {
            let seen = self.with(|stream| (stream.complete(), stream.has_more_than_answers()))?;
            match seen {
                (_, true) => return Some(false),
                (true, false) => return Some(true),
                (false, false) => self.woken().await,
            }
        }
    }

    fn with<T>(&self, look: impl FnOnce(&Stream) -> T) -> Option<T> {
        let boxes = self.mailbox.boxes();
        let stream = boxes.streams.get(&self.stream).filter(|stream| self.reads(stream))?;
        (stream.complete() || !boxes.over).then(|| look(stream))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut boxes = self.mailbox.boxes();
        let Some(stream) = boxes.streams.get_mut(&self.stream).filter(|stream| self.reads(stream)) else { return };
        stream.reader = None;
        if self.stream != STANDING && !stream.resumable {
            stream.abandoned = true;
            stream.clear();
            if stream.complete() {
                boxes.streams.remove(&self.stream);
            }
        }
    }
}
