//! What came of a model's calls, as the messages that tell it.

use super::call::ToolCall;
use super::definitions::Definitions;
use super::reply;
use super::text;
#[cfg(feature = "blocking")]
use crate::error::Error;
use crate::error::Result;
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
/// use trunkline::format::{Answer, Definitions, Dialect};
/// use trunkline::{ContentBlock, ToolDefinition, ToolResult};
///
/// // a loop that makes the calls itself
/// let tool = ToolDefinition::new("chart", "Draws a chart.", json!({"type": "object"}));
/// let definitions = Definitions::new(Dialect::Anthropic, [&tool]);
/// let message = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "chart", "input": {}}]});
///
/// let drawn = ToolResult::from_blocks([ContentBlock::image(b"...", "image/png")]);
/// let made = definitions.calls(&message).into_iter().map(|call| Answer::new(call, Ok(drawn.clone())));
/// let answers = definitions.answers(made);
/// let shown = answers.messages()[0].to_value();
/// assert_eq!(shown["content"][0]["content"][0]["source"]["media_type"], "image/png");
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
    /// text that the model can act on. Images, sound and files are there where the provider takes them, else they
    /// are named in the text.
    pub fn messages(&self) -> &[RawJson] {
        &self.messages
    }
}

impl Definitions {
    /// The messages that tell the model what came of its calls, of all of them at once.
    pub fn answers(&self, answers: impl IntoIterator<Item = Answer>) -> Answers {
        let answers: Vec<_> = answers.into_iter().collect();
        let messages = reply::messages(self.dialect().family(), &answers);
        Answers { answers, messages }
    }

    /// The answers to a message none of whose calls could be made.
    #[cfg(feature = "blocking")]
    pub(crate) fn refused(&self, message: RawJson, error: &Error) -> Answers {
        self.answers(self.calls(message).into_iter().map(|call| Answer::new(call, Err(error.clone()))))
    }
}
