//! A collection of schemas as servers really send them, and worse: `awkward.json`.

use trunkline::RawJson;
use trunkline::format::{Definitions, Dialect, Effect, Strictness};

use crate::{tool, written};

pub(crate) fn collection() -> Vec<(String, RawJson)> {
    RawJson::parse(include_str!("awkward.json")).unwrap().members().collect()
}

#[test]
fn every_provider_takes_each_of_them() {
    let collection = collection();
    assert!(collection.len() >= 80);
    for (name, schema) in &collection {
        for dialect in Dialect::ALL {
            let definitions = written(dialect, &[tool(name, schema.clone())]);
            assert!(definitions.warnings().is_empty());
        }
    }
}

#[test]
fn every_provider_takes_them_all_at_once() {
    let tools: Vec<_> = collection().into_iter().map(|(name, schema)| tool(&name, schema)).collect();
    for dialect in Dialect::ALL {
        let definitions = written(dialect, &tools);
        assert_eq!(definitions.report().len(), tools.len());
        let strict = definitions.report().iter().filter(|report| report.strictness == Strictness::Strict).count();
        let expected = match dialect {
            Dialect::OpenAiChatStrict | Dialect::OpenAiResponsesStrict => 30..60,
            Dialect::AnthropicStrict => 10..21,
            _ => 0..1,
        };
        assert!(expected.contains(&strict), "{dialect}: {strict} strict tools");
    }
}

#[test]
fn pointers_of_reports_lead_into_the_tools_own_schema() {
    for (name, schema) in collection() {
        for dialect in Dialect::ALL {
            let tool = tool(&name, schema.clone());
            let own = tool.input_schema().to_value();
            for change in &Definitions::new(dialect, [&tool]).report()[0].changes {
                // what was added or implied has its place in something that is there
                let parent = change.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
                let grandparent = parent.rsplit_once('/').map_or("", |(parent, _)| parent);
                let there =
                    [change.pointer.as_str(), parent, grandparent].iter().any(|place| own.pointer(place).is_some());
                assert!(there, "{dialect}, {name}: {change}\n{own:#}");
            }
        }
    }
}

#[test]
fn schemas_that_need_nothing_are_left_alone() {
    let plain = serde_json::json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The path."},
            "depth": {"type": "integer", "minimum": 0},
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "at": {"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"]},
        },
        "required": ["path"],
    });
    let plain = tool("t", plain);
    for dialect in Dialect::ALL {
        let report = &written(dialect, std::slice::from_ref(&plain)).report()[0].clone();
        let strict = dialect.as_str().ends_with("-strict");
        assert_eq!(report.changes.is_empty(), !strict && dialect != Dialect::Ollama, "{dialect}: {report}");
        assert_eq!(report.strictness == Strictness::Strict, strict, "{report}");
    }
}

#[test]
fn effects_are_worst_where_something_cannot_be_said() {
    let collection: std::collections::HashMap<_, _> = collection().into_iter().collect();
    let worst = |dialect, name: &str| {
        let tool = tool(name, collection[name].clone());
        let changes = Definitions::new(dialect, [&tool]).report()[0].changes.clone();
        changes.iter().map(|change| change.effect).max()
    };
    for (dialect, name, effect) in [
        (Dialect::OpenAiChat, "bare object", Some(Effect::Same)),
        (Dialect::Anthropic, "bare object", None),
        (Dialect::OpenAiChat, "root ref", Some(Effect::Same)),
        (Dialect::OpenAiChat, "root anyOf of required", Some(Effect::Wider)),
        (Dialect::OpenAiChat, "tree", None),
        (Dialect::Anthropic, "tree", None),
        (Dialect::Gemini, "tree", Some(Effect::Wider)),
        (Dialect::GeminiOpenApi, "any value", Some(Effect::Narrower)),
        (Dialect::Anthropic, "names that aren't taken", Some(Effect::Same)),
        (Dialect::OpenAiChat, "properties named like keywords", None),
        (Dialect::Anthropic, "properties named like keywords", Some(Effect::Same)),
        (Dialect::Mistral, "reference with siblings", Some(Effect::Same)),
        (Dialect::Ollama, "closed root", Some(Effect::Wider)),
        (Dialect::OpenAiChat, "closed root", None),
        (Dialect::OpenAiChat, "patterns", Some(Effect::Wider)),
    ] {
        assert_eq!(worst(dialect, name), effect, "{dialect}, {name}");
    }
}
