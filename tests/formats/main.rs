//! Model formats: what is sent is what each provider takes, and the reports say what became of it.

mod awkward;
mod generated;
mod golden;
mod instances;
mod testbed;
mod way_back;

use serde_json::Value;
use trunkline::format::{Definitions, Dialect, Strictness};
use trunkline::{RawJson, ToolDefinition};
use trunkline_tests::providers;

/// A tool with this schema.
pub(crate) fn tool(name: &str, schema: impl Into<RawJson>) -> ToolDefinition {
    ToolDefinition::new(name, "Does it.", Value::Null).with("inputSchema", schema)
}

/// Writes the tools and asserts what holds for all: the provider accepts them, nothing is changed without being told,
/// and nothing is told that wasn't changed.
pub(crate) fn written(dialect: Dialect, tools: &[ToolDefinition]) -> Definitions {
    let definitions = Definitions::new(dialect, tools);
    let sent = definitions.tools().to_value();
    let violations = providers::violations(dialect, &sent);
    let shown = |dialect| {
        if tools.len() == 1 {
            format!("{dialect} refuses {}: {sent}", tools[0].input_schema())
        } else {
            format!("{dialect}")
        }
    };
    assert!(violations.is_empty(), "{}:\n{}", shown(dialect), violations.join("\n"));
    let schemas = providers::schemas(dialect, &sent);
    for ((tool, report), (name, schema)) in tools.iter().zip(definitions.report()).zip(&schemas) {
        assert_eq!((&report.sent_as, definitions.tool(name)), (name, Some(tool.name())));
        let original = tool.input_schema().to_value();
        let same = original == *schema;
        assert_eq!(report.changes.is_empty(), same, "{dialect}: {original:#}\n{schema:#}\n{report}");
        if report.changes.is_empty() {
            let text = definitions.tools().to_string();
            assert!(text.contains(&tool.input_schema().to_string()), "{dialect}: to the byte: {original}");
        }
        let strict = matches!(report.strictness, Strictness::Strict);
        assert!(!strict || dialect.as_str().ends_with("-strict"), "{dialect}: {report}");
    }
    assert_eq!(definitions.tools(), Definitions::new(dialect, tools).tools(), "the same every time");
    definitions
}
