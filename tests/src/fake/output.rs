//! Stdout: framing, pieces, closing. One lock, so that threads don't mix their lines.

use std::fs::File;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::lock;
use super::record::Record;
use crate::script::{Framing, Pieces};

#[derive(Debug)]
pub(crate) struct Output {
    framing: Framing,
    turn: Mutex<()>,
    closed: AtomicBool,
}

impl Output {
    pub(crate) fn new(framing: Framing) -> Output {
        Output { framing, turn: Mutex::new(()), closed: AtomicBool::new(false) }
    }

    /// Whether stdout was closed, here or on the other side.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Writes a message in the script's framing.
    pub(crate) fn message(&self, record: &Record, json: &str, pieces: Option<Pieces>) {
        let framing = &self.framing;
        let pretty = framing.pretty.then(|| serde_json::from_str::<Value>(json).ok()).flatten();
        let body = pretty.map_or_else(|| json.to_owned(), |value| format!("{value:#}"));
        let bom = if framing.bom { "\u{FEFF}" } else { "" };
        let end = if framing.crlf { "\r\n" } else { "\n" };
        let text = if framing.content_length {
            format!("{bom}Content-Length: {}\r\n\r\n{body}", body.len())
        } else {
            format!("{bom}{body}{end}")
        };
        self.raw(record, text.as_bytes(), pieces);
    }

    /// Writes bytes as they are.
    pub(crate) fn raw(&self, record: &Record, bytes: &[u8], pieces: Option<Pieces>) {
        let _turn = lock(&self.turn);
        if self.is_closed() {
            return record.note("not written, stdout is closed");
        }
        record.wrote(bytes);
        let pieces = pieces.or(self.framing.pieces);
        let size = pieces.map_or(usize::MAX, |pieces| pieces.bytes.max(1));
        for piece in bytes.chunks(size) {
            if !write_all(piece) {
                self.closed.store(true, Ordering::SeqCst);
                return record.note("stdout closed by the client");
            }
            if let Some(Pieces { pause_us, .. }) = pieces {
                thread::sleep(Duration::from_micros(pause_us));
            }
        }
    }

    /// Writes the same block until stdout is closed.
    pub(crate) fn flood(&self, record: &Record, unit: &str) {
        let unit = if unit.is_empty() { "a" } else { unit };
        let block = unit.repeat((65_536 / unit.len()).max(1));
        self.raw(record, block.as_bytes(), None);
        let _turn = lock(&self.turn);
        while !self.is_closed() {
            if !write_all(block.as_bytes()) {
                self.closed.store(true, Ordering::SeqCst);
                record.note("stdout closed by the client");
            }
        }
    }

    /// Closes stdout; the descriptor then leads to nothing.
    pub(crate) fn close(&self) -> std::io::Result<()> {
        let _turn = lock(&self.turn);
        self.closed.store(true, Ordering::SeqCst);
        let nowhere = File::options().write(true).open("/dev/null")?;
        Ok(rustix::stdio::dup2_stdout(nowhere)?)
    }
}

/// False once nobody reads. Not through `std::io::stdout`, whose buffer would join pieces.
fn write_all(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match rustix::io::retry_on_intr(|| rustix::io::write(rustix::stdio::stdout(), bytes)) {
            Ok(written) => bytes = &bytes[written..],
            Err(_) => return false,
        }
    }
    true
}
