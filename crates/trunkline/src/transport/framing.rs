//! Lines: messages cut out of a byte stream, and an outgoing buffer that writes at once or gathers.

#[cfg(any(test, fuzzing))]
pub(super) mod laws;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use super::Inbox;
use crate::error::{Error, Result};
use crate::limits;
use crate::protocol::jsonrpc;

/// Cuts lines out of what was read. Searching resumes where it stopped; one line stays one `Bytes`.
pub(crate) struct Lines {
    buffer: BytesMut,
    searched: usize,
}

impl Lines {
    pub(crate) fn new() -> Self {
        Self { buffer: BytesMut::new(), searched: 0 }
    }

    /// Where to read into: room for at least 8 KiB, doubling while a line grows.
    fn space(&mut self) -> &mut BytesMut {
        if self.buffer.capacity() - self.buffer.len() < 4 << 10 {
            self.buffer.reserve(self.buffer.len().max(8 << 10));
        }
        &mut self.buffer
    }

    /// The next line that isn't blank, unless one is too long.
    fn next(&mut self, max_message: usize) -> Result<Option<Bytes>> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                // what doesn't count may have come, and its end not
                within(self.buffer.len(), max_message.saturating_add(AROUND), max_message)?;
                return Ok(None);
            };
            let end = self.searched + found;
            let line = self.buffer.split_to(end + 1).freeze();
            self.searched = 0;
            within(end, max_message.saturating_add(AROUND), max_message)?;
            if let Some(line) = trimmed(line) {
                within(line.len(), max_message, max_message)?;
                return Ok(Some(line));
            }
        }
    }

    /// What is left at the end of the stream.
    fn rest(&mut self, max_message: usize) -> Result<Option<Bytes>> {
        self.searched = 0;
        let line = trimmed(self.buffer.split().freeze());
        within(line.as_ref().map_or(0, Bytes::len), max_message, max_message)?;
        Ok(line)
    }
}

/// The bytes of a line that don't count: a byte order mark, and the first half of CR LF.
const AROUND: usize = 4;

fn within(length: usize, most: usize, max_message: usize) -> Result<()> {
    if length > most { Err(too_long(max_message)) } else { Ok(()) }
}

/// A line without its end and without a byte order mark; nothing where it is blank.
fn trimmed(mut line: Bytes) -> Option<Bytes> {
    let end = line.strip_suffix(b"\n").unwrap_or(&line);
    let end = end.strip_suffix(b"\r").unwrap_or(end).len();
    line.truncate(end);
    Some(jsonrpc::without_mark(line)).filter(|line| !line.trim_ascii().is_empty())
}

/// Reads lines into the inbox until the stream ends. `count` hears how many bytes came.
pub(crate) async fn read_lines(
    mut stream: impl AsyncRead + Unpin,
    max_message: usize,
    inbox: &dyn Inbox,
    count: &(dyn Fn(usize) + Sync),
) -> Result<()> {
    let mut lines = Lines::new();
    loop {
        match stream.read_buf(lines.space()).await {
            Ok(0) => break,
            Ok(read) => count(read),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break, // a reset is an end like any other
        }
        while let Some(line) = lines.next(max_message)? {
            inbox.message(line, None);
        }
    }
    if let Some(line) = lines.rest(max_message)? {
        inbox.message(line, None);
    }
    Ok(())
}

pub(super) fn too_long(max_message: usize) -> Error {
    limits::exceeded("max_message", format!("The server sent a message of over {max_message} bytes (max_message)"))
}

/// Something that may take bytes without waiting.
pub(crate) trait TryWrite: Send + Sync {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;
}

/// The outgoing side: appended to under a lock, in call order. Written at once where nothing waits, else by
/// one flusher that takes all there is.
pub(crate) struct Outbox {
    state: Mutex<OutState>,
    wake: Notify,
    max_unsent: usize,
}

struct OutState {
    unsent: BytesMut,
    /// How many bytes the flusher has taken and not yet written.
    writing: usize,
    open: bool,
    at_once: Option<Arc<dyn TryWrite>>,
    /// How many bytes were taken, and how many of them written, since the beginning.
    taken: u64,
    written: u64,
    /// Writing failed: what wasn't written never will be.
    broken: bool,
}

/// So much is gathered before it is written without waiting for the flusher: the peer then works on it while more
/// gathers.
const GATHERED: usize = 1 << 10;

impl OutState {
    /// Writes what was gathered, as far as that goes without waiting; whether nothing is left. A stream that breaks
    /// is the flusher's to find.
    fn write_gathered(&mut self) -> bool {
        let written = self.at_once.as_ref().and_then(|pipe| pipe.try_write(&self.unsent).ok()).unwrap_or(0);
        self.unsent.advance(written);
        self.written += written as u64;
        self.unsent.is_empty()
    }
}

impl Outbox {
    pub(crate) fn new(max_unsent: usize, at_once: Option<Arc<dyn TryWrite>>) -> Arc<Self> {
        let unsent = BytesMut::new();
        let state = OutState { unsent, writing: 0, open: true, at_once, taken: 0, written: 0, broken: false };
        Arc::new(Self { state: Mutex::new(state), wake: Notify::new(), max_unsent })
    }

    fn state(&self) -> MutexGuard<'_, OutState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message, whatever its size where nothing waits; else what waits has a bound. Gives the place of its
    /// end in all that is sent.
    pub(crate) fn send(&self, line: &[u8], eager: bool) -> Result<u64> {
        let mut state = self.state();
        if !state.open {
            return Err(super::gone());
        }
        let mut rest = line;
        let waiting = state.writing + state.unsent.len();
        if eager && waiting == 0 {
            match state.at_once.as_ref().map(|pipe| pipe.try_write(line)) {
                Some(Ok(written)) => {
                    rest = &line[written..];
                    state.written += written as u64;
                }
                Some(Err(error)) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    self.shut(state);
                    return Err(super::gone());
                }
                _ => {}
            }
            if rest.is_empty() {
                state.taken += line.len() as u64;
                return Ok(state.taken);
            }
        }
        if waiting > 0 && waiting + rest.len() > self.max_unsent {
            let text = format!("The server doesn't read: {waiting} bytes wait to be sent to it already");
            return Err(limits::exceeded("max_unsent", text));
        }
        state.unsent.extend_from_slice(rest);
        state.taken += line.len() as u64;
        let end = state.taken;
        if state.unsent.len() >= GATHERED && state.writing == 0 && state.write_gathered() {
            return Ok(end);
        }
        drop(state);
        self.wake.notify_one();
        Ok(end)
    }

    /// Whether the message that ends at `end` was certainly not sent whole and never will be.
    pub(crate) fn lost(&self, end: u64) -> bool {
        let state = self.state();
        state.broken && state.written < end
    }

    /// Takes no more; the flusher ends when everything is written.
    pub(crate) fn close(&self) {
        self.shut(self.state());
    }

    fn shut(&self, mut state: MutexGuard<'_, OutState>) {
        state.open = false;
        state.at_once = None;
        drop(state);
        self.wake.notify_one();
    }

    /// Writes what is sent until closed and empty, or until the stream breaks. Dropping the stream at the end
    /// tells the peer.
    pub(crate) async fn flush(&self, mut stream: impl AsyncWrite + Unpin) {
        loop {
            let mut chunk = {
                let mut state = self.state();
                state.writing = state.unsent.len();
                if state.writing == 0 && !state.open {
                    return;
                }
                state.unsent.split()
            };
            if chunk.is_empty() {
                self.wake.notified().await;
                continue;
            }
            while !chunk.is_empty() {
                match stream.write(&chunk).await {
                    Ok(written) if written > 0 => {
                        chunk.advance(written);
                        self.state().written += written as u64;
                    }
                    _ => return self.give_up(),
                }
            }
            if stream.flush().await.is_err() {
                return self.give_up();
            }
        }
    }

    fn give_up(&self) {
        let mut state = self.state();
        (state.open, state.writing, state.at_once, state.broken) = (false, 0, None, true);
        state.unsent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::laws::Collected;
    use super::*;
    use crate::error::ErrorKind;

    async fn lines_of(chunks: &[&[u8]]) -> Vec<Bytes> {
        let inbox = Collected::default();
        let (mut writer, reader) = tokio::io::duplex(64);
        let feed = async {
            for chunk in chunks {
                writer.write_all(chunk).await.unwrap();
            }
            drop(writer);
        };
        let (_, read) = tokio::join!(feed, read_lines(reader, 1 << 20, &inbox, &|_| {}));
        read.unwrap();
        inbox.0.into_inner().unwrap()
    }

    #[tokio::test]
    async fn cuts_lines_whatever_their_ends_and_chunks() {
        let lines = lines_of(&[b"\xEF\xBB\xBF{\"a\"", b":1}\r\n\r\n  \n", b"x\ry\n", "日".as_bytes(), b"\nlast"]).await;
        assert_eq!(lines, [&b"{\"a\":1}"[..], b"x\ry", "日".as_bytes(), b"last"]);
    }

    #[tokio::test]
    async fn a_line_longer_than_any_buffer_arrives_whole() {
        let long = vec![b'x'; 300_000];
        let lines = lines_of(&[&long, b"\nshort\n"]).await;
        assert_eq!(lines.iter().map(Bytes::len).collect::<Vec<_>>(), [300_000, 5]);
    }

    #[tokio::test]
    async fn an_endless_line_is_a_typed_error() {
        let error = read_lines(tokio::io::repeat(b'a'), 100_000, &Collected::default(), &|_| {}).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }

    #[tokio::test]
    async fn what_is_sent_before_close_is_written_in_order() {
        let outbox = Outbox::new(1 << 20, None);
        let (writer, mut reader) = tokio::io::duplex(8);
        let flusher = tokio::spawn({
            let outbox = outbox.clone();
            async move { outbox.flush(writer).await }
        });
        for n in 0..100 {
            outbox.send(format!("{n}\n").as_bytes(), n % 2 == 0).unwrap();
        }
        outbox.close();
        assert_eq!(outbox.send(b"late\n", true).unwrap_err().kind(), ErrorKind::Closed);
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        flusher.await.unwrap();
        assert_eq!(text, (0..100).map(|n| format!("{n}\n")).collect::<String>());
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_is_a_limit() {
        let outbox = Outbox::new(10, None);
        outbox.send(b"12345678", false).unwrap();
        assert_eq!(outbox.send(b"12345678", false).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[tokio::test]
    async fn what_a_broken_stream_did_not_take_is_known_to_be_lost() {
        let outbox = Outbox::new(1 << 20, None);
        let (writer, mut reader) = tokio::io::duplex(8);
        let flusher = tokio::spawn({
            let outbox = outbox.clone();
            async move { outbox.flush(writer).await }
        });
        let first = outbox.send(b"12345678", false).unwrap();
        let mut taken = [0; 8];
        reader.read_exact(&mut taken).await.unwrap();
        let second = outbox.send(b"abcdefghijkl", false).unwrap();
        assert!(!outbox.lost(second), "it may still be written");
        drop(reader);
        flusher.await.unwrap();
        assert_eq!((outbox.lost(first), outbox.lost(second)), (false, true));
    }
}
