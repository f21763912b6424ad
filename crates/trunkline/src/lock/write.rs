//! The text of a lock file. Where one server, or tool, ends and the next begins the comma has a line of its own, so that
//! adding one adds lines and changes none: a diff shows it alone, and two branches that each add one merge.

use std::collections::BTreeMap;

use super::file::Tools;
use super::{VERSION, canonical};
use crate::display;
use crate::protocol::RawJson;
use crate::protocol::raw::quote;

pub(super) fn text(servers: &BTreeMap<String, Tools>) -> String {
    let mut out = format!("{{\n  \"version\": {VERSION},\n  \"servers\": ");
    let each = servers.iter().map(|(label, tools)| (label, server(tools)));
    out.push_str(&blocks(each, 2));
    out.push_str("\n}\n");
    out
}

fn server(tools: &Tools) -> String {
    let each = tools.iter().map(|(name, pinned)| (name, tool(&pinned.definition)));
    format!("{{\n      \"tools\": {}\n    }}", blocks(each, 6))
}

fn tool(definition: &RawJson) -> String {
    let mut out = format!("{{\n          \"hash\": \"{}\",\n          \"definition\": ", canonical::hash(definition));
    pretty(definition, 10, &mut out);
    out.push_str("\n        }");
    out
}

/// An object whose members are added and taken away line by line.
fn blocks<'a>(members: impl Iterator<Item = (&'a String, String)>, indent: usize) -> String {
    let inner = " ".repeat(indent + 2);
    let members: Vec<_> = members.map(|(key, value)| format!("{inner}{}: {value}\n", text_of(key))).collect();
    if members.is_empty() {
        return "{}".to_owned();
    }
    format!("{{\n{}{}}}", members.join(&format!("{inner},\n")), " ".repeat(indent))
}

fn pretty(raw: &RawJson, indent: usize, out: &mut String) {
    let inner = " ".repeat(indent + 2);
    let (open, close, lines): (_, _, Vec<String>) = if raw.is_object() {
        let member = |(key, value): (String, RawJson)| {
            let mut line = format!("{inner}{}: ", text_of(&key));
            pretty(&value, indent + 2, &mut line);
            line
        };
        ('{', '}', raw.members().map(member).collect())
    } else if raw.is_array() {
        let item = |value: RawJson| {
            let mut line = inner.clone();
            pretty(&value, indent + 2, &mut line);
            line
        };
        ('[', ']', raw.items().map(item).collect())
    } else {
        return out.push_str(&display::json(&raw.to_string()));
    };
    out.push(open);
    if !lines.is_empty() {
        out.push_str(&format!("\n{}\n{}", lines.join(",\n"), " ".repeat(indent)));
    }
    out.push(close);
}

/// A text as JSON, with what hides in it written out.
fn text_of(text: &str) -> String {
    display::json(&String::from_utf8(quote(text)).expect("JSON is text"))
}
