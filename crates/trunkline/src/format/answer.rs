//! What came of a model's calls, as the messages that tell it.

use super::call::ToolCall;
use super::definitions::Definitions;
use super::text;
#[cfg(feature = "blocking")]
use crate::error::Error;
use crate::error::Result;
use crate::protocol::raw::ObjectWriter;
use crate::protocol::{RawJson, ToolResult};

/// What came of one call.
#[derive(Debug, Clone)]
pub struct Answer {
    call: ToolCall,
    outcome: Result<ToolResult>,
}

impl Answer {
    /// An answer to a call that was made by other means than [`ToolSet::run`](crate::ToolSet::run).
    pub fn new(call: ToolCall, outcome: Result<ToolResult>) -> Self {
        Self { call, outcome }
    }

    /// The call.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What came of it; what the tool itself reports as an error is a result.
    pub fn outcome(&self) -> &Result<ToolResult> {
        &self.outcome
    }

    /// Whether it failed, in whichever way.
    pub fn is_error(&self) -> bool {
        self.outcome.as_ref().map_or(true, ToolResult::is_error)
    }

    /// What the model is told, as text.
    pub fn text(&self) -> String {
        text::seen_by_model(self.call.name(), self.outcome.clone())
    }
}

/// What came of all the calls in a model's message.
///
/// ```
/// use serde_json::json;
/// use trunkline::{ToolDefinition, ToolResult};
/// use trunkline::format::{Answer, Definitions, Dialect};
///
/// // a loop that makes the calls itself
/// let tool = ToolDefinition::new("now", "The time of day.", json!({"type": "object"}));
/// let definitions = Definitions::new(Dialect::OpenAiChat, [&tool]);
/// let message = json!({"tool_calls": [{"id": "c1", "function": {"name": "now", "arguments": "{}"}}]});
/// let answers = definitions.calls(&message).into_iter().map(|call| Answer::new(call, Ok(ToolResult::text_result("noon"))));
/// let answers = definitions.answers(answers);
/// assert_eq!(answers.messages()[0].get("content").unwrap().as_text().unwrap(), "noon");
/// ```
#[derive(Debug, Clone)]
pub struct Answers {
    answers: Vec<Answer>,
    messages: Vec<RawJson>,
}

impl Answers {
    /// Whether the message asked for no call at all: the model is done.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Each call with what came of it, in the order of the message.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// What to append to the conversation, right after the model's own message. Every call is answered, errors as
    /// text that the model can act on.
    pub fn messages(&self) -> &[RawJson] {
        &self.messages
    }
}

impl Definitions {
    /// The messages that tell the model what came of its calls, of all of them at once.
    pub fn answers(&self, answers: impl IntoIterator<Item = Answer>) -> Answers {
        let answers: Vec<_> = answers.into_iter().collect();
        let messages = answers.iter().map(chat).collect();
        Answers { answers, messages }
    }

    /// The answers to a message none of whose calls could be made.
    #[cfg(feature = "blocking")]
    pub(crate) fn refused(&self, message: RawJson, error: &Error) -> Answers {
        self.answers(self.calls(message).into_iter().map(|call| Answer::new(call, Err(error.clone()))))
    }
}

fn chat(answer: &Answer) -> RawJson {
    let mut out = ObjectWriter::new();
    out.text("role", "tool");
    if let Some(id) = answer.call.id() {
        out.text("tool_call_id", id);
    }
    out.text("content", &answer.text());
    out.finish()
}
