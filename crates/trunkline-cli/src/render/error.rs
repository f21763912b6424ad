//! An error as a person or a machine sees it, rendered once at the edge of the program.

use super::json::{Object, quote};
use super::{BOLD, CYAN, DIM, RED, escape, paint};
use crate::exit::{Exit, Failure};

/// Facts that are told in a line of their own, and what they are called there.
const TOLD: [(&str, &str); 16] = [
    ("usage", "usage"),
    ("server", "server"),
    ("tool", "tool"),
    ("endpoint", "endpoint"),
    ("command", "command"),
    ("url", "url"),
    ("config", "config"),
    ("file", "config"),
    ("path", "PATH"),
    ("lock", "lock"),
    ("difference", "change"),
    ("exit", "exit"),
    ("data", "data"),
    ("stdout", "stdout"),
    ("not listed", "not asked"),
    ("stderr", "stderr"),
];

/// For people.
pub(crate) fn for_people(failure: &Failure) -> String {
    let error = &failure.error;
    if matches!(failure.exit, Exit::Interrupted | Exit::Terminated) {
        return "Interrupted".to_owned();
    }
    let code = error.code().map(|code| paint(DIM, format!(" (code {code})"))).unwrap_or_default();
    let mut out = format!("{}{} {}{code}\n", paint(RED, "error"), paint(BOLD, ":"), escape::text(error.message()));
    let data = error.data().map(ToString::to_string);
    let mut had = Vec::new();
    for (key, name) in TOLD {
        let value = if key == "data" { data.as_deref() } else { error.get(key) };
        let Some(value) = value.filter(|value| !value.is_empty()) else { continue };
        if had.contains(&name) || (key == "exit" && error.message().contains(value)) {
            continue;
        }
        had.push(name);
        for (at, line) in escape::text(value).lines().enumerate() {
            let head = if at == 0 { name } else { "" };
            let bar = if key == "stderr" { "| " } else { "" };
            out.push_str(&format!("  {} {bar}{line}\n", paint(DIM, format!("{head:<9}"))));
        }
    }
    if let Some(hint) = error.hint() {
        out.push_str(&format!("{} {}\n", paint(CYAN, "hint:"), escape::text(hint)));
    }
    let called = error.get("tool").is_some();
    if called && error.may_have_run() && failure.exit != Exit::ToolError {
        out.push_str(&format!("{} the server may have done the work all the same\n", paint(CYAN, "note:")));
    }
    out
}

/// One line for a list of dead servers: the reason, without what the line says already.
pub(crate) fn reason(error: &trunkline::Error) -> String {
    let server = error.get("server").unwrap_or_default();
    let message = error.message();
    let starts = [
        format!("Could not connect to server \"{server}\": "),
        format!("Server \"{server}\" can't be used: "),
        format!("Server \"{server}\" "),
    ];
    let short = starts.iter().find_map(|start| message.strip_prefix(start.as_str())).unwrap_or(message);
    let code = error.code().map(|code| format!(" (code {code})")).unwrap_or_default();
    format!("{}{code}", escape::line(short))
}

/// The error as one JSON object: what `--json` prints.
pub(crate) fn for_machines(failure: &Failure) -> String {
    Object::default().raw("error", object(failure.kind, &failure.error)).finish()
}

/// The inner object, as a list of failures has it too.
pub(crate) fn object(kind: &str, error: &trunkline::Error) -> String {
    let mut out = Object::default().text("kind", kind).text("message", error.message());
    out = out.maybe("hint", error.hint()).maybe("server", error.get("server"));
    if let Some(code) = error.code() {
        out = out.raw("code", code);
    }
    if let Some(data) = error.data() {
        out = out.raw("data", data);
    }
    if error.may_have_run() {
        out = out.raw("mayHaveRun", true);
    }
    let context = error.context().filter(|(key, _)| *key != "server");
    let context = context.fold(Object::default(), |out, (key, value)| out.raw(key, quote(value))).finish();
    if context == "{}" { out.finish() } else { out.raw("context", context).finish() }
}
