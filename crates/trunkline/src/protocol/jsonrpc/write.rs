//! Writing what goes out, each message as one line.

use crate::protocol::raw::RawJson;
use crate::protocol::scan;

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
    /// What every request of the session says; nothing else can say it.
    pub(crate) stamp: Option<&'a RawJson>,
}

impl Meta<'_> {
    fn is_empty(&self) -> bool {
        !self.progress && self.members.is_none() && self.stamp.is_none()
    }
}

/// A request as one line, newline included.
pub(crate) fn request(id: u64, method: &str, params: Params<'_>, meta: Meta<'_>) -> Vec<u8> {
    let size = match params {
        Params::None => 0,
        Params::Raw(raw) => raw.as_bytes().len(),
        Params::Fields(fields) => fields.iter().map(|(key, value)| key.len() + 6 + value.len()).sum(),
    };
    let mut out = Vec::with_capacity(128 + method.len() + size);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    push_number(&mut out, id);
    out.extend_from_slice(b",\"method\":");
    push_text(&mut out, method);
    push_params(&mut out, params, id, meta);
    out.extend_from_slice(b"}\n");
    out
}

/// A notification as one line, newline included.
pub(crate) fn notification(method: &str, params: Params<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":");
    push_text(&mut out, method);
    push_params(&mut out, params, 0, Meta::default());
    out.extend_from_slice(b"}\n");
    out
}

impl Field<'_> {
    fn len(&self) -> usize {
        match self {
            Field::Text(text) => text.len() + 2,
            Field::Json(json) => json.as_bytes().len(),
        }
    }
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return out.extend_from_slice(&digits[at..]);
        }
    }
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    if scan::needs_no_escape(text) {
        out.extend_from_slice(b"\"");
        out.extend_from_slice(text.as_bytes());
        return out.extend_from_slice(b"\"");
    }
    let _ = serde_json::to_writer(out, text); // a vector takes everything
}

fn push_params(out: &mut Vec<u8>, params: Params<'_>, id: u64, meta: Meta<'_>) {
    let has_meta = !meta.is_empty();
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

fn push_meta(out: &mut Vec<u8>, id: u64, meta: Meta<'_>) {
    match (meta.members, meta.stamp) {
        (Some(members), _) => push_on_one_line(out, &stamped(members.clone(), id, meta)),
        (None, Some(stamp)) if !meta.progress => out.extend_from_slice(stamp.as_bytes()),
        (None, stamp) => {
            let said = stamp.and_then(|stamp| stamp.as_bytes().strip_suffix(b"}")).filter(|said| said.len() > 1);
            out.extend_from_slice(said.unwrap_or(b"{"));
            out.extend_from_slice(if said.is_some() { b",\"progressToken\":" } else { b"\"progressToken\":" });
            push_number(out, id);
            out.extend_from_slice(b"}");
        }
    }
}

fn stamped(meta: RawJson, id: u64, with: Meta<'_>) -> RawJson {
    let said = with.stamp.into_iter().flat_map(RawJson::members);
    let meta = said.fold(meta, |meta, (key, value)| meta.with_member(&key, &value));
    if with.progress { meta.with_member("progressToken", &serde_json::Value::from(id).into()) } else { meta }
}

/// What the parameters' own `_meta` says, the context's members over it, and the token.
fn merged_meta(params: &RawJson, id: u64, meta: Meta<'_>) -> RawJson {
    let own = params.field("_meta").unwrap_or_else(RawJson::empty_object);
    let merged = match meta.members {
        Some(more) => more.members().fold(own, |own, (key, value)| own.with_member(&key, &value)),
        None => own,
    };
    stamped(merged, id, meta)
}

/// A result as one line, newline included.
pub(crate) fn result(id: &RawJson, result: &RawJson) -> Vec<u8> {
    let mut out = Vec::with_capacity(48 + result.as_bytes().len());
    reply_start(&mut out, id);
    out.extend_from_slice(b",\"result\":");
    push_on_one_line(&mut out, result);
    out.extend_from_slice(b"}\n");
    out
}

/// An error as one line, newline included.
pub(crate) fn error(id: &RawJson, code: i64, message: &str, data: Option<&RawJson>) -> Vec<u8> {
    let mut out = Vec::new();
    reply_start(&mut out, id);
    out.extend_from_slice(format!(",\"error\":{{\"code\":{code},\"message\":").as_bytes());
    push_text(&mut out, message);
    if let Some(data) = data {
        out.extend_from_slice(b",\"data\":");
        push_on_one_line(&mut out, data);
    }
    out.extend_from_slice(b"}}\n");
    out
}

fn reply_start(out: &mut Vec<u8>, id: &RawJson) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
}

/// A line ends the message, so line breaks between tokens (never inside strings) become blanks.
fn push_on_one_line(out: &mut Vec<u8>, json: &RawJson) {
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
