//! What a server said and how much: the bounded tail of its standard error, and counters.

#[cfg(any(test, fuzzing))]
pub(crate) mod laws;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::transport::{Evidence, Inbox};

/// How many of the last lines an error shows.
const SHOWN: usize = 12;
/// A longer line is cut there.
const LONGEST_LINE: usize = 4 << 10;

/// Counters and the last lines of the standard error, bounded in bytes.
pub(crate) struct Tail {
    received: AtomicU64,
    stderr: AtomicU64,
    exited: AtomicBool,
    lines: Mutex<Kept>,
    capacity: usize,
}

#[derive(Default)]
struct Kept {
    lines: VecDeque<String>,
    bytes: usize,
    partial: Vec<u8>,
}

impl Tail {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            received: AtomicU64::new(0),
            stderr: AtomicU64::new(0),
            exited: AtomicBool::new(false),
            lines: Mutex::default(),
            capacity,
        }
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn set_exited(&self) {
        self.exited.store(true, Ordering::SeqCst);
    }

    pub(crate) fn exited(&self) -> bool {
        self.exited.load(Ordering::SeqCst)
    }

    pub(crate) fn evidence(&self) -> Evidence {
        let kept = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let partial = (!kept.partial.is_empty()).then(|| shown(&kept.partial));
        let mut stderr: Vec<_> = kept.lines.iter().rev().take(SHOWN).rev().cloned().collect();
        stderr.extend(partial);
        Evidence {
            received: self.received.load(Ordering::Relaxed),
            stderr_bytes: self.stderr.load(Ordering::Relaxed),
            stderr,
            alive: !self.exited(),
            waits: None,
        }
    }

    /// Takes in what was read and hands each whole line on.
    fn push(&self, chunk: &[u8], each: &mut dyn FnMut(&str)) {
        self.stderr.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        let mut whole = Vec::new();
        let mut kept = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST_LINE.saturating_sub(kept.partial.len());
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            kept.partial.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                let line = shown(&std::mem::take(&mut kept.partial));
                if !line.trim().is_empty() {
                    kept.bytes += line.len();
                    kept.lines.push_back(line.clone());
                    whole.push(line);
                }
            }
            while kept.bytes > self.capacity {
                let dropped = kept.lines.pop_front().map_or(0, |line| line.len());
                kept.bytes = kept.bytes.saturating_sub(dropped.max(1));
            }
        }
        drop(kept);
        whole.iter().for_each(|line| each(line));
    }
}

/// A line as it may be shown: no controls, no colours.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                while chars.next_if(|c| !('@'..='~').contains(c)).is_some() {}
                chars.next();
            }
            '\t' => out.push(' '),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Reads the standard error to its end, whatever the caller does.
pub(crate) async fn drain(mut stderr: impl AsyncRead + Unpin, tail: Arc<Tail>, inbox: Arc<dyn Inbox>) {
    let mut chunk = vec![0; 4 << 10];
    while let Ok(read) = stderr.read(&mut chunk).await {
        if read == 0 {
            break;
        }
        tail.push(&chunk[..read], &mut |line| inbox.stderr(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_lines_within_its_bound() {
        let tail = Tail::new(100);
        let mut heard = 0;
        for n in 0..1000 {
            tail.push(format!("line {n:04}\n").as_bytes(), &mut |_| heard += 1);
        }
        let evidence = tail.evidence();
        assert_eq!(evidence.stderr.last().unwrap(), "line 0999");
        assert!(tail.lines.lock().unwrap().bytes <= 100);
        assert_eq!((heard, evidence.stderr_bytes), (1000, 10_000));
    }

    #[test]
    fn joins_pieces_cuts_endless_lines_and_drops_colours() {
        let tail = Tail::new(1 << 20);
        tail.push(b"\x1b[31mred\x1b[0m al", &mut |_| ());
        tail.push(b"ert\r\n", &mut |_| ());
        tail.push(&[b'x'; 100_000], &mut |_| ());
        let shown = tail.evidence().stderr;
        assert_eq!(shown[0], "red alert");
        assert_eq!(shown[1].len(), LONGEST_LINE);
    }
}
