//! Where servers are configured: the entries of `mcpServers` files, their variables, the files themselves and
//! the trust in them. Everything here is data; nothing is started and nothing is connected to.
//!
//! # Files
//!
//! A file is JSON with comments and trailing commas, and holds its entries under `mcpServers` (or `servers`,
//! as VS Code writes it). An entry has a `command` (with `args`, `env`, `cwd`, `inheritEnv`) or a `url` (with
//! `headers`), and may have `type`, `protocol`, `timeout`, `startTimeout`, `maxTimeout`, `disabled`,
//! `required`, `tools` (`{"allow": [...], "deny": [...]}`, patterns over the server's tool names), `limits` (the
//! fields of [`Limits`](crate::Limits) by name: `{"maxMessage": "64MiB"}`) and `strictOutput` (a result that doesn't fit its
//! tool's output schema is an error).
//! Durations are seconds, or text such as `"500ms"`.
//!
//! # Variables and paths
//!
//! `${VAR}`, `${VAR:-default}` and `${env:VAR}` are looked up in `command`, `args`, `env`, `cwd`, `url` and
//! `headers`, when the entry is used. What is put in is not looked at again; `$VAR` is no reference; `$${`
//! stands for `${`. A default holds where the variable is not set or empty. A variable without value or
//! default is an error of that server alone. `${workspaceFolder}` and `${userHome}` work where no such
//! variable is set.
//!
//! `~` and `~/` at the start of `command` and `cwd` stand for the home directory. A relative `cwd`, and a
//! relative `command` with a slash, are relative to the file's directory (for a file in `.vscode` or
//! `.cursor`, to the directory above).
//!
//! # Faults
//!
//! A bad entry is a [`Problem`] with file, line, server and reason, and drops no other. What is merely odd,
//! such as an unknown key, is a warning. Keys of other programs that only concern those programs
//! (`description`, `autoApprove`, `icon`, ...) pass silently; those that other programs use to choose tools or
//! to reach a server (`disabledTools`, `serverUrl`, ...) are warned about, since they have no effect.

mod auth;
mod bounds;
mod check;
mod discover;
mod duration;
mod entry;
mod expand;
mod fields;
mod filter;
mod jsonc;
mod keys;
#[cfg(any(test, fuzzing))]
pub(crate) mod laws;
mod lookup;
mod problem;
mod read;
mod spec;
#[cfg(test)]
mod tests;
mod trust;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use duration::parse_duration;
pub use entry::Entry;
pub use filter::ToolFilter;
pub use problem::{Origin, Problem};
pub use spec::{HttpSpec, ServerSpec, StdioSpec, TransportSpec};
pub use trust::{TrustStatus, TrustStore, Untrusted};

#[cfg(feature = "oauth")]
pub(crate) use auth::{AuthGrant, AuthSpec};
pub(crate) use check::check_endpoint;
pub(crate) use spec::{HttpPlan, Shown, StdioPlan};

use crate::environment::Environment;
use crate::error::{Error, Result};

/// What one or more config files say.
///
/// ```
/// use trunkline::Config;
///
/// let config = Config::parse(r#"{
///     "mcpServers": {
///         "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
///         "docs": {"url": "https://example.com/mcp", "tmeout": 5},
///         "bad": {}, // an entry needs a command or a url
///     }
/// }"#)?;
///
/// let labels: Vec<_> = config.entries().iter().map(|entry| entry.label()).collect();
/// assert_eq!(labels, ["files", "docs"]);
/// assert_eq!(config.problems()[0].label(), Some("bad"));
/// assert_eq!(config.problems()[0].origin().line, 5);
/// assert!(config.warnings()[0].reason().contains("did you mean \"timeout\"?"));
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Config {
    entries: Vec<Entry>,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    losers: Vec<Loser>,
    untrusted: Vec<Untrusted>,
    files: Vec<PathBuf>,
    /// Every label that occurs, whatever became of its entry.
    claims: Vec<(String, Origin)>,
}

/// An entry that counts for nothing because a file before it has one of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loser {
    /// The name of both.
    pub label: String,
    /// Where the one stands that counts for nothing.
    pub origin: Origin,
    /// Where the one stands that counts.
    pub winner: Origin,
}

impl Config {
    /// Reads a file. Relative paths in it are relative to its directory.
    ///
    /// ```
    /// use trunkline::{Config, Environment};
    ///
    /// let environment = Environment::from_process();
    /// let error = Config::from_file("no/such/mcp.json", &environment).unwrap_err();
    /// assert!(error.message().ends_with("no/such/mcp.json doesn't exist"));
    /// ```
    ///
    /// # Errors
    /// Kind [`Config`](crate::ErrorKind::Config) when there is no such file, it is no JSON, or it has no
    /// entries to read. A bad entry is no error but one of [`problems`](Self::problems).
    pub fn from_file(path: impl AsRef<Path>, environment: &Environment) -> Result<Self> {
        let path: PathBuf = environment.current_dir().join(path).components().collect();
        let content = std::fs::read(&path).map_err(|error| unreadable(&path, error))?;
        Self::from_content(&content, &path)
    }

    /// Reads text that is no file's. Relative paths in it are relative to the current directory.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file).
    pub fn parse(text: &str) -> Result<Self> {
        read::read(text, Path::new(""), None)
    }

    /// Reads the content of a file that was read already.
    pub(crate) fn from_content(content: &[u8], path: &Path) -> Result<Self> {
        let text = std::str::from_utf8(content).map_err(|_| {
            let utf16 = content.starts_with(&[0xFF, 0xFE]) || content.starts_with(&[0xFE, 0xFF]);
            let fault = if utf16 { "is UTF-16 text" } else { "is no UTF-8 text" };
            Error::config(format!("{} {fault}", path.display()))
                .with_hint("Save it as UTF-8")
                .with_context("file", path.display().to_string())
        })?;
        let mut config = read::read(text, path, base_of(path))?;
        config.files.push(path.to_owned());
        Ok(config)
    }

    /// Puts several together, the most important first: of two entries of one name the first counts, even
    /// where it is bad or switched off, and the other is one of the [`losers`](Self::losers).
    pub fn merge(configs: impl IntoIterator<Item = Config>) -> Self {
        let mut merged = Self::default();
        let mut winners: HashMap<String, Origin> = HashMap::new();
        for config in configs {
            let mut lost = Vec::new();
            for (label, origin) in config.claims {
                match winners.get(&label) {
                    Some(winner) => lost.push(Loser { label, origin, winner: winner.clone() }),
                    None => {
                        winners.insert(label.clone(), origin.clone());
                        merged.claims.push((label, origin));
                    }
                }
            }
            let is_lost = |label: &str| lost.iter().any(|loser| loser.label == label);
            let counts = |problem: &Problem| !problem.label().is_some_and(is_lost);
            merged.entries.extend(config.entries.into_iter().filter(|entry| !is_lost(entry.label())));
            merged.problems.extend(config.problems.into_iter().filter(counts));
            merged.warnings.extend(config.warnings.into_iter().filter(counts));
            merged.losers.extend(config.losers.into_iter().chain(lost));
            merged.untrusted.extend(config.untrusted);
            merged.files.extend(config.files);
        }
        merged
    }

    /// Reads all the config there is, the most important first:
    ///
    /// 1. the files `named`, on a command line for instance;
    /// 2. those of the variable `TRUNKLINE_CONFIG`, a list of paths as in `PATH`;
    /// 3. the project's: `.mcp.json`, `mcp.json`, `.vscode/mcp.json` and `.cursor/mcp.json` in the current
    ///    directory, each only if it is trusted ([`TrustStore`]), else it is one of
    ///    [`untrusted`](Self::untrusted);
    /// 4. the user's: `mcp.json` in [`Environment::config_dir`].
    ///
    /// # Errors
    /// When a file of 1 or 2 can't be read. One of 3 or 4 that can't is one of
    /// [`problems`](Self::problems).
    pub fn discover<P: AsRef<Path>>(named: &[P], environment: &Environment) -> Result<Self> {
        discover::discover(named, environment)
    }

    /// The usable entries, in the order of the files; those that are switched off among them.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of this name.
    pub fn entry(&self, label: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.label() == label)
    }

    /// Entries, and whole files, that can't be used.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What is odd, but does no harm.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// Entries that count for nothing, since a file before has one of the same name.
    pub fn losers(&self) -> &[Loser] {
        &self.losers
    }

    /// Files of the project that were found, but not used.
    pub fn untrusted(&self) -> &[Untrusted] {
        &self.untrusted
    }

    /// The files that were read, the most important first.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// The directory that the paths in a file are relative to.
fn base_of(path: &Path) -> Option<&Path> {
    let parent = path.parent()?;
    match parent.file_name().and_then(|name| name.to_str()) {
        Some(".vscode" | ".cursor") => parent.parent(),
        _ => Some(parent),
    }
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    let fault = match error.kind() {
        std::io::ErrorKind::NotFound => "doesn't exist".to_owned(),
        std::io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "may not be read".to_owned(),
        _ => format!("can't be read: {error}"),
    };
    Error::config(format!("The config file {} {fault}", path.display()))
        .with_context("file", path.display().to_string())
        .with_source(error)
}
