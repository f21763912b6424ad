//! Keeps secrets out of everything that is shown: [`Secret`] can't be printed, and a [`Redactor`] masks one
//! server's secret values wherever they turn up in text. Where text is shown is left to others.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

mod learned;
mod patterns;
mod sources;

use crate::error::Result;
use learned::Learned;
use patterns::Patterns;
pub use sources::mask_url;
pub(crate) use sources::{
    argument_secrets, env_secrets, header_secrets, is_plain_header, is_plain_variable, is_telling_variable,
    mask_arguments, url_secrets,
};

/// What stands in place of a secret.
pub(crate) const MASK: &str = "***";

/// Shorter values are masked where they are known to be one (`headers`, `env`), but not searched for in
/// text, which they would shred.
const SHORTEST: usize = 4;

/// Below this length a value is only masked where it stands alone, not as a part of a longer word.
const SHORTEST_INSIDE_WORDS: usize = 8;

/// Values of settings that are plain words; to mask them would hide half of every log.
#[rustfmt::skip]
const PLAIN_WORDS: &[&str] = &[
    "true",
    "false",
    "none",
    "null",
    "auto",
    "default",
    "debug",
    "info",
    "warn",
    "warning",
    "error",
    "trace",
    "off",
    "production",
    "development",
    "staging",
    "test",
    "testing",
    "local",
    "localhost",
    "stdio",
    "http",
    "https",
    "utf-8",
    "json",
    "text",
    "verbose",
    "quiet",
    "enabled",
    "disabled",
    "bearer",
    "basic",
    "token",
];

/// Text that `Debug` and `Display` show as `***`.
///
/// ```
/// use trunkline::Secret;
///
/// let token = Secret::new("hunter22");
/// assert_eq!(format!("{token} {token:?}"), "*** ***");
/// assert_eq!(token.expose(), "hunter22");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(Box<str>);

impl Secret {
    /// Takes over a value that must not be shown.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into().into_boxed_str())
    }

    /// The value itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self(value.into())
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

/// Knows the secret values of one server and masks every occurrence of them in any text.
///
/// Cheap to clone. The default knows no secret and changes nothing.
///
/// ```
/// use trunkline::Redactor;
///
/// let redactor = Redactor::new(["s3cr3t-token"]);
/// assert_eq!(redactor.redact("got \"s3cr3t-token\""), "got \"***\"");
/// ```
#[derive(Clone, Default)]
pub struct Redactor {
    /// Sorted and without duplicates.
    secrets: Arc<[Box<str>]>,
    patterns: Patterns,
    learned: Learned,
}

impl Redactor {
    /// Masks these values. Each is also found as it would stand in JSON and in a URL, and line by line.
    pub fn new<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> Self {
        Self::default().with(values)
    }

    /// The same, with more values: a token that was fetched later, for instance.
    #[must_use]
    pub fn with<S: AsRef<str>>(&self, values: impl IntoIterator<Item = S>) -> Self {
        let mut secrets: Vec<Box<str>> = self.secrets.to_vec();
        for value in values {
            add_forms(value.as_ref(), &mut secrets);
        }
        secrets.sort_unstable();
        secrets.dedup();
        Self { secrets: secrets.into(), ..self.clone() }
    }

    /// The same, and whatever these regular expressions find. Where one has a group, only the group is masked.
    ///
    /// ```
    /// let redactor = trunkline::Redactor::default().matching(["sk-[a-z0-9]{8,}", "pin: ([0-9]+)"])?;
    /// assert_eq!(redactor.redact("sk-abcd1234, pin: 77"), "***, pin: ***");
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for one that is no regular expression.
    pub fn matching<S: AsRef<str>>(&self, patterns: impl IntoIterator<Item = S>) -> Result<Self> {
        Ok(Self { patterns: self.patterns.with(patterns)?, ..self.clone() })
    }

    /// Masks one more value from now on, wherever this redactor or a copy of it is used: a token that was just fetched.
    #[cfg_attr(not(feature = "http"), expect(dead_code))]
    pub(crate) fn learn(&self, value: &str) {
        let mut forms = Vec::new();
        add_forms(value, &mut forms);
        self.learned.add(forms);
    }

    /// Whether there is nothing to mask.
    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty() && self.patterns.is_empty() && self.learned.is_empty()
    }

    /// The text with every secret replaced by `***`.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut find = |secret: &str| {
            let places = memchr::memmem::find_iter(text.as_bytes(), secret.as_bytes());
            found.extend(places.map(|at| at..at + secret.len()).filter(|place| stands_alone(text, place)));
        };
        self.secrets.iter().for_each(|secret| find(secret));
        self.learned.each(find);
        self.patterns.find(text, &mut found);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable_by_key(|place| place.start);
        Cow::Owned(mask(text, found))
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} values, {} patterns)", self.secrets.len(), self.patterns.len())
    }
}

/// Replaces `places` (sorted by their start, perhaps overlapping) by one mask for each run.
fn mask(text: &str, places: Vec<Range<usize>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for place in places {
        if place.start >= end && (place.start > end || end == 0) {
            out.push_str(&text[end..place.start]);
            out.push_str(MASK);
        }
        end = end.max(place.end);
    }
    out.push_str(&text[end..]);
    out
}

fn stands_alone(text: &str, place: &Range<usize>) -> bool {
    let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    place.len() >= SHORTEST_INSIDE_WORDS
        || !(joins(text[..place.start].chars().next_back()) || joins(text[place.end..].chars().next()))
}

/// Whether a value is worth looking for: not tiny, not a plain word, not a small number such as a port.
fn worth_hiding(value: &str) -> bool {
    let number = value.len() <= 5 && value.bytes().all(|byte| byte.is_ascii_digit());
    value.len() >= SHORTEST && !number && !PLAIN_WORDS.contains(&value.to_ascii_lowercase().as_str())
}

fn add_forms(value: &str, into: &mut Vec<Box<str>>) {
    let value = value.trim();
    if !worth_hiding(value) {
        return;
    }
    let json = serde_json::to_string(value).unwrap_or_default();
    let forms = [value.to_owned(), json.trim_matches('"').to_owned(), percent_encode(value), percent_decode(value)];
    into.extend(forms.into_iter().filter(|form| worth_hiding(form)).map(String::into_boxed_str));
    let lines = value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_INSIDE_WORDS && *line != value);
    into.extend(lines.map(Box::from));
}

fn percent_encode(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn percent_decode(value: &str) -> String {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = value_of_hex(tail).filter(|_| byte == b'%');
        out.push(code.unwrap_or(byte));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(out).unwrap_or_default()
}

fn value_of_hex(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_secret_is_masked_in_every_form_it_takes() {
        let redactor = Redactor::new(["p\"w/é d-12345"]);
        for text in ["p\"w/é d-12345", "{\"k\":\"p\\\"w/é d-12345\"}", "?k=p%22w%2F%C3%A9%20d-12345"] {
            let shown = redactor.redact(text);
            assert!(shown.contains(MASK) && !shown.contains("12345"), "{shown}");
        }
        let key = Redactor::new(["-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----"]);
        assert_eq!(key.redact("line: MIIEvQIBADANBg"), "line: ***");
    }

    #[test]
    fn overlapping_secrets_leave_nothing_behind() {
        let redactor = Redactor::new(["abcdefgh-1", "efgh-12345", "abcdefgh-12345-long"]);
        assert_eq!(redactor.redact("<abcdefgh-12345>"), "<***>");
        assert_eq!(redactor.redact("abcdefgh-1abcdefgh-1"), "***");
        assert_eq!(redactor.redact("efgh-12345 efgh-12345"), "*** ***");
    }

    #[test]
    fn plain_values_are_left_and_short_ones_are_masked_as_words_only() {
        let redactor = Redactor::new(["abc", "true", "8080", "Debug", "latex"]);
        assert_eq!(redactor.redact("abc true 8080 debug latexit"), "abc true 8080 debug latexit");
        assert_eq!(redactor.redact("the latex, in é-latex"), "the ***, in é-***");
        assert_eq!(redactor.redact("élatex"), "élatex");
        assert!(matches!(redactor.redact("nothing"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_one_copy_learns_all_copies_mask() {
        let redactor = Redactor::new(["hunter22"]);
        let (copy, wider) = (redactor.clone(), redactor.with(["pa$$word"]).matching(["pin [0-9]+"]).unwrap());
        copy.learn("tok/en-1234");
        for redactor in [&redactor, &copy, &wider] {
            assert_eq!(redactor.redact("hunter22, tok/en-1234, tok%2Fen-1234"), "***, ***, ***");
        }
        let empty = Redactor::default();
        assert!(empty.is_empty() && !copy.is_empty());
        assert_eq!(empty.redact("tok/en-1234"), "tok/en-1234", "another server's");
        (0..1000).for_each(|n| empty.learn(&format!("token-{n:04}")));
        assert_eq!(empty.redact("token-0999 token-0990 token-0000"), "*** *** token-0000", "the oldest are forgotten");
    }

    proptest! {
        #[test]
        fn no_long_secret_survives(
            secrets in proptest::collection::vec("[a-dé]{8,12}", 1..4),
            picks in proptest::collection::vec((any::<prop::sample::Index>(), "[a-d -]{0,6}"), 0..8),
        ) {
            let text: String = picks.iter().map(|(pick, between)| format!("{}{between}", pick.get(&secrets))).collect();
            let shown = Redactor::new(&secrets).redact(&text).into_owned();
            for secret in &secrets {
                prop_assert!(!shown.contains(secret.as_str()), "{} in {}", secret, shown);
            }
        }
    }
}
