//! The one error type: what kind of failure, in words for the person who has to act, with a hint and
//! the facts around it. Rendering hints and context is left to the edge (a program, a log).

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::protocol::{RawJson, ToolResult};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, coarsely enough to decide what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The set-up can't work as written: a builder, a config file, a feature left out of the build.
    Config,
    /// No such tool, resource, prompt or server.
    NotFound,
    /// The arguments don't fit the tool's schema; nothing was sent.
    InvalidArguments,
    /// More than one server could be meant.
    Ambiguous,
    /// The server wants a login, or refuses the one it was given.
    Auth,
    /// The server could not be started or reached.
    Unreachable,
    /// The connection ended before the answer came.
    Closed,
    /// A deadline passed.
    Deadline,
    /// The caller gave up.
    Cancelled,
    /// A size or count went over one of the [`Limits`](crate::Limits).
    Limit,
    /// The server answered with a JSON-RPC error ([`Error::code`], [`Error::data`]) or broke the protocol.
    Protocol,
    /// The tool ran and reported an error ([`Error::tool_result`]).
    Tool,
    /// The server doesn't offer this, or this connection can't do it.
    Unsupported,
}

impl ErrorKind {
    /// The kind as one lower-case word, as machine output shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::NotFound => "not_found",
            Self::InvalidArguments => "invalid_arguments",
            Self::Ambiguous => "ambiguous",
            Self::Auth => "auth",
            Self::Unreachable => "unreachable",
            Self::Closed => "closed",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::Limit => "limit",
            Self::Protocol => "protocol",
            Self::Tool => "tool",
            Self::Unsupported => "unsupported",
        }
    }

    /// The kind that [`as_str`](Self::as_str) gives this word for.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        ALL_KINDS.into_iter().find(|kind| kind.as_str() == word)
    }
}

#[rustfmt::skip]
const ALL_KINDS: [ErrorKind; 13] = {
    use ErrorKind::*;
    [
        Config, NotFound, InvalidArguments, Ambiguous, Auth, Unreachable, Closed, Deadline, Cancelled, Limit, Protocol,
        Tool, Unsupported,
    ]
};

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Any failure of this crate.
///
/// `Display` gives the message alone: no hint, no source, never a secret. [`hint`](Self::hint) says what to
/// do next and [`context`](Self::context) holds the facts (server, command, exit status, last stderr lines).
///
/// ```
/// use trunkline::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::NotFound, "No tool named \"serch\" on server \"docs\"")
///     .with_hint("Did you mean \"search\"?")
///     .with_context("server", "docs");
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// assert_eq!(error.get("server"), Some("docs"));
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    context: Vec<(&'static str, String)>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    may_have_run: bool,
    code: Option<i64>,
    data: Option<RawJson>,
    result: Option<ToolResult>,
}

impl Error {
    /// An error of `kind` whose message tells the person at hand what failed.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            message: message.into(),
            hint: None,
            context: Vec::new(),
            source: None,
            may_have_run: false,
            code: None,
            data: None,
            result: None,
        }))
    }

    /// A JSON-RPC error as a server sent it. `-32002` and the like keep their code.
    pub fn protocol(code: i64, message: impl Into<String>, data: Option<RawJson>) -> Self {
        Self::new(ErrorKind::Protocol, message).edit(|inner| {
            inner.code = Some(code);
            inner.data = data;
        })
    }

    /// The error of a tool that ran and reported failure; the message is the result's text.
    pub fn tool(tool: &str, result: ToolResult) -> Self {
        let text = result.text();
        let message = match text.trim() {
            "" => format!("Tool \"{tool}\" reported an error without saying which"),
            text => text.to_owned(),
        };
        Self::new(ErrorKind::Tool, message).with_context("tool", tool).edit(|inner| {
            inner.result = Some(result);
            inner.may_have_run = true;
        })
    }

    /// The same with what a server's answer brought along.
    pub(crate) fn with_answer(self, code: Option<i64>, data: Option<RawJson>, result: Option<ToolResult>) -> Self {
        self.edit(|inner| {
            inner.code = code;
            inner.data = data;
            inner.result = result;
        })
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    fn edit(mut self, f: impl FnOnce(&mut Inner)) -> Self {
        f(Arc::make_mut(&mut self.0));
        self
    }

    /// Says what to do next. A hint already there stays.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        if self.0.hint.is_some() {
            return self;
        }
        self.edit(|inner| inner.hint = Some(hint.into()))
    }

    /// Adds a fact under `key`. A fact already there under that key stays: the innermost knows best.
    #[must_use]
    pub fn with_context(self, key: &'static str, value: impl Into<String>) -> Self {
        if self.get(key).is_some() {
            return self;
        }
        self.edit(|inner| inner.context.push((key, value.into())))
    }

    /// Keeps the error underneath, for [`std::error::Error::source`].
    #[must_use]
    pub fn with_source(self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.edit(|inner| inner.source = Some(Arc::new(source)))
    }

    /// Marks that the server may have done the work although no answer came.
    #[must_use]
    pub fn with_may_have_run(self, may_have_run: bool) -> Self {
        self.edit(|inner| inner.may_have_run = may_have_run)
    }

    pub(crate) fn with_message(self, message: String) -> Self {
        self.edit(|inner| inner.message = message)
    }

    pub(crate) fn with_kind_if(self, condition: bool, kind: ErrorKind) -> Self {
        if condition { self.edit(|inner| inner.kind = kind) } else { self }
    }

    /// Rewrites message, hint and context through `f`: the place where secrets are masked.
    #[must_use]
    pub(crate) fn map_text(self, f: impl Fn(&str) -> String) -> Self {
        self.edit(|inner| {
            inner.message = f(&inner.message);
            inner.hint = inner.hint.take().map(|hint| f(&hint));
            for (_, value) in &mut inner.context {
                *value = f(value);
            }
        })
    }

    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What failed, in one or two sentences.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do next, where there is something to say.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The facts around the failure, in the order they were added: `server`, `command`, `exit`, `stderr`, ...
    pub fn context(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.context.iter().map(|(key, value)| (*key, value.as_str()))
    }

    /// One fact of [`context`](Self::context).
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.context.iter().find(|(k, _)| *k == key).map(|(_, v)| v.as_str())
    }

    /// The JSON-RPC error code, where a server sent one.
    pub fn code(&self) -> Option<i64> {
        self.0.code
    }

    /// The JSON-RPC error's `data`, exactly as sent.
    pub fn data(&self) -> Option<&RawJson> {
        self.0.data.as_ref()
    }

    /// The whole result of a tool that reported an error (kind [`ErrorKind::Tool`]), or that failed its output schema (kind
    /// [`ErrorKind::Protocol`]).
    pub fn tool_result(&self) -> Option<&ToolResult> {
        self.0.result.as_ref()
    }

    /// Whether the server may have done what was asked although this error came back. Repeating such a
    /// call can do the work twice.
    pub fn may_have_run(&self) -> bool {
        self.0.may_have_run
    }

    /// Whether the same call could succeed if it were made again, and making it again is safe.
    pub fn is_retryable(&self) -> bool {
        let passing = matches!(self.0.kind, ErrorKind::Unreachable | ErrorKind::Closed | ErrorKind::Deadline);
        passing && !self.0.may_have_run
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("kind", &self.0.kind).field("message", &self.0.message);
        if let Some(code) = self.0.code {
            out.field("code", &code);
        }
        if let Some(hint) = &self.0.hint {
            out.field("hint", hint);
        }
        if !self.0.context.is_empty() {
            out.field("context", &self.0.context);
        }
        if self.0.may_have_run {
            out.field("may_have_run", &true);
        }
        out.finish_non_exhaustive()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_hint_and_context_win() {
        let error = Error::new(ErrorKind::Closed, "gone")
            .with_hint("inner")
            .with_context("server", "a")
            .with_hint("outer")
            .with_context("server", "b");
        assert_eq!(error.hint(), Some("inner"));
        assert_eq!(error.get("server"), Some("a"));
    }

    #[test]
    fn a_call_that_may_have_run_is_not_retryable() {
        let error = Error::new(ErrorKind::Closed, "gone");
        assert!(error.is_retryable());
        assert!(!error.with_may_have_run(true).is_retryable());
        assert!(!Error::new(ErrorKind::Config, "no").is_retryable());
    }

    #[test]
    fn display_is_the_message_alone() {
        let source = std::io::Error::other("token=abc");
        let error = Error::new(ErrorKind::Unreachable, "Could not start \"x\"").with_hint("h").with_source(source);
        assert_eq!(error.to_string(), "Could not start \"x\"");
        assert!(error.source().is_some());
    }
}
