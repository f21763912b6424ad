//! The JSON-RPC envelope: written from parts, and split by one validating pass that leaves `params`,
//! `result` and `error` as the bytes they are. Knows no MCP method.

use std::fmt::Write as _;
use std::ops::Range;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::raw::RawJson;
use super::scan::{self, Fault, FaultKind};

/// The codes this crate answers with.
pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL_ERROR: i64 = -32603;

/// A message as it was split, everything inside still raw.
#[derive(Debug)]
pub(crate) enum Message {
    /// The answer to the request with this id.
    Response { id: u64, id_was_text: bool, outcome: Outcome, no_version: bool },
    /// An answer that names no request of ours: id `null`, absent, or not one that we give out.
    Stray { id: Option<RawJson>, outcome: Outcome },
    /// The peer asks; the id goes back exactly as it came.
    Request { id: RawJson, method: String, params: Option<RawJson> },
    /// The peer tells.
    Notification { method: String, params: Option<RawJson> },
}

/// What an answer says.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Result(RawJson),
    Error(RpcError),
    /// Neither a result nor an error, or both: the snippet shows it.
    Malformed(String),
}

/// A JSON-RPC error object, read leniently.
#[derive(Debug, Clone)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<RawJson>,
}

/// A line that couldn't be read as messages.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// No JSON object or array: a banner or a log line.
    Noise,
    /// JSON, but no JSON-RPC.
    NotRpc,
    /// Meant as a message and broken; the id is what could be made out.
    Broken { id: Option<u64>, why: &'static str },
}

#[derive(Default)]
struct Parts {
    version: bool,
    id: Option<Range<usize>>,
    method: Option<Range<usize>>,
    params: Option<Range<usize>>,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
}

/// Splits a line into its messages: one, or several from a batch array. `repaired` tells whether single
/// characters had to be replaced.
pub(crate) fn split(line: Bytes, each: &mut dyn FnMut(Result<Message, Unreadable>)) -> bool {
    let (line, repaired) = match std::str::from_utf8(&line) {
        Ok(_) => (line, false),
        Err(_) => (Bytes::from(scan::repair(&line)), true),
    };
    let start = scan::blank(&line, 0);
    match line.get(start) {
        Some(b'{') => match object(&line) {
            Ok(parts) => each(classify(&line, parts)),
            Err(Fault { kind: FaultKind::Surrogate, .. }) if !repaired => {
                split(Bytes::from(scan::repair(&line)), each);
                return true;
            }
            Err(fault) => each(Err(broken(&line, fault))),
        },
        Some(b'[') if scan::whole(&line).is_ok() || holds_messages(&line) => {
            let item_repaired = scan::Items::new(&line).map(|item| split_item(line.slice(item), each));
            return item_repaired.fold(repaired, |any, one| any | one);
        }
        _ => each(Err(Unreadable::Noise)),
    }
    repaired
}

fn split_item(item: Bytes, each: &mut dyn FnMut(Result<Message, Unreadable>)) -> bool {
    if item.starts_with(b"{") {
        return split(item, each);
    }
    each(Err(Unreadable::NotRpc));
    false
}

/// Whether a broken array was meant as a batch: its whole messages still count, its broken ones give up their id.
fn holds_messages(line: &[u8]) -> bool {
    let mut items = scan::Items::new(line);
    memchr::memmem::find(line, b"\"jsonrpc\"").is_some() && items.any(|item| line[item].starts_with(b"{"))
}

/// Validates the object and notes where its members are.
fn object(text: &[u8]) -> Result<Parts, Fault> {
    let mut parts = Parts::default();
    let mut at = scan::blank(text, scan::blank(text, 0) + 1);
    let syntax = |at| Fault { kind: FaultKind::Syntax, at };
    if text.get(at) == Some(&b'}') {
        return finish(text, at + 1).map(|()| parts);
    }
    loop {
        if text.get(at) != Some(&b'"') {
            return Err(syntax(at));
        }
        let key_end = scan::value(text, at)?;
        let colon = scan::blank(text, key_end);
        if text.get(colon) != Some(&b':') {
            return Err(syntax(colon));
        }
        let start = scan::blank(text, colon + 1);
        let end = scan::value(text, start)?;
        parts.note(&text[at + 1..key_end - 1], start..end, text);
        at = scan::blank(text, end);
        match text.get(at) {
            Some(b',') => at = scan::blank(text, at + 1),
            Some(b'}') => return finish(text, at + 1).map(|()| parts),
            _ => return Err(syntax(at)),
        }
    }
}

fn finish(text: &[u8], at: usize) -> Result<(), Fault> {
    let end = scan::blank(text, at);
    if end == text.len() { Ok(()) } else { Err(Fault { kind: FaultKind::Syntax, at: end }) }
}

impl Parts {
    fn note(&mut self, key: &[u8], value: Range<usize>, text: &[u8]) {
        match key {
            b"jsonrpc" => self.version = &text[value] == b"\"2.0\"",
            b"id" => self.id = Some(value),
            b"method" => self.method = Some(value),
            b"params" => self.params = Some(value),
            b"result" => self.result = Some(value),
            b"error" => self.error = Some(value),
            _ => {}
        }
    }
}

fn classify(line: &Bytes, parts: Parts) -> Result<Message, Unreadable> {
    let raw = |range: Range<usize>| RawJson::trusted(line.slice(range));
    let id = parts.id.map(raw).filter(|id| !id.is_null());
    if let Some(method) = parts.method.map(raw).and_then(|method| method.as_text()) {
        let params = parts.params.map(raw).filter(|params| !params.is_null());
        return Ok(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        });
    }
    let error = parts.error.map(raw).filter(|error| !error.is_null());
    if parts.result.is_none() && error.is_none() && id.is_none() {
        return Err(Unreadable::NotRpc);
    }
    let result = parts.result.map(raw).filter(|result| error.is_none() || !result.is_null());
    let outcome = match (result, error) {
        (Some(result), None) => Outcome::Result(result),
        (None, Some(error)) => Outcome::Error(RpcError::read(&error)),
        _ => Outcome::Malformed(snippet(line)),
    };
    match id.as_ref().and_then(own_id) {
        Some((id, id_was_text)) => Ok(Message::Response { id, id_was_text, outcome, no_version: !parts.version }),
        None => Ok(Message::Stray { id, outcome }),
    }
}

/// Our ids are integers. A peer that writes one as the very same digits in quotes is understood.
fn own_id(id: &RawJson) -> Option<(u64, bool)> {
    let text = id.as_bytes();
    let quoted = text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let digits = quoted.unwrap_or(text);
    let canonical = digits == b"0" || !digits.starts_with(b"0");
    let number = std::str::from_utf8(digits).ok().filter(|_| canonical)?;
    number
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| number.parse().ok())
        .flatten()
        .map(|id| (id, quoted.is_some()))
}

impl RpcError {
    fn read(error: &RawJson) -> Self {
        let code = error.get("code").and_then(|code| code.decode().ok());
        let message = error.get("message").map(|message| message.as_text().unwrap_or_else(|| message.to_string()));
        Self {
            code: code.unwrap_or(INTERNAL_ERROR),
            message: message.or_else(|| error.as_text()).unwrap_or_else(|| error.to_string()),
            data: error.field("data"),
        }
    }
}

fn broken(line: &[u8], fault: Fault) -> Unreadable {
    let id = scan::Members::new(line)
        .filter(|member| &line[member.key.clone()] == b"id")
        .last()
        .map(|member| RawJson::trusted(Bytes::copy_from_slice(&line[member.value])))
        .and_then(|id| own_id(&id));
    let looks_like_rpc = memchr::memmem::find(line, b"\"jsonrpc\"").is_some() || id.is_some();
    match fault.kind {
        _ if !looks_like_rpc => Unreadable::Noise,
        FaultKind::Depth => Unreadable::Broken { id: id.map(|id| id.0), why: "nested too deep" },
        _ => Unreadable::Broken { id: id.map(|id| id.0), why: "not valid JSON" },
    }
}

/// The start of a text, safe to show: controls escaped, at most 200 characters.
pub(crate) fn snippet(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(1000)]);
    let mut out = String::new();
    for c in text.chars().take(200) {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// The parameters of a request or notification.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Params<'a> {
    /// None at all.
    None,
    /// An object made elsewhere.
    Raw(&'a RawJson),
    /// An object of these members.
    Fields(&'a [(&'static str, Field<'a>)]),
}

/// The value of one parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    Text(&'a str),
    Json(&'a RawJson),
}

/// What goes into a request's `_meta`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meta<'a> {
    pub(crate) members: Option<&'a RawJson>,
    /// Whether progress is wanted; the token is the request's id.
    pub(crate) progress: bool,
}

/// A request as one line, newline included.
pub(crate) fn request(id: u64, method: &str, params: Params<'_>, meta: Meta<'_>) -> Bytes {
    let size = match params {
        Params::None => 0,
        Params::Raw(raw) => raw.as_bytes().len(),
        Params::Fields(fields) => fields.iter().map(|(key, value)| key.len() + 6 + value.len()).sum(),
    };
    let mut out = BytesMut::with_capacity(128 + method.len() + size);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    push_number(&mut out, id);
    out.extend_from_slice(b",\"method\":");
    push_text(&mut out, method);
    push_params(&mut out, params, id, meta);
    out.extend_from_slice(b"}\n");
    out.freeze()
}

/// A notification as one line, newline included.
pub(crate) fn notification(method: &str, params: Params<'_>) -> Bytes {
    let mut out = BytesMut::new();
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":");
    push_text(&mut out, method);
    push_params(&mut out, params, 0, Meta::default());
    out.extend_from_slice(b"}\n");
    out.freeze()
}

impl Field<'_> {
    fn len(&self) -> usize {
        match self {
            Field::Text(text) => text.len() + 2,
            Field::Json(json) => json.as_bytes().len(),
        }
    }
}

fn push_number(out: &mut BytesMut, number: u64) {
    let _ = write!(out, "{number}"); // a growing buffer takes everything
}

fn push_text(out: &mut BytesMut, text: &str) {
    let _ = serde_json::to_writer(out.writer(), text); // a growing buffer takes everything
}

fn push_params(out: &mut BytesMut, params: Params<'_>, id: u64, meta: Meta<'_>) {
    let has_meta = meta.progress || meta.members.is_some();
    if matches!(params, Params::None) && !has_meta {
        return;
    }
    out.extend_from_slice(b",\"params\":");
    match params {
        Params::Raw(raw) if !has_meta || !raw.is_object() => return push_on_one_line(out, raw),
        Params::Raw(raw) => return push_on_one_line(out, &raw.with_member("_meta", &merged_meta(raw, id, meta))),
        Params::Fields(fields) => {
            out.extend_from_slice(b"{");
            for (index, (key, value)) in fields.iter().enumerate() {
                out.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
                out.extend_from_slice(key.as_bytes());
                out.extend_from_slice(b"\":");
                match value {
                    Field::Text(text) => push_text(out, text),
                    Field::Json(json) => push_on_one_line(out, json),
                }
            }
        }
        Params::None => out.extend_from_slice(b"{"),
    }
    if has_meta {
        let first = out.ends_with(b"{");
        out.extend_from_slice(if first { b"\"_meta\":" } else { b",\"_meta\":" });
        push_meta(out, id, meta);
    }
    out.extend_from_slice(b"}");
}

fn push_meta(out: &mut BytesMut, id: u64, meta: Meta<'_>) {
    match meta.members {
        None => {
            out.extend_from_slice(b"{\"progressToken\":");
            push_number(out, id);
            out.extend_from_slice(b"}");
        }
        Some(members) => push_on_one_line(out, &with_token(members.clone(), id, meta.progress)),
    }
}

fn with_token(meta: RawJson, id: u64, progress: bool) -> RawJson {
    if progress { meta.with_member("progressToken", &serde_json::Value::from(id).into()) } else { meta }
}

/// What the parameters' own `_meta` says, the context's members over it, and the token.
fn merged_meta(params: &RawJson, id: u64, meta: Meta<'_>) -> RawJson {
    let own = params.field("_meta").unwrap_or_else(RawJson::empty_object);
    let merged = match meta.members {
        Some(more) => more.members().fold(own, |own, (key, value)| own.with_member(&key, &value)),
        None => own,
    };
    with_token(merged, id, meta.progress)
}

/// A result as one line, newline included.
pub(crate) fn result(id: &RawJson, result: &RawJson) -> Bytes {
    let mut out = BytesMut::with_capacity(48 + result.as_bytes().len());
    reply_start(&mut out, id);
    out.extend_from_slice(b",\"result\":");
    push_on_one_line(&mut out, result);
    out.extend_from_slice(b"}\n");
    out.freeze()
}

/// An error as one line, newline included.
pub(crate) fn error(id: &RawJson, code: i64, message: &str, data: Option<&RawJson>) -> Bytes {
    let mut out = BytesMut::new();
    reply_start(&mut out, id);
    out.extend_from_slice(format!(",\"error\":{{\"code\":{code},\"message\":").as_bytes());
    push_text(&mut out, message);
    if let Some(data) = data {
        out.extend_from_slice(b",\"data\":");
        push_on_one_line(&mut out, data);
    }
    out.extend_from_slice(b"}}\n");
    out.freeze()
}

fn reply_start(out: &mut BytesMut, id: &RawJson) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
}

/// A line ends the message, so line breaks between tokens (never inside strings) become blanks.
fn push_on_one_line(out: &mut BytesMut, json: &RawJson) {
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
        for byte in &mut out[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(line: &'static str) -> Vec<Result<Message, Unreadable>> {
        let mut out = Vec::new();
        split(Bytes::from_static(line.as_bytes()), &mut |message| out.push(message));
        out
    }

    fn one(line: &'static str) -> Result<Message, Unreadable> {
        let mut all = all(line);
        assert_eq!(all.len(), 1, "{line}");
        all.remove(0)
    }

    #[test]
    fn an_answer_keeps_its_result_verbatim() {
        let Ok(Message::Response { id: 7, outcome: Outcome::Result(result), no_version: false, .. }) =
            one(r#"{"result":{"a": 1.0},"id":7,"jsonrpc":"2.0"}"#)
        else {
            panic!()
        };
        assert_eq!(result.to_string(), r#"{"a": 1.0}"#);
    }

    #[test]
    fn ids_in_quotes_match_only_when_canonical() {
        assert!(matches!(one(r#"{"id":"7","result":1}"#), Ok(Message::Response { id: 7, id_was_text: true, .. })));
        for line in [
            r#"{"id":"07","result":1}"#,
            r#"{"id":"1.0","result":1}"#,
            r#"{"id":" 1","result":1}"#,
            r#"{"id":1.0,"result":1}"#,
        ] {
            assert!(matches!(one(line), Ok(Message::Stray { id: Some(_), .. })), "{line}");
        }
    }

    #[test]
    fn malformed_answers_still_name_their_request() {
        for line in [r#"{"jsonrpc":"2.0","id":3}"#, r#"{"jsonrpc":"2.0","id":3,"result":{},"error":{}}"#] {
            assert!(matches!(one(line), Ok(Message::Response { id: 3, outcome: Outcome::Malformed(_), .. })), "{line}");
        }
        let Ok(Message::Response { outcome: Outcome::Error(error), .. }) = one(r#"{"id":3,"error":"oops"}"#) else {
            panic!()
        };
        assert_eq!(error.message, "oops");
        let Ok(Message::Response { outcome: Outcome::Error(error), .. }) =
            one(r#"{"id":3,"error":{"code":"E1","message":5}}"#)
        else {
            panic!()
        };
        assert_eq!((error.code, error.message.as_str()), (INTERNAL_ERROR, "5"));
        assert!(matches!(
            one(r#"{"id":3,"result":{},"error":null}"#),
            Ok(Message::Response { outcome: Outcome::Result(_), .. })
        ));
    }

    #[test]
    fn a_broken_line_gives_up_its_id() {
        for line in [
            r#"{"jsonrpc":"2.0","id":3,"result":{"a":NaN}}"#,
            r#"{"jsonrpc":"2.0","result":{"a":NaN,"id":9},"id":3}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"a":"#,
        ] {
            assert!(matches!(one(line), Err(Unreadable::Broken { id: Some(3), .. })), "{line}");
        }
        assert!(matches!(one("{not json"), Err(Unreadable::Noise)));
        assert!(matches!(one("listening on 80"), Err(Unreadable::Noise)));
        assert!(matches!(one(r#"{"type":"heartbeat"}"#), Err(Unreadable::NotRpc)));
    }

    #[test]
    fn batches_come_apart() {
        let messages = all(r#"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","method":"m"}, 5]"#);
        assert!(matches!(
            messages.as_slice(),
            [Ok(Message::Response { id: 1, .. }), Ok(Message::Notification { .. }), Err(Unreadable::NotRpc)]
        ));
        assert!(all("[]").is_empty());
        assert!(matches!(one("[INFO] listening"), Err(Unreadable::Noise)));
    }

    #[test]
    fn a_broken_member_of_a_batch_costs_itself() {
        let messages = all(r#"[{"jsonrpc":"2.0","id":1,"result":NaN},{"jsonrpc":"2.0","id":2,"result":2}"#);
        assert!(matches!(
            messages.as_slice(),
            [Err(Unreadable::Broken { id: Some(1), .. }), Ok(Message::Response { id: 2, .. })]
        ));
        assert!(matches!(
            all(r#"[{"jsonrpc":"2.0","id":1,"result":"\ud83d"}]"#).as_slice(),
            [Ok(Message::Response { id: 1, outcome: Outcome::Result(_), .. })]
        ));
    }

    #[test]
    fn null_is_as_good_as_absent() {
        for (line, error) in [
            (r#"{"id":3,"method":null,"params":null,"result":{}}"#, false),
            (r#"{"id":3,"result":null,"error":{"code":-1,"message":"no"}}"#, true),
            (r#"{"id":3,"result":{},"error":null}"#, false),
        ] {
            let Ok(Message::Response { id: 3, outcome, .. }) = one(line) else { panic!("{line}") };
            assert_eq!(matches!(outcome, Outcome::Error(_)), error, "{line}");
            assert_eq!(matches!(outcome, Outcome::Result(_)), !error, "{line}");
        }
    }

    #[test]
    fn one_bad_character_costs_one_character() {
        let mut out = Vec::new();
        let repaired = split(Bytes::from_static(b"{\"id\":1,\"result\":\"caf\xE9 \\ud83d\"}"), &mut |m| out.push(m));
        assert!(repaired);
        let Ok(Message::Response { outcome: Outcome::Result(result), .. }) = &out[0] else { panic!() };
        assert_eq!(result.as_text().unwrap(), "caf\u{fffd} \u{fffd}");
    }

    #[test]
    fn what_is_written_is_one_line() {
        let pretty = RawJson::parse("{\n  \"a\": \"x\\ny\"\r\n}").unwrap();
        let line = request(1, "tools/call", Params::Raw(&pretty), Meta::default());
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(matches!(one(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#), Ok(Message::Request { .. })));
    }

    #[test]
    fn meta_is_added_whatever_the_parameters_are() {
        let mine = RawJson::parse(r#"{"k":1}"#).unwrap();
        let (plain, full) = (Meta { members: None, progress: true }, Meta { members: Some(&mine), progress: true });
        let theirs = RawJson::parse(r#"{"a":1,"_meta":{"k":0,"x":2}}"#).unwrap();
        let list = RawJson::parse("[1]").unwrap();
        let line = |params, meta| String::from_utf8(request(7, "m", params, meta).to_vec()).unwrap();
        let start = r#"{"jsonrpc":"2.0","id":7,"method":"m""#;
        for (params, meta, rest) in [
            (Params::None, Meta::default(), "}\n"),
            (Params::None, plain, ",\"params\":{\"_meta\":{\"progressToken\":7}}}\n"),
            (Params::Fields(&[("t", Field::Text("a\"b"))]), Meta::default(), ",\"params\":{\"t\":\"a\\\"b\"}}\n"),
            (
                Params::Fields(&[("t", Field::Json(&mine))]),
                full,
                ",\"params\":{\"t\":{\"k\":1},\"_meta\":{\"k\":1,\"progressToken\":7}}}\n",
            ),
            (Params::Raw(&list), plain, ",\"params\":[1]}\n"), // no place for `_meta`
            (Params::Raw(&theirs), full, ",\"params\":{\"a\":1,\"_meta\":{\"x\":2,\"k\":1,\"progressToken\":7}}}\n"),
        ] {
            assert_eq!(line(params, meta), format!("{start}{rest}"));
        }
    }

    /// Pieces of messages, so that what is thrown at the reader is nearly right.
    fn nearly_messages() -> impl Strategy<Value = String> {
        let pieces = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\\",
            "\"jsonrpc\":\"2.0\"",
            "\"id\":1",
            "\"id\":\"1\"",
            "\"id\":null",
            "\"result\":{}",
            "\"error\":{\"code\":-1}",
            "\"error\":\"x\"",
            "\"method\":\"m\"",
            "\"params\":[1]",
            "NaN",
            "\\ud83d",
            "é",
            "\u{0}",
            "\n",
            " ",
        ];
        proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn whatever_comes_is_split_into_something(text in prop_oneof![nearly_messages(), ".*"]) {
            split(Bytes::from(text), &mut |message| drop(format!("{message:?}")));
        }

        #[test]
        fn bytes_that_are_no_text_are_split_too(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            split(Bytes::from(bytes), &mut drop);
        }
    }
}
