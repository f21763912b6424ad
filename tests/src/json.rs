//! `Json`: a value kept as its text, so that a script's numbers and key order reach the wire unchanged;
//! and the shortest legal tool, resource, template and prompt.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// JSON text. Made from a `serde_json::Value`, or by [`raw`] where the exact text matters.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// The text, as it was written.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Valid JSON text as a `Json`; `None` where it isn't valid.
    pub fn parse(text: &str) -> Option<Json> {
        RawValue::from_string(text.to_owned()).ok().map(Json)
    }

    /// The characters, if this is a JSON string.
    pub fn string(&self) -> Option<String> {
        serde_json::from_str(self.text()).ok()
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        raw(&value.to_string())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(value: Box<RawValue>) -> Json {
        Json(value)
    }
}

/// JSON by its exact text: key order and the spelling of numbers are kept.
///
/// Panics if it isn't JSON; what isn't belongs in [`line`](crate::line) or [`write`](crate::write).
pub fn raw(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|| panic!("raw() needs valid JSON, got: {text:.200}"))
}

/// The shortest legal tool definition.
pub fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

/// The shortest legal resource; its name is its URI.
pub fn resource(uri: &str) -> Value {
    json!({"uri": uri, "name": uri})
}

/// The shortest legal resource template; its name is its pattern.
pub fn template(pattern: &str) -> Value {
    json!({"uriTemplate": pattern, "name": pattern})
}

/// The shortest legal prompt.
pub fn prompt(name: &str) -> Value {
    json!({"name": name})
}
