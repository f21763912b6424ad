//! Resources and families of them.

use std::fmt;
use std::sync::Arc;

use super::{named, of_server, opaque};
use crate::protocol::raw::{ObjectWriter, RawJson};

opaque!(Resource, ResourceTemplate);
of_server!(Resource, ResourceTemplate);

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
