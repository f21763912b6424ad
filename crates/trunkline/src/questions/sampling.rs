//! What a server asks of its client's model.

use std::fmt;
use std::sync::Arc;

use serde_json::json;

use super::refused;
use crate::connection::Asked;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::raw::{ObjectWriter, array};
use crate::protocol::{Arguments, ContentBlock, IntoArguments, PromptMessage, RawJson, ToolDefinition};

/// What a server asks of its client's model (MCP specification, Sampling; tools since revision 2025-11-25).
#[derive(Clone)]
pub struct Sampling {
    server: Arc<str>,
    params: RawJson,
}

/// Whether the model has to use a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// It may.
    Auto,
    /// It has to.
    Required,
    /// It must not.
    None,
}

impl Sampling {
    pub(super) fn read(asked: Asked) -> Result<Self> {
        let request = Self { server: asked.server, params: asked.params };
        if !request.params.get("messages").is_some_and(|messages| messages.is_array()) {
            return Err(refused("The request has no messages"));
        }
        match tool_fault(&request.messages()) {
            Some(why) => Err(refused(why)),
            None => Ok(request),
        }
    }

    /// The label of the server that asks; empty where it isn't known.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The conversation. Blocks of the kinds `tool_use` and `tool_result` are read by [`ToolUse::of`] and
    /// [`ContentBlock::raw`].
    pub fn messages(&self) -> Vec<PromptMessage> {
        let messages = self.params.get("messages");
        messages.iter().flat_map(RawJson::items).map(PromptMessage::from_raw).collect()
    }

    /// What the model should be told first.
    pub fn system_prompt(&self) -> Option<String> {
        self.params.text("systemPrompt")
    }

    /// How many tokens the answer may have at most.
    pub fn max_tokens(&self) -> Option<u64> {
        self.params.get("maxTokens")?.decode().ok()
    }

    /// How freely to choose words.
    pub fn temperature(&self) -> Option<f64> {
        self.params.get("temperature")?.decode().ok()
    }

    /// Where to stop.
    pub fn stop_sequences(&self) -> Vec<String> {
        self.params.get("stopSequences").iter().flat_map(RawJson::items).filter_map(|text| text.as_text()).collect()
    }

    /// Names, or parts of names, of models that the server would like, the best first.
    pub fn model_hints(&self) -> Vec<String> {
        let hints = self.params.get("modelPreferences").and_then(|preferences| preferences.get("hints"));
        hints.iter().flat_map(RawJson::items).filter_map(|hint| hint.text("name")).collect()
    }

    /// The tools that the model may use. The server runs them, not the client. Nameless ones are left out.
    pub fn tools(&self) -> Vec<ToolDefinition> {
        let tools = self.params.get("tools");
        tools.iter().flat_map(RawJson::items).filter_map(|tool| ToolDefinition::read(tool).ok()).collect()
    }

    /// Whether the model has to use one.
    pub fn tool_choice(&self) -> ToolChoice {
        let mode = self.params.get("toolChoice").and_then(|choice| choice.text("mode"));
        match mode.as_deref() {
            Some("required") => ToolChoice::Required,
            Some("none") => ToolChoice::None,
            _ => ToolChoice::Auto,
        }
    }

    pub(super) fn uses_tools(&self) -> bool {
        self.params.field("tools").is_some() || self.params.field("toolChoice").is_some()
    }

    /// The exact params of the request.
    pub fn raw(&self) -> &RawJson {
        &self.params
    }
}

impl fmt::Debug for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sampling({:?}, {})", self.server, self.params)
    }
}

/// Every use of a tool is followed by a message with its result and nothing else.
fn tool_fault(messages: &[PromptMessage]) -> Option<&'static str> {
    let mut owed: Vec<String> = Vec::new();
    for message in messages {
        let blocks = message.content();
        let results: Vec<_> = blocks.iter().filter(|block| block.kind() == "tool_result").collect();
        if !results.is_empty() && results.len() != blocks.len() {
            return Some("Tool results mixed with other content");
        }
        for result in results {
            let id = result.raw().text("toolUseId").unwrap_or_default();
            owed.retain(|open| *open != id);
        }
        if !owed.is_empty() {
            return Some("Tool result missing in request");
        }
        owed = blocks.iter().filter_map(ToolUse::of).map(|tool| tool.id).collect();
    }
    (!owed.is_empty()).then_some("Tool result missing in request")
}

/// A model's wish to use a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolUse {
    /// What its result will name.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// With what.
    pub input: Arguments,
}

impl ToolUse {
    /// A use of the tool `name`.
    ///
    /// # Errors
    /// [`InvalidArguments`](crate::ErrorKind::InvalidArguments) when the input is no object.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: impl IntoArguments) -> Result<Self> {
        Ok(Self { id: id.into(), name: name.into(), input: input.into_arguments()? })
    }

    /// The one in this block, if it is of the kind `tool_use`.
    pub fn of(block: &ContentBlock) -> Option<Self> {
        let raw = block.raw();
        let input = raw.field("input").unwrap_or_else(RawJson::empty_object);
        let is_one = block.kind() == "tool_use";
        is_one.then(|| Self::new(raw.text("id")?, raw.text("name")?, input).ok()).flatten()
    }

    fn to_json(&self) -> RawJson {
        let mut out = ObjectWriter::new();
        out.text("type", "tool_use");
        out.text("id", &self.id);
        out.text("name", &self.name);
        out.member("input", self.input.raw());
        out.finish()
    }
}

/// What the model said.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled(RawJson);

impl Sampled {
    /// Text of this model, at the end of its turn.
    pub fn text(model: &str, text: &str) -> Self {
        let block = ContentBlock::text_block(text);
        Self::of(model, block.raw(), "endTurn")
    }

    /// The wish of this model to use these tools.
    ///
    /// # Errors
    /// [`InvalidArguments`](crate::ErrorKind::InvalidArguments) when there are none.
    pub fn tool_uses(model: &str, uses: impl IntoIterator<Item = ToolUse>) -> Result<Self> {
        let uses: Vec<_> = uses.into_iter().map(|tool| tool.to_json()).collect();
        if uses.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArguments, "A model that uses tools uses at least one"));
        }
        Ok(Self::of(model, &array(&uses), "toolUse"))
    }

    fn of(model: &str, content: &RawJson, stop_reason: &str) -> Self {
        let mut out = ObjectWriter::new();
        out.text("role", "assistant");
        out.member("content", content);
        out.text("model", model);
        out.text("stopReason", stop_reason);
        Self(out.finish())
    }

    /// A whole result of the protocol (`CreateMessageResult`). A missing role and model are filled in.
    ///
    /// # Errors
    /// [`InvalidArguments`](crate::ErrorKind::InvalidArguments) when there is no content.
    pub fn from_raw(raw: RawJson) -> Result<Self> {
        if raw.field("content").is_none() {
            return Err(Error::new(ErrorKind::InvalidArguments, "What a model said has to have a \"content\""));
        }
        let filled = [("role", "assistant"), ("model", "unknown")];
        Ok(Self(filled.into_iter().fold(raw, |raw, (field, text)| match raw.field(field) {
            Some(_) => raw,
            None => raw.with_member(field, &json!(text).into()),
        })))
    }

    /// Why it ended: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or another word.
    #[must_use]
    pub fn with_stop_reason(self, reason: &str) -> Self {
        Self(self.0.with_member("stopReason", &json!(reason).into()))
    }

    /// The exact result.
    pub fn raw(&self) -> &RawJson {
        &self.0
    }
}
