//! Content blocks, resource contents and prompt messages as text for people. Binary content becomes a line that
//! says what it is, or a file where a directory was given; it never reaches a terminal.

use std::path::Path;

use trunkline::{ContentBlock, RawJson, ResourceContents, ToolResult};

use super::{DIM, Screen, escape, json, paint};
use crate::exit::Outcome;
use crate::save;

/// Where binary content goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sink<'a> {
    pub(crate) dir: Option<&'a Path>,
    /// What the option is called that saves, as the line that stands in for binary content says.
    pub(crate) option: &'static str,
}

/// A tool's result: text as it is, JSON indented on a terminal, other blocks described or saved.
pub(crate) fn result(result: &ToolResult, screen: &Screen, sink: Sink<'_>) -> Outcome<String> {
    let blocks = result.content();
    if blocks.is_empty() {
        return Ok(result.structured().map(|value| value_text(&value, screen)).unwrap_or_default());
    }
    if blocks.iter().all(|block| block.kind() == "text" && block.text().is_some()) {
        return Ok(plain_text(&result.text(), screen));
    }
    let parts: Outcome<Vec<_>> = blocks.iter().map(|block| self::block(block, screen, sink)).collect();
    Ok(parts?.join("\n"))
}

/// One block.
pub(crate) fn block(block: &ContentBlock, screen: &Screen, sink: Sink<'_>) -> Outcome<String> {
    let kind = block.kind();
    Ok(match kind.as_str() {
        "text" | "" if block.text().is_some() => escape::text(&block.text().unwrap_or_default()),
        "image" | "audio" => {
            let mime = block.mime_type().unwrap_or_else(|| "application/octet-stream".to_owned());
            binary(&kind, &kind, &mime, block.bytes(), sink)?
        }
        "resource" => match block.embedded() {
            Some(contents) => embedded(&contents, sink)?,
            None => unsupported(&kind, block, screen),
        },
        "resource_link" => {
            let name = block.raw().get("name").and_then(|name| name.as_text()).unwrap_or_default();
            let uri = escape::line(&block.uri().unwrap_or_default());
            format!("{} {uri} {}", paint(DIM, "link:"), paint(DIM, escape::line(&name))).trim_end().to_owned()
        }
        _ => unsupported(&kind, block, screen),
    })
}

/// A block of a kind that this version doesn't know, or that lacks what its kind needs, with all it holds.
fn unsupported(kind: &str, block: &ContentBlock, screen: &Screen) -> String {
    let what = match kind {
        "" => "block without a type".to_owned(),
        "text" | "resource" => format!("{kind} block without its {kind}"),
        other => format!("unsupported block type {}", escape::line(other)),
    };
    format!("{} {}", paint(DIM, format!("{what}:")), value_text(block.raw(), screen))
}

fn embedded(contents: &ResourceContents, sink: Sink<'_>) -> Outcome<String> {
    let uri = contents.uri();
    match contents.text() {
        Some(text) => {
            let head = paint(DIM, format!("resource {}:", escape::line(&uri)));
            Ok(format!("{head}\n{}", escape::text(&text)))
        }
        None => self::contents(contents, sink),
    }
}

/// The contents of a resource.
pub(crate) fn contents(contents: &ResourceContents, sink: Sink<'_>) -> Outcome<String> {
    if let Some(text) = contents.text() {
        return Ok(escape::text(&text));
    }
    let mime = contents.mime_type().unwrap_or_else(|| "application/octet-stream".to_owned());
    let family = mime.split('/').next().unwrap_or_default();
    let kind = if ["image", "audio", "video"].contains(&family) { family } else { "binary" };
    binary(kind, &contents.uri(), &mime, contents.blob(), sink)
}

/// The line that stands for binary content, after saving it where that is wanted.
fn binary(
    kind: &str,
    source: &str,
    mime: &str,
    bytes: trunkline::Result<Option<Vec<u8>>>,
    sink: Sink<'_>,
) -> Outcome<String> {
    let shown = escape::line(mime);
    let bytes = match bytes {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(error) => return Ok(format!("{kind}, unreadable: {}", escape::line(error.message()))),
    };
    match sink.dir {
        Some(dir) => {
            let path = save::in_dir(dir, &save::file_name(source, mime, kind), &bytes)?;
            Ok(format!("{kind}, {} bytes, {shown}: saved to {}", bytes.len(), path.display()))
        }
        None => Ok(format!("{kind}, {} bytes, {shown} ({} to save)", bytes.len(), sink.option)),
    }
}

/// Text from a server; JSON objects and lists get line breaks on a terminal.
fn plain_text(text: &str, screen: &Screen) -> String {
    match RawJson::parse(text.to_owned()) {
        Ok(value) if value.is_object() || value.is_array() => value_text(&value, screen),
        _ => escape::text(text),
    }
}

fn value_text(value: &RawJson, screen: &Screen) -> String {
    escape::json(&if screen.out_is_terminal() { json::pretty(value) } else { value.to_string() })
}
