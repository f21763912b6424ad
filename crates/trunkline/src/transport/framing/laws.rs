//! What holds of lines, whatever comes and however it is cut.

use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::io::{AsyncRead, ReadBuf};

use super::read_lines;
use crate::error::Error;
use crate::transport::Inbox;

/// A stream that has these chunks at hand, one a read.
struct Chunks<'a>(&'a [&'a [u8]]);

impl AsyncRead for Chunks<'_> {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let chunks = &mut self.get_mut().0;
        while let Some((first, rest)) = chunks.split_first() {
            *chunks = rest;
            if !first.is_empty() {
                assert!(buffer.remaining() >= first.len(), "a chunk of a test is small");
                buffer.put_slice(first);
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// An inbox that keeps the messages.
#[derive(Default)]
pub(super) struct Collected(pub(super) Mutex<Vec<Bytes>>);

impl Inbox for Collected {
    fn message(&self, bytes: Bytes, _: Option<u64>) {
        self.0.lock().unwrap().push(bytes);
    }
    fn stderr(&self, _: &str) {}
    fn warning(&self, _: String) {}
    fn closed(&self, _: Error) {}
}

/// Lines are the same wherever the stream is cut into chunks (of up to 4 KiB): without their ends and byte order marks,
/// blank ones left out. One that is too long ends the stream, after those before it.
pub(crate) fn lines(chunks: &[&[u8]], max: usize) {
    let (inbox, counted) = (Collected::default(), AtomicUsize::new(0));
    let count = |read| {
        counted.fetch_add(read, Ordering::Relaxed);
    };
    let read = read_lines(Chunks(chunks), max, &inbox, &count).now_or_never().expect("everything is at hand");
    let found = inbox.0.into_inner().unwrap();
    let all = chunks.concat();
    let mut wanted = Vec::new();
    let mut fits = true;
    for raw in all.split(|byte| *byte == b'\n') {
        let line = raw.strip_suffix(b"\r").unwrap_or(raw);
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let says_something = line.iter().any(|byte| !byte.is_ascii_whitespace());
        fits = if says_something { line.len() <= max } else { raw.len() <= max.saturating_add(4) };
        if !fits {
            break;
        }
        if says_something {
            wanted.push(line);
        }
    }
    assert_eq!(found, wanted);
    assert_eq!(read.is_ok(), fits, "{read:?}, lines of up to {max} bytes");
    assert!(!fits || counted.into_inner() == all.len());
}
