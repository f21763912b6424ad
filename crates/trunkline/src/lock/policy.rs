//! How strictly a lock file is kept to, and the one copy of it that a server's connections share.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::file::LockFile;
use super::report::LockReport;
use crate::error::{Error, Result};

/// A lock file, and what to do with what isn't in it. For [`ClientBuilder::lock`](crate::ClientBuilder::lock) and
/// [`Locked`](crate::Locked).
#[derive(Debug, Clone)]
pub struct Lock {
    file: Arc<LockFile>,
    added: AddedTools,
    unknown: UnknownServers,
}

/// What to do with a tool that a server lists and that nobody agreed to. It is called in neither case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AddedTools {
    /// Leave it out of the list, so that no model reads its description.
    #[default]
    Hide,
    /// List it.
    Show,
}

/// What to do with a server that isn't in the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum UnknownServers {
    /// Don't even start it: using it is an error with the command to run.
    #[default]
    Refuse,
    /// Use it as though there were no lock.
    Allow,
}

impl Lock {
    /// Keeps to what was agreed to in `file`: tools that are new are hidden, servers that are unknown refused.
    pub fn new(file: LockFile) -> Self {
        Self { file: Arc::new(file), added: AddedTools::default(), unknown: UnknownServers::default() }
    }

    /// The same with what is in a file. Whenever something is refused the file is looked at again, so that an approval
    /// holds at once; one that is taken back holds from the next start.
    ///
    /// # Errors
    /// As [`LockFile::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(LockFile::open(path)?))
    }

    /// What to do with tools that are new.
    #[must_use]
    pub fn added_tools(self, added: AddedTools) -> Self {
        Self { added, ..self }
    }

    /// What to do with servers that aren't in the file.
    #[must_use]
    pub fn unknown_servers(self, unknown: UnknownServers) -> Self {
        Self { unknown, ..self }
    }

    /// What was agreed to.
    pub fn file(&self) -> &LockFile {
        &self.file
    }
}

/// The lock of one server, shared by its connections.
#[derive(Debug)]
pub(crate) struct Pin {
    added: AddedTools,
    unknown: UnknownServers,
    file: Mutex<Arc<LockFile>>,
    last: Mutex<Option<Arc<LockReport>>>,
}

impl Pin {
    pub(crate) fn new(lock: &Lock) -> Arc<Self> {
        let (file, last) = (Mutex::new(lock.file.clone()), Mutex::new(None));
        Arc::new(Self { added: lock.added, unknown: lock.unknown, file, last })
    }

    pub(super) fn file(&self) -> Arc<LockFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn shows_added(&self) -> bool {
        self.added == AddedTools::Show
    }

    /// Whether this server goes without a lock.
    pub(super) fn is_free(&self, server: &str) -> bool {
        self.unknown == UnknownServers::Allow && !self.file().has(server)
    }

    /// Whether the server may be used at all.
    pub(crate) fn admit(&self, server: &str) -> Result<()> {
        if self.unknown == UnknownServers::Allow
            || self.file().has(server)
            || (self.renew()? && self.file().has(server))
        {
            return Ok(());
        }
        let file = self.file();
        let message = format!("Nobody has agreed to the tools of server \"{server}\" yet, so it is not used");
        Err(Error::config(message)
            .with_hint(format!("See what it offers and agree: trunkline lock {}", super::report::word(server)))
            .with_context("server", server)
            .with_context("lock", super::report::place(file.path())))
    }

    /// Reads the file again; whether it is another now.
    pub(super) fn renew(&self) -> Result<bool> {
        let known = self.file();
        let Some(path) = known.path() else { return Ok(false) };
        let now = LockFile::open(path)?;
        let changed = now.to_text() != known.to_text();
        if changed {
            *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(now);
        }
        Ok(changed)
    }

    /// Keeps the latest comparison; whether it says something new.
    pub(super) fn note(&self, report: &Arc<LockReport>) -> bool {
        let mut last = self.lock_last();
        let news = last.as_ref().is_none_or(|last| last != report);
        *last = Some(report.clone());
        news
    }

    /// The latest comparison.
    pub(crate) fn last(&self) -> Option<Arc<LockReport>> {
        self.lock_last().clone()
    }

    fn lock_last(&self) -> MutexGuard<'_, Option<Arc<LockReport>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
