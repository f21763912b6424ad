//! Text of others made fit for people: characters that move the cursor, reorder or hide text are found, and shown as
//! escapes. What goes to machines is left as it is.
//!
//! ```
//! use trunkline::display;
//!
//! let description = "Adds numbers.\u{202e}\u{e0041}";
//! assert_eq!(display::line(description), "Adds numbers.\\u{202e}\\u{e0041}");
//! assert_eq!(display::hidden(description), ['\u{202e}', '\u{e0041}']);
//! ```

use std::fmt::Write as _;

/// The text with everything that a person wouldn't see, or that a terminal would obey, written out. Line ends and
/// tabs stay.
pub fn text(text: &str) -> String {
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
pub fn line(text: &str) -> String {
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
pub fn json(text: &str) -> String {
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

/// The text without whatever hides in it, joiners and selectors too: to look for words that were taken apart by them.
pub(crate) fn visible(text: &str) -> String {
    let is_seen = |c: &char| c.is_whitespace() || !is_unsafe(*c) && Carrier::of(*c).is_none();
    text.chars().filter(is_seen).collect()
}

/// How many characters [`hidden`] names at most.
const NAMED: usize = 5;

/// The first characters that hide or reorder text, each once, five at most: what a person should know of a text that
/// goes to a model. Joiners and variation selectors count where they follow their like, which no ordinary text needs
/// and which can carry a message.
pub fn hidden(text: &str) -> Vec<char> {
    let mut found = Vec::new();
    for c in all_hidden(text) {
        if !found.contains(&c) && found.len() < NAMED {
            found.push(c);
        }
    }
    found
}

/// How many characters there are of the kind that [`hidden`] names.
pub fn hidden_count(text: &str) -> usize {
    all_hidden(text).count()
}

fn all_hidden(text: &str) -> impl Iterator<Item = char> {
    let mut last = None;
    text.chars().filter(move |&c| {
        let carrier = Carrier::of(c);
        let stacked = carrier.is_some() && carrier == last;
        last = carrier;
        stacked || is_unsafe(c) && !matches!(c, '\n' | '\r' | '\t')
    })
}

/// What a name looks like: letters of other alphabets as the Latin ones they are drawn like, without what hides. Two
/// different names with the same look can be taken for one another.
///
/// ```
/// use trunkline::display::look;
///
/// assert_eq!(look("\u{455}end"), look("send"));
/// ```
pub fn look(name: &str) -> String {
    name.chars().filter(|c| !is_unsafe(*c) && Carrier::of(*c).is_none()).map(latin).collect()
}

/// The Latin letter that a Cyrillic, Greek or other one is drawn like, for the usual suspects.
#[rustfmt::skip]
fn latin(c: char) -> char {
    match c {
        'а' | 'α' | 'ɑ' => 'a', 'с' | 'ϲ' => 'c', 'ԁ' => 'd', 'е' => 'e', 'ɡ' => 'g', 'һ' => 'h', 'і' | 'ι' | 'ı' => 'i',
        'ј' | 'ϳ' => 'j', 'ӏ' => 'l', 'ո' => 'n', 'о' | 'ο' | 'օ' => 'o', 'р' | 'ρ' => 'p', 'ԛ' => 'q', 'ѕ' => 's',
        'υ' | 'ս' => 'u', 'ν' | 'ѵ' => 'v', 'ԝ' => 'w', 'х' | 'χ' => 'x', 'у' | 'γ' => 'y',
        'А' | 'Α' => 'A', 'В' | 'Β' => 'B', 'С' | 'Ϲ' => 'C', 'Е' | 'Ε' => 'E', 'Н' | 'Η' => 'H', 'І' | 'Ι' => 'I',
        'Ј' => 'J', 'К' | 'Κ' => 'K', 'М' | 'Μ' => 'M', 'Ν' => 'N', 'О' | 'Ο' => 'O', 'Р' | 'Ρ' => 'P', 'Ѕ' => 'S',
        'Т' | 'Τ' => 'T', 'Х' | 'Χ' => 'X', 'У' | 'Υ' => 'Y', 'Ζ' => 'Z',
        // full-width forms
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    }
}

/// A character without a look of its own that ordinary text needs, one at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Joiner,
    Selector,
}

impl Carrier {
    fn of(c: char) -> Option<Self> {
        match c {
            '\u{200c}' | '\u{200d}' => Some(Self::Joiner),
            '\u{fe00}'..='\u{fe0f}' => Some(Self::Selector),
            _ => None,
        }
    }
}

/// Controls, marks that change the direction of text, tags, and characters without any look of their own. The two
/// joiners and the variation selectors of emoji stay, since ordinary text needs them.
fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{180e}'
        | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
        | '\u{2028}' | '\u{2029}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
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
    fn p74_hidden_characters_are_named_once_and_counted() {
        assert_eq!(hidden_count("a\u{202e}b\u{202e}c\u{e0041}\n"), 3);
        assert_eq!(look("ѕеnd\u{200b}"), "send");
        assert_eq!(look("ｓend"), "send");
        assert_ne!(look("Send"), "send");
        assert_eq!(hidden("a\u{202e}b\u{202e}c\u{e0041}\n"), ['\u{202e}', '\u{e0041}']);
        assert!(hidden("fine\r\n\ttext 👩‍👩‍👧 👩‍❤️‍👨 می‌خواهم").is_empty());
        assert_eq!(
            hidden("a\u{fe01}\u{fe02}\u{fe01}b\u{200c}\u{200d}\u{200c}"),
            ['\u{fe02}', '\u{fe01}', '\u{200d}', '\u{200c}']
        );
    }
}
