//! What is secret in a server's set-up: its headers, variables, arguments and URL. Finding those values in
//! text is left to the parent module.

use std::ops::Range;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::{mask, percent_decode};

/// Headers that say nothing secret; the values of all others are masked.
#[rustfmt::skip]
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
#[rustfmt::skip]
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
#[rustfmt::skip]
const TELLING: &[&str] =
    &["token", "secret", "password", "passwd", "apikey", "accesskey", "privatekey", "credential", "authorization"];

fn is_telling(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    name == "key" || name == "auth" || name == "pat" || TELLING.iter().any(|word| name.ends_with(word))
}

/// Whether the name of a variable announces a secret, among variables of which most are about something else.
pub(crate) fn is_telling_variable(name: &str) -> bool {
    is_telling(name) || name.rfind('_').is_some_and(|at| is_telling(&name[at + 1..]))
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
    let separator = argument.find(['=', ':']).filter(|&found| is_telling(&argument[..found]));
    let start = match separator {
        _ if announced && !argument.starts_with('-') => Some(0),
        Some(found) => Some(argument.len() - argument[found + 1..].trim_start().len()),
        None => None,
    };
    if let Some(start) = start {
        return std::iter::once(start..argument.len()).filter(|value| !value.is_empty()).collect();
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
    fn headers_and_variables_are_secret_unless_known_to_be_plain() {
        assert_eq!(header_secrets("Authorization", "Bearer s3cr3t-AAA"), ["Bearer s3cr3t-AAA", "s3cr3t-AAA"]);
        assert!(header_secrets("Content-Type", "text/plain").is_empty());
        assert_eq!(env_secrets("TOKEN", "ENV-DDD"), Some("ENV-DDD"));
        assert_eq!(env_secrets("PATH", "/bin"), None);
        assert_eq!(env_secrets("LC_ALL", "C.UTF-8"), None);
        let telling = ["GITHUB_TOKEN", "API_KEY", "STRIPE_KEY", "DB_PASSWORD", "GH_PAT", "AWS_SECRET_ACCESS_KEY"];
        assert!(telling.into_iter().all(is_telling_variable));
        assert!(!["_", "SHLVL", "OLDPWD", "SSH_AUTH_SOCK", "MONKEY", "LS_COLORS"].into_iter().any(is_telling_variable));
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

    proptest! {
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
