//! An entry of a config, as text for people.

use serde_json::Value;
use trunkline::Entry;

use super::{BOLD, DIM, YELLOW, escape, paint};

/// An entry with these of its fields.
pub(crate) fn described(entry: &Entry, fields: &Value) -> String {
    let origin = place(entry);
    let state = if entry.disabled() { paint(YELLOW, " switched off") } else { String::new() };
    let mut out = format!("{}{state}  {}\n", paint(BOLD, escape::line(entry.label())), paint(DIM, origin));
    let Value::Object(fields) = fields else { return out };
    let mut line = |key: &str, text: &str| {
        out.push_str(&format!("  {} {}\n", paint(DIM, format!("{key:<12}")), escape::line(text)));
    };
    if let Some(command) = fields.get("command").and_then(Value::as_str) {
        let args = fields.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let words: Vec<_> = std::iter::once(command).chain(args).map(word).collect();
        line("command", &words.join(" "));
    }
    for (key, value) in fields.iter().filter(|(key, _)| !["command", "args", "disabled"].contains(&key.as_str())) {
        match value {
            Value::Object(pairs) => {
                let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect();
                line(key, &pairs.join("  "));
            }
            Value::String(text) => line(key, text),
            Value::Number(seconds) => line(key, &format!("{} s", seconds.to_string().trim_end_matches(".0"))),
            other => line(key, &other.to_string()),
        }
    }
    out
}

fn place(entry: &Entry) -> String {
    let origin = entry.origin();
    if origin.is_in_file() { escape::line(&origin.to_string()) } else { "command line".to_owned() }
}

/// A word of a command line, quoted where it has to be.
pub(crate) fn word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,~*${}".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
