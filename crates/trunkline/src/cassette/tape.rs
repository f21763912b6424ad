//! The file that a recording is written to, line by line as calls complete.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::line::Line;
use super::reading;
use super::recorder::Recorder;
use super::scrub::Scrub;
use super::take::Studio;
use super::track::Track;
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::name;
use crate::protocol::RawJson;
use crate::redact::Redactor;

/// A cassette that is being recorded. Clones write to the same file, so that several servers can share one.
///
/// Give it to [`ClientBuilder::record`](crate::ClientBuilder::record), or wrap any connection with
/// [`recorder`](Self::recorder). Each call is written when it completes, whole lines only: whatever ends the process
/// costs no more than the call that was being written. The secrets of a server (its `env`, headers, arguments, URL)
/// are written as `***`; say what else is secret before the tape is given away.
///
/// ```
/// use serde_json::json;
/// use trunkline::{Cassette, Client, Redactor, StaticServer, Tape};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let file = dir.path().join("weather.jsonl");
/// let tape = Tape::create(&file)?.redacting(Redactor::default().matching(["sk-[a-z0-9]+"])?);
/// let server = StaticServer::new().function("sky", "Looks up.", || "blue, says sk-12ab");
/// let client = Client::from_connection(server).label("weather").record(&tape).build()?;
/// assert_eq!(client.call_tool("sky", ()).await?, "blue, says sk-12ab");
/// tape.check()?;
///
/// let cassette = Cassette::open(&file)?;
/// let client = Client::from_connection(cassette.replay("weather")?).build()?;
/// assert_eq!(client.call_tool("sky", ()).await?, "blue, says ***");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Tape {
    spool: Arc<Spool>,
    scrub: Arc<Scrub>,
}

struct Spool {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// The labels of the first servers in their order, until they are written.
    first: Option<Vec<String>>,
    /// The labels that are in use, as long as somebody holds them.
    labels: Vec<(String, Weak<()>)>,
    /// Nothing once writing has failed: what comes after a torn line can't be read.
    file: Option<File>,
    /// What went wrong first.
    fault: Option<Error>,
}

impl Tape {
    /// Starts a cassette. A file that is there already is replaced.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) when it can't be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::create(path).map_err(|error| unwritable(path, &error))?;
        Ok(Self::begin(path, file))
    }

    /// Records at the end of a cassette; starts one where there is none. A last line that was cut off by the end of
    /// its process is removed.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) when it can't be read or written, or is no cassette.
    pub fn append(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let fault = |error: std::io::Error| unwritable(path, &error);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(fault)?;
        if !file.metadata().map_err(fault)?.is_file() {
            return Ok(Self::begin(path, file)); // a device or a pipe has nothing to keep
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(fault)?;
        let (end, lacks_break) = reading::end_of(path, &text)?;
        if end < text.len() {
            tracing::warn!(cassette = %path.display(), "the last line is cut off and is removed");
            file.set_len(end as u64).map_err(fault)?;
        }
        if lacks_break {
            file.write_all(b"\n").map_err(fault)?;
        }
        Ok(Self::begin(path, file))
    }

    fn begin(path: &Path, file: File) -> Self {
        let state = State { first: Some(Vec::new()), labels: Vec::new(), file: Some(file), fault: None };
        let spool = Arc::new(Spool { path: path.to_owned(), state: Mutex::new(state) });
        Self { spool, scrub: Arc::default() }
    }

    /// The same tape, on which what `redactor` finds is written as `***`.
    #[must_use]
    pub fn redacting(mut self, redactor: Redactor) -> Self {
        Arc::make_mut(&mut self.scrub).redactor = redactor;
        self
    }

    /// The same tape, on which the texts and numbers under a key of one of these names are written as `***`, in
    /// arguments and results alike. Case is ignored.
    #[must_use]
    pub fn redacting_fields<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(|name| name.as_ref().to_lowercase());
        Arc::make_mut(&mut self.scrub).fields.extend(names);
        self
    }

    /// Listens to a connection under the label `server`; under `server_2` and so on while another has that label.
    pub fn recorder<C: Connection>(&self, server: impl AsRef<str>, connection: C) -> Recorder<C> {
        let repeats = false;
        Recorder::new(Studio::new(Track::new(self, server.as_ref()), connection.events(), repeats), connection)
    }

    /// Whether everything could be written so far. No call fails because it can't be recorded.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config): why the file could not be written.
    pub fn check(&self) -> Result<()> {
        self.state().fault.clone().map_or(Ok(()), Err)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.spool.path
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.spool.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A label for a server that is going to be recorded, its own as long as the token is held.
    pub(super) fn label(&self, wanted: &str) -> (String, Arc<()>) {
        let mut state = self.state();
        state.labels.retain(|(_, token)| token.strong_count() > 0);
        let label = name::unique_label(wanted, |label| state.labels.iter().any(|(taken, _)| taken == label));
        let token = Arc::new(());
        state.labels.push((label.clone(), Arc::downgrade(&token)));
        if let Some(first) = state.first.as_mut().filter(|first| !first.contains(&label)) {
            first.push(label.clone());
        }
        (label, token)
    }

    /// Writes a line without what is secret: by the rules of this tape, and by what `secrets` finds.
    pub(super) fn put(&self, line: &Line, secrets: &Redactor) {
        let written = line.write();
        let clean = self.scrub.clean(secrets, &written);
        // whom a line is about and what it is must stay readable
        let clean = ["server", "method", "event"].into_iter().fold(clean, |clean, key| match written.get(key) {
            Some(value) if clean.get(key).as_ref() != Some(&value) => clean.with_member(key, &value),
            _ => clean,
        });
        self.state().write(&self.spool.path, &clean);
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.write_header(&self.path);
    }
}

impl State {
    /// Writes the first line, if it isn't there yet.
    fn write_header(&mut self, path: &Path) {
        if let Some(first) = self.first.take() {
            self.write(path, &Line::Header(first).write());
        }
    }

    /// Writes one line in one go.
    fn write(&mut self, path: &Path, line: &RawJson) {
        self.write_header(path);
        let mut text: Vec<u8> = line.as_bytes().to_vec();
        for byte in text.iter_mut().filter(|byte| matches!(**byte, b'\n' | b'\r')) {
            *byte = b' '; // between tokens: inside of texts they are escaped
        }
        text.push(b'\n');
        if let Err(error) = RawJson::parse(text.clone()) {
            self.fail(Error::config(format!("A call can't be recorded in {}: {error}", path.display())));
        } else if let Some(Err(error)) = self.file.as_mut().map(|file| file.write_all(&text)) {
            self.file = None;
            self.fail(unwritable(path, &error));
        }
    }

    fn fail(&mut self, error: Error) {
        tracing::error!(%error, "the recording is not complete");
        self.fault.get_or_insert(error);
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::config(format!("Can't write the cassette {}: {error}", path.display()))
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape").field("path", &self.spool.path).field("scrub", &self.scrub).finish_non_exhaustive()
    }
}
