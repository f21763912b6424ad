//! What comes beside answers, and its JSON both ways: progress, log messages and events.

use serde_json::{Value, json};

use crate::connection::{EventKind, LogMessage, Progress};
use crate::protocol::RawJson;
use crate::protocol::raw::ObjectWriter;

/// What came while a call ran.
#[derive(Debug, Clone)]
pub(super) enum Note {
    Progress(Progress),
    Log(LogMessage),
    Event(EventKind),
}

impl Note {
    pub(super) fn write(&self) -> RawJson {
        let mut out = ObjectWriter::new();
        match self {
            Self::Progress(progress) => out.member("progress", &write_progress(progress)),
            Self::Log(message) => {
                let mut log = ObjectWriter::new();
                write_log(message, &mut log);
                out.member("log", &log.finish());
            }
            Self::Event(event) => write_event(event, &mut out),
        }
        out.finish()
    }

    pub(super) fn read(note: &RawJson) -> Result<Self, String> {
        if let Some(progress) = note.get("progress") {
            return Ok(Self::Progress(read_progress(&progress)));
        }
        match note.get("log") {
            Some(log) => Ok(Self::Log(read_log(&log))),
            None => read_event(note).map(Self::Event),
        }
    }
}

fn write_progress(progress: &Progress) -> RawJson {
    let mut out = ObjectWriter::new();
    out.member("progress", &json!(progress.progress).into());
    if let Some(total) = progress.total {
        out.member("total", &json!(total).into());
    }
    if let Some(message) = &progress.message {
        out.text("message", message);
    }
    out.finish()
}

/// A number that was masked as a secret is as good as none.
fn read_progress(raw: &RawJson) -> Progress {
    let number = |key: &str| raw.get(key).and_then(|number| number.decode().ok());
    Progress::new(number("progress").unwrap_or_default(), number("total"), raw.text("message"))
}

fn write_log(message: &LogMessage, out: &mut ObjectWriter) {
    out.text("level", &message.level);
    if let Some(logger) = &message.logger {
        out.text("logger", logger);
    }
    out.member("data", &message.data);
}

fn read_log(raw: &RawJson) -> LogMessage {
    let mut message = LogMessage::new(raw.text("level").unwrap_or_default(), "");
    message.logger = raw.text("logger");
    message.data = raw.get("data").unwrap_or_else(|| Value::Null.into());
    message
}

/// Whether an event matters to whoever uses the server later on: the others are about this connection alone.
pub(super) fn is_kept(event: &EventKind) -> bool {
    word_of(event).is_some()
}

fn word_of(event: &EventKind) -> Option<&'static str> {
    Some(match event {
        EventKind::ToolsChanged => "tools_changed",
        EventKind::ResourcesChanged => "resources_changed",
        EventKind::PromptsChanged => "prompts_changed",
        EventKind::ResourceUpdated { .. } => "resource_updated",
        EventKind::Log(_) => "log",
        _ => return None,
    })
}

pub(super) fn write_event(event: &EventKind, out: &mut ObjectWriter) {
    out.text("event", word_of(event).unwrap_or_default());
    match event {
        EventKind::ResourceUpdated { uri } => out.text("uri", uri),
        EventKind::Log(message) => write_log(message, out),
        _ => {}
    }
}

pub(super) fn read_event(raw: &RawJson) -> Result<EventKind, String> {
    let word = raw.text("event").unwrap_or_default();
    Ok(match word.as_str() {
        "tools_changed" => EventKind::ToolsChanged,
        "resources_changed" => EventKind::ResourcesChanged,
        "prompts_changed" => EventKind::PromptsChanged,
        "resource_updated" => EventKind::ResourceUpdated { uri: raw.text("uri").unwrap_or_default() },
        "log" => EventKind::Log(read_log(raw)),
        _ => return Err(format!("it has the unknown event \"{word}\"")),
    })
}
