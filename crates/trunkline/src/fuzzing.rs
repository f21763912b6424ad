//! From any bytes to what the laws of each parser take: the ways in for the fuzzers of `fuzz/`, and for their seeds as
//! unit tests. What must hold stands beside each parser, in its `laws`.
#![allow(missing_docs)]

use crate::protocol::{RawJson, ToolDefinition};
use crate::{cassette, config, format, name, protocol, schema, skills, transport};

/// The name of a fuzzer, and what it does with its input.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: &[Target] = &[
    ("framing", framing),
    ("json", json),
    ("rpc", rpc),
    ("sse", sse),
    ("http", http),
    ("results", results),
    ("templates", templates),
    ("config", config),
    ("names", names),
    ("cassette", cassette),
    ("schema", schema),
    ("formats", formats),
    ("skills", skills),
];

/// Cuts the rest of the bytes into chunks, whose lengths the first byte decides.
fn cut(data: &[u8]) -> Vec<&[u8]> {
    let Some((&seed, mut rest)) = data.split_first() else { return Vec::new() };
    let mut chunks = Vec::new();
    let mut dice = u32::from(seed);
    while !rest.is_empty() {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let longest = [1, 3, 16, 4096][usize::from(seed % 4)];
        let (chunk, after) = rest.split_at((1 + (dice >> 16) as usize % longest).min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// The parts of a text between its first `N - 1` NUL bytes.
fn parts<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut parts = data.splitn(N, |byte| *byte == 0);
    [(); N].map(|()| parts.next().unwrap_or_default())
}

fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

fn json_of(data: &[u8]) -> Option<RawJson> {
    RawJson::parse(data.trim_ascii().to_vec()).ok()
}

/// The first byte is the longest line, the second how the rest is cut.
pub fn framing(data: &[u8]) {
    let Some((&max, rest)) = data.split_first() else { return };
    let max = if max == 0 { usize::MAX } else { usize::from(max) };
    let chunks = cut(rest);
    transport::laws::lines(&chunks, max);
    transport::laws::tail(&chunks, max.min(1 << 16));
}

pub fn json(data: &[u8]) {
    protocol::laws::scanner(data);
    protocol::laws::raw(data);
}

pub fn rpc(data: &[u8]) {
    protocol::laws::envelope(data);
}

/// The first byte says how the rest is cut.
pub fn sse(data: &[u8]) {
    transport::laws::events(&cut(data));
}

/// The first two bytes are a status; then a URL, a location, a challenge, a time to wait and a body, NUL between them.
pub fn http(data: &[u8]) {
    let Some((status, rest)) = data.split_first_chunk::<2>() else { return };
    let [url, location, challenge, after, body] = parts(rest);
    transport::laws::endpoints(&text(url));
    transport::laws::targets(location);
    let status = 100 + u16::from_be_bytes(*status) % 500;
    let status = hyper::StatusCode::from_u16(status).expect("a number of three digits");
    transport::laws::redirects(status, location);
    transport::laws::refusals(status, challenge, after, body);
}

pub fn results(data: &[u8]) {
    let Some(raw) = json_of(data) else { return };
    protocol::laws::results(&raw);
    protocol::laws::entries(&raw);
}

/// A template and a URI, NUL between them.
pub fn templates(data: &[u8]) {
    let [template, uri] = parts(data);
    protocol::laws::templates(&text(template), &text(uri));
}

pub fn config(data: &[u8]) {
    config::laws::files(data);
    config::laws::variables(&text(data));
}

/// Lines of labels up to a blank one, then lines of tools.
pub fn names(data: &[u8]) {
    let text = text(data);
    let (labels, tools) = text.split_once("\n\n").unwrap_or((&text, "t"));
    let few = |names: &str| names.lines().take(12).map(str::to_owned).collect();
    name::laws::exposed(&few(labels), &few(tools));
    labels.lines().take(12).for_each(name::laws::labels);
}

pub fn cassette(data: &[u8]) {
    cassette::laws::files(data);
    data.split(|byte| *byte == b'\n').for_each(cassette::laws::line);
}

/// A schema and arguments, NUL between them.
pub fn schema(data: &[u8]) {
    let [schema, arguments] = parts(data);
    let Some(schema) = json_of(schema) else { return };
    schema::laws::checks(&schema, &json_of(arguments).unwrap_or_else(RawJson::empty_object));
}

/// A tool's name, its schema and a model's message, NUL between them.
pub fn formats(data: &[u8]) {
    let [name, schema, message] = parts(data);
    let Some(schema) = json_of(schema) else { return };
    let tool = |name: &str| ToolDefinition::new(name, "", serde_json::json!({})).with("inputSchema", schema.clone());
    let name = text(name);
    format::laws::definitions(&[tool(&name), tool("other"), tool(&name.replace('_', "-"))]);
    if let Some(message) = json_of(message) {
        format::laws::calls(&tool(&name), &message);
    }
}

/// A path and an entry, NUL between them; the whole is a `SKILL.md` too.
pub fn skills(data: &[u8]) {
    skills::laws::heads(&text(data));
    let [path, entry] = parts(data);
    skills::laws::paths(&text(path));
    json_of(entry).iter().for_each(skills::laws::entries);
}

#[cfg(test)]
mod tests;
