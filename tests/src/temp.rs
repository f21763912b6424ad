//! `TempDir`: a directory for one test, removed with the value.

use std::fs;
use std::path::{Path, PathBuf};

/// A directory for one test. `$TRUNKLINE_TEST_KEEP` set to anything keeps those of failed tests.
#[derive(Debug)]
pub struct TempDir(tempfile::TempDir);

impl TempDir {
    /// A new, empty directory. Its path has no symlink in it, so it equals a child's working directory.
    #[expect(clippy::new_without_default, reason = "creating a directory is more than a default value")]
    pub fn new() -> TempDir {
        let base = fs::canonicalize(std::env::temp_dir()).expect("the temporary directory exists");
        TempDir(tempfile::Builder::new().prefix("trunkline-").tempdir_in(base).expect("a temporary directory"))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A path inside it; nothing is created.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file inside it, with the directories above it, and gives its path.
    pub fn write(&self, name: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().expect("a file inside the directory")).expect("its directory");
        fs::write(&path, contents).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Makes a symlink inside it and gives its path. The way to have the fake under another name: a script that was
    /// just written can't be run while another thread forks.
    pub fn link(&self, name: impl AsRef<Path>, target: impl AsRef<Path>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().expect("a file inside the directory")).expect("its directory");
        std::os::unix::fs::symlink(target, &path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// The text of a file inside it; "" where there is none.
    pub fn read(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.join(name)).unwrap_or_default()
    }
}

impl AsRef<Path> for TempDir {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("TRUNKLINE_TEST_KEEP").is_some() {
            self.0.disable_cleanup(true);
        }
    }
}
