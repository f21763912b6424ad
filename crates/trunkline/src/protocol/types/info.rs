//! What a server says of itself.

use std::fmt;

use serde_json::{Value, json};

use super::{Icon, icons, opaque};
use crate::protocol::raw::RawJson;

opaque!(ServerInfo);

/// What a server says of itself when a session starts (MCP specification, `InitializeResult`).
#[derive(Clone)]
pub struct ServerInfo {
    raw: RawJson,
}

impl ServerInfo {
    /// What a server made here says of itself. `capabilities` is the object of the specification, such as
    /// `{"tools": {}}`.
    pub fn new(name: &str, version: &str, capabilities: Value) -> Self {
        let info = json!({"capabilities": capabilities, "serverInfo": {"name": name, "version": version}});
        Self { raw: info.into() }
    }

    pub(crate) fn from_raw(raw: RawJson) -> Self {
        Self { raw }
    }

    /// The same with guidance for the model that will use the server.
    #[must_use]
    pub fn with_instructions(self, instructions: &str) -> Self {
        Self { raw: self.raw.with_member("instructions", &Value::from(instructions).into()) }
    }

    /// The server's name; empty where it gives none.
    pub fn name(&self) -> String {
        self.raw.get("serverInfo").and_then(|info| info.text("name")).unwrap_or_default()
    }

    /// The server's version; empty where it gives none.
    pub fn version(&self) -> String {
        self.raw.get("serverInfo").and_then(|info| info.text("version")).unwrap_or_default()
    }

    /// Its name for people, where it gives one.
    pub fn title(&self) -> Option<String> {
        self.raw.get("serverInfo")?.text("title")
    }

    /// What it is for, where it says so. It is the server's word.
    pub fn description(&self) -> Option<String> {
        self.raw.get("serverInfo")?.text("description")
    }

    /// Its page on the web, where it has one.
    pub fn website(&self) -> Option<String> {
        self.raw.get("serverInfo")?.text("websiteUrl")
    }

    /// Pictures for it.
    pub fn icons(&self) -> Vec<Icon> {
        self.raw.get("serverInfo").as_ref().map(icons).unwrap_or_default()
    }

    /// The revision of the protocol that was agreed on, such as `2025-11-25`; none for a connection that
    /// speaks no protocol.
    pub fn protocol_version(&self) -> Option<String> {
        self.raw.text("protocolVersion")
    }

    /// Guidance for the model. It is the server's word, not yours.
    pub fn instructions(&self) -> Option<String> {
        self.raw.text("instructions").filter(|text| !text.is_empty())
    }

    /// The server's capabilities object.
    pub fn capabilities(&self) -> RawJson {
        self.raw.field("capabilities").unwrap_or_else(RawJson::empty_object)
    }

    /// Whether the server offers `capability` (`tools`, `resources`, `prompts`, `logging`, ...).
    pub fn offers(&self, capability: &str) -> bool {
        self.capabilities().field(capability).is_some()
    }
}
