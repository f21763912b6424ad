//! A tool as its server describes it.

use std::fmt;

use serde_json::{Value, json};

use super::{Icon, icons, named, opaque};
use crate::protocol::raw::{ObjectWriter, RawJson};
use crate::protocol::scan;

opaque!(ToolDefinition);

/// A tool as its server describes it (MCP specification, `Tool`).
///
/// ```
/// use trunkline::ToolDefinition;
/// use serde_json::json;
///
/// let tool = ToolDefinition::new("add", "Adds two numbers.", json!({"type": "object"}));
/// assert_eq!(tool.name(), "add");
/// assert_eq!(tool.input_schema().to_string(), r#"{"type":"object"}"#);
/// ```
#[derive(Clone)]
pub struct ToolDefinition {
    raw: RawJson,
    name: Box<str>,
    described: bool,
    checks_output: bool,
    oddity: Option<Oddity>,
}

/// What is odd about a definition though it can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Oddity {
    SchemaNoObject,
    SchemaOfOtherType,
}

impl ToolDefinition {
    /// A definition made here, of a local tool.
    pub fn new(name: impl AsRef<str>, description: impl AsRef<str>, input_schema: Value) -> Self {
        let mut out = ObjectWriter::new();
        out.text("name", name.as_ref());
        if !description.as_ref().is_empty() {
            out.text("description", description.as_ref());
        }
        out.member("inputSchema", &input_schema.into());
        Self::walked(out.finish(), name.as_ref())
    }

    /// Reads one entry of a list; says what is wrong with one that can't be used.
    pub(crate) fn read(raw: RawJson) -> Result<Self, String> {
        let tool = Self::walked(raw, "");
        if tool.name.trim().is_empty() {
            return Err(named(&tool.raw, "name").err().unwrap_or_default());
        }
        Ok(tool)
    }

    /// Notes what is asked of every tool in one walk over its members.
    fn walked(raw: RawJson, name: &str) -> Self {
        let text = raw.as_bytes();
        let (mut own_name, mut described, mut checks_output, mut oddity) = (None, false, false, None);
        for member in scan::Members::new(text) {
            let (key, value) = (&text[member.key], &text[member.value]);
            if scan::key_is(key, "name") {
                own_name = serde_json::from_slice::<String>(value).ok();
            } else if scan::key_is(key, "description") {
                described = value.starts_with(b"\"") && value != b"\"\"";
            } else if scan::key_is(key, "outputSchema") {
                checks_output = value != b"null";
            } else if scan::key_is(key, "inputSchema") {
                oddity = schema_oddity(value);
            }
        }
        let name = own_name.map_or_else(|| name.into(), String::into_boxed_str);
        Self { raw, name, described, checks_output, oddity }
    }

    /// The same definition with another field set, such as `title`, `outputSchema` or `annotations`.
    #[must_use]
    pub fn with(self, field: &str, value: impl Into<RawJson>) -> Self {
        Self::walked(self.raw.with_member(field, &value.into()), &self.name)
    }

    /// Whether there is a description that says something.
    pub(crate) fn is_described(&self) -> bool {
        self.described
    }

    /// Whether there is an output schema.
    pub(crate) fn has_output_schema(&self) -> bool {
        self.checks_output
    }

    /// The name on the wire, as the server knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A name for people, where the server gives one.
    pub fn title(&self) -> Option<String> {
        self.raw.text("title")
    }

    /// What the tool does.
    pub fn description(&self) -> Option<String> {
        self.raw.text("description").filter(|text| !text.is_empty())
    }

    /// The JSON Schema of the arguments, fit for a model: `{"type":"object","properties":{}}` where the server
    /// gives none or an empty one, and `"type":"object"` added where it leaves that out. What the server
    /// wrote is in [`raw`](Self::raw).
    pub fn input_schema(&self) -> RawJson {
        let schema = self.raw.field("inputSchema").or_else(|| self.raw.field("input_schema"));
        match schema.filter(|schema| schema.members().next().is_some()) {
            None => json!({"type": "object", "properties": {}}).into(),
            Some(schema) if schema.field("type").is_none() => schema.with_member("type", &json!("object").into()),
            Some(schema) => schema,
        }
    }

    /// The JSON Schema of `structuredContent`, where the server gives one.
    pub fn output_schema(&self) -> Option<RawJson> {
        self.raw.field("outputSchema")
    }

    /// Pictures for it.
    pub fn icons(&self) -> Vec<Icon> {
        icons(&self.raw)
    }

    /// Hints such as `readOnlyHint`. They are the server's word and not to be trusted from a stranger.
    pub fn annotations(&self) -> Option<RawJson> {
        self.raw.field("annotations")
    }

    /// What is odd about this definition, in words.
    pub(crate) fn oddity(&self) -> Option<String> {
        let name = &self.name;
        Some(match self.oddity? {
            Oddity::SchemaNoObject => format!("tool \"{name}\": inputSchema is no object"),
            Oddity::SchemaOfOtherType => {
                let kind = self.input_schema().get("type").map(|kind| kind.to_string()).unwrap_or_default();
                format!("tool \"{name}\": inputSchema has type {kind} instead of \"object\"")
            }
        })
    }
}

fn schema_oddity(schema: &[u8]) -> Option<Oddity> {
    match schema.first() {
        Some(b'n') => return None,
        Some(b'{') => {}
        _ => return Some(Oddity::SchemaNoObject),
    }
    let kind = scan::Members::new(schema).find(|member| scan::key_is(&schema[member.key.clone()], "type"))?;
    let kind = &schema[kind.value];
    (kind.starts_with(b"\"") && kind != b"\"object\"").then_some(Oddity::SchemaOfOtherType)
}
