//! A call that goes on by itself at the server.

use std::fmt;
use std::time::Duration;

use super::opaque;
use crate::protocol::raw::RawJson;

opaque!(Task);

/// A call that a server goes on with after it has answered, and is asked about from time to time (the tasks extension of
/// MCP, SEP-2663).
#[derive(Clone)]
pub struct Task {
    raw: RawJson,
}

/// Where a [`Task`] stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskStatus {
    /// The server works on it.
    Working,
    /// The server needs an answer first.
    InputRequired,
    /// It is done; there is a result, which may be an error result.
    Completed,
    /// It was cancelled.
    Cancelled,
    /// It ended with an error of the protocol.
    Failed,
}

impl Task {
    /// The extension's name among the capabilities.
    pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

    /// A task as a server tells it, if it is one.
    pub(crate) fn read(raw: RawJson) -> Option<Self> {
        let told = raw.is_object() && raw.text("taskId").is_some();
        told.then_some(Self { raw })
    }

    /// What the server calls it. Keep it to ask again later, from another process too.
    pub fn id(&self) -> String {
        self.raw.text("taskId").unwrap_or_default()
    }

    /// Where it stands; nothing for a word that isn't known here.
    pub fn status(&self) -> Option<TaskStatus> {
        Some(match self.raw.text("status")?.as_str() {
            "working" => TaskStatus::Working,
            "input_required" => TaskStatus::InputRequired,
            "completed" => TaskStatus::Completed,
            "cancelled" => TaskStatus::Cancelled,
            "failed" => TaskStatus::Failed,
            _ => return None,
        })
    }

    /// What the server says of where it stands, for people.
    pub fn status_message(&self) -> Option<String> {
        self.raw.text("statusMessage").filter(|text| !text.is_empty())
    }

    /// How long to wait before asking again: as the server suggests, else one second.
    pub fn poll_interval(&self) -> Duration {
        const LEAST: f64 = 10.0;
        const MOST: f64 = 3_600_000.0;
        let told = self.raw.field("pollIntervalMs").and_then(|interval| interval.decode::<f64>().ok());
        Duration::from_secs_f64(told.filter(|told| told.is_finite()).unwrap_or(1000.0).clamp(LEAST, MOST) / 1000.0)
    }

    /// What the server needs an answer to, as a map of requests; empty where it needs none.
    pub fn questions(&self) -> RawJson {
        self.raw.field("inputRequests").unwrap_or_else(RawJson::empty_object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_told_oddly_is_read_as_far_as_it_goes() {
        let task = |value: serde_json::Value| Task::read(value.into());
        assert!(task(json!({"status": "working"})).is_none() && task(json!("t")).is_none());
        let odd = task(json!({"taskId": "t", "status": "resting", "pollIntervalMs": "soon"})).unwrap();
        assert_eq!((odd.status(), odd.poll_interval()), (None, Duration::from_secs(1)));
        for (told, waited) in [(json!(0), 10), (json!(-5), 10), (json!(2500.4), 2500), (json!(1e300), 3_600_000)] {
            let task = task(json!({"taskId": "t", "pollIntervalMs": told})).unwrap();
            assert_eq!(task.poll_interval().as_millis(), waited, "{told}");
        }
    }
}
