//! How each call ended, kept on disk so that the run's own memory stays flat, and compared with the journals of the
//! servers once these are gone.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fleet::label;
use crate::verdict::Done;

/// How many faults are told in full.
const TOLD: usize = 20;

pub(crate) struct Ledger {
    path: PathBuf,
    book: Mutex<Book>,
}

struct Book {
    file: BufWriter<File>,
    faults: Faults,
}

/// What was wrong: all counted, some told.
#[derive(Default)]
pub(crate) struct Faults {
    told: Vec<String>,
    count: usize,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: String) {
        self.count += 1;
        if self.told.len() < TOLD {
            self.told.push(fault);
        }
    }

    pub(crate) fn verdict(self) -> Result<(), String> {
        let more = self.count - self.told.len();
        let more = if more > 0 { format!("\n… and {more} more") } else { String::new() };
        if self.count == 0 { Ok(()) } else { Err(format!("{} faults:\n{}{more}", self.count, self.told.join("\n"))) }
    }
}

impl Ledger {
    pub(crate) fn open(folder: &Path) -> Result<Self, String> {
        let path = folder.join("ledger");
        let file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path, book: Mutex::new(Book { file: BufWriter::new(file), faults: Faults::default() }) })
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, nonce: &str, server: usize, done: Done) {
        let done = match done {
            Done::Once => "once",
            Done::Never => "never",
            Done::Perhaps => "perhaps",
        };
        writeln!(self.book().file, "{nonce} {} {done}", label(server)).expect("the ledger can be written");
    }

    pub(crate) fn fault(&self, fault: String) {
        self.book().faults.add(fault);
    }

    /// Compares with the journals: every call was done as often as its caller was told, and where it was meant to be.
    /// Gives all faults there are, and how many pieces of work were done.
    pub(crate) fn close(self, folder: &Path, servers: usize) -> Result<(Faults, usize), String> {
        let Book { mut file, mut faults } = self.book.into_inner().unwrap_or_else(PoisonError::into_inner);
        file.flush().map_err(|error| error.to_string())?;
        let mut times: HashMap<String, usize> = HashMap::new();
        for label in (0..servers).map(label) {
            let journal = fs::read_to_string(folder.join(format!("{label}.journal"))).unwrap_or_default();
            journal.lines().for_each(|nonce| *times.entry(format!("{nonce} {label}")).or_default() += 1);
        }
        let done = times.values().sum();
        for line in BufReader::new(File::open(&self.path).map_err(|error| error.to_string())?).lines() {
            let line = line.map_err(|error| error.to_string())?;
            let Some((call, told)) = line.rsplit_once(' ') else { continue };
            let times = times.remove(call).unwrap_or(0);
            let right = match told {
                "once" => times == 1,
                "never" => times == 0,
                _ => times <= 1,
            };
            if !right {
                faults.add(format!("{call} was done {times} times; its caller was told: {told}"));
            }
        }
        times.into_keys().for_each(|call| faults.add(format!("{call} was done, but no caller made it")));
        Ok((faults, done))
    }
}
