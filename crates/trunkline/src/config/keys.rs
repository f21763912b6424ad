//! The keys of an entry: ours, those of other programs that may stand beside them, and what is odd.

use jsonc_parser::ast::{Object, ObjectProp, Value};

use super::jsonc::{kind, member};
use crate::suggest;

#[rustfmt::skip]
const KEYS: &[&str] = &[
    "command", "args", "env", "cwd", "inheritEnv", "url", "headers", "type", "protocol", "timeout", "startTimeout",
    "maxTimeout", "disabled", "required", "tools", "envFile", "caFile", "bearerCommand", "auth", "limits",
    "strictOutput",
];

/// Keys that mean the same as ours to other programs.
const ALIASES: &[&str] = &["transport", "enabled"];

/// Keys of other programs that change neither how a server is reached nor what it may do.
#[rustfmt::skip]
const FOREIGN: &[&str] = &[
    "$schema", "//", "_comment", "alwaysAllow", "autoApprove", "category", "comment", "description", "dev", "gallery",
    "homepage", "icon", "iconPath", "icons", "id", "name", "note", "notes", "provider", "tags", "title", "trust",
    "version",
];

/// Keys of other programs that do the work of ours, and which one that is.
#[rustfmt::skip]
pub(super) const INSTEAD: &[(&str, &str)] = &[
    ("disabledTools", "tools.deny"), ("excludeTools", "tools.deny"), ("disabled_tools", "tools.deny"),
    ("enabledTools", "tools.allow"), ("includeTools", "tools.allow"), ("allowedTools", "tools.allow"),
    ("enabled_tools", "tools.allow"), ("httpUrl", "url"), ("serverUrl", "url"), ("uri", "url"), ("endpoint", "url"),
    ("environment", "env"), ("workingDirectory", "cwd"), ("http_headers", "headers"),
];

/// Whether the entry is switched off, as far as can be told from a possibly bad one.
pub(crate) fn is_disabled(object: &Object<'_>) -> bool {
    let is = |key: &str, state: bool| {
        member(object, key).and_then(|found| found.value.as_boolean_lit()).is_some_and(|flag| flag.value == state)
    };
    is("disabled", true) || is("enabled", false)
}

/// Refuses a switch that is neither on nor off: to guess would be to start what was meant to be off.
pub(crate) fn check_switches(object: &Object<'_>) -> Result<(), String> {
    for key in ["disabled", "enabled"] {
        match member(object, key).map(|found| &found.value) {
            None | Some(Value::BooleanLit(_) | Value::NullKeyword(_)) => {}
            Some(other) => return Err(format!("\"{key}\" has to be true or false, not {}", kind(other))),
        }
    }
    Ok(())
}

/// Tells of keys that are repeated or that mean nothing here.
pub(crate) fn odd_keys(object: &Object<'_>, line: impl Fn(&ObjectProp<'_>) -> usize) -> Vec<String> {
    let mut odd = Vec::new();
    for (at, found) in object.properties.iter().enumerate() {
        let key = found.name.as_str();
        if let Some(later) = object.properties[at + 1..].iter().find(|later| later.name.as_str() == key) {
            odd.push(format!(
                "\"{key}\" is given twice, in lines {} and {}; the last counts",
                line(found),
                line(later)
            ));
        } else if let Some((_, ours)) = INSTEAD.iter().find(|(theirs, _)| *theirs == key) {
            odd.push(format!("\"{key}\" has no effect here; use \"{ours}\""));
        } else if ![KEYS, ALIASES, FOREIGN].iter().any(|known| known.contains(&key)) {
            let meant = suggest::nearest(key, KEYS.iter().copied().filter(|known| *known != "envFile"));
            let meant = meant.map(|known| format!("; did you mean \"{known}\"?")).unwrap_or_default();
            odd.push(format!("\"{key}\" is no known key{meant}"));
        }
    }
    odd
}
