//! What a server is asked to complete, and what it offers.

use std::fmt;

use serde_json::json;

use super::opaque;
use crate::protocol::raw::{ObjectWriter, RawJson};

opaque!(Completion);

/// An argument of a prompt, or a variable of a resource template, that has been begun (MCP specification, Completion).
///
/// ```
/// use trunkline::CompletionQuery;
///
/// let query = CompletionQuery::prompt("review", "framework", "fla").given("language", "python");
/// assert_eq!(query.params().get("argument").unwrap().to_string(), r#"{"name":"framework","value":"fla"}"#);
/// ```
#[derive(Debug, Clone)]
pub struct CompletionQuery {
    reference: RawJson,
    argument: String,
    begun: String,
    given: Vec<(String, String)>,
}

impl CompletionQuery {
    /// The argument `argument` of a prompt, of which `begun` is written.
    pub fn prompt(name: &str, argument: &str, begun: &str) -> Self {
        Self::of(json!({"type": "ref/prompt", "name": name}).into(), argument, begun)
    }

    /// The variable `variable` of a resource template, of which `begun` is written.
    pub fn template(uri_template: &str, variable: &str, begun: &str) -> Self {
        Self::of(json!({"type": "ref/resource", "uri": uri_template}).into(), variable, begun)
    }

    fn of(reference: RawJson, argument: &str, begun: &str) -> Self {
        Self { reference, argument: argument.to_owned(), begun: begun.to_owned(), given: Vec::new() }
    }

    /// The same where another argument has a value already, on which this one may depend.
    #[must_use]
    pub fn given(mut self, argument: impl Into<String>, value: impl Into<String>) -> Self {
        self.given.push((argument.into(), value.into()));
        self
    }

    /// The params of the request.
    pub fn params(&self) -> RawJson {
        let mut argument = ObjectWriter::new();
        argument.text("name", &self.argument);
        argument.text("value", &self.begun);
        let mut out = ObjectWriter::new();
        out.member("ref", &self.reference);
        out.member("argument", &argument.finish());
        if !self.given.is_empty() {
            let mut given = ObjectWriter::new();
            self.given.iter().for_each(|(name, value)| given.text(name, value));
            let mut context = ObjectWriter::new();
            context.member("arguments", &given.finish());
            out.member("context", &context.finish());
        }
        out.finish()
    }
}

/// What a server offers to complete an argument with.
#[derive(Clone)]
pub struct Completion {
    raw: RawJson,
}

impl Completion {
    pub(crate) fn from_raw(raw: RawJson) -> Self {
        Self { raw }
    }

    fn field(&self, name: &str) -> Option<RawJson> {
        self.raw.get("completion")?.field(name)
    }

    /// The whole values, the likeliest first.
    pub fn values(&self) -> Vec<String> {
        self.field("values").iter().flat_map(RawJson::items).filter_map(|value| value.as_text()).collect()
    }

    /// How many there are in all, where the server says so.
    pub fn total(&self) -> Option<u64> {
        self.field("total")?.decode().ok()
    }

    /// Whether there are more than these.
    pub fn has_more(&self) -> bool {
        self.field("hasMore").is_some_and(|more| more.as_bytes() == b"true")
    }
}
