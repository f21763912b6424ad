//! Where this user's logins are kept: a folder of files, sealed by a key of the system's keyring where there is one.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;

use trunkline::{Config, Environment, Error, FileStore, LoginKey, Secret, TransportSpec};

use crate::exit::{Failure, Outcome};
use crate::keyring::Keyring;

/// The variable that says which store.
const VARIABLE: &str = "TRUNKLINE_TOKEN_STORE";

/// The store; none where the environment names no home for it.
pub(crate) fn store(environment: &Environment) -> Outcome<Option<FileStore>> {
    let keyring = match environment.get(VARIABLE).unwrap_or_default() {
        "file" => None,
        "" => Keyring::here(environment),
        "keyring" => match Keyring::here(environment) {
            Some(keyring) => Some(keyring),
            None => {
                return Err(Failure::usage(format!("{VARIABLE}=keyring, and there is no keyring here"))
                    .hint(format!("Install secret-tool (libsecret), or use {VARIABLE}=file")));
            }
        },
        other => return Err(Failure::usage(format!("{VARIABLE} is \"{other}\"")).hint("It is file or keyring")),
    };
    let Some(folder) = folder(environment) else { return Ok(None) };
    let store = FileStore::new(&folder);
    Ok(Some(match keyring {
        Some(keyring) => store.sealed(move || key(&keyring, &folder)),
        None => store,
    }))
}

/// The store, where nothing can be done without one.
pub(crate) fn needed(environment: &Environment) -> Outcome<FileStore> {
    let nowhere = || Failure::usage("There is no place to keep logins").hint("Set HOME");
    store(environment)?.ok_or_else(nowhere)
}

/// It isn't part of the config, which people share and keep in repositories.
fn folder(environment: &Environment) -> Option<PathBuf> {
    if cfg!(any(windows, target_os = "macos")) {
        return Some(environment.config_dir()?.join("logins"));
    }
    let set = environment.get_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.has_root());
    let base = set.or_else(|| Some(environment.home()?.join(".local/state")))?;
    Some(base.join("trunkline/logins"))
}

/// The key that seals logins; made when it is first needed.
fn key(keyring: &Keyring, folder: &std::path::Path) -> trunkline::Result<Secret> {
    if let Some(key) = keyring.read()? {
        return Ok(key);
    }
    let _held = lock(folder).map_err(|error| {
        let message = format!("The stored logins in {} can't be locked: {error}", folder.display());
        Error::new(trunkline::ErrorKind::Config, message).with_source(error)
    })?;
    if let Some(key) = keyring.read()? {
        return Ok(key); // another process has just made it
    }
    let key = FileStore::new_key()?;
    keyring.write(key.expose())?;
    Ok(key)
}

fn lock(folder: &std::path::Path) -> std::io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(folder.join("keyring.lock"))?;
    file.lock()?;
    Ok(file)
}

/// The URL of a server, where it has one.
pub(crate) fn url_of(transport: &TransportSpec) -> Option<&str> {
    match transport {
        TransportSpec::Http(http) | TransportSpec::Sse(http) => Some(&http.url),
        _ => None,
    }
}

/// Whether a word on the command line is a URL rather than a name.
pub(crate) fn is_url(word: &str) -> bool {
    word.starts_with("https://") || word.starts_with("http://")
}

/// Whether a login is one for the server at this URL, whatever client it was given to.
pub(crate) fn is_for(key: &LoginKey, url: &str) -> bool {
    let plain = LoginKey::new(url, None);
    let rest = key.as_str().strip_prefix(plain.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// The servers of the config that a login is for.
pub(crate) fn labels(key: &LoginKey, config: &Config, environment: &Environment) -> Vec<String> {
    let uses = |entry: &&trunkline::Entry| {
        entry.resolve(environment).is_ok_and(|spec| url_of(&spec.transport).is_some_and(|url| is_for(key, url)))
    };
    config.entries().iter().filter(uses).map(|entry| entry.label().to_owned()).collect()
}
