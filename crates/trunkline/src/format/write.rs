//! A tool in its provider's envelope.

use super::dialect::{Dialect, Family};
use crate::protocol::RawJson;
use crate::protocol::raw::{ObjectWriter, array};

/// A tool that is ready to be written.
pub(super) struct Tool<'a> {
    pub(super) name: &'a str,
    pub(super) description: Option<String>,
    pub(super) schema: RawJson,
    /// Whether the model is held to the schema, where the dialect asks for it.
    pub(super) strict: Option<bool>,
}

/// The member `tools` of a request.
pub(super) fn tools(dialect: Dialect, tools: &[Tool<'_>]) -> RawJson {
    let written: Vec<_> = tools.iter().map(|tool| one(dialect, tool)).collect();
    let list = array(&written);
    if dialect.family() != Family::Gemini || written.is_empty() {
        return list;
    }
    let mut declarations = ObjectWriter::new();
    declarations.member("functionDeclarations", &list);
    array(&[declarations.finish()])
}

fn one(dialect: Dialect, tool: &Tool<'_>) -> RawJson {
    match dialect.family() {
        Family::Chat | Family::Mistral | Family::Ollama => {
            let mut out = ObjectWriter::new();
            out.text("type", "function");
            out.member("function", &body(tool, "parameters", tool.strict, ObjectWriter::new()));
            out.finish()
        }
        Family::Responses => {
            let mut out = ObjectWriter::new();
            out.text("type", "function");
            body(tool, "parameters", Some(tool.strict.unwrap_or(false)), out)
        }
        Family::Anthropic => body(tool, "input_schema", tool.strict.filter(|strict| *strict), ObjectWriter::new()),
        Family::Gemini if dialect == Dialect::GeminiOpenApi => {
            // an object without properties is refused here
            let key = if tool.schema.get("properties").is_some() { "parameters" } else { "" };
            body(tool, key, None, ObjectWriter::new())
        }
        Family::Gemini => body(tool, "parametersJsonSchema", None, ObjectWriter::new()),
    }
}

fn body(tool: &Tool<'_>, schema: &str, strict: Option<bool>, mut out: ObjectWriter) -> RawJson {
    out.text("name", tool.name);
    if let Some(description) = &tool.description {
        out.text("description", description);
    }
    if !schema.is_empty() {
        out.member(schema, &tool.schema);
    }
    if let Some(strict) = strict {
        out.member("strict", &serde_json::Value::from(strict).into());
    }
    out.finish()
}
