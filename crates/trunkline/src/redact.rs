//! Keeps secrets out of everything that is shown: [`Secret`] can't be printed, and a [`Redactor`] masks one
//! server's secret values wherever they turn up in text. Where text is shown is left to others.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::error::Error;

/// What stands in place of a secret.
pub(crate) const MASK: &str = "***";

/// Shorter values are masked where they are known to be one (`headers`, `env`), but not searched for in
/// text, which they would shred.
const SHORTEST: usize = 4;

/// Below this length a value is only masked where it stands alone, not as a part of a longer word.
const SHORTEST_INSIDE_WORDS: usize = 8;

/// Values of settings that are plain words; to mask them would hide half of every log.
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
        Self { secrets: secrets.into() }
    }

    /// Whether there is nothing to mask.
    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The text with every secret replaced by `***`.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for secret in self.secrets.iter() {
            let places = memchr::memmem::find_iter(text.as_bytes(), secret.as_bytes());
            found.extend(places.map(|at| at..at + secret.len()).filter(|place| stands_alone(text, place)));
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable_by_key(|place| place.start);
        Cow::Owned(mask(text, found))
    }

    /// The error with every secret masked in its message, hint and context.
    pub(crate) fn error(&self, error: Error) -> Error {
        if self.is_empty() { error } else { error.map_text(|text| self.redact(text).into_owned()) }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} values)", self.secrets.len())
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

/// Headers that say nothing secret; the values of all others are masked.
const PLAIN_HEADERS: &[&str] = &[
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "host",
    "mcp-protocol-version",
    "origin",
    "retry-after",
    "server",
    "user-agent",
    "x-request-id",
];

/// Whether a header's value may be shown.
pub(crate) fn is_plain_header(name: &str) -> bool {
    PLAIN_HEADERS.contains(&name.trim().to_ascii_lowercase().as_str())
}

/// What is secret in a header: its value, and what follows a scheme such as `Bearer`.
pub(crate) fn header_secrets<'a>(name: &str, value: &'a str) -> Vec<&'a str> {
    if is_plain_header(name) {
        return Vec::new();
    }
    let credentials = value.split_once(' ').map(|(_, credentials)| credentials);
    std::iter::once(value).chain(credentials).collect()
}

/// Variables whose values are about the machine, not about who may do what.
const PLAIN_VARIABLES: &[&str] = &[
    "COLUMNS",
    "CURL_CA_BUNDLE",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOCALAPPDATA",
    "LOGNAME",
    "NODE_ENV",
    "NODE_EXTRA_CA_CERTS",
    "NO_COLOR",
    "NO_PROXY",
    "PATH",
    "PATHEXT",
    "PORT",
    "PWD",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "USERNAME",
    "USERPROFILE",
    "APPDATA",
];

/// Whether a variable's value may be shown.
pub(crate) fn is_plain_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    PLAIN_VARIABLES.contains(&name.as_str()) || name.starts_with("LC_") || name.starts_with("XDG_")
}

/// What is secret in a variable that is set for a server: its value, unless the name says it is plain.
pub(crate) fn env_secrets<'a>(name: &str, value: &'a str) -> Option<&'a str> {
    (!is_plain_variable(name)).then_some(value)
}

/// What is secret in a URL: its user information (also as `Basic` credentials) and the values of its query.
pub(crate) fn url_secrets(url: &str) -> Vec<String> {
    let parts = UrlParts::of(url);
    let mut secrets: Vec<String> = parts.values().map(|place| url[place].to_owned()).collect();
    if let Some(place) = parts.userinfo.clone() {
        let userinfo = percent_decode(&url[place]);
        secrets.extend(userinfo.split_once(':').map(|(_, password)| password.to_owned()));
        secrets.push(BASE64_STANDARD.encode(&userinfo));
        secrets.push(userinfo);
    }
    secrets
}

/// The URL with its user information, the values of its query and its fragment masked.
///
/// ```
/// assert_eq!(
///     trunkline::mask_url("https://me:pw@example.com/mcp?key=abc&v"),
///     "https://***@example.com/mcp?key=***&v",
/// );
/// ```
pub fn mask_url(url: &str) -> String {
    let parts = UrlParts::of(url);
    let places: Vec<_> = parts.userinfo.clone().into_iter().chain(parts.values()).collect();
    if places.is_empty() { url.to_owned() } else { mask(url, places) }
}

/// Where the parts of a URL are that may hold a secret.
struct UrlParts<'a> {
    url: &'a str,
    userinfo: Option<Range<usize>>,
    query: usize,
}

impl<'a> UrlParts<'a> {
    fn of(url: &'a str) -> Self {
        let authority = url.find("://").map_or(0, |at| at + 3);
        let path = url[authority..].find(['/', '?', '#']).map_or(url.len(), |at| authority + at);
        let userinfo = url[authority..path].rfind('@').map(|at| authority..authority + at);
        let query = url[path..].find(['?', '#']).map_or(url.len(), |at| path + at + 1);
        Self { url, userinfo, query }
    }

    /// The values after `=` in query and fragment; a fragment without `=` is one value.
    fn values(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let fragment = self.url[self.query.min(self.url.len())..].find('#').map_or(usize::MAX, |at| self.query + at);
        let in_fragment = move |at: usize| at > fragment || (at > 0 && self.url.as_bytes()[at - 1] == b'#');
        let mut at = self.query;
        std::iter::from_fn(move || {
            let rest = self.url.get(at..).filter(|rest| !rest.is_empty())?;
            let end = rest.find(['&', '#', ';']).map_or(self.url.len(), |found| at + found);
            let pair = at..end;
            at = end + 1;
            Some(pair)
        })
        .filter_map(move |pair| match self.url[pair.clone()].find('=') {
            Some(found) => Some(pair.start + found + 1..pair.end),
            None => in_fragment(pair.start).then_some(pair),
        })
        .filter(|value| !value.is_empty())
    }
}

/// Names of options and fields that announce a secret.
const TELLING: &[&str] =
    &["token", "secret", "password", "passwd", "apikey", "accesskey", "privatekey", "credential", "authorization"];

fn is_telling(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    name == "key" || name == "auth" || name == "pat" || TELLING.iter().any(|word| name.ends_with(word))
}

/// What is secret in a command's arguments: the value of `--api-key=…`, `--token …` and `Authorization: …`,
/// and what is secret in a URL.
pub(crate) fn argument_secrets(arguments: &[String]) -> Vec<String> {
    (0..arguments.len())
        .flat_map(|at| secret_places(arguments, at).into_iter().map(move |p| (at, p)))
        .flat_map(|(at, place)| {
            let value = &arguments[at][place];
            let credentials = value.split_once(' ').map(|(_, credentials)| credentials.to_owned());
            std::iter::once(value.to_owned()).chain(credentials)
        })
        .chain(arguments.iter().filter(|argument| argument.contains("://")).flat_map(|url| url_secrets(url)))
        .collect()
}

/// The arguments with what [`argument_secrets`] finds masked.
pub(crate) fn mask_arguments(arguments: &[String]) -> Vec<String> {
    (0..arguments.len()).map(|at| mask(&arguments[at], secret_places(arguments, at))).collect()
}

fn secret_places(arguments: &[String], at: usize) -> Vec<Range<usize>> {
    let argument = &arguments[at];
    let announced = at > 0 && arguments[at - 1].starts_with('-') && is_telling(&arguments[at - 1]);
    if announced && !argument.starts_with('-') && !argument.is_empty() {
        return vec![0..argument.len()];
    }
    let separator = argument.find(['=', ':']).filter(|&found| is_telling(&argument[..found]));
    if let Some(found) = separator {
        let start = argument.len() - argument[found + 1..].trim_start().len();
        return if start < argument.len() { vec![start..argument.len()] } else { Vec::new() };
    }
    if argument.contains("://") {
        let parts = UrlParts::of(argument);
        return parts.userinfo.clone().into_iter().chain(parts.values()).collect();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

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
    fn headers_and_variables_are_secret_unless_known_to_be_plain() {
        assert_eq!(header_secrets("Authorization", "Bearer s3cr3t-AAA"), ["Bearer s3cr3t-AAA", "s3cr3t-AAA"]);
        assert!(header_secrets("Content-Type", "text/plain").is_empty());
        assert_eq!(env_secrets("TOKEN", "ENV-DDD"), Some("ENV-DDD"));
        assert_eq!(env_secrets("PATH", "/bin"), None);
        assert_eq!(env_secrets("LC_ALL", "C.UTF-8"), None);
    }

    #[test]
    fn urls_keep_what_is_not_secret() {
        for (url, masked) in [
            ("http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080/mcp"),
            ("http://u:pw-BBB@127.0.0.1:1/mcp?api_key=KEY-CCC", "http://***@127.0.0.1:1/mcp?api_key=***"),
            ("https://h/?a=1&b=&c&d=2#e=3", "https://h/?a=***&b=&c&d=***#e=***"),
            ("https://h#token", "https://h#***"),
            ("https://h/a@b", "https://h/a@b"),
            ("https://u@x@h/", "https://***@h/"),
            ("${BASE}/x?k=v", "${BASE}/x?k=***"),
            ("", ""),
        ] {
            assert_eq!(mask_url(url), masked, "{url}");
        }
        let secrets = url_secrets("http://u:pw%20BBB@h/mcp?api_key=KEY-CCC");
        for secret in ["KEY-CCC", "pw BBB", "u:pw BBB", "dTpwdyBCQkI="] {
            assert!(secrets.iter().any(|found| found == secret), "{secret} in {secrets:?}");
        }
    }

    #[test]
    fn arguments_that_announce_a_secret_are_masked() {
        let arguments = strings(&[
            "-y",
            "pkg",
            "--api-key=K1-aaaa",
            "--token",
            "T2-bbbb",
            "--header",
            "Authorization: Bearer B3-cccc",
            "--key",
            "-v",
            "https://h/?sig=S4-dddd",
            "GITHUB_TOKEN=G5-eeee",
            "--monkey=banana",
        ]);
        let shown = mask_arguments(&arguments);
        assert_eq!(
            shown,
            strings(&[
                "-y",
                "pkg",
                "--api-key=***",
                "--token",
                "***",
                "--header",
                "Authorization: ***",
                "--key",
                "-v",
                "https://h/?sig=***",
                "GITHUB_TOKEN=***",
                "--monkey=banana",
            ])
        );
        let secrets = argument_secrets(&arguments);
        for secret in ["K1-aaaa", "T2-bbbb", "Bearer B3-cccc", "B3-cccc", "S4-dddd", "G5-eeee"] {
            assert!(secrets.iter().any(|found| found == secret), "{secret} in {secrets:?}");
        }
        assert_eq!(secrets.iter().filter(|secret| secret.contains("banana")).count(), 0);
    }

    #[test]
    fn errors_are_masked_everywhere() {
        let error = Error::config("bad s3cr3t-AAA").with_hint("use s3cr3t-AAA").with_context("stderr", "s3cr3t-AAA");
        let shown = format!("{:?}", Redactor::new(["s3cr3t-AAA"]).error(error));
        assert!(!shown.contains("AAA"), "{shown}");
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

        #[test]
        fn masking_a_url_never_panics(url in ".*", tail in "[a-z:/?#&=@;é]*") {
            let _ = mask_url(&url);
            let both = format!("http://{tail}");
            let _ = mask_url(&both);
            let _ = url_secrets(&both);
            let _ = mask_arguments(&[url, both]);
        }
    }
}
