//! Why something is refused: what the client is told, and what the test is.

use serde_json::json;

use crate::http::{Reply, reply};

/// A refusal in the words of OAuth.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) error: &'static str,
    pub(crate) reason: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Whether it is part of an orderly run, so that the log doesn't have it.
    pub(crate) expected: bool,
}

pub(crate) type Checked<T = ()> = Result<T, Refusal>;

impl Refusal {
    pub(crate) fn new(status: u16, error: &'static str, reason: impl Into<String>) -> Refusal {
        Refusal { status, error, reason: reason.into(), headers: Vec::new(), expected: false }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Refusal {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn reply(&self) -> Reply {
        let body = json!({"error": self.error, "error_description": self.reason});
        let plain = reply(self.status).header("Cache-Control", "no-store").json(body);
        self.headers.iter().fold(plain, |reply, (name, value)| reply.header(name, value))
    }
}

/// A refusal with status 400.
pub(crate) fn refused<T>(error: &'static str, reason: impl Into<String>) -> Checked<T> {
    Err(Refusal::new(400, error, reason))
}

/// Refuses unless it holds.
pub(crate) fn ensure(holds: bool, error: &'static str, reason: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { refused(error, reason()) }
}
