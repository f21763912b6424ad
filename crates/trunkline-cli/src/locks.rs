//! Which lock file holds for which server: the one of `--lock`, or the one beside the config file it is from.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use trunkline::{AddedTools, Entry, Lock};

use crate::args::Global;
use crate::exit::Outcome;

/// The file's name where nobody gives one.
const NAME: &str = "trunkline.lock";

/// The lock files of this call of the program.
#[derive(Debug)]
pub(crate) struct Locks {
    given: Option<PathBuf>,
    /// How what is new is shown; nothing where nothing is enforced.
    added: Option<AddedTools>,
    read: HashMap<PathBuf, Lock>,
}

impl Locks {
    pub(crate) fn new(global: &Global) -> Self {
        let added = if global.show_new { AddedTools::Show } else { AddedTools::Hide };
        Self { given: global.lock.clone(), added: (!global.unlocked).then_some(added), read: HashMap::new() }
    }

    /// Where a server's tools are agreed to, whether the file is there or not; nothing for a server of the command line
    /// without `--lock`.
    pub(crate) fn file_of(&self, entry: Option<&Entry>) -> Option<PathBuf> {
        self.given.clone().or_else(|| entry?.base().map(|dir| dir.join(NAME)))
    }

    /// What holds for a server. A file that was named has to be there; one that is there has to be readable.
    pub(crate) fn of(&mut self, entry: Option<&Entry>) -> Outcome<Option<Lock>> {
        let Some(added) = self.added else { return Ok(None) };
        let Some(file) = self.file_of(entry) else { return Ok(None) };
        if self.given.is_none() && !is_there(&file) {
            return Ok(None);
        }
        if let Some(lock) = self.read.get(&file) {
            return Ok(Some(lock.clone()));
        }
        let lock = Lock::open(&file)?.added_tools(added);
        self.read.insert(file, lock.clone());
        Ok(Some(lock))
    }
}

/// Whether there is anything of that name, even a link to nowhere.
pub(crate) fn is_there(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}
