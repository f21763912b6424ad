//! Which project files may start servers. Trust is kept on the user's side, one small file for each project
//! file, and holds for exactly the content that was trusted. What a trusted file starts is not looked at: a
//! script beside it can change without the file changing.

use std::fmt::{self, Write as _};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{Config, unreadable};
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

/// A project's file that nobody on this machine has agreed to. It was read once: what [`config`](Self::config) shows
/// is what [`TrustStore::grant`] agrees to.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Untrusted {
    /// The file.
    pub file: PathBuf,
    /// The servers it would bring. A stranger wrote these names: control characters are escaped.
    pub labels: Vec<String>,
    /// Whether it was trusted before it changed.
    pub changed: bool,
    content: Vec<u8>,
}

impl Untrusted {
    pub(super) fn new(file: &Path, content: Vec<u8>, changed: bool) -> Self {
        let claims = Config::from_content(&content, file).map(|config| config.claims).unwrap_or_default();
        let labels = claims.into_iter().map(|(label, _)| label.escape_debug().to_string()).collect();
        Self { file: file.to_owned(), labels, changed, content }
    }

    /// What it would bring, for whoever decides (see [`Entry::in_full`](super::Entry::in_full)).
    ///
    /// # Errors
    /// Where the file can't be read as a config.
    pub fn config(&self) -> Result<Config> {
        Config::from_content(&self.content, &self.file)
    }
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = match self.labels.len() {
            1 => "1 server".to_owned(),
            n => format!("{n} servers"),
        };
        let state = if self.changed { "has changed since it was trusted" } else { "is not trusted" };
        write!(f, "{} {state}; its {count} can't be used yet", self.file.display())
    }
}

impl fmt::Debug for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Untrusted"); // its content may hold secrets
        out.field("file", &self.file).field("labels", &self.labels).field("changed", &self.changed);
        out.finish_non_exhaustive()
    }
}

/// The user's decisions about project files.
///
/// ```no_run
/// use trunkline::{Environment, TrustStore};
///
/// let store = TrustStore::of(&Environment::from_process())?;
/// let file = store.read(".mcp.json".as_ref())?;
/// for entry in file.config()?.entries() {
///     println!("{}: {}", entry.label(), entry.in_full());
/// }
/// store.grant(&file)?;
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
        let Ok(key) = key(file) else { return TrustStatus::Unknown };
        let Ok(record) = std::fs::read_to_string(self.record(&key)) else { return TrustStatus::Unknown };
        match record.lines().next() {
            Some(hash) if hash == sha256(content) => TrustStatus::Trusted,
            _ => TrustStatus::Changed,
        }
    }

    /// Reads a project's file for a decision, whatever was decided before.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(&self, file: &Path) -> Result<Untrusted> {
        let content = read(file)?;
        let changed = self.status(file, &content) == TrustStatus::Changed;
        Ok(Untrusted::new(file, content, changed))
    }

    /// Trusts a file with the content that was read of it.
    ///
    /// # Errors
    /// When the decision can't be written down.
    pub fn grant(&self, file: &Untrusted) -> Result<()> {
        let Untrusted { file, content, .. } = file;
        let key = key(file).map_err(|error| unreadable(file, error))?;
        let record = self.record(&key);
        let temporary = record.with_extension(format!("{}.new", std::process::id()));
        let text = format!("{}\n{}\n", sha256(content), key.display());
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
        let key = key(file).unwrap_or_else(|_| file.to_owned());
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

/// The content of a project's file. A stranger may have put a device or a pipe in its place.
pub(super) fn read(file: &Path) -> Result<Vec<u8>> {
    let content = match std::fs::metadata(file) {
        Ok(about) if about.is_file() || about.is_dir() => std::fs::read(file),
        Ok(_) => Err(io::Error::other("it is no ordinary file")),
        Err(error) => Err(error),
    };
    content.map_err(|error| unreadable(file, error))
}

/// What a decision is about: the directory that the file's relative paths start from, whichever way it was reached,
/// and the file's place in it. A link in another project to the same file is another matter: it would start what lies
/// there.
fn key(file: &Path) -> io::Result<PathBuf> {
    let file = std::path::absolute(file)?;
    let base = super::base_of(&file).unwrap_or(Path::new("/"));
    let place = file.strip_prefix(base).unwrap_or(&file);
    Ok(base.canonicalize()?.join(place))
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
        store.grant(&store.read(&file).unwrap()).unwrap();
        assert_eq!(store.status(&file, b"one"), TrustStatus::Trusted);
        assert_eq!(store.status(&file, b"one "), TrustStatus::Changed);
        assert_eq!(store.status(&copy, b"one"), TrustStatus::Unknown);
        assert_eq!(store.status(&dir.path().join("absent"), b"one"), TrustStatus::Unknown);

        assert!(store.revoke(&file).unwrap());
        assert!(!store.revoke(&file).unwrap());
        assert_eq!(store.status(&file, b"one"), TrustStatus::Unknown);
    }

    #[test]
    fn p76_what_was_read_is_what_is_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let store = TrustStore { dir: dir.path().join("trusted") };
        let file = dir.path().join(".mcp.json");
        let entry = |command: &str| format!("{{\"mcpServers\": {{\"a\": {{\"command\": \"{command}\"}}}}}}");
        fs::write(&file, entry("shown")).unwrap();
        let read = store.read(&file).unwrap();
        fs::write(&file, entry("slipped-in")).unwrap();
        store.grant(&read).unwrap();
        assert_eq!(read.config().unwrap().entries()[0].in_full()["command"], "shown");
        assert_eq!(store.status(&file, entry("shown").as_bytes()), TrustStatus::Trusted);
        assert_eq!(store.status(&file, entry("slipped-in").as_bytes()), TrustStatus::Changed);
        assert!(store.read(&file).unwrap().changed);
    }

    #[test]
    #[cfg(unix)]
    fn p76_a_link_to_a_trusted_file_is_not_trusted() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let store = TrustStore { dir: dir.path().join("trusted") };
        for folder in ["good/.vscode", "evil"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let at = |place: &str| dir.path().join(place);
        for trusted in ["good/.mcp.json", "good/.vscode/mcp.json"] {
            fs::write(at(trusted), "same").unwrap();
            store.grant(&store.read(&at(trusted)).unwrap()).unwrap();
        }
        symlink(at("good/.mcp.json"), at("evil/.mcp.json")).unwrap();
        symlink(at("good/.vscode"), at("evil/.vscode")).unwrap();
        symlink(at("good"), at("other-way")).unwrap();
        for (file, status) in [
            ("good/.mcp.json", TrustStatus::Trusted),
            ("good/.vscode/../.mcp.json", TrustStatus::Trusted),
            ("other-way/.mcp.json", TrustStatus::Trusted),
            ("other-way/.vscode/mcp.json", TrustStatus::Trusted),
            ("evil/.mcp.json", TrustStatus::Unknown),
            ("evil/.vscode/mcp.json", TrustStatus::Unknown),
        ] {
            assert_eq!(fs::read(at(file)).unwrap(), b"same", "{file}");
            assert_eq!(store.status(&at(file), b"same"), status, "{file}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn p76_what_is_no_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = TrustStore { dir: dir.path().join("trusted") };
        let endless = dir.path().join(".mcp.json");
        std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
        assert!(store.read(&endless).unwrap_err().message().ends_with("can't be read: it is no ordinary file"));
    }

    #[test]
    fn a_damaged_record_is_no_trust() {
        let dir = tempfile::tempdir().unwrap();
        let store = TrustStore { dir: dir.path().join("trusted") };
        let file = dir.path().join("a.json");
        fs::write(&file, "one").unwrap();
        store.grant(&store.read(&file).unwrap()).unwrap();
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
        assert!(store.read(&dir.path().join("absent")).unwrap_err().message().contains("absent"));
        fs::write(&store.dir, "a file where the directory should be").unwrap();
        let read = store.read(&store.dir).unwrap();
        assert!(store.grant(&read).unwrap_err().message().contains("can't be written"));
        assert!(TrustStore::of(&Environment::from_pairs::<&str, &str>([])).is_err());
    }

    #[test]
    fn the_hash_is_sha_256() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
