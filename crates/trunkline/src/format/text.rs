//! What a model should see of a call, whatever came of it, in words.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::answer::Answer;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{ContentBlock, ToolResult};

/// A result's text with a word for each block that is none; an error, or an error result, marked as one.
pub(crate) fn seen_by_model(tool: &str, outcome: Result<ToolResult>) -> String {
    match outcome {
        Ok(result) if result.is_error() => match body(&result) {
            text if text.trim().is_empty() => format!("Error: tool \"{tool}\" failed without saying why"),
            text => marked(text),
        },
        Ok(result) => match body(&result) {
            text if text.is_empty() => "(no output)".to_owned(),
            text => text,
        },
        Err(error) => text_of_error(&error),
    }
}

pub(crate) fn text_of_error(error: &Error) -> String {
    marked(told(error))
}

/// A piece of an answer.
pub(super) enum Part {
    Text(String),
    Media {
        mime: String,
        /// In standard base64.
        data: String,
    },
}

/// An answer piece by piece: media of the types that the provider `takes`, everything else in words. Empty texts
/// are left out.
pub(super) fn parts(answer: &Answer, takes: impl Fn(&str) -> bool) -> Vec<Part> {
    let Ok(result) = answer.outcome() else { return vec![Part::Text(answer.text())] };
    let part = |block| media(block, &takes).unwrap_or_else(|| Part::Text(shown(block)));
    let is_empty = |part: &Part| matches!(part, Part::Text(text) if text.trim().is_empty());
    result.content().iter().map(part).filter(|part| !is_empty(part)).collect()
}

fn media(block: &ContentBlock, takes: impl Fn(&str) -> bool) -> Option<Part> {
    let mime = block.mime_type()?.to_ascii_lowercase();
    if block.text().is_some() || !takes(&mime) {
        return None;
    }
    let data = STANDARD.encode(block.bytes().ok()??);
    Some(Part::Media { mime, data })
}

fn shown(block: &ContentBlock) -> String {
    block.text().unwrap_or_else(|| stand_in(block))
}

fn body(result: &ToolResult) -> String {
    let blocks = result.content();
    if blocks.is_empty() {
        return result.structured().map(|structured| structured.to_string()).unwrap_or_default();
    }
    let parts = blocks.iter().map(shown);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A word for a block that holds no text.
fn stand_in(block: &ContentBlock) -> String {
    let kind = match block.kind().as_str() {
        "" => "block of an unknown kind".to_owned(),
        "resource_link" => "link to a resource".to_owned(),
        kind => kind.to_owned(),
    };
    let facts: Vec<_> = [block.mime_type(), block.uri()].into_iter().flatten().collect();
    if facts.is_empty() { format!("[{kind}]") } else { format!("[{kind}: {}]", facts.join(", ")) }
}

fn marked(text: String) -> String {
    let begins = text.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if begins { text } else { format!("Error: {text}") }
}

fn told(error: &Error) -> String {
    let mut text = error.message().to_owned();
    if let Some(hint) = error.hint() {
        let stop = if text.ends_with(['.', '!', '?', ':']) { "" } else { "." };
        let _ = write!(text, "{stop} {hint}"); // writing to a String can't fail
    }
    if error.may_have_run() && error.kind() != ErrorKind::Tool {
        let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
        let _ = write!(text, "{stop} The call may have been carried out all the same.");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::{RawJson, ResourceContents};

    #[test]
    fn results_read_as_text() {
        let wire = |text: &'static str| ToolResult::from_raw(RawJson::parse(text).unwrap());
        let resource = ContentBlock::resource(&ResourceContents::from_bytes("file:///a", b"x").with_mime_type("a/b"));
        for (result, text) in [
            (ToolResult::text_result("hi"), "hi"),
            (ToolResult::local(json!({"a": 1})), r#"{"a":1}"#),
            (ToolResult::local(json!(null)), "(no output)"),
            (ToolResult::text_result(""), "(no output)"),
            (wire(r#"{"content":[],"structuredContent":{"a":1}}"#), r#"{"a":1}"#),
            (
                ToolResult::from_blocks([ContentBlock::image(b"x", "image/png"), resource]),
                "[image: image/png]\n[resource: a/b, file:///a]",
            ),
            (
                wire(r#"{"content":[{"type":"resource_link","uri":"x://y"},{"type":"hologram"}]}"#),
                "[link to a resource: x://y]\n[hologram]",
            ),
            (ToolResult::error("no such file"), "Error: no such file"),
            (ToolResult::error("error 7"), "error 7"),
            (ToolResult::error(" "), "Error: tool \"t\" failed without saying why"),
        ] {
            assert_eq!(seen_by_model("t", Ok(result)), text);
        }
    }

    #[test]
    fn errors_read_as_text_with_their_hint() {
        let error = Error::new(ErrorKind::NotFound, "No tool named \"x\"").with_hint("Did you mean \"y\"?");
        assert_eq!(seen_by_model("x", Err(error)), "Error: No tool named \"x\". Did you mean \"y\"?");
        let error = Error::new(ErrorKind::Closed, "The server exited").with_may_have_run(true);
        let told = seen_by_model("x", Err(error));
        assert_eq!(told, "Error: The server exited. The call may have been carried out all the same.");
    }
}
