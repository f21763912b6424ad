//! Prompt templates and their arguments.

use std::fmt;
use std::sync::Arc;

use serde_json::json;

use super::{Icon, icons, named, of_server, opaque};
use crate::protocol::raw::{ObjectWriter, RawJson, array};

opaque!(Prompt, PromptArgument);
of_server!(Prompt);

/// A prompt template as its server lists it (MCP specification, `Prompt`).
#[derive(Clone)]
pub struct Prompt {
    raw: RawJson,
    name: Box<str>,
    server: Option<Arc<str>>,
}

impl Prompt {
    /// A prompt offered here.
    pub fn new(name: impl AsRef<str>, arguments: &[PromptArgument]) -> Self {
        let mut out = ObjectWriter::new();
        out.text("name", name.as_ref());
        if !arguments.is_empty() {
            out.member("arguments", &array(arguments.iter().map(|argument| &argument.raw)));
        }
        Self { raw: out.finish(), name: name.as_ref().into(), server: None }
    }

    pub(crate) fn read(raw: RawJson) -> Result<Self, String> {
        let name = named(&raw, "name")?;
        Ok(Self { raw, name: name.into(), server: None })
    }

    /// The same prompt with another field set, such as `description`.
    #[must_use]
    pub fn with(self, field: &str, value: impl Into<RawJson>) -> Self {
        let raw = self.raw.with_member(field, &value.into());
        let name = raw.text("name").map_or(self.name, Into::into);
        Self { raw, name, server: self.server }
    }

    /// The name on the wire.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A name for people, where the server gives one.
    pub fn title(&self) -> Option<String> {
        self.raw.text("title")
    }

    /// Pictures for it.
    pub fn icons(&self) -> Vec<Icon> {
        icons(&self.raw)
    }

    /// What it is for.
    pub fn description(&self) -> Option<String> {
        self.raw.text("description").filter(|text| !text.is_empty())
    }

    /// What it can be given.
    pub fn arguments(&self) -> Vec<PromptArgument> {
        let Some(list) = self.raw.get("arguments") else { return Vec::new() };
        list.items().filter(|item| item.text("name").is_some()).map(|raw| PromptArgument { raw }).collect()
    }
}

/// One argument of a [`Prompt`].
#[derive(Clone)]
pub struct PromptArgument {
    raw: RawJson,
}

impl PromptArgument {
    /// An argument named `name`.
    pub fn new(name: impl AsRef<str>, required: bool) -> Self {
        Self { raw: json!({"name": name.as_ref(), "required": required}).into() }
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.raw.text("name").unwrap_or_default()
    }

    /// A name for people, where the server gives one.
    pub fn title(&self) -> Option<String> {
        self.raw.text("title")
    }

    /// What it means.
    pub fn description(&self) -> Option<String> {
        self.raw.text("description").filter(|text| !text.is_empty())
    }

    /// Whether the prompt can't be rendered without it.
    pub fn required(&self) -> bool {
        self.raw.get("required").is_some_and(|required| required.as_bytes() == b"true")
    }
}
