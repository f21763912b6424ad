//! What comes of comparing a server's tools with those that were agreed to.

use std::path::{Path, PathBuf};

use super::change::{Change, Severity};
use crate::error::{Error, ErrorKind};

/// How one server's tools differ from those that were agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockReport {
    /// The server's label.
    pub server: String,
    /// Whether the server is in the lock file at all.
    pub pinned: bool,
    /// The lock file, where it is one.
    pub file: Option<PathBuf>,
    /// Every tool that is listed or was agreed to, by name.
    pub tools: Vec<ToolReport>,
}

/// How one tool differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolReport {
    /// Its name on the wire.
    pub tool: String,
    /// What became of it.
    pub state: ToolState,
    /// The differences of one that changed, the worst first; of one that is new, what is suspicious.
    pub changes: Vec<Change>,
}

/// What became of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolState {
    /// It is what was agreed to.
    Unchanged,
    /// It isn't.
    Changed,
    /// It is listed and was not agreed to.
    Added,
    /// It was agreed to and isn't listed any more.
    Removed,
}

impl ToolState {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

impl LockReport {
    /// Whether all is as it was agreed to.
    pub fn is_clean(&self) -> bool {
        self.pinned && self.different().next().is_none()
    }

    /// The tools that aren't what was agreed to.
    pub fn different(&self) -> impl Iterator<Item = &ToolReport> {
        self.tools.iter().filter(|tool| tool.state != ToolState::Unchanged)
    }

    /// Why a tool is not called; nothing for one that is.
    ///
    /// The message holds no word of the server's, since a model may read it; the difference is in the context.
    pub fn refusal(&self, tool: &str) -> Option<Error> {
        let report = self.tool(tool).filter(|report| report.state != ToolState::Unchanged)?;
        let address = word(&format!("{}.{tool}", self.server));
        let (kind, fault, hint) = match report.state {
            ToolState::Removed => (ErrorKind::NotFound, "is not offered any more".to_owned(), None),
            ToolState::Added => (
                ErrorKind::Config,
                "is new and nobody has agreed to it yet, so it is not called".to_owned(),
                Some(format!("Look at it, then: trunkline lock --approve {address}")),
            ),
            _ => (
                ErrorKind::Config,
                format!("has changed since it was agreed to ({}), so it is not called", report.in_short()),
                Some(format!("Look at the difference, then: trunkline lock --approve {address}")),
            ),
        };
        let mut error = Error::new(kind, format!("The tool \"{tool}\" of server \"{}\" {fault}", self.server));
        error = error.with_context("tool", tool).with_context("server", self.server.clone());
        if let Some(hint) = hint {
            error = error.with_hint(hint).with_context("lock", place(self.file.as_deref()));
        }
        let difference = report.difference();
        Some(if difference.is_empty() { error } else { error.with_context("difference", difference) })
    }

    /// A line on a tool that differs.
    pub(super) fn word_on(&self, tool: &ToolReport) -> String {
        let name = &tool.tool;
        match tool.state {
            ToolState::Unchanged => format!("tool \"{name}\" is as it was agreed to"),
            ToolState::Removed => format!("tool \"{name}\" was agreed to and is not offered any more"),
            ToolState::Added => format!("tool \"{name}\" is new and nobody has agreed to it yet"),
            ToolState::Changed => format!("tool \"{name}\" has changed since it was agreed to ({})", tool.in_short()),
        }
    }

    /// What is said of one tool.
    pub fn tool(&self, name: &str) -> Option<&ToolReport> {
        let place = self.tools.binary_search_by(|tool| tool.tool.as_str().cmp(name)).ok()?;
        self.tools.get(place)
    }
}

impl ToolReport {
    /// How much the worst change matters.
    pub fn severity(&self) -> Option<Severity> {
        self.changes.iter().map(|change| change.severity).max()
    }

    /// How much it matters, in words.
    fn in_short(&self) -> &'static str {
        match self.severity() {
            Some(Severity::Suspicious) => "suspicious",
            Some(Severity::Breaking) => "breaking",
            Some(Severity::Text) => "in its texts only",
            Some(Severity::Compatible) | None => "compatible",
        }
    }

    /// The changes as text for people, one after the other.
    pub fn difference(&self) -> String {
        self.changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }
}

/// The file for an error's context.
pub(super) fn place(file: Option<&Path>) -> String {
    file.map_or_else(|| "in memory".to_owned(), |file| file.display().to_string())
}

/// A word of a command line, quoted where a shell would read more in it: a server chose it.
pub(super) fn word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
