//! Resources and families of them.

use std::fmt;
use std::sync::Arc;

use super::{Icon, icons, named, of_server, opaque, template};
use crate::error::Result;
use crate::protocol::raw::{IntoArguments, ObjectWriter, RawJson};

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

    pub(crate) fn read(raw: RawJson) -> std::result::Result<Self, String> {
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

    /// A name for people, where the server gives one.
    pub fn title(&self) -> Option<String> {
        self.raw.text("title")
    }

    /// Pictures for it.
    pub fn icons(&self) -> Vec<Icon> {
        icons(&self.raw)
    }

    /// For whom it is (`audience`), how much it matters (`priority`), when it changed (`lastModified`).
    pub fn annotations(&self) -> Option<RawJson> {
        self.raw.field("annotations")
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

    pub(crate) fn read(raw: RawJson) -> std::result::Result<Self, String> {
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

    /// A name for people, where the server gives one.
    pub fn title(&self) -> Option<String> {
        self.raw.text("title")
    }

    /// Pictures for it.
    pub fn icons(&self) -> Vec<Icon> {
        icons(&self.raw)
    }

    /// For whom it is (`audience`), how much it matters (`priority`), when it changed (`lastModified`).
    pub fn annotations(&self) -> Option<RawJson> {
        self.raw.field("annotations")
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
        template::matches(&self.template, uri)
    }

    /// The names of its variables, each once, in order of appearance.
    ///
    /// ```
    /// use trunkline::ResourceTemplate;
    ///
    /// assert_eq!(ResourceTemplate::new("repo://{owner}/{name}{?page}", "repo").variables(), ["owner", "name", "page"]);
    /// ```
    pub fn variables(&self) -> Vec<String> {
        template::variables(&self.template)
    }

    /// The URI with these values in place of the variables (RFC 6570). Values that aren't text appear as JSON, lists joined
    /// or spread as the template says. Variables of `{?…}`, `{&…}`, `{;…}`, `{#…}`, `{.…}` and `{/…}` may be left out.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::ResourceTemplate;
    ///
    /// let repo = ResourceTemplate::new("repo://{owner}/{+path}{?page,tags*}", "repo");
    /// let uri = repo.expand(json!({"owner": "a b", "path": "src/lib.rs", "page": 2, "tags": ["x", "y"]}))?;
    /// assert_eq!(uri, "repo://a%20b/src/lib.rs?page=2&tags=x&tags=y");
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidArguments`](crate::ErrorKind::InvalidArguments) that names what is missing, or what the template doesn't have.
    pub fn expand(&self, values: impl IntoArguments) -> Result<String> {
        template::expand(&self.template, &values.into_arguments()?)
    }
}
