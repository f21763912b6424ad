//! What servers answer with, piece by piece: content blocks, resource contents, prompt messages.

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::json;

use super::raw::{Arguments, ObjectWriter, RawJson, array};
use super::types::opaque;
use crate::error::{Error, ErrorKind, Result};

opaque!(ContentBlock, ResourceContents, ReadResult, PromptMessage, PromptResult);

/// One block of a tool's result or of a prompt message: text, image, audio, an embedded resource, a link to
/// one, or a kind this version doesn't know, kept as it is.
#[derive(Clone)]
pub struct ContentBlock {
    raw: RawJson,
}

impl ContentBlock {
    /// A text block.
    pub fn text_block(text: impl AsRef<str>) -> Self {
        Self { raw: json!({"type": "text", "text": text.as_ref()}).into() }
    }

    /// An image block.
    pub fn image(data: &[u8], mime_type: &str) -> Self {
        Self::binary("image", data, mime_type)
    }

    /// An audio block.
    pub fn audio(data: &[u8], mime_type: &str) -> Self {
        Self::binary("audio", data, mime_type)
    }

    fn binary(kind: &str, data: &[u8], mime_type: &str) -> Self {
        Self { raw: json!({"type": kind, "data": encode(data), "mimeType": mime_type}).into() }
    }

    /// An embedded resource.
    pub fn resource(contents: &ResourceContents) -> Self {
        Self { raw: json!({"type": "resource", "resource": contents.raw.to_value()}).into() }
    }

    /// Any block as raw JSON.
    pub fn from_raw(raw: RawJson) -> Self {
        Self { raw }
    }

    /// Its `type`: `text`, `image`, `audio`, `resource`, `resource_link`, or another word.
    pub fn kind(&self) -> String {
        self.raw.text("type").unwrap_or_default()
    }

    /// The text of a text block, or of an embedded text resource.
    pub fn text(&self) -> Option<String> {
        match self.kind().as_str() {
            "text" => self.raw.text("text"),
            "resource" => self.embedded()?.text(),
            "" => self.raw.as_text(),
            _ => None,
        }
    }

    /// The bytes of an image, an audio block or an embedded binary resource.
    ///
    /// # Errors
    /// [`ErrorKind::Protocol`] when the base64 is broken.
    pub fn bytes(&self) -> Result<Option<Vec<u8>>> {
        match (self.raw.text("data"), self.embedded()) {
            (Some(data), _) => decode(&data).map(Some),
            (None, Some(resource)) => resource.blob(),
            (None, None) => Ok(None),
        }
    }

    /// The media type of binary data, where given.
    pub fn mime_type(&self) -> Option<String> {
        self.raw.text("mimeType").or_else(|| self.embedded()?.mime_type())
    }

    /// The resource inside an embedded-resource block.
    pub fn embedded(&self) -> Option<ResourceContents> {
        self.raw.get("resource").filter(RawJson::is_object).map(|raw| ResourceContents { raw })
    }

    /// Where a `resource_link` or an embedded resource points.
    pub fn uri(&self) -> Option<String> {
        self.raw.text("uri").or_else(|| self.embedded().map(|resource| resource.uri()))
    }
}

/// The contents of one resource: text or bytes (MCP specification, `ResourceContents`).
#[derive(Clone)]
pub struct ResourceContents {
    raw: RawJson,
}

impl ResourceContents {
    /// Text contents.
    pub fn from_text(uri: &str, text: &str) -> Self {
        Self { raw: json!({"uri": uri, "text": text}).into() }
    }

    /// Binary contents.
    pub fn from_bytes(uri: &str, bytes: &[u8]) -> Self {
        Self { raw: json!({"uri": uri, "blob": encode(bytes)}).into() }
    }

    /// The same with its media type set.
    #[must_use]
    pub fn with_mime_type(self, mime_type: &str) -> Self {
        Self { raw: self.raw.with_member("mimeType", &json!(mime_type).into()) }
    }

    /// What was read; the server may answer with another URI than the one asked for.
    pub fn uri(&self) -> String {
        self.raw.text("uri").unwrap_or_default()
    }

    /// Its media type, where given. Bytes without one are `application/octet-stream`.
    pub fn mime_type(&self) -> Option<String> {
        self.raw.text("mimeType")
    }

    /// The text of a text resource.
    pub fn text(&self) -> Option<String> {
        self.raw.text("text")
    }

    /// The bytes of a binary resource. Accepts base64 with and without padding, in either alphabet.
    ///
    /// # Errors
    /// [`ErrorKind::Protocol`] when the base64 is broken.
    pub fn blob(&self) -> Result<Option<Vec<u8>>> {
        self.raw.text("blob").map(|data| decode(&data)).transpose()
    }
}

/// The answer to reading a resource: one or more contents.
#[derive(Clone)]
pub struct ReadResult {
    raw: RawJson,
}

impl ReadResult {
    /// An answer made here.
    pub fn new(contents: impl IntoIterator<Item = ResourceContents>) -> Self {
        let contents: Vec<_> = contents.into_iter().map(|contents| contents.raw).collect();
        Self { raw: RawJson::empty_object().with_member("contents", &array(&contents)) }
    }

    pub(crate) fn from_raw(raw: RawJson) -> Self {
        Self { raw }
    }

    /// The contents, in the server's order.
    pub fn contents(&self) -> Vec<ResourceContents> {
        list_or_one(self.raw.get("contents")).map(|raw| ResourceContents { raw }).collect()
    }

    /// The contents as text, several joined by a newline.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when there is no text but bytes.
    pub fn text(&self) -> Result<String> {
        let contents = self.contents();
        let texts: Vec<_> = contents.iter().filter_map(ResourceContents::text).collect();
        if texts.is_empty() && !contents.is_empty() {
            let kind = contents[0].mime_type().unwrap_or_else(|| "application/octet-stream".to_owned());
            return Err(Error::new(ErrorKind::Unsupported, format!("The resource is binary ({kind}), not text"))
                .with_hint("Use read_resource_contents() and blob() to get the bytes"));
        }
        Ok(texts.join("\n"))
    }
}

/// One message of a rendered prompt.
#[derive(Clone)]
pub struct PromptMessage {
    raw: RawJson,
}

impl PromptMessage {
    /// A text message.
    pub fn from_text(role: &str, text: &str) -> Self {
        Self { raw: json!({"role": role, "content": {"type": "text", "text": text}}).into() }
    }

    pub(crate) fn from_raw(raw: RawJson) -> Self {
        Self { raw }
    }

    /// The texts of its blocks, joined by a newline.
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.content().iter().filter_map(ContentBlock::text).collect();
        texts.join("\n")
    }

    /// Who speaks: `user`, `assistant`, or whatever word the server used.
    pub fn role(&self) -> String {
        self.raw.text("role").unwrap_or_default()
    }

    /// What is said: one block, or several where the server sent a list.
    pub fn content(&self) -> Vec<ContentBlock> {
        list_or_one(self.raw.get("content")).map(ContentBlock::from_raw).collect()
    }
}

/// A rendered prompt.
#[derive(Clone)]
pub struct PromptResult {
    raw: RawJson,
}

impl PromptResult {
    /// A prompt rendered here.
    pub fn new(messages: impl IntoIterator<Item = PromptMessage>) -> Self {
        let messages: Vec<_> = messages.into_iter().map(|message| message.raw).collect();
        Self { raw: RawJson::empty_object().with_member("messages", &array(&messages)) }
    }

    pub(crate) fn from_raw(raw: RawJson) -> Self {
        Self { raw }
    }

    /// The messages, in the server's order.
    pub fn messages(&self) -> Vec<PromptMessage> {
        list_or_one(self.raw.get("messages")).map(|raw| PromptMessage { raw }).collect()
    }

    /// What the prompt is for, where the server says so.
    pub fn description(&self) -> Option<String> {
        self.raw.text("description")
    }

    /// The text parts joined by a blank line, empty ones left out (as both seeds do). A part that is no text
    /// appears as its JSON.
    pub fn text(&self) -> String {
        let parts = self.messages().into_iter().map(|message| {
            let blocks = message.content().into_iter();
            let texts: Vec<_> = blocks.map(|block| block.text().unwrap_or_else(|| block.raw.to_string())).collect();
            texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        });
        parts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// The arguments of a prompt as the protocol wants them: every value a string; other values as JSON text.
pub(crate) fn prompt_arguments(arguments: &Arguments) -> Arguments {
    if arguments.raw().members().all(|(_, value)| value.as_text().is_some()) {
        return arguments.clone();
    }
    let mut out = ObjectWriter::new();
    for (name, value) in arguments.raw().members().filter(|(_, value)| !value.is_null()) {
        out.text(&name, &value.as_text().unwrap_or_else(|| value.to_string()));
    }
    Arguments::of_object(out.finish())
}

/// Some servers send a single object where the protocol says list.
pub(crate) fn list_or_one(value: Option<RawJson>) -> impl Iterator<Item = RawJson> {
    let items: Vec<_> = match value {
        Some(value) if value.is_array() => value.items().collect(),
        Some(value) if !value.is_null() => vec![value],
        _ => Vec::new(),
    };
    items.into_iter()
}

fn encode(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Standard or URL-safe, padded or not; line breaks are skipped.
fn decode(text: &str) -> Result<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let alphabet = if text.contains(['-', '_']) { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    let engine = GeneralPurpose::new(alphabet, LENIENT);
    let compact;
    let text = if text.contains(char::is_whitespace) {
        compact = text.split_whitespace().collect::<String>();
        &compact
    } else {
        text
    };
    engine.decode(text).map_err(|error| {
        Error::new(ErrorKind::Protocol, format!("The server sent bytes that are no base64: {error}")).with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &'static str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    #[test]
    fn blobs_of_every_spelling() {
        let result = ReadResult::from_raw(raw(
            r#"{"contents":[{"uri":"a","blob":"AAECAwT/"},{"uri":"c","blob":"_-8"},{"uri":"d","blob":"!!"},
                {"uri":"e","text":"t","blob":"AAAA"},{"uri":"f","blob":"AAE\nCAwT/"}]}"#,
        ));
        let contents = result.contents();
        assert_eq!(contents[0].blob().unwrap().unwrap(), [0, 1, 2, 3, 4, 255]);
        assert_eq!(contents[1].blob().unwrap().unwrap(), [255, 239]);
        assert_eq!(contents[2].blob().unwrap_err().kind(), ErrorKind::Protocol);
        assert_eq!((contents[3].text().unwrap(), contents[3].blob().unwrap().unwrap()), ("t".to_owned(), vec![0; 3]));
        assert_eq!(contents[4].blob().unwrap().unwrap().len(), 6);
        assert_eq!(result.text().unwrap(), "t");
        let binary = ReadResult::new([ResourceContents::from_bytes("x:b", &[0])]);
        assert_eq!(binary.text().unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn prompts_keep_every_block_and_read_as_text() {
        let prompt = PromptResult::from_raw(raw(
            r#"{"messages":[{"role":"user","content":"plain"},{"role":"x","content":{"type":"text","text":""}},
               {"role":"assistant","content":[{"type":"text","text":"a"},{"type":"resource_link","uri":"f:2"}]}]}"#,
        ));
        let messages = prompt.messages();
        assert_eq!(messages.len(), 3);
        assert_eq!(messages[2].content()[1].uri().unwrap(), "f:2");
        assert_eq!(prompt.text(), "plain\n\na\n{\"type\":\"resource_link\",\"uri\":\"f:2\"}");
    }

    #[test]
    fn prompt_arguments_become_strings() {
        let arguments = Arguments::from_raw(raw(r#"{"a":"x","b":2,"c":{"d":1.0},"e":null}"#)).unwrap();
        assert_eq!(prompt_arguments(&arguments).raw().to_value(), json!({"a": "x", "b": "2", "c": "{\"d\":1.0}"}));
    }
}
