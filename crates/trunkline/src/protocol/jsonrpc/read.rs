//! Splitting what comes in.

use std::ops::Range;

use bytes::{Buf as _, Bytes};

use super::INTERNAL_ERROR;
use crate::protocol::raw::RawJson;
use crate::protocol::scan::{self, Fault, FaultKind};

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
    /// Meant as a message and no JSON; the id is what could be made out.
    Broken { id: Option<u64> },
    /// A message that nests deeper than it may; its id, if it has one.
    TooDeep { id: Option<u64> },
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
    split_within(line, scan::MAX_DEPTH, each)
}

/// The same, where a message may nest `max_depth` deep at most, and never over [`scan::MAX_DEPTH`].
pub(crate) fn split_within(line: Bytes, max_depth: usize, each: &mut dyn FnMut(Result<Message, Unreadable>)) -> bool {
    let (line, repaired) = match std::str::from_utf8(&line) {
        Ok(_) => (line, false),
        Err(_) => (Bytes::from(scan::repair(&line)), true),
    };
    let start = scan::blank(&line, 0);
    match line.get(start) {
        Some(b'{') => match object(&line, max_depth) {
            Ok(parts) => each(classify(&line, parts)),
            Err(Fault { kind: FaultKind::Surrogate, .. }) if !repaired => {
                split_within(Bytes::from(scan::repair(&line)), max_depth, each);
                return true;
            }
            Err(fault) => each(Err(broken(&line, fault))),
        },
        Some(b'[') if scan::whole(&line).is_ok() || holds_messages(&line) => {
            let item_repaired = scan::Items::new(&line).map(|item| split_item(line.slice(item), max_depth, each));
            return item_repaired.fold(repaired, |any, one| any | one);
        }
        _ => each(Err(Unreadable::Noise)),
    }
    repaired
}

fn split_item(item: Bytes, max_depth: usize, each: &mut dyn FnMut(Result<Message, Unreadable>)) -> bool {
    if item.starts_with(b"{") {
        return split_within(item, max_depth, each);
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
fn object(text: &[u8], max_depth: usize) -> Result<Parts, Fault> {
    let mut parts = Parts::default();
    let mut at = scan::blank(text, scan::blank(text, 0) + 1);
    let syntax = |at| Fault { kind: FaultKind::Syntax, at };
    if text.get(at) == Some(&b'}') {
        return finish(text, at + 1).map(|()| parts);
    }
    loop {
        let (key, colon) = scan::key(text, at)?;
        let start = scan::blank(text, colon);
        let end = scan::value_within(text, start, max_depth.min(scan::MAX_DEPTH).saturating_sub(1))?;
        parts.note(&text[key], start..end, text);
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
        let spelled;
        let key = match key.contains(&b'\\') {
            false => key,
            true => {
                spelled = scan::spelled(key).unwrap_or_default();
                spelled.as_bytes()
            }
        };
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
    let id = parts.id.filter(|id| &line[id.clone()] != b"null");
    if let Some(method) = parts.method.map(raw).and_then(|method| method.as_text()) {
        let params = parts.params.map(raw).filter(|params| !params.is_null());
        return Ok(match id {
            Some(id) => Message::Request { id: raw(id), method, params },
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
    match id.as_ref().and_then(|id| own_id(&line[id.clone()])) {
        Some((id, id_was_text)) => Ok(Message::Response { id, id_was_text, outcome, no_version: !parts.version }),
        None => Ok(Message::Stray { id: id.map(raw), outcome }),
    }
}

/// Our ids are integers. A peer that writes one as the very same digits in quotes is understood.
fn own_id(text: &[u8]) -> Option<(u64, bool)> {
    let quoted = text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let digits = quoted.unwrap_or(text);
    let canonical = digits == b"0" || !(digits.is_empty() || digits.starts_with(b"0"));
    let number = digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    });
    number.filter(|_| canonical).map(|number| (number, quoted.is_some()))
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
        .filter(|member| scan::key_is(&line[member.key.clone()], "id"))
        .last()
        .and_then(|member| own_id(&line[member.value]));
    let looks_like_rpc = memchr::memmem::find(line, b"\"jsonrpc\"").is_some() || id.is_some();
    match fault.kind {
        _ if !looks_like_rpc => Unreadable::Noise,
        FaultKind::Depth => Unreadable::TooDeep { id: id.map(|id| id.0) },
        _ => Unreadable::Broken { id: id.map(|id| id.0) },
    }
}

/// A text without the byte order mark that may stand before it.
pub(crate) fn without_mark(mut text: Bytes) -> Bytes {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    if text.starts_with(MARK) {
        text.advance(MARK.len());
    }
    text
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
