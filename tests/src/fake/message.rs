//! `Message`: a line of the client, opened as far as rules and placeholders need it. Values keep their text.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::json::Json;

/// A request or notification of the client, or an event of the fake itself (`@start`, …).
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) method: String,
    pub(crate) id: Option<Json>,
    pub(crate) params: Option<Json>,
    pub(crate) line: String,
    /// How many lines had been read when it came, itself included.
    pub(crate) seen: usize,
    members: BTreeMap<String, Json>,
}

/// What a line is.
pub(crate) enum Line {
    Message(Message),
    /// A reply, by the text of its id.
    Reply(String),
    Other,
}

#[derive(Deserialize)]
struct Envelope {
    method: Option<String>,
    id: Option<Json>,
    params: Option<Json>,
}

pub(crate) fn open(text: &str) -> Line {
    // A struct would also be read from an array.
    let envelope = text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok()).flatten();
    match envelope {
        Some(Envelope { method: Some(method), id, params }) => {
            let members = params.as_ref().and_then(|params| serde_json::from_str(params.text()).ok());
            Line::Message(Message { method, id, params, members: members.unwrap_or_default(), ..Message::default() })
        }
        Some(Envelope { method: None, id: Some(id), .. }) => Line::Reply(id.text().to_owned()),
        _ => Line::Other,
    }
}

impl Message {
    pub(crate) fn of_its_own(method: &str, seen: usize) -> Message {
        Message { method: method.to_owned(), seen, ..Message::default() }
    }

    pub(crate) fn read_as(self, line: String, seen: usize) -> Message {
        Message { line, seen, ..self }
    }

    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) fn name(&self) -> Option<String> {
        self.members.get("name").or_else(|| self.members.get("uri"))?.string()
    }

    pub(crate) fn cursor(&self) -> Option<String> {
        self.members.get("cursor")?.string()
    }

    pub(crate) fn arguments(&self) -> Option<&Json> {
        self.members.get("arguments")
    }

    pub(crate) fn argument(&self, key: &str) -> Option<Json> {
        object(self.arguments()?)?.remove(key)
    }

    pub(crate) fn member(&self, key: &str) -> Option<&Json> {
        self.members.get(key)
    }

    pub(crate) fn meta(&self, key: &str) -> Option<Json> {
        object(self.members.get("_meta")?)?.remove(key)
    }
}

fn object(json: &Json) -> Option<BTreeMap<String, Json>> {
    serde_json::from_str(json.text()).ok()
}
