//! Where an entry stands, and what is wrong with one: data that is reported, while other entries load.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A line of a config file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The file; empty for a text that is no file's.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl Origin {
    pub(crate) fn new(file: &Path, line: usize) -> Self {
        Self { file: file.to_owned(), line }
    }

    /// Whether it is a place in a file, where a person can look.
    pub fn is_in_file(&self) -> bool {
        !self.file.as_os_str().is_empty()
    }

    /// The error with this place, where it is one in a file.
    pub(crate) fn placed(&self, error: Error) -> Error {
        if self.is_in_file() { error.with_context("file", self.to_string()) } else { error }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_in_file() {
            return write!(f, "line {}", self.line);
        }
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// What is wrong, or only odd, about an entry or a whole file.
///
/// `Display` gives place, server and reason: `mcp.json:7: server "docs": "comand" is no known key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    origin: Origin,
    label: Option<String>,
    reason: String,
    hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(origin: Origin, label: Option<&str>, reason: impl Into<String>) -> Self {
        Self { origin, label: label.map(str::to_owned), reason: reason.into(), hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: Option<&str>) -> Self {
        self.hint = hint.map(str::to_owned);
        self
    }

    /// Where it is.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The server it is about; nothing where it is about the file.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// What is wrong.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What to do about it, where there is something to say.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The same as an [`Error`] of kind [`Config`](crate::ErrorKind::Config).
    pub fn to_error(&self) -> Error {
        let message = match &self.label {
            Some(label) => format!("Server \"{}\" can't be used: {}", label.escape_debug(), self.reason),
            None if self.origin.is_in_file() => format!("{}: {}", self.origin.file.display(), self.reason),
            None => format!("The config: {}", self.reason),
        };
        let error = Error::config(message);
        let error = match &self.hint {
            Some(hint) => error.with_hint(hint),
            None if self.origin.is_in_file() => error.with_hint(format!("Correct it in {}", self.origin)),
            None => error,
        };
        let error = match &self.label {
            Some(label) => error.with_context("server", label),
            None => error,
        };
        self.origin.placed(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if let Some(label) = &self.label {
            write!(f, "server \"{}\": ", label.escape_debug())?;
        }
        f.write_str(&self.reason)
    }
}
