//! A set of tools in a dialect: what goes out, the way back, and what became of each.

use indexmap::IndexMap;

use super::call::{self, ToolCall};
use super::dialect::Dialect;
use super::report::{Strictness, ToolReport};
use crate::error::{Error, Result};
use crate::name::NameRule;
use crate::protocol::raw::{ObjectWriter, array};
use crate::protocol::{Arguments, RawJson, ToolDefinition};
use crate::suggest;

/// What every provider so far takes as a tool's name.
const NAMES: NameRule = NameRule { also: "-", longest: 64, letter_first: false };

/// Tools written in the dialect of a provider, with the way back. Made by
/// [`ToolSet::definitions_for`](crate::ToolSet::definitions_for), or of any list of definitions by
/// [`new`](Self::new).
///
/// It belongs to the request that it was sent with: read the model's answer by the same value.
///
/// ```
/// use serde_json::json;
/// use trunkline::ToolDefinition;
/// use trunkline::format::{Definitions, Dialect};
///
/// let tool = ToolDefinition::new("notes.read", "Reads a note.", json!({
///     "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]
/// }));
/// let definitions = Definitions::new(Dialect::OpenAiChat, [&tool]);
///
/// let sent_as = &definitions.report()[0].sent_as; // OpenAI takes no dots
/// assert!(sent_as.starts_with("notes_read_"));
/// assert_eq!(definitions.tool(sent_as), Some("notes.read"));
/// ```
#[derive(Debug, Clone)]
pub struct Definitions {
    dialect: Dialect,
    tools: RawJson,
    /// The tool of each name that the model sees.
    names: IndexMap<String, String>,
    reports: Vec<ToolReport>,
}

impl Definitions {
    /// Writes these tools in `dialect`. Order and descriptions stay.
    pub fn new<'a>(dialect: Dialect, tools: impl IntoIterator<Item = &'a ToolDefinition>) -> Self {
        let tools: Vec<_> = tools.into_iter().collect();
        let names = names(&tools);
        let mut reports = Vec::new();
        let mut written = Vec::new();
        for (tool, sent_as) in tools.iter().zip(names.keys()) {
            written.push(chat(sent_as, tool.description().as_deref(), &tool.input_schema()));
            reports.push(ToolReport {
                tool: tool.name().to_owned(),
                sent_as: sent_as.clone(),
                strictness: Strictness::Plain,
                changes: Vec::new(),
            });
        }
        Self { dialect, tools: array(&written), names, reports }
    }

    /// The dialect they are in.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The JSON for the member `tools` of a request. Leave that member out where there are [none](Self::is_empty):
    /// some providers refuse an empty list.
    pub fn tools(&self) -> &RawJson {
        &self.tools
    }

    /// Whether there is no tool.
    pub fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    /// What became of each tool, in their order.
    pub fn report(&self) -> &[ToolReport] {
        &self.reports
    }

    /// The tool behind a name that the model sees.
    pub fn tool(&self, sent_as: &str) -> Option<&str> {
        self.names.get(sent_as).map(String::as_str)
    }

    /// The calls that a model's message asks for, in their order: none where it is done. `message` is the model's
    /// message, or the whole response that it came in.
    ///
    /// A call that can't be made is one of them; its [`arguments`](ToolCall::arguments) say why.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::ToolDefinition;
    /// use trunkline::format::{Definitions, Dialect};
    ///
    /// let tool = ToolDefinition::new("add", "Adds.", json!({"type": "object"}));
    /// let definitions = Definitions::new(Dialect::OpenAiChat, [&tool]);
    /// let calls = definitions.calls(&json!({"role": "assistant", "tool_calls": [
    ///     {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1}"}},
    ///     {"id": "c2", "type": "function", "function": {"name": "add", "arguments": "{\"a\": "}},
    /// ]}));
    /// assert_eq!((calls[0].id(), calls[0].name()), (Some("c1"), "add"));
    /// assert_eq!(calls[0].arguments()?.get("a").unwrap().to_string(), "1");
    /// assert!(calls[1].arguments().is_err());
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    pub fn calls(&self, message: impl Into<RawJson>) -> Vec<ToolCall> {
        let found = call::of_chat(&message.into());
        found
            .into_iter()
            .map(|found| {
                let request = self.request(&found);
                ToolCall { id: found.id, sent_as: found.name, request }
            })
            .collect()
    }

    fn request(&self, found: &call::Found) -> Result<(String, Arguments)> {
        let tool = self.tool(&found.name).ok_or_else(|| self.unknown(&found.name))?;
        Ok((tool.to_owned(), found.arguments()?))
    }

    fn unknown(&self, name: &str) -> Error {
        suggest::unknown("tool", name, "", self.names.keys().map(String::as_str))
    }
}

/// The name each tool is sent as, and the tool. Legal names stay; the others get one that none of them is.
fn names(tools: &[&ToolDefinition]) -> IndexMap<String, String> {
    let legal: std::collections::HashSet<_> =
        tools.iter().map(|tool| tool.name()).filter(|name| NAMES.takes(name)).collect();
    let mut names = IndexMap::new();
    for tool in tools {
        let name = tool.name();
        let stays = legal.contains(name) && !names.contains_key(name);
        let sent_as = match stays {
            true => name.to_owned(),
            false => NAMES.instead(name, |other| legal.contains(other) || names.contains_key(other)),
        };
        names.insert(sent_as, name.to_owned());
    }
    names
}

fn chat(name: &str, description: Option<&str>, schema: &RawJson) -> RawJson {
    let mut function = ObjectWriter::new();
    function.text("name", name);
    if let Some(description) = description {
        function.text("description", description);
    }
    function.member("parameters", schema);
    let mut tool = ObjectWriter::new();
    tool.text("type", "function");
    tool.member("function", &function.finish());
    tool.finish()
}
