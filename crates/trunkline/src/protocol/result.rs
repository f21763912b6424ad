//! The result of a tool, and the only place where one is unwrapped into a plain value.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::content::{ContentBlock, list_or_one};
use super::raw::RawJson;
use super::scan::{self, Walk};
use super::types::Task;
use crate::error::{Error, ErrorKind, Result};

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
pub struct ToolResult {
    repr: Repr,
    mismatch: Option<Arc<str>>,
}

#[derive(Clone)]
enum Repr {
    Wire(RawJson),
    Local(Arc<Value>),
}

impl ToolResult {
    /// A result as a server sent it.
    pub fn from_raw(raw: RawJson) -> Self {
        Self { repr: Repr::Wire(raw), mismatch: None }
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
        Self { repr: Repr::Local(Arc::new(value)), mismatch: None }
    }

    /// A failure that the model should see.
    pub fn error(message: impl AsRef<str>) -> Self {
        let block = json!({"type": "text", "text": message.as_ref()});
        Self::from_raw(json!({"content": [block], "isError": true}).into())
    }

    /// The exact JSON of the result.
    pub fn raw(&self) -> RawJson {
        match &self.repr {
            Repr::Wire(raw) => raw.clone(),
            Repr::Local(value) => on_the_wire(value).into(),
        }
    }

    /// Whether the tool reports failure.
    pub fn is_error(&self) -> bool {
        match &self.repr {
            Repr::Wire(raw) => Opened::new(raw).is_error,
            Repr::Local(_) => false,
        }
    }

    /// How the structured content fails the tool's output schema, where it does: the result is delivered all the same,
    /// unless [`strict_output`](crate::ClientBuilder::strict_output) is set. Known for tools that were listed.
    pub fn schema_mismatch(&self) -> Option<&str> {
        self.mismatch.as_deref()
    }

    pub(crate) fn with_mismatch(self, mismatch: &str) -> Self {
        Self { mismatch: Some(mismatch.into()), ..self }
    }

    /// Whether it was made in this process, of a value of this process.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.repr, Repr::Local(_))
    }

    /// The blocks in their order; unknown kinds are kept.
    pub fn content(&self) -> Vec<ContentBlock> {
        list_or_one(self.raw().get("content")).map(ContentBlock::from_raw).collect()
    }

    /// `structuredContent`, where there is some.
    pub fn structured(&self) -> Option<RawJson> {
        self.raw().field("structuredContent")
    }

    /// Whether there is structured content that is no object, as the protocol has it up to 2025-11-25.
    pub(crate) fn is_oddly_structured(&self) -> bool {
        self.structured().is_some_and(|structured| !structured.is_object())
    }

    /// Whether it is no result yet: it asks for something, or goes on as a task.
    pub(crate) fn is_unfinished(&self) -> bool {
        match &self.repr {
            Repr::Wire(raw) => !matches!(Opened::new(raw).kind, Kind::Complete),
            Repr::Local(_) => false,
        }
    }

    /// The task that the call goes on as, where it does (see [`Call::detached`](crate::Call::detached)).
    pub fn task(&self) -> Option<Task> {
        let raw = self.raw();
        Task::read(raw.clone()).filter(|_| result_type(&raw).as_deref() == Some("task"))
    }

    /// The `_meta` object, where there is one.
    pub fn meta(&self) -> Option<RawJson> {
        self.raw().field("_meta")
    }

    /// All the text of the result, blocks joined by a newline; the structured content as JSON where there is
    /// no block at all.
    pub fn text(&self) -> String {
        if let Repr::Local(value) = &self.repr {
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
        let raw = match self.repr {
            Repr::Local(value) => return Ok(Arc::unwrap_or_clone(value)),
            Repr::Wire(ref raw) => raw,
        };
        let opened = Opened::new(raw);
        if opened.is_error {
            return Err(Error::tool(tool, self));
        }
        match opened.kind {
            Kind::Complete => {}
            Kind::Asks => return Err(unanswered(tool, raw)),
            Kind::GoesOn => return Err(unfinished(tool, &self)),
        }
        if let Some(texts) = opened.plain_texts() {
            return Ok(text_value(joined(texts)));
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
        let structured = match &self.repr {
            Repr::Local(value) => Some(RawJson::of(value)),
            Repr::Wire(_) => self.structured(),
        };
        match structured {
            Some(structured) => structured.decode(),
            None => RawJson::of(&text_value(self.text())).decode(),
        }
    }
}

/// The error of whoever wants a value and gets questions.
fn unanswered(tool: &str, raw: &RawJson) -> Error {
    let questions = raw.field("inputRequests");
    let mut asked: Vec<_> =
        questions.iter().flat_map(RawJson::members).filter_map(|(_, question)| question.text("method")).collect();
    asked.dedup();
    let message = format!("Tool \"{tool}\" needs an answer first ({}), and nobody gives one", asked.join(", "));
    Error::new(ErrorKind::Unsupported, message)
        .with_hint("Give the client or the call a handler that answers what the server asks")
        .with_may_have_run(true)
}

/// The error of whoever wants a value of a call that goes on.
fn unfinished(tool: &str, result: &ToolResult) -> Error {
    let id = result.task().map(|task| task.id()).unwrap_or_default();
    let message = format!("Tool \"{tool}\" goes on as the task {id}: there is no result yet");
    Error::new(ErrorKind::Unsupported, message)
        .with_hint("Wait for it with Client::task, or call the tool without detaching")
        .with_may_have_run(true)
}

/// The type that a result names (MCP specification 2026-07-28, `ResultType`).
pub(crate) fn result_type(result: &RawJson) -> Option<String> {
    result.is_object().then(|| result.text("resultType")).flatten()
}

/// Whether a result is no result yet, but asks for something (`InputRequiredResult`).
pub(crate) fn input_required(result: &RawJson) -> bool {
    result_type(result).as_deref() == Some("input_required")
}

/// What a result is by its type.
#[derive(Default)]
enum Kind {
    #[default]
    Complete,
    /// It is no result yet, but asks for something.
    Asks,
    /// The server goes on with the call, as a task.
    GoesOn,
}

/// What matters of a result, found in one walk and without taking shares of its bytes.
#[derive(Default)]
struct Opened<'a> {
    is_error: bool,
    kind: Kind,
    content: Content<'a>,
}

/// The texts of the text blocks, as they are written between their quotes, and whether there are other blocks.
#[derive(Default)]
struct Content<'a> {
    first: Option<&'a [u8]>,
    more: Vec<&'a [u8]>,
    others: bool,
}

impl<'a> Content<'a> {
    fn take(&mut self, text: Option<&'a [u8]>) {
        match text {
            None => self.others = true,
            Some(text) if self.first.is_none() => self.first = Some(text),
            Some(text) => self.more.push(text),
        }
    }
}

impl<'a> Opened<'a> {
    fn new(raw: &'a RawJson) -> Self {
        let mut opened = Self::default();
        let mut walk = Walk::new(raw.as_bytes());
        if walk.peek() != Some(b'{') {
            return opened;
        }
        walk.enter();
        while let Some(key) = walk.key() {
            if scan::key_is(key, "content") {
                opened.content = blocks(&mut walk);
            } else if scan::key_is(key, "isError") {
                opened.is_error = matches!(walk.value(), b"true" | b"\"true\"");
            } else if scan::key_is(key, "resultType") {
                opened.kind = match walk.value() {
                    b"\"input_required\"" => Kind::Asks,
                    b"\"task\"" => Kind::GoesOn,
                    _ => Kind::Complete,
                };
            } else {
                walk.value();
            }
        }
        opened
    }

    /// The texts, if there are blocks and every one is a text block.
    fn plain_texts(&self) -> Option<impl Iterator<Item = String>> {
        let Content { first, more, others } = &self.content;
        let plain = first.is_some() && !others;
        plain.then(|| first.iter().chain(more).filter_map(|text| scan::spelled(text)))
    }
}

fn blocks<'a>(walk: &mut Walk<'a>) -> Content<'a> {
    let mut content = Content::default();
    if walk.peek() != Some(b'[') {
        let one = walk.value();
        content.take(block(&mut Walk::new(one)));
        return content;
    }
    walk.enter();
    while walk.item() {
        let text = walk.string_in(TEXT_BLOCK, b"}").or_else(|| block(walk));
        content.take(text);
    }
    content
}

/// How nearly everybody begins a text block.
const TEXT_BLOCK: &[u8] = br#"{"type":"text","text":"#;

/// The text of the block ahead, if it is a text block.
fn block<'a>(walk: &mut Walk<'a>) -> Option<&'a [u8]> {
    if walk.peek() != Some(b'{') {
        walk.value();
        return None;
    }
    walk.enter();
    let (mut is_text, mut text) = (false, None);
    while let Some(key) = walk.key() {
        let value = walk.value();
        if scan::key_is(key, "type") {
            is_text = value == b"\"text\"";
        } else if scan::key_is(key, "text") {
            text = Some(value);
        }
    }
    text.filter(|_| is_text).and_then(|text| text.strip_prefix(b"\"")?.strip_suffix(b"\""))
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
