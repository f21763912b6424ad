//! What servers list: tools, resources, templates, prompts, and what a server says of itself. Each is its
//! raw JSON with accessors that decode on demand, so unknown fields survive and one bad field costs itself.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::raw::{ObjectWriter, RawJson};
use super::scan;

/// Implements what all opaque JSON values share: the raw text, a debug form, equality by text.
macro_rules! opaque {
    ($($name:ident),*) => {$(
        impl $name {
            /// The exact JSON.
            pub fn raw(&self) -> &RawJson {
                &self.raw
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.raw)
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.raw == other.raw
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.raw.serialize(serializer)
            }
        }
    )*};
}
pub(crate) use opaque;

/// Implements which server an entry is of.
macro_rules! of_server {
    ($($name:ident),*) => {$(
        impl $name {
            /// The label of the server that listed it; empty where it wasn't listed through a client.
            pub fn server(&self) -> &str {
                self.server.as_deref().unwrap_or_default()
            }

            /// The same entry, of `server` where it is of none yet.
            pub(crate) fn of_server(mut self, server: &str) -> Self {
                self.server.get_or_insert_with(|| server.into());
                self
            }
        }
    )*};
}

of_server!(Resource, ResourceTemplate, Prompt);

opaque!(ToolDefinition, Resource, ResourceTemplate, Prompt, PromptArgument, ServerInfo);

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
        let (mut own_name, mut described, mut oddity) = (None, false, None);
        for member in scan::Members::new(text) {
            let (key, value) = (&text[member.key], &text[member.value]);
            if scan::key_is(key, "name") {
                own_name = serde_json::from_slice::<String>(value).ok();
            } else if scan::key_is(key, "description") {
                described = value.starts_with(b"\"") && value != b"\"\"";
            } else if scan::key_is(key, "inputSchema") {
                oddity = schema_oddity(value);
            }
        }
        let name = own_name.map_or_else(|| name.into(), String::into_boxed_str);
        Self { raw, name, described, oddity }
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

fn named(raw: &RawJson, field: &str) -> Result<String, String> {
    if !raw.is_object() {
        return Err("is no object".to_owned());
    }
    match raw.field(field) {
        None => Err(format!("has no {field}")),
        Some(name) => match name.as_text() {
            None => Err(format!("has a {field} that is no text")),
            Some(name) if name.trim().is_empty() => Err(format!("has an empty {field}")),
            Some(name) => Ok(name),
        },
    }
}

/// A readable resource as its server lists it (MCP specification, `Resource`).
#[derive(Clone)]
pub struct Resource {
    raw: RawJson,
    uri: Box<str>,
    server: Option<Arc<str>>,
}

impl Resource {
    /// A resource offered here.
    pub fn new(uri: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        let mut out = ObjectWriter::new();
        out.text("uri", uri.as_ref());
        out.text("name", name.as_ref());
        Self { raw: out.finish(), uri: uri.as_ref().into(), server: None }
    }

    pub(crate) fn read(raw: RawJson) -> Result<Self, String> {
        let uri = named(&raw, "uri")?;
        Ok(Self { raw, uri: uri.into(), server: None })
    }

    /// The same resource with another field set, such as `mimeType` or `description`.
    #[must_use]
    pub fn with(self, field: &str, value: impl Into<RawJson>) -> Self {
        Self { raw: self.raw.with_member(field, &value.into()), ..self }
    }

    /// What identifies it.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Its name; empty where the server gives none.
    pub fn name(&self) -> String {
        self.raw.text("name").unwrap_or_default()
    }

    /// What it holds.
    pub fn description(&self) -> Option<String> {
        self.raw.text("description").filter(|text| !text.is_empty())
    }

    /// Its media type, where known.
    pub fn mime_type(&self) -> Option<String> {
        self.raw.text("mimeType")
    }
}

/// A family of resources: an RFC 6570 template of their URIs (MCP specification, `ResourceTemplate`).
#[derive(Clone)]
pub struct ResourceTemplate {
    raw: RawJson,
    template: Box<str>,
    server: Option<Arc<str>>,
}

impl ResourceTemplate {
    /// A template offered here.
    pub fn new(uri_template: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        let mut out = ObjectWriter::new();
        out.text("uriTemplate", uri_template.as_ref());
        out.text("name", name.as_ref());
        Self { raw: out.finish(), template: uri_template.as_ref().into(), server: None }
    }

    pub(crate) fn read(raw: RawJson) -> Result<Self, String> {
        let template = named(&raw, "uriTemplate")?;
        Ok(Self { raw, template: template.into(), server: None })
    }

    /// The template, such as `file:///{path}`.
    pub fn uri_template(&self) -> &str {
        &self.template
    }

    /// Its name; empty where the server gives none.
    pub fn name(&self) -> String {
        self.raw.text("name").unwrap_or_default()
    }

    /// What its resources hold.
    pub fn description(&self) -> Option<String> {
        self.raw.text("description").filter(|text| !text.is_empty())
    }

    /// The media type of its resources, where they share one.
    pub fn mime_type(&self) -> Option<String> {
        self.raw.text("mimeType")
    }

    /// Whether `uri` can be an expansion of this template: literal parts match and every `{…}` matches some
    /// text, without a `/` where it is a plain `{name}` between literals.
    pub fn matches(&self, uri: &str) -> bool {
        template_matches(&self.template, uri)
    }
}

/// Keeps all the places in `uri` that the template's beginning can reach, so that no template, however many
/// variables it has, takes more than one walk over the URI for each of its parts.
fn template_matches(template: &str, uri: &str) -> bool {
    let uri = uri.as_bytes();
    let mut reached = vec![false; uri.len() + 1];
    reached[0] = true;
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((variable, after)) = after.split_once('}') else { break };
        reached = behind_literal(&reached, uri, literal.as_bytes());
        reached = behind_variable(&reached, uri, variable, after.is_empty());
        rest = after;
    }
    behind_literal(&reached, uri, rest.as_bytes())[uri.len()]
}

fn behind_literal(reached: &[bool], uri: &[u8], literal: &[u8]) -> Vec<bool> {
    let mut behind = vec![false; reached.len()];
    for (at, _) in reached.iter().enumerate().filter(|(at, here)| **here && uri[*at..].starts_with(literal)) {
        behind[at + literal.len()] = true;
    }
    behind
}

fn behind_variable(reached: &[bool], uri: &[u8], variable: &str, last: bool) -> Vec<bool> {
    let crosses = last || variable.starts_with(['+', '#', '/', '?', '&', ';', '.']);
    let may_be_empty = variable.starts_with(['?', '&', '#', '/', ';', '.']);
    let mut behind = vec![false; reached.len()];
    let mut inside = false;
    for at in 0..reached.len() {
        behind[at] = inside || may_be_empty && reached[at];
        let passable = uri.get(at).is_some_and(|byte| crosses || *byte != b'/');
        inside = passable && (inside || reached[at]);
    }
    behind
}

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
            out.member("arguments", &super::raw::array(arguments.iter().map(|argument| &argument.raw)));
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

    /// What it means.
    pub fn description(&self) -> Option<String> {
        self.raw.text("description").filter(|text| !text.is_empty())
    }

    /// Whether the prompt can't be rendered without it.
    pub fn required(&self) -> bool {
        self.raw.get("required").is_some_and(|required| required.as_bytes() == b"true")
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &'static str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    #[test]
    fn tools_are_read_leniently_and_nameless_ones_say_why() {
        let tool =
            ToolDefinition::read(raw(r#"{"name":"a","title":null,"description":null,"inputSchema":null}"#)).unwrap();
        assert_eq!((tool.title(), tool.description()), (None, None));
        assert_eq!(tool.input_schema().to_string(), r#"{"properties":{},"type":"object"}"#);
        for (text, why) in [
            (r#"{"inputSchema":{}}"#, "has no name"),
            (r#"{"name":7}"#, "has a name that is no text"),
            (r#"{"name":" "}"#, "has an empty name"),
            ("3", "is no object"),
        ] {
            assert_eq!(ToolDefinition::read(raw(text)).unwrap_err(), why);
        }
    }

    #[test]
    fn an_odd_schema_is_told() {
        let odd = ToolDefinition::read(raw(r#"{"name":"n4","inputSchema":{"type":"string"}}"#)).unwrap();
        assert!(odd.oddity().unwrap().contains("\"string\""));
        for fine in
            [r#"{"name":"n"}"#, r#"{"name":"n","inputSchema":{}}"#, r#"{"name":"n","inputSchema":{"type":"object"}}"#]
        {
            assert_eq!(ToolDefinition::read(raw(fine)).unwrap().oddity(), None);
        }
    }

    #[test]
    fn templates_match_their_expansions() {
        for (template, uri, fits) in [
            ("file:///{path}", "file:///a%20b", true),
            ("file:///{path}", "file:///a/b", true),
            ("file:///{path}", "file:///", false),
            ("db://{t}/{id}", "db://users/7", true),
            ("db://{t}/{id}", "db://users", false),
            ("db://{t}/x/{id}", "db://a/b/x/7", false),
            ("fix://item/{id}", "fix://item/é", true),
            ("fix://text", "fix://text", true),
            ("q://x{?a}", "q://x", true),
            ("q://x{?a}", "q://x?a=1", true),
            ("{a}-{b}", "x-y-z", true),
            ("{a}-{b}", "-y", false),
            ("f://{+path}/end", "f://a/b/end", true),
            ("f://{open", "f://{open", true),
            ("f://{a}x{b}x{c}", "f://éxéxé", true),
        ] {
            assert_eq!(ResourceTemplate::new(template, "t").matches(uri), fits, "{template} {uri}");
        }
    }

    #[test]
    fn a_template_of_many_variables_is_no_trap() {
        let template = format!("x://{}y", "{a}x".repeat(40));
        assert!(!ResourceTemplate::new(template, "t").matches(&format!("x://{}", "x".repeat(4000))));
    }

    #[test]
    fn schemas_are_fit_for_a_model() {
        let default = r#"{"properties":{},"type":"object"}"#;
        for (schema, shown) in [
            ("null", default),
            ("{}", default),
            ("true", default),
            ("7", default),
            (r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":{}},"type":"object"}"#),
            (r#"{"type":"string"}"#, r#"{"type":"string"}"#),
        ] {
            let tool = RawJson::parse(format!(r#"{{"name":"n","inputSchema":{schema}}}"#)).unwrap();
            assert_eq!(ToolDefinition::read(tool).unwrap().input_schema().to_string(), shown, "{schema}");
        }
    }

    #[test]
    fn info_of_a_sparse_server_reads_empty() {
        let info = ServerInfo::from_raw(raw(r#"{"capabilities":{"tools":null,"prompts":{}},"instructions":null}"#));
        assert!(!info.offers("tools") && info.offers("prompts"));
        assert_eq!((info.name(), info.instructions(), info.protocol_version()), (String::new(), None, None));
    }
}
