//! The dialects by name, and what a provider takes besides the schema.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};
use crate::name::NameRule;
use crate::suggest;

/// In which form a provider takes tools, and gives and takes calls.
///
/// A strict dialect asks the provider to hold the model to each schema while it writes. Tools whose schema can't be
/// had that way are written in the plain form beside the others; the report says which, and why.
///
/// ```
/// use trunkline::format::Dialect;
///
/// assert_eq!("openai-chat".parse::<Dialect>()?, Dialect::OpenAiChat);
/// assert_eq!(Dialect::AnthropicStrict.to_string(), "anthropic-strict");
/// assert!("openai".parse::<Dialect>().unwrap_err().hint().unwrap().contains("openai-responses"));
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI's Chat Completions, and the many servers that are compatible with them.
    OpenAiChat,
    /// The same, with `strict` wherever it can be.
    OpenAiChatStrict,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// The same, with `strict` wherever it can be.
    OpenAiResponsesStrict,
    /// Anthropic's Messages.
    Anthropic,
    /// The same, with `strict` wherever it can be.
    AnthropicStrict,
    /// Gemini, with schemas as `parametersJsonSchema`.
    Gemini,
    /// Gemini, with schemas as `parameters`: the part of OpenAPI that all its versions know, Live and Vertex too.
    GeminiOpenApi,
    /// Mistral's chat completions.
    Mistral,
    /// Groq's chat completions.
    Groq,
    /// Ollama's own `/api/chat`. Its OpenAI-compatible endpoint takes [`OpenAiChat`](Self::OpenAiChat).
    Ollama,
}

/// Whose envelope it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Chat,
    Mistral,
    Ollama,
    Responses,
    Anthropic,
    Gemini,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 11] = [
        Self::OpenAiChat,
        Self::OpenAiChatStrict,
        Self::OpenAiResponses,
        Self::OpenAiResponsesStrict,
        Self::Anthropic,
        Self::AnthropicStrict,
        Self::Gemini,
        Self::GeminiOpenApi,
        Self::Mistral,
        Self::Groq,
        Self::Ollama,
    ];

    /// The name on a command line: lower case, words joined by `-`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiChatStrict => "openai-chat-strict",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenAiResponsesStrict => "openai-responses-strict",
            Self::Anthropic => "anthropic",
            Self::AnthropicStrict => "anthropic-strict",
            Self::Gemini => "gemini",
            Self::GeminiOpenApi => "gemini-openapi",
            Self::Mistral => "mistral",
            Self::Groq => "groq",
            Self::Ollama => "ollama",
        }
    }

    pub(super) fn family(self) -> Family {
        match self {
            Self::OpenAiChat | Self::OpenAiChatStrict | Self::Groq => Family::Chat,
            Self::OpenAiResponses | Self::OpenAiResponsesStrict => Family::Responses,
            Self::Anthropic | Self::AnthropicStrict => Family::Anthropic,
            Self::Gemini | Self::GeminiOpenApi => Family::Gemini,
            Self::Mistral => Family::Mistral,
            Self::Ollama => Family::Ollama,
        }
    }

    /// The names of tools that it takes.
    pub(super) fn names(self) -> NameRule {
        match self.family() {
            Family::Anthropic => NameRule { also: "-", longest: 128, letter_first: false },
            Family::Gemini => NameRule { also: "-.", longest: 64, letter_first: true },
            _ => NameRule { also: "-", longest: 64, letter_first: false },
        }
    }

    /// How many tools one request may have, where that is known.
    pub(super) fn most_tools(self) -> Option<usize> {
        match self.family() {
            Family::Chat | Family::Responses | Family::Gemini => Some(128),
            Family::Mistral | Family::Ollama | Family::Anthropic => None,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = Error;

    /// # Errors
    /// [`ErrorKind::Config`] for a name that is none; the hint says which there are.
    fn from_str(name: &str) -> Result<Self, Error> {
        let names = Self::ALL.map(Self::as_str);
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == name).ok_or_else(|| {
            let nearest = suggest::nearest(name, names).map(|name| format!("Did you mean \"{name}\"? "));
            Error::new(ErrorKind::Config, format!("No model format is named {name:?}")).with_hint(format!(
                "{}There are {}",
                nearest.unwrap_or_default(),
                suggest::listing(names)
            ))
        })
    }
}
