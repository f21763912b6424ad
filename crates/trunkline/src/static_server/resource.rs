//! The resources of a [`StaticServer`](super::StaticServer): their contents and how they are listed.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::protocol::{Resource, ResourceContents, ResourceTemplate};

/// A resource of a [`StaticServer`](crate::StaticServer): text or bytes, and what is said of them.
///
/// ```
/// use trunkline::StaticResource;
///
/// let notes = StaticResource::from("# Notes").mime_type("text/markdown").description("What was said.");
/// let logo = StaticResource::from(vec![0x89, b'P', b'N', b'G']).mime_type("image/png").name("logo.png");
/// ```
#[derive(Debug, Clone)]
pub struct StaticResource {
    body: Body,
    name: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
}

#[derive(Debug, Clone)]
enum Body {
    Text(Arc<str>),
    Bytes(Bytes),
}

impl StaticResource {
    fn new(body: Body) -> Self {
        Self { body, name: None, description: None, mime_type: None }
    }

    /// Sets its media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets its name; the last segment of its URI otherwise.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Says what it holds.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    pub(super) fn listed(&self, uri: &str) -> Resource {
        let resource = Resource::new(uri, self.name.as_deref().unwrap_or_else(|| last_segment(uri)));
        let said = [("description", &self.description), ("mimeType", &self.mime_type)];
        said.into_iter().fold(resource, |resource, (field, text)| match text {
            Some(text) => resource.with(field, Value::from(text.as_str())),
            None => resource,
        })
    }

    pub(super) fn contents(&self, uri: &str) -> ResourceContents {
        let contents = match &self.body {
            Body::Text(text) => ResourceContents::from_text(uri, text),
            Body::Bytes(bytes) => ResourceContents::from_bytes(uri, bytes),
        };
        match &self.mime_type {
            Some(mime_type) => contents.with_mime_type(mime_type),
            None => contents,
        }
    }
}

/// What stands behind the last `/`, or before it where nothing does.
fn last_segment(uri: &str) -> &str {
    uri.rsplit('/').find(|segment| !segment.is_empty()).unwrap_or(uri)
}

impl From<&str> for StaticResource {
    fn from(text: &str) -> Self {
        Self::new(Body::Text(text.into()))
    }
}

impl From<String> for StaticResource {
    fn from(text: String) -> Self {
        Self::new(Body::Text(text.into()))
    }
}

impl From<Vec<u8>> for StaticResource {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(Body::Bytes(bytes.into()))
    }
}

impl From<Bytes> for StaticResource {
    fn from(bytes: Bytes) -> Self {
        Self::new(Body::Bytes(bytes))
    }
}

impl From<&[u8]> for StaticResource {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl<const N: usize> From<&[u8; N]> for StaticResource {
    fn from(bytes: &[u8; N]) -> Self {
        bytes.as_slice().into()
    }
}

type Read = dyn Fn(&str) -> Option<StaticResource> + Send + Sync;

/// A family of resources and the function that reads them.
#[derive(Clone)]
pub(super) struct StaticTemplate {
    pub(super) listed: ResourceTemplate,
    read: Arc<Read>,
}

impl StaticTemplate {
    pub(super) fn new(
        uri_template: &str,
        read: impl Fn(&str) -> Option<StaticResource> + Send + Sync + 'static,
    ) -> Self {
        let listed = ResourceTemplate::new(uri_template, last_segment(uri_template));
        Self { listed, read: Arc::new(read) }
    }

    /// The contents at `uri`, where it is one of the family and there are some.
    pub(super) fn read(&self, uri: &str) -> Option<ResourceContents> {
        let resource = self.listed.matches(uri).then(|| (self.read)(uri))??;
        Some(resource.contents(uri))
    }
}

impl fmt::Debug for StaticTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.listed.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_last_segment() {
        for (uri, name) in [
            ("file://greeting", "greeting"),
            ("docs://a/b/intro.md", "intro.md"),
            ("docs://a/b/", "b"),
            ("memo", "memo"),
            ("", ""),
        ] {
            assert_eq!(last_segment(uri), name);
        }
    }
}
