//! What each model provider takes as tools, written from its rules alone: whether it would accept the `tools` of a
//! request, and if not, why. Knows nothing of how the library makes them fit.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod walk;

use std::collections::HashSet;

use serde_json::{Map, Value};
use trunkline::format::Dialect;

/// What the provider would refuse, with the place of each. Empty: it accepts.
pub fn violations(dialect: Dialect, tools: &Value) -> Vec<String> {
    let mut found = Violations::default();
    let Some(tools) = tools.as_array() else {
        return vec!["tools is no array".to_owned()];
    };
    match dialect {
        Dialect::OpenAiChat => openai::chat(tools, None, &mut found),
        Dialect::OpenAiChatStrict => openai::chat(tools, Some(()), &mut found),
        Dialect::OpenAiResponses | Dialect::OpenAiResponsesStrict => openai::responses(tools, &mut found),
        Dialect::Anthropic => anthropic::tools(tools, false, &mut found),
        Dialect::AnthropicStrict => anthropic::tools(tools, true, &mut found),
        Dialect::Gemini => gemini::tools(tools, "parametersJsonSchema", &mut found),
        Dialect::GeminiOpenApi => gemini::tools(tools, "parameters", &mut found),
        Dialect::Mistral => openai::mistral(tools, &mut found),
        Dialect::Groq => openai::groq(tools, &mut found),
        Dialect::Ollama => ollama::tools(tools, &mut found),
        _ => found.add("", "a dialect without rules"),
    }
    found.0
}

/// The schema of each tool as it is sent, by the tool's name; null where none is.
pub fn schemas(dialect: Dialect, tools: &Value) -> Vec<(String, Value)> {
    let tools = tools.as_array().cloned().unwrap_or_default();
    let declarations = |tool: &Value| tool["functionDeclarations"].as_array().cloned().unwrap_or_default();
    let tools = match dialect {
        Dialect::Gemini | Dialect::GeminiOpenApi => tools.iter().flat_map(declarations).collect(),
        _ => tools,
    };
    let schema = |tool: &Value| {
        let body = tool.get("function").unwrap_or(tool);
        let schema = ["parameters", "parametersJsonSchema", "input_schema"].iter().find_map(|key| body.get(*key));
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        (name, schema.cloned().unwrap_or_default())
    };
    tools.iter().map(schema).collect()
}

#[derive(Default)]
struct Violations(Vec<String>);

impl Violations {
    fn add(&mut self, at: &str, what: impl std::fmt::Display) {
        self.0.push(format!("{at}: {what}"));
    }

    fn check(&mut self, holds: bool, at: &str, what: impl std::fmt::Display) {
        if !holds {
            self.add(at, what);
        }
    }

    /// An object with these members alone, the first `needed` of which are needed.
    fn members<'a>(
        &mut self,
        value: &'a Value,
        at: &str,
        known: &[&str],
        needed: usize,
    ) -> Option<&'a Map<String, Value>> {
        let Some(object) = value.as_object() else {
            self.add(at, "no object");
            return None;
        };
        for key in object.keys() {
            self.check(known.contains(&key.as_str()), at, format!("unknown member {key}"));
        }
        for key in &known[..needed] {
            self.check(object.contains_key(*key), at, format!("{key} is missing"));
        }
        Some(object)
    }

    fn names(&mut self, names: &[(String, String)], legal: impl Fn(&str) -> bool) {
        let mut seen = HashSet::new();
        for (at, name) in names {
            self.check(legal(name), at, format!("illegal name {name:?}"));
            self.check(seen.insert(name), at, format!("the name {name:?} again"));
        }
    }

    fn description(&mut self, body: &Map<String, Value>, at: &str) {
        let described =
            body.get("description").is_none_or(|text| text.as_str().is_some_and(|text| text.len() <= 1 << 20));
        self.check(described, at, "bad description");
    }

    /// Valid by the meta-schema of draft 2020-12.
    fn json_schema(&mut self, schema: &Value, at: &str) {
        if let Err(error) = jsonschema::draft202012::meta::validate(schema) {
            self.add(at, format!("no JSON Schema: {} at {}", error, error.instance_path()));
        }
    }
}

/// `[a-zA-Z0-9_-]`, and this long at most.
fn plain_name(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
