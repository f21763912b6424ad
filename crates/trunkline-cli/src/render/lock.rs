//! What differs from a lock file, as text for people and as JSON.

use trunkline::{Change, LockReport, Severity, ToolReport, ToolState};

use super::json::{Object, array, quote};
use super::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, escape, paint};
use crate::commands::lock::{Compared, failures, shown_path};

/// All that differs, grouped by how much it matters, the worst first.
pub(crate) fn differences(reports: &[LockReport]) -> String {
    let mut groups = Vec::new();
    for (severity, style) in [
        (Severity::Suspicious, RED),
        (Severity::Breaking, RED),
        (Severity::Compatible, YELLOW),
        (Severity::Text, YELLOW),
    ] {
        let title = if severity == Severity::Text { "only texts" } else { severity.as_str() };
        let found = each(reports).flat_map(|(report, tool)| {
            let of_group = tool.changes.iter().filter(move |change| change.severity == severity);
            of_group.map(move |change| told(&address(report, tool), change))
        });
        groups.push(group(paint(style, title), found));
    }
    for (state, title) in [(ToolState::Added, "new"), (ToolState::Removed, "gone")] {
        let found = each(reports).filter(|(report, tool)| tool.state == state && report.pinned);
        groups.push(group(paint(YELLOW, title), found.map(|(report, tool)| format!("  {}\n", address(report, tool)))));
    }
    let unknown = reports.iter().filter(|report| !report.pinned);
    let unknown = unknown.map(|report| {
        let count = report.tools.len();
        format!("  {} ({count} {})\n", escape::line(&report.server), if count == 1 { "tool" } else { "tools" })
    });
    groups.push(group(paint(YELLOW, "not in the lock file"), unknown));
    groups.concat()
}

fn each(reports: &[LockReport]) -> impl Iterator<Item = (&LockReport, &ToolReport)> {
    reports.iter().flat_map(|report| report.different().map(move |tool| (report, tool)))
}

fn address(report: &LockReport, tool: &ToolReport) -> String {
    escape::line(&format!("{}.{}", report.server, tool.tool))
}

fn told(address: &str, change: &Change) -> String {
    let difference = change.difference();
    let mut lines = difference.lines();
    let mut out = format!("  {} {}\n", paint(BOLD, address), lines.next().unwrap_or_default());
    for line in lines {
        let style = if line.trim_start().starts_with('-') { RED } else { GREEN };
        out.push_str(&format!("  {}\n", paint(style, line)));
    }
    out
}

fn group(title: String, lines: impl Iterator<Item = String>) -> String {
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("{title}\n{lines}") }
}

/// All servers in one line, and what to do.
pub(crate) fn summary(reports: &[LockReport]) -> String {
    let count = |state| each(reports).filter(|(report, tool)| report.pinned && tool.state == state).count();
    let all: usize = reports.iter().map(|report| report.tools.len()).sum();
    let word = |count: usize, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    let head = format!("{} of {}", word(all, "tool"), word(reports.len(), "server"));
    if reports.iter().all(LockReport::is_clean) {
        return paint(DIM, format!("{head}: all as agreed to"));
    }
    let mut parts = Vec::new();
    for (state, what) in [(ToolState::Changed, "changed"), (ToolState::Added, "new"), (ToolState::Removed, "gone")] {
        if count(state) > 0 {
            parts.push(format!("{} {what}", count(state)));
        }
    }
    let unknown = reports.iter().filter(|report| !report.pinned).count();
    if unknown > 0 {
        parts.push(format!("{} not in the lock file", word(unknown, "server")));
    }
    let fix = match unknown {
        0 => "trunkline lock --approve SERVER[.TOOL] agrees to it",
        _ => "trunkline lock agrees to servers that are not in the file, --approve SERVER[.TOOL] to the rest",
    };
    format!("{}\n{} {fix}", paint(DIM, format!("{head}: {}", parts.join(", "))), paint(CYAN, "hint:"))
}

/// What was agreed to now, with its differences, and what was left.
pub(crate) fn agreed(compared: &Compared) -> String {
    let mut out = String::new();
    for report in &compared.reports {
        for tool in &report.tools {
            let address = address(report, tool);
            let agreed = compared.agreed.contains(&format!("{}.{}", report.server, tool.tool));
            let state = match tool.state {
                ToolState::Unchanged if !agreed => continue,
                ToolState::Unchanged => "unchanged",
                ToolState::Added => "new",
                state => state.as_str(),
            };
            let (style, word) = if agreed { (GREEN, "agreed") } else { (YELLOW, "left  ") };
            out.push_str(&format!("{} {address} {}\n", paint(style, word), paint(DIM, format!("({state})"))));
            out.extend(tool.changes.iter().map(|change| told(change.severity.as_str(), change)));
        }
    }
    out
}

/// Where it was written, and what is left.
pub(crate) fn files(compared: &Compared) -> String {
    let files: Vec<_> = compared.files.keys().map(|file| escape::line(&shown_path(file))).collect();
    let count = compared.agreed.len();
    let mut out = match count {
        0 if files.is_empty() => "no tool was seen, so nothing was written".to_owned(),
        0 => format!("nothing new for {}", files.join(", ")),
        1 => format!("1 tool agreed to in {}", files.join(", ")),
        _ => format!("{count} tools agreed to in {}", files.join(", ")),
    };
    out = paint(DIM, out);
    let is_left = |(report, tool): (&LockReport, &ToolReport)| {
        !compared.agreed.contains(&format!("{}.{}", report.server, tool.tool))
    };
    if each(&compared.reports).any(is_left) {
        let hint = "look at what is left, then: trunkline lock --approve SERVER[.TOOL]";
        out.push_str(&format!("\n{} {hint}", paint(CYAN, "hint:")));
    }
    out
}

/// For machines.
pub(crate) fn machine(compared: &Compared) -> String {
    let servers = compared.reports.iter().map(|report| {
        let file = report.file.as_deref().map(shown_path);
        let out = Object::default().text("server", &report.server).maybe("lock", file.as_deref());
        out.raw("pinned", report.pinned).raw("tools", array(report.different().map(tool))).finish()
    });
    let agreed = compared.agreed.iter().map(|address| quote(address));
    let out = Object::default().raw("ok", compared.ok).raw("servers", array(servers)).raw("agreed", array(agreed));
    out.raw("failures", array(failures(compared))).finish()
}

/// One tool that differs.
pub(crate) fn tool(tool: &ToolReport) -> String {
    let changes = tool.changes.iter().map(|change| {
        let mut out = Object::default().text("severity", change.severity.as_str());
        out = out.text("pointer", &change.pointer).text("what", &change.what);
        for (key, value) in [("old", &change.old), ("new", &change.new)] {
            if let Some(value) = value {
                out = out.raw(key, value);
            }
        }
        out.finish()
    });
    let out = Object::default().text("tool", &tool.tool).text("state", tool.state.as_str());
    out.maybe("severity", tool.severity().map(Severity::as_str)).raw("changes", array(changes)).finish()
}

/// Lines on the tools of a server that aren't called, below its list.
pub(crate) fn not_called(report: &LockReport) -> String {
    let mut out = String::new();
    for tool in report.different() {
        let address = address(report, tool);
        let severity = tool.severity().map(|severity| format!(" ({severity})")).unwrap_or_default();
        let state = match tool.state {
            ToolState::Added => "new",
            ToolState::Removed => "gone",
            _ => "changed",
        };
        let fix = match tool.state {
            ToolState::Removed => "it was agreed to and is not offered any more",
            _ => "not called before trunkline lock --approve",
        };
        out.push_str(&format!("{} {address}{severity}: {fix}\n", paint(YELLOW, format!("{state:<7}"))));
    }
    out
}
