//! Which project files may start servers. Trust is kept on the user's side, one small file for each project
//! file, and holds for exactly the content that was trusted. What a trusted file starts is not looked at: a
//! script beside it can change without the file changing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::environment::Environment;
use crate::error::{Error, Result};

/// Whether a file may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStatus {
    /// It may, with this very content.
    Trusted,
    /// It might, but has changed since.
    Changed,
    /// Nobody has said so.
    Unknown,
}

/// The user's decisions about project files.
///
/// ```no_run
/// use trunkline::{Environment, TrustStore};
///
/// let store = TrustStore::of(&Environment::from_process())?;
/// store.grant(".mcp.json".as_ref())?;
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TrustStore {
    dir: PathBuf,
}

impl TrustStore {
    /// The store of this user: the directory `trusted` in [`Environment::config_dir`].
    ///
    /// # Errors
    /// When the environment names no home directory.
    pub fn of(environment: &Environment) -> Result<Self> {
        let dir = environment
            .config_dir()
            .ok_or_else(|| Error::config("There is no place to keep which files are trusted").with_hint("Set HOME"))?;
        Ok(Self { dir: dir.join("trusted") })
    }

    /// Whether `file` may be used with this content.
    pub fn status(&self, file: &Path, content: &[u8]) -> TrustStatus {
        let Ok(key) = file.canonicalize() else { return TrustStatus::Unknown };
        let Ok(record) = std::fs::read_to_string(self.record(&key)) else { return TrustStatus::Unknown };
        match record.lines().next() {
            Some(hash) if hash == sha256(content) => TrustStatus::Trusted,
            _ => TrustStatus::Changed,
        }
    }

    /// Trusts `file` with the content it has now.
    ///
    /// # Errors
    /// When the file can't be read, or the decision can't be written down.
    pub fn grant(&self, file: &Path) -> Result<()> {
        let (key, content) = file
            .canonicalize()
            .and_then(|key| std::fs::read(&key).map(|content| (key, content)))
            .map_err(|error| super::unreadable(file, error))?;
        let record = self.record(&key);
        let temporary = record.with_extension(format!("{}.new", std::process::id()));
        let text = format!("{}\n{}\n", sha256(&content), key.display());
        std::fs::create_dir_all(&self.dir)
            .and_then(|()| std::fs::write(&temporary, text))
            .and_then(|()| std::fs::rename(&temporary, &record))
            .map_err(|error| {
                Error::config(format!("The trust in {} can't be written to {}", file.display(), self.dir.display()))
                    .with_hint(error.to_string())
                    .with_source(error)
            })
    }

    /// Trusts `file` no longer; whether it was trusted before.
    ///
    /// # Errors
    /// When the decision can't be taken back.
    pub fn revoke(&self, file: &Path) -> Result<bool> {
        let key = file.canonicalize().or_else(|_| std::path::absolute(file)).unwrap_or_else(|_| file.to_owned());
        match std::fs::remove_file(self.record(&key)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => {
                let message = format!("The trust in {} can't be taken back", file.display());
                Err(Error::config(message).with_hint(error.to_string()).with_source(error))
            }
        }
    }

    fn record(&self, key: &Path) -> PathBuf {
        self.dir.join(&sha256(key.as_os_str().as_encoded_bytes())[..32])
    }
}

fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn trust_holds_for_one_path_and_one_content() {
        let dir = tempfile::tempdir().unwrap();
        let environment = Environment::from_pairs([("HOME", dir.path()), ("XDG_CONFIG_HOME", dir.path())]);
        let store = TrustStore::of(&environment).unwrap();
        let (file, copy) = (dir.path().join("a.json"), dir.path().join("b.json"));
        fs::write(&file, "one").unwrap();
        fs::write(&copy, "one").unwrap();

        assert_eq!(store.status(&file, b"one"), TrustStatus::Unknown);
        store.grant(&file).unwrap();
        assert_eq!(store.status(&file, b"one"), TrustStatus::Trusted);
        assert_eq!(store.status(&file, b"one "), TrustStatus::Changed);
        assert_eq!(store.status(&copy, b"one"), TrustStatus::Unknown);
        assert_eq!(store.status(&dir.path().join("absent"), b"one"), TrustStatus::Unknown);

        assert!(store.revoke(&file).unwrap());
        assert!(!store.revoke(&file).unwrap());
        assert_eq!(store.status(&file, b"one"), TrustStatus::Unknown);
    }

    #[test]
    fn a_damaged_record_is_no_trust() {
        let dir = tempfile::tempdir().unwrap();
        let store = TrustStore { dir: dir.path().join("trusted") };
        let file = dir.path().join("a.json");
        fs::write(&file, "one").unwrap();
        store.grant(&file).unwrap();
        let record = fs::read_dir(&store.dir).unwrap().next().unwrap().unwrap().path();
        for damaged in [&b""[..], b"\n", b"\xff\xfe"] {
            fs::write(&record, damaged).unwrap();
            assert_ne!(store.status(&file, b"one"), TrustStatus::Trusted);
        }
    }

    #[test]
    fn what_can_t_be_trusted_or_kept_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let store = TrustStore { dir: dir.path().join("blocked") };
        assert!(store.grant(&dir.path().join("absent")).unwrap_err().message().contains("absent"));
        fs::write(&store.dir, "a file where the directory should be").unwrap();
        assert!(store.grant(&store.dir).unwrap_err().message().contains("can't be written"));
        assert!(TrustStore::of(&Environment::from_pairs::<&str, &str>([])).is_err());
    }

    #[test]
    fn the_hash_is_sha_256() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
