//! Results in the form that each provider wants them back.

use super::answer::Answer;
use super::dialect::Family;
use super::text::{self, Part};
use crate::protocol::RawJson;
use crate::protocol::raw::{ObjectWriter, array};

const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const PDF: &str = "application/pdf";

/// What Gemini takes beside text.
const GEMINI_MEDIA: [&str; 14] = [
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/heic",
    "image/heif",
    "audio/wav",
    "audio/x-wav",
    "audio/mp3",
    "audio/mpeg",
    "audio/aiff",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
    PDF,
];

/// The messages that answer all the calls of one message.
pub(super) fn messages(family: Family, answers: &[Answer]) -> Vec<RawJson> {
    match family {
        Family::Chat | Family::Mistral | Family::Ollama => answers.iter().map(|answer| chat(family, answer)).collect(),
        Family::Responses => answers.iter().map(responses).collect(),
        _ if answers.is_empty() => Vec::new(),
        Family::Anthropic => vec![turn("content", answers.iter().map(tool_result).collect())],
        Family::Gemini => vec![turn("parts", answers.iter().flat_map(function_response).collect())],
    }
}

fn object(members: impl FnOnce(&mut ObjectWriter)) -> RawJson {
    let mut out = ObjectWriter::new();
    members(&mut out);
    out.finish()
}

/// One message of the user's with all the answers.
fn turn(key: &str, blocks: Vec<RawJson>) -> RawJson {
    object(|out| {
        out.text("role", "user");
        out.member(key, &array(&blocks));
    })
}

fn chat(family: Family, answer: &Answer) -> RawJson {
    object(|out| {
        out.text("role", "tool");
        if let Some(id) = answer.call().id() {
            out.text("tool_call_id", id);
        }
        match family {
            Family::Mistral => out.text("name", &answer.call().sent_as),
            Family::Ollama => out.text("tool_name", &answer.call().sent_as),
            _ => {}
        }
        out.text("content", &answer.text());
    })
}

fn responses(answer: &Answer) -> RawJson {
    let parts = text::parts(answer, |mime| IMAGES.contains(&mime) || mime == PDF);
    object(|out| {
        out.text("type", "function_call_output");
        out.text("call_id", answer.call().id().unwrap_or_default());
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            return out.text("output", &answer.text());
        }
        let parts: Vec<_> = parts.iter().map(input_part).collect();
        out.member("output", &array(&parts));
    })
}

fn input_part(part: &Part) -> RawJson {
    object(|out| match part {
        Part::Text(text) => {
            out.text("type", "input_text");
            out.text("text", text);
        }
        Part::Media { mime, data } if mime == PDF => {
            out.text("type", "input_file");
            out.text("filename", "file.pdf");
            out.text("file_data", &format!("data:{mime};base64,{data}"));
        }
        Part::Media { mime, data } => {
            out.text("type", "input_image");
            out.text("detail", "auto");
            out.text("image_url", &format!("data:{mime};base64,{data}"));
        }
    })
}

fn tool_result(answer: &Answer) -> RawJson {
    // an error may hold text alone
    let takes = |mime: &str| !answer.is_error() && (IMAGES.contains(&mime) || mime == PDF);
    let parts = text::parts(answer, takes);
    object(|out| {
        out.text("type", "tool_result");
        out.text("tool_use_id", answer.call().id().unwrap_or_default());
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            out.text("content", &answer.text());
        } else {
            let blocks: Vec<_> = parts.iter().map(block).collect();
            out.member("content", &array(&blocks));
        }
        if answer.is_error() {
            out.member("is_error", &serde_json::Value::Bool(true).into());
        }
    })
}

fn block(part: &Part) -> RawJson {
    object(|out| match part {
        Part::Text(text) => {
            out.text("type", "text");
            out.text("text", text);
        }
        Part::Media { mime, data } => {
            out.text("type", if mime == PDF { "document" } else { "image" });
            let source = object(|out| {
                out.text("type", "base64");
                out.text("media_type", mime);
                out.text("data", data);
            });
            out.member("source", &source);
        }
    })
}

/// The response, then what it holds beside text as parts of their own: every model takes them there.
fn function_response(answer: &Answer) -> Vec<RawJson> {
    let response = object(|out| {
        if let Some(id) = answer.call().id() {
            out.text("id", id);
        }
        out.text("name", &answer.call().sent_as);
        let key = if answer.is_error() { "error" } else { "output" };
        out.member("response", &object(|out| out.text(key, &answer.text())));
    });
    let mut parts = vec![object(|out| out.member("functionResponse", &response))];
    for part in text::parts(answer, |mime| GEMINI_MEDIA.contains(&mime)) {
        if let Part::Media { mime, data } = part {
            let data = object(|out| {
                out.text("mimeType", &mime);
                out.text("data", &data);
            });
            parts.push(object(|out| out.member("inlineData", &data)));
        }
    }
    parts
}
