//! The calls in a model's message: found, read, and brought back to the tools they mean.

use super::dialect::Family;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Arguments, RawJson};

/// One call that a model asks for.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub(super) id: Option<String>,
    /// As the model wrote it.
    pub(super) sent_as: String,
    /// The tool that is meant, and what it is to be called with.
    pub(super) request: Result<(String, Arguments)>,
}

impl ToolCall {
    /// The provider's id of the call, where it has one. Gemini and Ollama may have none.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The tool's name; what the model wrote, where it means no tool or the arguments can't be read.
    pub fn name(&self) -> &str {
        self.request.as_ref().map_or(&self.sent_as, |(tool, _)| tool)
    }

    /// The arguments, fit to call the tool with: as the tool names them, and without what the dialect added.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) when the model named a tool that it wasn't given, and
    /// [`InvalidArguments`](ErrorKind::InvalidArguments) when what it wrote is no JSON object. Both say to the model
    /// what to do about it.
    pub fn arguments(&self) -> Result<&Arguments> {
        self.request.as_ref().map(|(_, arguments)| arguments).map_err(Clone::clone)
    }
}

/// A call as it stands in a message.
pub(super) struct Found {
    pub(super) id: Option<String>,
    pub(super) name: String,
    arguments: Option<RawJson>,
}

impl Found {
    /// The arguments, whether they came as an object or as its text.
    pub(super) fn arguments(&self) -> Result<Arguments> {
        let Some(given) = &self.arguments else { return Ok(Arguments::none()) };
        let read = match given.as_text() {
            None => Arguments::from_raw(given.clone()),
            Some(text) if text.trim().is_empty() => Ok(Arguments::none()),
            Some(text) => RawJson::parse(text.trim().to_owned()).and_then(|inner| match inner.as_text() {
                None => Arguments::from_raw(inner),
                Some(text) => RawJson::parse(text).and_then(Arguments::from_raw), // written as JSON twice
            }),
        };
        read.map_err(|error| {
            let message =
                format!("The arguments of tool \"{}\" can't be read: {}", self.name, lowered(error.message()));
            Error::new(ErrorKind::InvalidArguments, message).with_hint("Send one complete JSON object")
        })
    }
}

fn lowered(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// The calls in a message, in the response around it, or in a list of either.
pub(super) fn found(family: Family, message: &RawJson) -> Vec<Found> {
    if message.is_array() {
        return message.items().flat_map(|item| found(family, &item)).collect();
    }
    let inside = match family {
        Family::Chat | Family::Mistral | Family::Ollama => message
            .field("message")
            .or_else(|| message.field("choices")?.items().next()?.field("message"))
            .or_else(|| message.field("tool_calls")),
        Family::Responses => message.field("output").filter(|_| message.text("type").is_none()),
        Family::Anthropic => {
            message.field("content").filter(|_| message.text("type").is_none_or(|kind| kind == "message"))
        }
        Family::Gemini => message
            .field("candidates")
            .and_then(|candidates| candidates.items().next()?.field("content"))
            .or_else(|| message.field("parts")),
    };
    match inside {
        Some(inside) => found(family, &inside),
        None => one(family, message).into_iter().collect(),
    }
}

fn one(family: Family, call: &RawJson) -> Option<Found> {
    let (place, id, arguments) = match family {
        Family::Chat | Family::Mistral | Family::Ollama => (call.field("function")?, call.text("id"), "arguments"),
        Family::Responses => {
            let call = call.clone();
            (call.clone(), call.text("call_id").filter(|_| is(&call, "function_call")).map(Some)?, "arguments")
        }
        Family::Anthropic => (Some(call.clone()).filter(|call| is(call, "tool_use"))?, call.text("id"), "input"),
        Family::Gemini => {
            let inner = call.field("functionCall").or_else(|| call.field("function_call"))?;
            (inner.clone(), inner.text("id"), "args")
        }
    };
    Some(Found { id, name: place.text("name")?, arguments: place.field(arguments) })
}

fn is(call: &RawJson, kind: &str) -> bool {
    call.text("type").as_deref() == Some(kind)
}
