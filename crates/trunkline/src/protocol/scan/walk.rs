//! A fast walk over text that was validated before. Behaves on any other text too.

use std::ops::Range;

use super::{blank, plain};

/// Where the value at `at` ends, in text that [`value`] accepted. Behaves (no panic, no endless loop) on
/// any other text too, so that a broken message can be searched for its id.
pub(crate) fn skip(text: &[u8], at: usize) -> usize {
    let mut at = blank(text, at);
    match text.get(at) {
        Some(b'"') => skip_string(text, at),
        Some(b'{' | b'[') => {
            let mut depth = 0usize;
            while let Some(&byte) = text.get(at) {
                match byte {
                    b'"' => {
                        at = skip_string(text, at);
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return at + 1;
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
            at
        }
        _ => {
            while let Some(byte) = text.get(at) {
                if matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') {
                    break;
                }
                at += 1;
            }
            at
        }
    }
}

/// Behind the closing quote.
fn skip_string(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    let near = at + NEAR;
    loop {
        at = match at < near {
            true => plain(text, at),
            false => at + memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()).unwrap_or(text.len()),
        };
        match text.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return text.len(),
        }
    }
}

/// So far into a text the closing quote is looked for in place; most texts end before. Beyond, a search of many bytes
/// at a time pays.
const NEAR: usize = 64;

/// A member of an object: its key between the quotes, and its value.
pub(crate) struct Member {
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

/// The members of the object in `text`; nothing where it isn't one. For validated text; on other text it
/// gives what can be made out.
pub(crate) struct Members<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Members<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let open = blank(text, 0);
        let at = if text.get(open) == Some(&b'{') { open + 1 } else { text.len() };
        Self { text, at }
    }
}

impl Iterator for Members<'_> {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        let mut at = blank(self.text, self.at);
        if self.text.get(at) == Some(&b',') {
            at = blank(self.text, at + 1);
        }
        if self.text.get(at) != Some(&b'"') {
            return None;
        }
        let end = skip_string(self.text, at);
        let colon = blank(self.text, end);
        if self.text.get(colon) != Some(&b':') {
            return None;
        }
        let start = blank(self.text, colon + 1);
        self.at = skip(self.text, start);
        Some(Member { key: at + 1..end - 1, value: start..self.at })
    }
}

/// The elements of the array in `text`; nothing where it isn't one. For validated text.
pub(crate) struct Items<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Items<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let open = blank(text, 0);
        let at = if text.get(open) == Some(&b'[') { open + 1 } else { text.len() };
        Self { text, at }
    }
}

impl Iterator for Items<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let mut at = blank(self.text, self.at);
        if self.text.get(at) == Some(&b',') {
            at = blank(self.text, at + 1);
        }
        if matches!(self.text.get(at), None | Some(b']')) {
            return None;
        }
        self.at = skip(self.text, at);
        (self.at > at).then_some(at..self.at)
    }
}

/// Goes through validated text in place, so that what is nested is met once.
pub(crate) struct Walk<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: blank(text, 0) }
    }

    /// The first byte of the value ahead.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Steps into the array or object ahead.
    pub(crate) fn enter(&mut self) {
        self.at += 1;
    }

    /// Steps to the next element of the array, or out of it.
    pub(crate) fn item(&mut self) -> bool {
        self.at = blank(self.text, self.at);
        if self.peek() == Some(b',') {
            self.at = blank(self.text, self.at + 1);
        }
        let more = !matches!(self.peek(), None | Some(b']' | b'}'));
        self.at += usize::from(!more);
        more
    }

    /// Steps to the value of the object's next member and gives its key, or steps out of the object.
    pub(crate) fn key(&mut self) -> Option<&'a [u8]> {
        if !self.item() {
            return None;
        }
        let end = skip_string(self.text, self.at);
        let key = self.text.get(self.at + 1..end.max(self.at + 2) - 1)?;
        self.at = blank(self.text, blank(self.text, end) + 1);
        Some(key)
    }

    /// Steps over a value that is exactly `before`, a string, `after`, and gives what is between the string's quotes;
    /// stays where it is before any other value.
    pub(crate) fn string_in(&mut self, before: &[u8], after: &[u8]) -> Option<&'a [u8]> {
        let rest = self.text.get(self.at..)?.strip_prefix(before).filter(|rest| rest.starts_with(b"\""))?;
        let start = self.text.len() - rest.len();
        let end = skip_string(self.text, start);
        self.text[end..].starts_with(after).then(|| {
            self.at = end + after.len();
            &self.text[start + 1..end - 1]
        })
    }

    /// Steps over the value ahead and gives its text.
    pub(crate) fn value(&mut self) -> &'a [u8] {
        let start = self.at;
        self.at = skip(self.text, start);
        self.text.get(start..self.at).unwrap_or_default()
    }
}

/// Whether the raw key (between its quotes, perhaps with escapes) spells `name`.
pub(crate) fn key_is(raw: &[u8], name: &str) -> bool {
    // an escape is longer than what it spells
    if raw.len() <= name.len() || !raw.contains(&b'\\') {
        return raw == name.as_bytes();
    }
    spelled(raw).is_some_and(|key| key == name)
}

/// The text that is written between quotes as `raw`; nothing where it isn't valid.
pub(crate) fn spelled(raw: &[u8]) -> Option<String> {
    if memchr::memchr(b'\\', raw).is_none() {
        return String::from_utf8(raw.to_vec()).ok();
    }
    serde_json::from_slice(&[b"\"", raw, b"\""].concat()).ok()
}
