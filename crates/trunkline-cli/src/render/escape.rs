//! Text of others made fit for a terminal: characters that move the cursor, reorder or hide text are shown as
//! escapes. Machine output never comes through here.

use std::fmt::Write as _;

/// The text with everything that a person wouldn't see, or that a terminal would obey, written out. Line ends and
/// tabs stay.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if chars.peek() == Some(&'\n') => {} // an ordinary line end of another system
            c if is_unsafe(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// The same for what has to stay in one line: names, labels, URIs.
pub(crate) fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            c if is_unsafe(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// The same for JSON: written out as JSON does it, so that it stays the same value.
pub(crate) fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units = [0; 2];
    for c in text.chars() {
        if is_unsafe(c) && !matches!(c, '\n' | '\r' | '\t') {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// The first characters that hide or reorder text, each once: what a person should know of a text that goes to
/// a model.
pub(crate) fn hidden(text: &str) -> Vec<char> {
    let mut found = Vec::new();
    for c in text.chars().filter(|c| is_unsafe(*c) && !matches!(c, '\n' | '\r' | '\t')) {
        if !found.contains(&c) && found.len() < 5 {
            found.push(c);
        }
    }
    found
}

/// Controls, marks that change the direction of text, tags, and characters without any look of their own. The two
/// joiners and the variation selectors of emoji stay, since ordinary text needs them.
fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{180e}'
        | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        for (given, shown) in [
            ("plain, ünïcödé 👩‍👩‍👧 ❤️ नमस्ते\n\tnext", "plain, ünïcödé 👩‍👩‍👧 ❤️ नमस्ते\n\tnext"),
            ("ok\u{1b}[2J\u{1b}]0;x\u{7}", "ok\\u{1b}[2J\\u{1b}]0;x\\u{7}"),
            ("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}"),
            ("\u{e0041}\u{200b}", "\\u{e0041}\\u{200b}"),
            ("line\r\nnext\rover", "line\nnext\\u{d}over"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
        ] {
            assert_eq!(text(given), shown);
        }
        assert_eq!(json("\"a\u{202e}\u{e0041}\"\n"), "\"a\\u202e\\udb40\\udc41\"\n");
        assert_eq!(line("two\nlines\u{1b}"), "two\\nlines\\u{1b}");
    }

    #[test]
    fn hidden_characters_are_named_once() {
        assert_eq!(hidden("a\u{202e}b\u{202e}c\u{e0041}\n"), ['\u{202e}', '\u{e0041}']);
        assert!(hidden("fine\r\n\ttext 👩‍👩‍👧").is_empty());
    }
}
