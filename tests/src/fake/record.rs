//! The fake's log file, one entry a line in one write, so that several processes can share it. `log` reads it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::process;
use std::sync::Mutex;
use std::time::SystemTime;

use super::lock;
use crate::log::{Entry, Kind};

/// How much of an output is logged, in characters.
const SHOWN: usize = 400;

#[derive(Debug)]
pub(crate) struct Record(Option<Mutex<File>>);

impl Record {
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Record> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        Ok(Record(path.map(open).transpose()?.map(Mutex::new)))
    }

    pub(crate) fn received(&self, line: &str) {
        self.write(Kind::Received, || line.to_owned());
    }

    pub(crate) fn wrote(&self, bytes: &[u8]) {
        self.write(Kind::Wrote, || {
            let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
            start.chars().take(SHOWN).collect::<String>().trim_end_matches('\n').replace('\n', "\\n")
        });
    }

    pub(crate) fn note(&self, text: &str) {
        self.write(Kind::Note, || text.replace('\n', "\\n"));
    }

    fn write(&self, kind: Kind, text: impl FnOnce() -> String) {
        let Some(file) = &self.0 else { return };
        let mut file = lock(file);
        let at = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let entry = Entry { at, pid: process::id(), kind, text: text() };
        // A log that can't be written shows in the test that reads it.
        let _ = file.write_all(entry.write().as_bytes());
    }
}
