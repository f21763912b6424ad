//! What holds of every dialect, whatever the tools and whatever a model writes.

use std::collections::HashSet;

use super::{Answer, Definitions, Dialect};
use crate::protocol::{RawJson, ToolDefinition, ToolResult};

/// All tools are written, under names that the provider takes, each its own, and the way back leads to the tool.
pub(crate) fn definitions(tools: &[ToolDefinition]) {
    for dialect in Dialect::ALL {
        let definitions = Definitions::new(dialect, tools);
        assert!(RawJson::parse(definitions.tools().as_bytes().to_vec()).is_ok(), "{dialect}");
        let mut names = HashSet::new();
        for (tool, report) in tools.iter().zip(definitions.report()) {
            assert!(dialect.names().takes(&report.sent_as), "{dialect}: {:?}", report.sent_as);
            assert!(names.insert(report.sent_as.clone()), "{dialect}: {} twice", report.sent_as);
            assert_eq!(definitions.tool(&report.sent_as), Some(tool.name()));
        }
        assert_eq!(names.len(), tools.len());
    }
}

/// Any message of a model is calls, each of which can be made or says why not, and each gets an answer.
pub(crate) fn calls(tool: &ToolDefinition, message: &RawJson) {
    for dialect in Dialect::ALL {
        let definitions = Definitions::new(dialect, [tool]);
        let calls = definitions.calls(message.clone());
        let mut answers = Vec::new();
        for call in calls {
            let outcome = match call.arguments() {
                Ok(arguments) => {
                    assert_eq!(call.name(), tool.name());
                    assert!(RawJson::parse(arguments.raw().as_bytes().to_vec()).is_ok(), "{dialect}");
                    Ok(ToolResult::from_raw(arguments.raw().clone()))
                }
                Err(error) => Err(error),
            };
            answers.push(Answer::new(call, outcome));
        }
        let written = definitions.answers(answers);
        assert!(written.messages().iter().all(|message| RawJson::parse(message.as_bytes().to_vec()).is_ok()));
    }
}
