//! How the program ends: the exit codes, and [`Failure`], the one error that commands return. Showing it is left
//! to `render::error`.

use std::io;

use trunkline::{Error, ErrorKind};

/// The exit codes. They are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Done = 0,
    ToolError = 1,
    Usage = 2,
    Login = 3,
    Unreachable = 4,
    Deadline = 5,
    Protocol = 6,
    ServerMissing = 7,
    NotTrusted = 8,
    Interrupted = 130,
    Terminated = 143,
}

impl Exit {
    /// The same of an error: a tool, or a server, that nobody has agreed to isn't trusted.
    pub(crate) fn of_error(error: &Error) -> Self {
        if is_refusal(error) { Self::NotTrusted } else { Self::of(error.kind()) }
    }

    /// The code that tells scripts what kind of error it was.
    fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Config
            | ErrorKind::NotFound
            | ErrorKind::InvalidArguments
            | ErrorKind::Ambiguous
            | ErrorKind::Unsupported => Self::Usage,
            ErrorKind::Auth => Self::Login,
            ErrorKind::Unreachable | ErrorKind::Closed => Self::Unreachable,
            ErrorKind::Deadline => Self::Deadline,
            ErrorKind::Cancelled => Self::Interrupted,
            ErrorKind::Tool => Self::ToolError,
            // Limit, Protocol, and whatever a later version of the library adds
            _ => Self::Protocol,
        }
    }
}

/// Whether a lock file is why something isn't used.
fn is_refusal(error: &Error) -> bool {
    error.kind() == ErrorKind::Config && error.get("lock").is_some()
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// The kind in machine output.
    pub(crate) kind: &'static str,
    pub(crate) error: Box<Error>,
    /// Everything was shown already; only the exit code is left to set.
    pub(crate) shown: bool,
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Something about the command line or the files it names.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let error = Error::new(ErrorKind::InvalidArguments, message);
        Self { exit: Exit::Usage, kind: "usage", error: Box::new(error), shown: false }
    }

    pub(crate) fn not_trusted(message: impl Into<String>) -> Self {
        let error = Error::new(ErrorKind::Config, message);
        Self { exit: Exit::NotTrusted, kind: "not_trusted", error: Box::new(error), shown: false }
    }

    pub(crate) fn interrupted(exit: Exit) -> Self {
        let error = Error::new(ErrorKind::Cancelled, "Interrupted");
        Self { exit, kind: "cancelled", error: Box::new(error), shown: false }
    }

    /// Ends with `exit`; what there was to say has been said.
    pub(crate) fn told(exit: Exit) -> Self {
        let error = Error::new(ErrorKind::Unsupported, "");
        Self { exit, kind: "", error: Box::new(error), shown: true }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        *self.error = self.error.clone().with_hint(hint);
        self
    }

    pub(crate) fn context(mut self, key: &'static str, value: impl Into<String>) -> Self {
        *self.error = self.error.clone().with_context(key, value);
        self
    }

    pub(crate) fn with_exit(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = if is_refusal(&error) { "not_approved" } else { error.kind().as_str() };
        Self { exit: Exit::of_error(&error), kind, error: Box::new(error), shown: false }
    }
}

/// Writing to standard output failed. A reader that has seen enough is no failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::told(Exit::Done);
        }
        Self::usage(format!("Can't write the output: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_code() {
        for (kind, code) in [
            (ErrorKind::Tool, 1),
            (ErrorKind::Config, 2),
            (ErrorKind::NotFound, 2),
            (ErrorKind::InvalidArguments, 2),
            (ErrorKind::Ambiguous, 2),
            (ErrorKind::Unsupported, 2),
            (ErrorKind::Auth, 3),
            (ErrorKind::Unreachable, 4),
            (ErrorKind::Closed, 4),
            (ErrorKind::Deadline, 5),
            (ErrorKind::Protocol, 6),
            (ErrorKind::Limit, 6),
            (ErrorKind::Cancelled, 130),
        ] {
            assert_eq!(Exit::of(kind) as u8, code, "{kind}");
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(failure.shown && failure.exit == Exit::Done);
    }
}
