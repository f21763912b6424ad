//! What differs from a lock file, as SARIF 2.1.0 (OASIS): the form that code scanning services read.

use serde_json::{Value, json};
use trunkline::{LockReport, ToolReport, ToolState};

use super::escape;
use crate::commands::lock::{Compared, shown_path};

/// Each kind of finding: its id, how bad it is, and what it means.
const RULES: [(&str, &str, &str); 7] = [
    ("suspicious", "error", "Something hides in a text, a text instructs the model, or a hint of danger is new"),
    ("breaking", "error", "Calls as they were made before, or users of the results, can fail"),
    ("compatible", "warning", "The definition changed; calls as they were made before still work"),
    ("text", "warning", "A title or a description changed"),
    ("added", "warning", "Nobody has agreed to this tool yet"),
    ("removed", "warning", "A tool that was agreed to is not offered any more"),
    ("unknown-server", "warning", "Nobody has agreed to the tools of this server yet"),
];

/// The log of one run.
pub(crate) fn log(compared: &Compared) -> String {
    let rules = RULES.iter().map(|(id, level, text)| {
        json!({"id": id, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}})
    });
    let rules: Vec<_> = rules.collect();
    let mut results = Vec::new();
    for report in &compared.reports {
        if !report.pinned {
            let message = format!("Nobody has agreed to the tools of server \"{}\" yet", report.server);
            results.push(result("unknown-server", message, &report.server, place(compared, report, None)));
        }
        for tool in report.different().filter(|_| report.pinned) {
            results.extend(of_tool(compared, report, tool));
        }
    }
    let notifications: Vec<_> = compared
        .failures
        .iter()
        .map(|failure| json!({"level": "error", "message": {"text": escape::text(failure.message())}}))
        .collect();
    let driver = json!({"name": "trunkline", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    let invocation = json!({
        "executionSuccessful": compared.failures.is_empty(), "toolExecutionNotifications": notifications,
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "invocations": [invocation], "results": results}],
    });
    format!("{log:#}")
}

fn of_tool(compared: &Compared, report: &LockReport, tool: &ToolReport) -> Vec<Value> {
    let address = format!("{}.{}", report.server, tool.tool);
    let place = || place(compared, report, Some(tool));
    let changes = tool.changes.iter().map(|change| {
        let message = format!("{address}: {}", change.difference());
        result(change.severity.as_str(), message, &format!("{address}{}", change.pointer), place())
    });
    let state = match tool.state {
        ToolState::Added => Some(("added", format!("{address} is new"))),
        ToolState::Removed => Some(("removed", format!("{address} is not offered any more"))),
        _ => None,
    };
    let state = state.map(|(rule, message)| result(rule, message, &address, place()));
    changes.chain(state).collect()
}

fn result(rule: &str, message: String, logical: &str, physical: Value) -> Value {
    let (index, (_, level, _)) =
        RULES.iter().enumerate().find(|(_, (id, ..))| *id == rule).expect("every rule is listed");
    json!({
        "ruleId": rule, "ruleIndex": index, "level": level, "message": {"text": escape::text(&message)},
        "locations": [{"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": logical, "kind": "member"}]}],
        "partialFingerprints": {"place/v1": format!("{rule}:{logical}")},
    })
}

/// The line of the lock file at which the tool stands; its first where it isn't there.
fn place(compared: &Compared, report: &LockReport, tool: Option<&ToolReport>) -> Value {
    let file = report.file.as_deref();
    let known = file.and_then(|file| compared.files.get(file));
    let line = tool.and_then(|tool| known?.line(&report.server, &tool.tool)).unwrap_or(1);
    let uri = file.map(shown_path).unwrap_or_default().replace('\\', "/").replace(' ', "%20");
    json!({"artifactLocation": {"uri": uri}, "region": {"startLine": line}})
}
