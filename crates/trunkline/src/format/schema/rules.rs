//! What each dialect takes of JSON Schema. The sources are the providers' documents and what their services answer
//! to what they refuse.

use super::super::dialect::Dialect;
use crate::name::NameRule;

/// What a dialect takes.
#[derive(Debug, Clone, Copy)]
pub(in crate::format) struct Rules {
    /// The names of properties; nothing where any will do.
    pub(in crate::format) properties: Option<NameRule>,
    /// The keywords; nothing where all will do.
    pub(in crate::format) keywords: Option<&'static [&'static str]>,
    /// The keywords that are refused at the root alone.
    pub(in crate::format) not_at_root: &'static [&'static str],
    /// Whether the root has to say its properties, though there be none.
    pub(in crate::format) root_properties: bool,
    /// Whether `$ref` stays; else what it refers to is put in its place.
    pub(in crate::format) references: bool,
    /// Whether a list has to say what its items are.
    pub(in crate::format) items: bool,
    /// Whether every schema has to say its type, or be a union of some that do.
    pub(in crate::format) types: bool,
    /// Whether an object may only require what it has, and has to say what it has.
    pub(in crate::format) required_are_properties: bool,
    pub(in crate::format) patterns: Patterns,
    /// The values of `format`; nothing where any will do.
    pub(in crate::format) formats: Option<&'static [&'static str]>,
    pub(in crate::format) enums: Enums,
    pub(in crate::format) unions: Unions,
    pub(in crate::format) strict: Option<Strict>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Patterns {
    Any,
    /// What both Python and an engine without backtracking take: no lookaround, no Unicode properties.
    Plain,
}

/// The values of `enum`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Enums {
    Any,
    /// Neither lists nor objects.
    Scalars,
    TextsAndNumbers,
    Texts,
}

/// How several types, or `anyOf`, stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Unions {
    /// Beside anything.
    Beside,
    /// With nothing beside them that constrains.
    Whole,
    /// As OpenAPI has it: `nullable` in place of the type `null`, one type at a time, and `anyOf` alone.
    OpenApi,
}

/// Whose strict mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Strict {
    OpenAi,
    Anthropic,
}

/// All of JSON Schema, for whoever checks little.
const OPEN: Rules = Rules {
    properties: None,
    keywords: None,
    not_at_root: &["anyOf", "oneOf", "allOf", "enum", "const", "not"],
    root_properties: false,
    references: true,
    items: false,
    types: false,
    required_are_properties: false,
    patterns: Patterns::Any,
    formats: None,
    enums: Enums::Any,
    unions: Unions::Beside,
    strict: None,
};

const OPENAI: Rules = Rules { root_properties: true, items: true, patterns: Patterns::Plain, ..OPEN };

const OPENAI_STRICT: Rules = Rules {
    keywords: Some(&[
        "$schema",
        "$ref",
        "$defs",
        "definitions",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "enum",
        "const",
        "anyOf",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ]),
    formats: Some(&["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]),
    types: true,
    required_are_properties: true,
    enums: Enums::Scalars,
    unions: Unions::Whole,
    strict: Some(Strict::OpenAi),
    ..OPENAI
};

const ANTHROPIC: Rules = Rules {
    properties: Some(NameRule { also: "-.", longest: 64, letter_first: false }),
    not_at_root: &["anyOf", "oneOf", "allOf"],
    ..OPEN
};

const ANTHROPIC_STRICT: Rules = Rules {
    keywords: Some(&[
        "$schema",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "enum",
        "const",
        "anyOf",
        "format",
    ]),
    not_at_root: &["anyOf", "oneOf", "allOf", "enum", "const"],
    references: false,
    formats: Some(&["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]),
    items: true,
    types: true,
    required_are_properties: true,
    enums: Enums::Scalars,
    unions: Unions::Whole,
    strict: Some(Strict::Anthropic),
    ..ANTHROPIC
};

/// The members of Gemini's `Schema`.
const GEMINI_OPEN_API: Rules = Rules {
    properties: Some(NameRule { also: "", longest: 64, letter_first: true }),
    keywords: Some(&[
        "title",
        "description",
        "type",
        "nullable",
        "properties",
        "required",
        "propertyOrdering",
        "minProperties",
        "maxProperties",
        "items",
        "minItems",
        "maxItems",
        "enum",
        "anyOf",
        "pattern",
        "format",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "default",
        "example",
    ]),
    not_at_root: &["anyOf", "oneOf", "allOf", "enum", "const", "not"],
    root_properties: false,
    references: false,
    items: true,
    types: true,
    required_are_properties: true,
    patterns: Patterns::Plain,
    formats: Some(&["float", "double", "int32", "int64", "enum", "date-time"]),
    enums: Enums::Texts,
    unions: Unions::OpenApi,
    strict: None,
};

const GEMINI: Rules = Rules {
    properties: Some(NameRule { also: "", longest: 64, letter_first: true }),
    keywords: Some(&[
        "title",
        "description",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "propertyOrdering",
        "minProperties",
        "maxProperties",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "enum",
        "anyOf",
        "pattern",
        "format",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "default",
    ]),
    root_properties: true,
    references: false,
    required_are_properties: true,
    patterns: Patterns::Plain,
    formats: Some(&["date-time", "date", "time"]),
    enums: Enums::TextsAndNumbers,
    ..OPEN
};

const MISTRAL: Rules = Rules { references: false, ..OPENAI };

const GROQ: Rules = Rules { references: false, required_are_properties: true, ..OPENAI };

/// What its service reads of a tool; anything else never reaches the model.
const OLLAMA: Rules = Rules {
    keywords: Some(&["type", "description", "properties", "required", "items", "enum", "anyOf"]),
    references: false,
    ..OPEN
};

impl Dialect {
    pub(in crate::format) fn rules(self) -> &'static Rules {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => &OPENAI,
            Self::OpenAiChatStrict | Self::OpenAiResponsesStrict => &OPENAI_STRICT,
            Self::Anthropic => &ANTHROPIC,
            Self::AnthropicStrict => &ANTHROPIC_STRICT,
            Self::Gemini => &GEMINI,
            Self::GeminiOpenApi => &GEMINI_OPEN_API,
            Self::Mistral => &MISTRAL,
            Self::Groq => &GROQ,
            Self::Ollama => &OLLAMA,
        }
    }

    /// What stands in for a strict dialect where a tool can't be had that way.
    pub(in crate::format) fn plain(self) -> Self {
        match self {
            Self::OpenAiChatStrict => Self::OpenAiChat,
            Self::OpenAiResponsesStrict => Self::OpenAiResponses,
            Self::AnthropicStrict => Self::Anthropic,
            other => other,
        }
    }
}

impl Rules {
    pub(in crate::format) fn takes(&self, keyword: &str) -> bool {
        self.keywords.is_none_or(|keywords| keywords.contains(&keyword))
    }
}
