//! Reads JSON text without building values: one validating pass that keeps its place, and a fast walk
//! over text that was validated before. Knows JSON only, nothing of JSON-RPC.

use std::ops::Range;

/// How deep arrays and objects may nest. Deeper text is refused, never recursed into.
pub(crate) const MAX_DEPTH: usize = 512;

/// Why a text is not acceptable JSON, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// Not JSON.
    Syntax,
    /// Nested deeper than [`MAX_DEPTH`].
    Depth,
    /// A `\uD83D` without its other half: legal to write, impossible to read as text.
    Surrogate,
}

fn fault<T>(kind: FaultKind, at: usize) -> Result<T, Fault> {
    Err(Fault { kind, at })
}

/// One bit a level: 1 in an object, 0 in an array.
struct Levels {
    bits: [u64; MAX_DEPTH / 64],
    depth: usize,
}

impl Levels {
    fn push(&mut self, object: bool, at: usize) -> Result<(), Fault> {
        if self.depth == MAX_DEPTH {
            return fault(FaultKind::Depth, at);
        }
        let (word, bit) = (self.depth / 64, self.depth % 64);
        self.bits[word] = (self.bits[word] & !(1 << bit)) | (u64::from(object) << bit);
        self.depth += 1;
        Ok(())
    }

    fn in_object(&self) -> bool {
        let top = self.depth - 1;
        self.bits[top / 64] >> (top % 64) & 1 == 1
    }
}

/// Skips white space.
pub(crate) fn blank(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Validates the value that starts at `at` (white space allowed before it) and returns where it ends.
pub(crate) fn value(text: &[u8], mut at: usize) -> Result<usize, Fault> {
    let mut levels = Levels { bits: [0; MAX_DEPTH / 64], depth: 0 };
    loop {
        at = blank(text, at);
        match text.get(at) {
            Some(b'"') => at = string(text, at)?,
            Some(&open @ (b'{' | b'[')) => {
                let object = open == b'{';
                let inside = blank(text, at + 1);
                if text.get(inside) == Some(&(open + 2)) {
                    at = inside + 1;
                } else {
                    levels.push(object, at)?;
                    at = if object { key(text, inside)? } else { inside };
                    continue;
                }
            }
            Some(b't') => at = word(text, at, b"true")?,
            Some(b'f') => at = word(text, at, b"false")?,
            Some(b'n') => at = word(text, at, b"null")?,
            Some(b'-' | b'0'..=b'9') => at = number(text, at)?,
            _ => return fault(FaultKind::Syntax, at),
        }
        loop {
            if levels.depth == 0 {
                return Ok(at);
            }
            at = blank(text, at);
            match (text.get(at), levels.in_object()) {
                (Some(b','), true) => {
                    at = key(text, blank(text, at + 1))?;
                    break;
                }
                (Some(b','), false) => {
                    at += 1;
                    break;
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    at += 1;
                    levels.depth -= 1;
                }
                _ => return fault(FaultKind::Syntax, at),
            }
        }
    }
}

/// Validates that `text` is one value and nothing more.
pub(crate) fn whole(text: &[u8]) -> Result<(), Fault> {
    let end = blank(text, value(text, 0)?);
    if end == text.len() { Ok(()) } else { fault(FaultKind::Syntax, end) }
}

/// A key and its colon; returns where the member's value may start.
fn key(text: &[u8], at: usize) -> Result<usize, Fault> {
    if text.get(at) != Some(&b'"') {
        return fault(FaultKind::Syntax, at);
    }
    let colon = blank(text, string(text, at)?);
    if text.get(colon) == Some(&b':') { Ok(colon + 1) } else { fault(FaultKind::Syntax, colon) }
}

fn word(text: &[u8], at: usize, expected: &[u8]) -> Result<usize, Fault> {
    if text[at..].starts_with(expected) { Ok(at + expected.len()) } else { fault(FaultKind::Syntax, at) }
}

fn digits(text: &[u8], mut at: usize) -> Result<usize, Fault> {
    let start = at;
    while let Some(b'0'..=b'9') = text.get(at) {
        at += 1;
    }
    if at == start { fault(FaultKind::Syntax, at) } else { Ok(at) }
}

fn number(text: &[u8], mut at: usize) -> Result<usize, Fault> {
    if text[at] == b'-' {
        at += 1;
    }
    at = if text.get(at) == Some(&b'0') { at + 1 } else { digits(text, at)? };
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = text.get(at) {
            at += 1;
        }
        at = digits(text, at)?;
    }
    Ok(at)
}

/// The string whose opening quote is at `at`; returns the place behind its closing quote.
fn string(text: &[u8], at: usize) -> Result<usize, Fault> {
    let mut at = at + 1;
    loop {
        at = plain(text, at);
        match text.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape(text, at)?,
            _ => return fault(FaultKind::Syntax, at),
        }
    }
}

/// Runs over bytes that need no attention, eight at a time: stops at a quote, a backslash or a control.
fn plain(text: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero_byte = |x: u64| x.wrapping_sub(ONES) & !x;
    while let Some(chunk) = text.get(at..at + 8) {
        let word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let quote = zero_byte(word ^ (ONES * u64::from(b'"')));
        let slash = zero_byte(word ^ (ONES * u64::from(b'\\')));
        let stop = (control | quote | slash) & HIGH;
        if stop != 0 {
            return at + (stop.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = text.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

fn escape(text: &[u8], at: usize) -> Result<usize, Fault> {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match hex4(text, at + 2) {
            None => fault(FaultKind::Syntax, at),
            Some(0xD800..=0xDBFF) => match low_half(text, at + 6) {
                true => Ok(at + 12),
                false => fault(FaultKind::Surrogate, at),
            },
            Some(0xDC00..=0xDFFF) => fault(FaultKind::Surrogate, at),
            Some(_) => Ok(at + 6),
        },
        _ => fault(FaultKind::Syntax, at),
    }
}

fn low_half(text: &[u8], at: usize) -> bool {
    text.get(at..at + 2) == Some(b"\\u") && matches!(hex4(text, at + 2), Some(0xDC00..=0xDFFF))
}

fn hex4(text: &[u8], at: usize) -> Option<u16> {
    text.get(at..at + 4)?.iter().try_fold(0, |acc, &byte| Some(acc << 4 | (byte as char).to_digit(16)? as u16))
}

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

/// Behind the closing quote: the next quote that no odd number of backslashes precedes.
fn skip_string(text: &[u8], at: usize) -> usize {
    let start = at + 1;
    let mut at = start;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        at += found + 1;
        let escapes = text[start..at - 1].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return at;
        }
    }
    text.len()
}

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

    /// Steps over the value ahead and gives its text.
    pub(crate) fn value(&mut self) -> &'a [u8] {
        let start = self.at;
        self.at = skip(self.text, start);
        self.text.get(start..self.at).unwrap_or_default()
    }
}

/// Whether the raw key (between its quotes, perhaps with escapes) spells `name`.
pub(crate) fn key_is(raw: &[u8], name: &str) -> bool {
    if !raw.contains(&b'\\') {
        return raw == name.as_bytes();
    }
    let quoted = [b"\"", raw, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).is_ok_and(|key| key == name)
}

/// Replaces invalid UTF-8 and unpaired surrogates by U+FFFD, so that one bad character costs itself alone.
pub(crate) fn repair(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        out.extend_from_slice(&bytes[at..at + found]);
        at += found;
        match escape(bytes, at) {
            Err(Fault { kind: FaultKind::Surrogate, .. }) => {
                out.extend_from_slice(b"\\ufffd");
                at += 6;
            }
            Ok(end) => {
                out.extend_from_slice(&bytes[at..end]);
                at = end;
            }
            Err(_) => {
                let end = (at + 2).min(bytes.len());
                out.extend_from_slice(&bytes[at..end]);
                at = end;
            }
        }
    }
    out.extend_from_slice(&bytes[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nested(depth: usize) -> Vec<u8> {
        [b"[".repeat(depth), b"]".repeat(depth)].concat()
    }

    #[test]
    fn accepts_what_json_is() {
        for text in [
            "0",
            "-0.5e+3",
            "1E9",
            "\"\"",
            "\"\\u00e9\\n\\/\"",
            "\"\\ud83d\\ude00\"",
            "[]",
            "[ 1 , [ ] ]",
            "{}",
            "{ \"a\" : { \"b\" : [ true , false , null ] } , \"c\":\"\" }",
            " \t\r\n1 ",
        ] {
            assert_eq!(whole(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn refuses_what_json_is_not() {
        for text in [
            "",
            " ",
            "01",
            "1.",
            ".5",
            "+1",
            "-",
            "1e",
            "NaN",
            "Infinity",
            "tru",
            "\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"a\nb\"",
            "[1,]",
            "[1 2]",
            "[",
            "]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "1 1",
            "[}",
        ] {
            assert_eq!(whole(text.as_bytes()).unwrap_err().kind, FaultKind::Syntax, "{text}");
        }
    }

    #[test]
    fn counts_depth_and_never_recurses() {
        assert_eq!(whole(&nested(130)), Ok(()));
        assert_eq!(whole(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(whole(&nested(MAX_DEPTH + 2)).unwrap_err().kind, FaultKind::Depth);
        assert_eq!(whole(&nested(200_000)).unwrap_err().kind, FaultKind::Depth);
        assert_eq!(skip(&nested(200_000), 0), 400_000);
    }

    #[test]
    fn repairs_single_characters() {
        for (bad, good) in [
            (&b"\"\\ud83d\""[..], "\"\\ufffd\""),
            (b"\"\\ud83dx\\ude00\"", "\"\\ufffdx\\ufffd\""),
            (b"\"\\\\ud83d\"", "\"\\\\ud83d\""),
            (b"\"\xE9\"", "\"\u{fffd}\""),
            (b"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\""),
        ] {
            assert_eq!(String::from_utf8(repair(bad)).unwrap(), good);
        }
    }

    #[test]
    fn walks_members_and_items() {
        let text = br#" { "a" : [1, {"x":"}"}] , "b\u0063":"]," } "#;
        let members: Vec<_> = Members::new(text).map(|m| (text[m.key].to_vec(), text[m.value].to_vec())).collect();
        assert_eq!(members.len(), 2);
        assert_eq!(members[0].1, br#"[1, {"x":"}"}]"#);
        assert!(key_is(&members[1].0, "bc"));
        let mut walk = Walk::new(text);
        walk.enter();
        assert_eq!(walk.key(), Some(&b"a"[..]));
        walk.enter();
        assert!(walk.item() && walk.value() == b"1");
        assert!(walk.item());
        walk.enter();
        assert_eq!((walk.key(), walk.value(), walk.key()), (Some(&b"x"[..]), &b"\"}\""[..], None));
        assert!(!walk.item());
        assert_eq!((walk.key(), walk.value(), walk.key()), (Some(&b"b\\u0063"[..]), &b"\"],\""[..], None));
        let items: Vec<_> = Items::new(&members[0].1).map(|r| members[0].1[r].to_vec()).collect();
        assert_eq!(items, [b"1".to_vec(), br#"{"x":"}"}"#.to_vec()]);
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".*".prop_map(serde_json::Value::String),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::Array),
                proptest::collection::hash_map(".*", inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_serde_on_good_json(value in json()) {
            let text = serde_json::to_vec(&value).unwrap();
            prop_assert_eq!(whole(&text), Ok(()));
            prop_assert_eq!(skip(&text, 0), text.len());
        }

        #[test]
        fn agrees_with_serde_on_damaged_json(value in json(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut text = serde_json::to_vec(&value).unwrap();
            let at = at.index(text.len());
            text[at] = byte;
            let ours = whole(&text);
            let theirs = serde_json::from_slice::<serde_json::Value>(&text);
            if std::str::from_utf8(&text).is_ok() {
                // serde_json also refuses numbers out of range, which are legal JSON.
                let out_of_range = matches!(&theirs, Err(e) if e.to_string().contains("out of range"));
                prop_assert!(ours.is_ok() == theirs.is_ok() || out_of_range, "{:?} {:?}", ours, theirs);
            }
        }

        #[test]
        fn never_panics(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = whole(&text);
            let _ = skip(&text, 0);
            let _ = Members::new(&text).count();
            let _ = Items::new(&text).count();
            let mut walk = Walk::new(&text);
            walk.enter();
            for _ in 0..text.len() {
                let _ = (walk.key(), walk.value());
            }
            let _ = repair(&text);
        }
    }
}
