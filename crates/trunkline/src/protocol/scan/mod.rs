//! Reads JSON text without building values: one validating pass that keeps its place, and a fast walk
//! over text that was validated before. Knows JSON only, nothing of JSON-RPC.

#[cfg(any(test, fuzzing))]
pub(super) mod laws;
mod walk;

use std::ops::Range;

pub(crate) use walk::{Items, Members, Walk, key_is, skip, spelled};

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
    /// At most [`MAX_DEPTH`].
    max: usize,
}

impl Levels {
    fn push(&mut self, object: bool, at: usize) -> Result<(), Fault> {
        if self.depth == self.max {
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
pub(crate) fn value(text: &[u8], at: usize) -> Result<usize, Fault> {
    value_within(text, at, MAX_DEPTH)
}

/// The same, nested not deeper than `max`, or [`MAX_DEPTH`].
pub(crate) fn value_within(text: &[u8], at: usize, max: usize) -> Result<usize, Fault> {
    let start = blank(text, at);
    match text.get(start) {
        Some(b'{' | b'[') => nested(text, start, max.min(MAX_DEPTH)),
        _ => scalar(text, start),
    }
}

/// Validates the text, word or number at `at`.
fn scalar(text: &[u8], at: usize) -> Result<usize, Fault> {
    match text.get(at) {
        Some(b'"') => string(text, at),
        Some(b't') => word(text, at, b"true"),
        Some(b'f') => word(text, at, b"false"),
        Some(b'n') => word(text, at, b"null"),
        Some(b'-' | b'0'..=b'9') => number(text, at),
        _ => fault(FaultKind::Syntax, at),
    }
}

/// Validates the object or array at `at`, without recursion.
fn nested(text: &[u8], mut at: usize, max: usize) -> Result<usize, Fault> {
    let mut levels = Levels { bits: [0; MAX_DEPTH / 64], depth: 0, max };
    loop {
        at = blank(text, at);
        match text.get(at) {
            Some(&open @ (b'{' | b'[')) => {
                let object = open == b'{';
                let inside = blank(text, at + 1);
                if text.get(inside) == Some(&(open + 2)) {
                    at = inside + 1;
                } else {
                    levels.push(object, at)?;
                    at = if object { key(text, inside)?.1 } else { inside };
                    continue;
                }
            }
            _ => at = scalar(text, at)?,
        }
        loop {
            if levels.depth == 0 {
                return Ok(at);
            }
            at = blank(text, at);
            match (text.get(at), levels.in_object()) {
                (Some(b','), true) => {
                    at = key(text, blank(text, at + 1))?.1;
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

/// How deep a valid text nests: 1 for an array of numbers.
pub(crate) fn depth(text: &[u8]) -> usize {
    let (mut at, mut level, mut deepest) = (0, 0, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = skip(text, at);
                continue;
            }
            b'{' | b'[' => level += 1,
            b'}' | b']' => level -= 1,
            _ => {}
        }
        deepest = deepest.max(level);
        at += 1;
    }
    deepest
}

/// Validates that `text` is one value and nothing more.
pub(crate) fn whole(text: &[u8]) -> Result<(), Fault> {
    let end = blank(text, value(text, 0)?);
    if end == text.len() { Ok(()) } else { fault(FaultKind::Syntax, end) }
}

/// A key and its colon: where the key is, between its quotes, and where the member's value may start.
pub(crate) fn key(text: &[u8], at: usize) -> Result<(Range<usize>, usize), Fault> {
    if text.get(at) != Some(&b'"') {
        return fault(FaultKind::Syntax, at);
    }
    let end = string(text, at)?;
    let colon = blank(text, end);
    if text.get(colon) == Some(&b':') { Ok((at + 1..end - 1, colon + 1)) } else { fault(FaultKind::Syntax, colon) }
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

/// Whether a text can be written between quotes as it is.
pub(crate) fn needs_no_escape(text: &str) -> bool {
    plain(text.as_bytes(), 0) == text.len()
}

/// Runs over bytes that need no attention, eight at a time: stops at a quote, a backslash or a control.
#[inline]
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
mod tests;
