//! A set of tools in a dialect: what goes out, the way back, and what became of each.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::call::{self, Found, ToolCall};
use super::dialect::{Dialect, Family};
use super::report::{Change, Effect, Strictness, ToolReport};
use super::schema::{self, Back, Rewritten};
use super::write::{self, Tool};
use crate::error::{Error, Result};
use crate::protocol::{Arguments, RawJson, ToolDefinition};
use crate::suggest;

/// The longest description of a tool that OpenAI takes, in characters. No sensible one comes near.
const LONGEST_DESCRIPTION: usize = 1 << 20;

/// Tools written in the dialect of a provider, with the way back. Made by
/// [`ToolSet::definitions_for`](crate::ToolSet::definitions_for), or of any list of definitions by
/// [`new`](Self::new).
///
/// It belongs to the request that it was sent with: read the model's answer by the same value.
///
/// ```
/// use serde_json::json;
/// use trunkline::ToolDefinition;
/// use trunkline::format::{Definitions, Dialect, Effect};
///
/// let tool = ToolDefinition::new("notes.read", "Reads a note.", json!({
///     "type": "object",
///     "properties": {"id": {"type": "integer", "exclusiveMinimum": 0}},
///     "oneOf": [{"required": ["id"]}, {"required": ["title"]}],
/// }));
/// let definitions = Definitions::new(Dialect::OpenAiChat, [&tool]);
///
/// let report = &definitions.report()[0];
/// assert!(report.sent_as.starts_with("notes_read_")); // OpenAI takes no dots
/// assert_eq!(definitions.tool(&report.sent_as), Some("notes.read"));
/// assert_eq!(report.changes[0].pointer, "/oneOf"); // nor unions at the root
/// assert_eq!(report.changes[0].effect, Effect::Wider);
/// ```
#[derive(Debug)]
pub struct Definitions {
    dialect: Dialect,
    tools: RawJson,
    /// What is behind each name that the model sees.
    names: IndexMap<String, Behind>,
    reports: Vec<ToolReport>,
    warnings: Vec<String>,
}

#[derive(Debug)]
struct Behind {
    tool: String,
    back: Option<Back>,
}

impl Definitions {
    /// Writes these tools in `dialect`. All are kept, in their order.
    pub fn new<'a>(dialect: Dialect, tools: impl IntoIterator<Item = &'a ToolDefinition>) -> Self {
        let tools: Vec<_> = tools.into_iter().collect();
        let sent_as = sent_as(dialect, &tools);
        let (mut names, mut reports, mut written) = (IndexMap::new(), Vec::new(), Vec::new());
        let mut budget = Budget::default();
        for (tool, name) in tools.iter().zip(&sent_as) {
            let (rewritten, strictness) = rewritten(dialect, tool, &mut budget);
            let Rewritten { schema, mut changes, back, .. } = rewritten;
            let description = description(dialect, tool, &mut changes);
            let strict = match strictness {
                Strictness::Plain => None,
                Strictness::Strict => Some(true),
                Strictness::FellBack { .. } => Some(false),
            };
            written.push(Tool { name, description, schema, strict });
            names.insert(name.clone(), Behind { tool: tool.name().to_owned(), back });
            reports.push(ToolReport { tool: tool.name().to_owned(), sent_as: name.clone(), strictness, changes });
        }
        let warnings = too_many(dialect, tools.len()).into_iter().collect();
        Self { dialect, tools: write::tools(dialect, &written), names, reports, warnings }
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

    /// What is wrong with the request as a whole: more tools than the provider takes, which makes it refuse them
    /// all. None is left out by itself; give [`new`](Self::new) those that matter.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The tool behind a name that the model sees.
    pub fn tool(&self, sent_as: &str) -> Option<&str> {
        self.names.get(sent_as).map(|behind| &*behind.tool)
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
    /// let tool = ToolDefinition::new("add", "Adds.", json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
    /// let definitions = Definitions::new(Dialect::Anthropic, [&tool]);
    /// let calls = definitions.calls(&json!({"role": "assistant", "content": [
    ///     {"type": "text", "text": "Let me see."},
    ///     {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}},
    ///     {"type": "tool_use", "id": "toolu_2", "name": "ad", "input": {"a": 1}},
    /// ]}));
    /// assert_eq!((calls[0].id(), calls[0].name()), (Some("toolu_1"), "add"));
    /// assert_eq!(calls[0].arguments()?.get("a").unwrap().to_string(), "1");
    /// assert_eq!(calls[1].arguments().unwrap_err().hint(), Some("Did you mean \"add\"?"));
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    pub fn calls(&self, message: impl Into<RawJson>) -> Vec<ToolCall> {
        let calls = call::found(self.dialect.family(), &message.into()).into_iter().map(|found| {
            let request = self.request(&found);
            ToolCall { id: found.id, sent_as: found.name, request }
        });
        calls.collect()
    }

    fn request(&self, found: &Found) -> Result<(String, Arguments)> {
        let behind = self.names.get(&found.name).ok_or_else(|| self.unknown(&found.name))?;
        let given = found.arguments()?;
        let arguments = behind.back.as_ref().map_or_else(|| given.clone(), |back| back.restore(&given));
        Ok((behind.tool.clone(), arguments))
    }

    fn unknown(&self, name: &str) -> Error {
        suggest::unknown("tool", name, "", self.names.keys().map(String::as_str))
    }
}

/// The names to send. Legal ones stay; the others get one that none of them is.
fn sent_as(dialect: Dialect, tools: &[&ToolDefinition]) -> Vec<String> {
    let rule = dialect.names();
    let legal: HashSet<_> = tools.iter().map(|tool| tool.name()).filter(|name| rule.takes(name)).collect();
    let mut names: IndexMap<String, ()> = IndexMap::new();
    for tool in tools {
        let name = tool.name();
        let stays = legal.contains(name) && !names.contains_key(name);
        let name = match stays {
            true => name.to_owned(),
            false => rule.instead(name, |other| legal.contains(other) || names.contains_key(other)),
        };
        names.insert(name, ());
    }
    names.into_keys().collect()
}

/// What Anthropic takes of strict tools in one request.
#[derive(Default)]
struct Budget {
    tools: usize,
    optional: usize,
    unions: usize,
}

impl Budget {
    const TOOLS: usize = 20;
    const OPTIONAL: usize = 24;
    const UNIONS: usize = 16;

    /// Takes a tool in, or says why it can't.
    fn admit(&mut self, tool: &Rewritten) -> Result<(), String> {
        let (optional, unions) = (self.optional + tool.size.optional, self.unions + tool.size.unions);
        for (is, most, what) in [
            (self.tools + 1, Self::TOOLS, "strict tools"),
            (optional, Self::OPTIONAL, "optional arguments of strict tools"),
            (unions, Self::UNIONS, "unions in strict tools"),
        ] {
            if is > most {
                return Err(format!("a request may have {most} {what}, and it would be number {is}"));
            }
        }
        *self = Self { tools: self.tools + 1, optional, unions };
        Ok(())
    }
}

fn rewritten(dialect: Dialect, tool: &ToolDefinition, budget: &mut Budget) -> (Rewritten, Strictness) {
    let schema = tool.input_schema();
    let rewritten = schema::rewrite(&schema, dialect.rules());
    if dialect.plain() == dialect {
        return (rewritten, Strictness::Plain);
    }
    let refused = || (dialect == Dialect::AnthropicStrict).then(|| budget.admit(&rewritten).err()).flatten();
    match rewritten.unfit.clone().or_else(refused) {
        None => (rewritten, Strictness::Strict),
        Some(reason) => (schema::rewrite(&schema, dialect.plain().rules()), Strictness::FellBack { reason }),
    }
}

fn description(dialect: Dialect, tool: &ToolDefinition, changes: &mut Vec<Change>) -> Option<String> {
    let given = tool.description().filter(|text| !text.trim().is_empty()).or_else(|| tool.title());
    let needed = || (dialect.family() == Family::Gemini).then(|| tool.name().to_owned());
    let mut text = given.or_else(needed)?;
    if let Some((end, _)) = text.char_indices().nth(LONGEST_DESCRIPTION) {
        text.truncate(end);
        changes.push(Change {
            pointer: String::new(),
            what: format!("the tool's description cut to {LONGEST_DESCRIPTION} characters"),
            why: "longer ones are refused",
            effect: Effect::Same,
        });
    }
    Some(text)
}

fn too_many(dialect: Dialect, count: usize) -> Option<String> {
    let most = dialect.most_tools().filter(|most| count > *most)?;
    Some(format!(
        "{count} tools are more than the {most} that {dialect} takes: the provider may refuse the request. Leave some out"
    ))
}
