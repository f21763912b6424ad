//! The result of a tool, and the only place where one is unwrapped into a plain value.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::content::{ContentBlock, list_or_one};
use super::raw::RawJson;
use super::scan;
use crate::error::{Error, Result};

/// What a tool gave back (MCP specification, `CallToolResult`).
///
/// A result from a server keeps its exact bytes ([`raw`](Self::raw)). A result made in this process keeps the
/// value it was made from, and gives that very value back.
///
/// ```
/// use trunkline::ToolResult;
/// use serde_json::json;
///
/// assert_eq!(ToolResult::text_result("3").into_value("add")?, json!(3));
/// assert_eq!(ToolResult::text_result("three").into_value("add")?, json!("three"));
/// assert!(ToolResult::error("no such file").into_value("read").is_err());
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Clone)]
pub struct ToolResult(Repr);

#[derive(Clone)]
enum Repr {
    Wire(RawJson),
    Local(Arc<Value>),
}

impl ToolResult {
    /// A result as a server sent it.
    pub fn from_raw(raw: RawJson) -> Self {
        Self(Repr::Wire(raw))
    }

    /// A text result, as a server would send it.
    pub fn text_result(text: impl AsRef<str>) -> Self {
        Self::from_blocks([ContentBlock::text_block(text)])
    }

    /// A result of these blocks.
    pub fn from_blocks(blocks: impl IntoIterator<Item = ContentBlock>) -> Self {
        let blocks: Vec<_> = blocks.into_iter().map(|block| block.raw().clone()).collect();
        Self::from_raw(RawJson::empty_object().with_member("content", &super::raw::array(&blocks)))
    }

    /// The result of a function in this process: [`into_value`](Self::into_value) returns it unchanged. On a
    /// wire it is text where it is a string, else `structuredContent` (objects; anything else as
    /// `{"result": …}`) with its JSON as text.
    pub fn local(value: Value) -> Self {
        Self(Repr::Local(Arc::new(value)))
    }

    /// A failure that the model should see.
    pub fn error(message: impl AsRef<str>) -> Self {
        let block = json!({"type": "text", "text": message.as_ref()});
        Self::from_raw(json!({"content": [block], "isError": true}).into())
    }

    /// The exact JSON of the result.
    pub fn raw(&self) -> RawJson {
        match &self.0 {
            Repr::Wire(raw) => raw.clone(),
            Repr::Local(value) => on_the_wire(value).into(),
        }
    }

    /// Whether the tool reports failure.
    pub fn is_error(&self) -> bool {
        match &self.0 {
            Repr::Wire(raw) => Opened::new(raw).is_error,
            Repr::Local(_) => false,
        }
    }

    /// The blocks in their order; unknown kinds are kept.
    pub fn content(&self) -> Vec<ContentBlock> {
        list_or_one(self.raw().get("content")).map(ContentBlock::from_raw).collect()
    }

    /// `structuredContent`, where there is some.
    pub fn structured(&self) -> Option<RawJson> {
        self.raw().field("structuredContent")
    }

    /// The `_meta` object, where there is one.
    pub fn meta(&self) -> Option<RawJson> {
        self.raw().field("_meta")
    }

    /// All the text of the result, blocks joined by a newline; the structured content as JSON where there is
    /// no block at all.
    pub fn text(&self) -> String {
        if let Repr::Local(value) = &self.0 {
            return value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        }
        let blocks = self.content();
        if blocks.is_empty() {
            return self.structured().map(|structured| structured.to_string()).unwrap_or_default();
        }
        joined(blocks.iter().filter_map(ContentBlock::text))
    }

    /// The plain value: text where the server returned text, parsed where it returned JSON, otherwise the raw
    /// payload.
    ///
    /// All blocks text: the non-empty ones joined by a newline, parsed if the whole is JSON. No block:
    /// `structuredContent`, else `null`. Anything else: the block, or the list of blocks, as JSON. `tool`
    /// names the tool in the error.
    ///
    /// # Errors
    /// [`ErrorKind::Tool`](crate::ErrorKind::Tool) for an error result; it holds the whole result.
    pub fn into_value(self, tool: &str) -> Result<Value> {
        if self.is_error() {
            return Err(Error::tool(tool, self));
        }
        if let Repr::Local(value) = self.0 {
            return Ok(Arc::unwrap_or_clone(value));
        }
        let raw = self.raw();
        match Opened::new(&raw).plain_texts() {
            Some(texts) if !texts.is_empty() => return Ok(text_value(joined(texts.into_iter()))),
            _ => {}
        }
        let blocks = self.content();
        match blocks.as_slice() {
            [] => Ok(self.structured().map_or(Value::Null, |structured| structured.to_value())),
            [block] => Ok(block.raw().to_value()),
            blocks => Ok(Value::Array(blocks.iter().map(|block| block.raw().to_value()).collect())),
        }
    }

    /// Decodes the result into `T`: the structured content where there is some, else the text as JSON.
    ///
    /// # Errors
    /// [`ErrorKind::Tool`](crate::ErrorKind::Tool) for an error result, and
    /// [`ErrorKind::Protocol`](crate::ErrorKind::Protocol) when it has another shape.
    pub fn parse<T: DeserializeOwned>(&self, tool: &str) -> Result<T> {
        if self.is_error() {
            return Err(Error::tool(tool, self.clone()));
        }
        let structured = match &self.0 {
            Repr::Local(value) => Some(RawJson::of(value)),
            Repr::Wire(_) => self.structured(),
        };
        match structured {
            Some(structured) => structured.decode(),
            None => RawJson::of(&text_value(self.text())).decode(),
        }
    }
}

/// The members of a result that matter, found in one walk and without taking shares of its bytes.
struct Opened<'a> {
    content: &'a [u8],
    is_error: bool,
}

impl<'a> Opened<'a> {
    fn new(raw: &'a RawJson) -> Self {
        let text = raw.as_bytes();
        let mut opened = Self { content: b"", is_error: false };
        for member in scan::Members::new(text) {
            let (key, value) = (&text[member.key], &text[member.value]);
            if scan::key_is(key, "content") {
                opened.content = value;
            } else if scan::key_is(key, "isError") {
                opened.is_error = matches!(value, b"true" | b"\"true\"");
            }
        }
        opened
    }

    /// The texts, if every block is a text block.
    fn plain_texts(&self) -> Option<Vec<String>> {
        if self.content.starts_with(b"{") {
            return plain_text(self.content).map(|text| vec![text]); // a block where a list belongs
        }
        scan::Items::new(self.content).map(|block| plain_text(&self.content[block])).collect()
    }
}

/// The text of a block that is a text block.
fn plain_text(block: &[u8]) -> Option<String> {
    let (mut is_text, mut text) = (false, None);
    for member in scan::Members::new(block) {
        let (key, value) = (&block[member.key], &block[member.value]);
        if scan::key_is(key, "type") {
            is_text = value == b"\"text\"";
        } else if scan::key_is(key, "text") {
            text = Some(value);
        }
    }
    text.filter(|text| is_text && text.starts_with(b"\"")).and_then(|text| serde_json::from_slice(text).ok())
}

/// Joins what isn't empty by newlines.
fn joined(texts: impl Iterator<Item = String>) -> String {
    let mut texts = texts.filter(|text| !text.is_empty());
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |mut all, text| {
        all.push('\n');
        all.push_str(&text);
        all
    })
}

/// Text as the JSON it is, or as text.
fn text_value(text: String) -> Value {
    let start = text.as_bytes().get(scan::blank(text.as_bytes(), 0));
    let may_be_json = matches!(start, Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'));
    if may_be_json && scan::whole(text.as_bytes()).is_ok() {
        return RawJson::trusted(text.into_bytes().into()).to_value();
    }
    Value::String(text)
}

fn on_the_wire(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"content": [{"type": "text", "text": text}]}),
        Value::Null => json!({"content": []}),
        Value::Object(_) => {
            json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value})
        }
        _ => json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": {"result": value}}),
    }
}

impl fmt::Debug for ToolResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolResult({})", self.raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn wire(text: &'static str) -> ToolResult {
        ToolResult::from_raw(RawJson::parse(text).unwrap())
    }

    #[test]
    fn unwraps_as_the_seeds_do() {
        for (result, value) in [
            (r#"{"content":[{"type":"text","text":"hi"}]}"#, json!("hi")),
            (r#"{"content":[{"type":"text","text":"{\"a\":1}"}]}"#, json!({"a": 1})),
            (
                r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}]}"#,
                json!("a\nb"),
            ),
            (r#"{"content":[{"type":"text","text":"3"}],"structuredContent":{"result":3}}"#, json!(3)),
            (r#"{"content":[{"type":"text","text":""}]}"#, json!("")),
            (r#"{"content":[],"structuredContent":{"s":1}}"#, json!({"s": 1})),
            (r#"{"structuredContent":[1,2]}"#, json!([1, 2])),
            (r#"{}"#, Value::Null),
            (r#"{"content":null}"#, Value::Null),
            (
                r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#,
                json!({"type": "image", "data": "AA==", "mimeType": "image/png"}),
            ),
            (
                r#"{"content":[{"type":"text","text":"A"},{"type":"hologram_v9","x":1}]}"#,
                json!([{"type": "text", "text": "A"}, {"type": "hologram_v9", "x": 1}]),
            ),
            (r#"{"content":[{"type":"text"}]}"#, json!({"type": "text"})),
            (r#"{"content":{"type":"text","text":"hi"}}"#, json!("hi")),
            (r#"{"content":{"type":"x"}}"#, json!({"type": "x"})),
            (r#"{"content":"hi"}"#, json!("hi")),
            (r#"{"content":[{"type":"text","text":"000123"}]}"#, json!("000123")),
        ] {
            assert_eq!(wire(result).into_value("t").unwrap(), value, "{result}");
        }
    }

    #[test]
    fn an_error_result_is_an_error_that_keeps_the_result() {
        let error =
            wire(r#"{"isError":true,"content":[{"type":"text","text":"denied"}],"structuredContent":{"code":7}}"#)
                .into_value("rm")
                .unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Tool, "denied"));
        assert_eq!(error.tool_result().unwrap().structured().unwrap().to_string(), r#"{"code":7}"#);
        assert!(error.may_have_run());
    }

    #[test]
    fn a_local_value_comes_back_unchanged() {
        for value in [json!("3"), json!("{}"), json!(3.0), json!([1]), json!({"result": 1}), Value::Null] {
            assert_eq!(ToolResult::local(value.clone()).into_value("t").unwrap(), value);
        }
        assert_eq!(
            ToolResult::local(json!(3)).raw().to_value(),
            json!({"content": [{"type": "text", "text": "3"}], "structuredContent": {"result": 3}})
        );
    }

    #[test]
    fn parse_prefers_the_structured_form() {
        #[derive(serde::Deserialize)]
        struct Sum {
            sum: i64,
        }
        let result = wire(r#"{"content":[{"type":"text","text":"five"}],"structuredContent":{"sum":5}}"#);
        assert_eq!(result.parse::<Sum>("add").unwrap().sum, 5);
        assert_eq!(wire(r#"{"content":[{"type":"text","text":"[1]"}]}"#).parse::<Vec<u8>>("x").unwrap(), [1]);
    }
}
