//! Logins in files, one for each.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::folder::Folder;
use super::seal::Seal;
use crate::error::{Error, ErrorKind, Result};
use crate::oauth::{Login, LoginKey, StoreGuard, TokenStore};
use crate::redact::Secret;

/// The form in which logins are written.
const VERSION: u32 = 1;
/// How long somebody else may hold a login; renewing one takes a request or two.
const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps logins in a folder: a file for each that only its owner can read (mode 0600, the folder 0700), replaced in one go,
/// and locked across processes while a token is renewed.
///
/// ```no_run
/// use trunkline::{Client, FileStore, OAuth};
///
/// let logins = FileStore::new("/var/lib/my-agent/logins");
/// let client = Client::http("https://example.com/mcp").oauth(OAuth::new().store(logins)).build()?;
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Clone)]
pub struct FileStore(Arc<Inner>);

struct Inner {
    folder: Folder,
    sealing: Option<Sealing>,
    warnings: Mutex<Vec<String>>,
}

type FindKey = dyn Fn() -> Result<Secret> + Send + Sync;

struct Sealing {
    find: Box<FindKey>,
    found: OnceLock<Seal>,
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
struct Record {
    version: u32,
    server: String,
    key: String,
    #[serde(flatten)]
    content: Content,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Content {
    Login(Box<Login>),
    /// The same, for whoever has the key.
    Sealed(String),
}

impl FileStore {
    /// In this folder, which is made when it is needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::with(Folder::new(folder.into()), None)
    }

    fn with(folder: Folder, sealing: Option<Sealing>) -> Self {
        Self(Arc::new(Inner { folder, sealing, warnings: Mutex::default() }))
    }

    /// Seals what is written from now on (AES-256-GCM) by a key that is kept elsewhere, in the keyring of the system for
    /// one. `find` gives it, as [`new_key`](Self::new_key) made it, and is called when it is first needed; it may block.
    /// What was written without a seal is read all the same.
    #[must_use]
    pub fn sealed(self, find: impl Fn() -> Result<Secret> + Send + Sync + 'static) -> Self {
        Self::with(self.0.folder.clone(), Some(Sealing { find: Box::new(find), found: OnceLock::new() }))
    }

    /// A new key for [`sealed`](Self::sealed): 43 letters, digits, `-` and `_`.
    ///
    /// # Errors
    /// [`Config`](ErrorKind::Config) where the system has no random numbers.
    pub fn new_key() -> Result<Secret> {
        Seal::new_key().map(Secret::new).ok_or_else(|| Error::config("The system gives no random numbers"))
    }

    /// Where the files are.
    pub fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    /// What was odd about the files, each said once: that others could read one, until it was closed to them.
    pub fn warnings(&self) -> Vec<String> {
        self.0.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The logins that are kept, in the order of their servers; a file that can't be read is an error of its own.
    ///
    /// # Errors
    /// [`Config`](ErrorKind::Config) where the folder can't be read.
    pub fn keys(&self) -> Result<Vec<Result<LoginKey>>> {
        let inner = &self.0;
        let names = inner.folder.names(".json").map_err(|error| inner.failed("read", "", error))?;
        let key = |name: &String| Ok(inner.record(name)?.map(|record| LoginKey::of_record(record.server, record.key)));
        let keys = names.iter().map(key);
        Ok(keys.filter_map(Result::transpose).collect())
    }

    /// Does it on a thread that may block.
    async fn blocking<T: Send + 'static>(&self, work: impl FnOnce(&Inner) -> Result<T> + Send + 'static) -> Result<T> {
        let inner = self.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.unwrap_or_else(|error| Err(Error::config(format!("The stored logins can't be used: {error}"))))
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").field("folder", &self.folder()).finish_non_exhaustive()
    }
}

impl TokenStore for FileStore {
    async fn load(&self, key: &LoginKey) -> Result<Option<Login>> {
        let key = key.clone();
        self.blocking(move |inner| inner.load(&key)).await
    }

    async fn save(&self, key: &LoginKey, login: &Login) -> Result<()> {
        let (key, login) = (key.clone(), login.clone());
        self.blocking(move |inner| inner.save(&key, login)).await
    }

    async fn remove(&self, key: &LoginKey) -> Result<()> {
        let name = name_of(key) + ".json";
        self.blocking(move |inner| match inner.folder.remove(&name) {
            Ok(_) => Ok(()),
            Err(error) => Err(inner.failed("removed", &name, error)),
        })
        .await
    }

    async fn lock(&self, key: &LoginKey) -> Result<StoreGuard> {
        let name = name_of(key) + ".lock";
        let failed = |error| self.0.failed("locked", &name, error);
        match self.0.folder.lock(&name, PATIENCE).await.map_err(failed)? {
            Some(held) => Ok(StoreGuard::new(held)),
            None => {
                let message = format!("Another process has held the login for {} for a minute", key.server());
                let file = self.0.folder.file(&name).display().to_string();
                let error = Error::new(ErrorKind::Deadline, message).with_context("file", file);
                Err(error.with_hint("Find out what hangs there (`fuser FILE`, for one), and end it"))
            }
        }
    }
}

impl Inner {
    fn load(&self, key: &LoginKey) -> Result<Option<Login>> {
        let name = name_of(key) + ".json";
        let Some(record) = self.record(&name)? else { return Ok(None) };
        if record.key != key.as_str() {
            return Err(self.damaged(&name, &format!("it is the login for {}", record.server)));
        }
        match record.content {
            Content::Login(login) => Ok(Some(*login)),
            Content::Sealed(sealed) => self.opened(&name, key, &sealed).map(Some),
        }
    }

    fn opened(&self, name: &str, key: &LoginKey, sealed: &str) -> Result<Login> {
        let Some(sealing) = &self.sealing else {
            return Err(self.damaged(name, "it is sealed by a key that is not at hand here"));
        };
        let text = sealing.seal()?.open(key.as_str(), sealed);
        let text = text.ok_or_else(|| self.damaged(name, "it was sealed by another key, or was changed since"))?;
        serde_json::from_str(&text).map_err(|error| self.damaged(name, &position(&error)))
    }

    fn save(&self, key: &LoginKey, login: Login) -> Result<()> {
        let name = name_of(key) + ".json";
        let written = |error| self.failed("written", &name, error);
        let content = match &self.sealing {
            None => Content::Login(Box::new(login)),
            Some(sealing) => {
                let text = serde_json::to_string(&login).map_err(|error| written(error.into()))?;
                let sealed = sealing.seal()?.close(key.as_str(), &text);
                Content::Sealed(sealed.ok_or_else(|| written(io::Error::other("the system gives no random numbers")))?)
            }
        };
        let record =
            Record { version: VERSION, server: key.server().to_owned(), key: key.as_str().to_owned(), content };
        let text = serde_json::to_string_pretty(&record).map_err(|error| written(error.into()))?;
        if self.record(&name).is_err() {
            // what nobody can read is kept for whoever can
            let (from, to) = (self.folder.file(&name), self.folder.file(&format!("{name}.damaged")));
            std::fs::rename(from, to).map_err(written)?;
        }
        self.folder.write(&name, &(text + "\n")).map_err(written)
    }

    fn record(&self, name: &str) -> Result<Option<Record>> {
        let content = self.folder.read(name).map_err(|error| self.failed("read", name, error))?;
        let Some(content) = content else { return Ok(None) };
        if content.was_open {
            self.warn(format!("{} could be read by others; it no longer can", self.folder.file(name).display()));
        }
        let record: Record =
            serde_json::from_str(&content.text).map_err(|error| self.damaged(name, &position(&error)))?;
        match record.version {
            VERSION => Ok(Some(record)),
            other => Err(self.damaged(name, &format!("it has form {other}, of a later version of Trunkline"))),
        }
    }

    fn warn(&self, text: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    fn damaged(&self, name: &str, why: &str) -> Error {
        let file = self.folder.file(name).display().to_string();
        Error::config(format!("The stored login in {file} can't be used: {why}"))
            .with_context("file", file)
            .with_hint("Nothing of it was changed. Mend it, or move it away and log in again")
    }

    fn failed(&self, what: &str, name: &str, error: io::Error) -> Error {
        let file = self.folder.file(name).display().to_string();
        Error::config(format!("The stored login in {file} can't be {what}: {error}"))
            .with_context("file", file)
            .with_source(error)
    }
}

impl Sealing {
    fn seal(&self) -> Result<&Seal> {
        if let Some(seal) = self.found.get() {
            return Ok(seal);
        }
        let seal = Seal::by((self.find)()?.expose()).ok_or_else(|| {
            Error::config("The key that seals the stored logins is none: it has to be 32 bytes in base64")
        })?;
        Ok(self.found.get_or_init(|| seal))
    }
}

/// Where the text is wrong, without what stands there.
fn position(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => {
            format!("something else is expected at {}:{}", error.line(), error.column())
        }
        _ => format!("it is no JSON at {}:{}", error.line(), error.column()),
    }
}

/// The name of a login's files: for people the host, for the rest a hash.
fn name_of(key: &LoginKey) -> String {
    let host = key.server().split("://").nth(1).unwrap_or_default().split('/').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let mut name: String = host.chars().map(plain).take(40).chain(['-']).collect();
    name.extend(Sha256::digest(key.as_str().as_bytes())[..8].iter().map(|byte| format!("{byte:02x}")));
    name
}
