//! Where a server is and what every request to it carries, everything resolved.

use std::fmt;
use std::path::PathBuf;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};

use crate::auth::{Pause, SharedAuthorizer};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::{Redactor, Secret, mask_url};

/// How to reach a server over HTTP.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) proxies: Proxies,
    /// A file of certificates to trust beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// Who lets requests in, where somebody has to.
    pub(crate) authorizer: Option<SharedAuthorizer>,
    /// Knows the server's secrets, and learns its tokens.
    pub(crate) redactor: Redactor,
}

/// The proxies that the environment asks for, as it writes them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proxies {
    pub(crate) http: Option<Secret>,
    pub(crate) https: Option<Secret>,
    /// Hosts that are reached directly.
    pub(crate) none: Option<String>,
}

impl Endpoint {
    /// An endpoint at `url` that sends these headers.
    pub(crate) fn new(url: &str, headers: &[(String, Secret)]) -> Result<Self> {
        let mut url = parse(url)?;
        let mut map = HeaderMap::with_capacity(headers.len() + 8);
        if let Some(login) = take_login(&mut url) {
            map.insert(hyper::header::AUTHORIZATION, login);
        }
        for (name, value) in headers {
            let (name, value) = header(name, value.expose())?;
            match name {
                hyper::header::AUTHORIZATION => drop(map.insert(name, value)), // there can be one
                name => drop(map.append(name, value)),
            }
        }
        let (proxies, redactor) = (Proxies::default(), Redactor::default());
        Ok(Self { url, headers: map, proxies, ca_file: None, authorizer: None, redactor })
    }

    /// Whether its headers let requests in: those of an entry, or a login in the URL.
    #[cfg(feature = "oauth")]
    pub(crate) fn has_login(&self) -> bool {
        self.headers.contains_key(hyper::header::AUTHORIZATION)
    }

    /// Stands still while somebody logs in.
    pub(crate) fn pause(&self) -> Pause {
        self.authorizer.as_ref().and_then(|authorizer| authorizer.0.pause()).cloned().unwrap_or_default()
    }

    /// The URL without secrets, for people.
    pub(super) fn shown(&self) -> String {
        mask_url(self.url.as_str())
    }
}

fn parse(text: &str) -> Result<Url> {
    let wrong = |why: &str| {
        Error::new(ErrorKind::Config, format!("The URL {} can't be used: {why}", mask_url(text)))
            .with_hint("A URL looks like https://example.com/mcp")
    };
    let mut url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it has to begin with http:// or https://"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// A login in the URL belongs into a header.
fn take_login(url: &mut Url) -> Option<HeaderValue> {
    use base64::Engine as _;
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decoded = |text: &str| percent_decoded(text.as_bytes());
    let mut login = decoded(url.username());
    login.push(b':');
    login.extend(decoded(url.password().unwrap_or_default()));
    let _ = (url.set_username(""), url.set_password(None)); // an http URL can do without
    let text = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(login));
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let code = text.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.filter(|_| text[at] == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(text[at]);
                at += 1;
            }
        }
    }
    out
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let wrong = |why: &str| Error::new(ErrorKind::Config, format!("The header {name:?} can't be sent: {why}"));
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("no header can have this name"))?;
    let mut value = HeaderValue::from_bytes(value.trim().as_bytes())
        .map_err(|_| wrong("its value holds a line break or another control character"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Where requests go: what must not change unnoticed, since credentials go there.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) tls: bool,
    pub(super) host: Host<String>,
    pub(super) port: u16,
}

impl Origin {
    pub(super) fn of(url: &Url) -> Option<Self> {
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        Some(Self { tls, host: url.host()?.to_owned(), port: url.port_or_known_default()? })
    }

    pub(super) fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Domain(name) => {
                let name = name.trim_end_matches('.');
                name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
            }
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => {
                address.is_loopback() || address.to_ipv4_mapped().is_some_and(|mapped| mapped.is_loopback())
            }
        }
    }

    /// Host and port as a `Host` header has them.
    pub(super) fn authority(&self) -> String {
        let default = if self.tls { 443 } else { 80 };
        if self.port == default { self.host.to_string() } else { format!("{}:{}", self.host, self.port) }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(url: &str) -> Origin {
        Origin::of(&Url::parse(url).unwrap()).unwrap()
    }

    #[test]
    fn origins_are_scheme_host_and_port() {
        assert!(origin("http://h/a") == origin("http://H:80/b?c"));
        for other in ["https://h/a", "http://h:81/a", "http://i/a"] {
            assert!(origin("http://h/a") != origin(other), "{other}");
        }
        assert_eq!(origin("https://[::1]:444/x").to_string(), "https://[::1]:444");
        assert!(Origin::of(&Url::parse("file:///etc/passwd").unwrap()).is_none());
    }

    #[test]
    fn loopback_is_known_however_it_is_written() {
        for near in ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]"] {
            assert!(origin(&format!("http://{near}/")).is_loopback(), "{near}");
        }
        for far in ["example.com", "localhost.example.com", "10.0.0.1", "[::2]"] {
            assert!(!origin(&format!("http://{far}/")).is_loopback(), "{far}");
        }
    }

    #[test]
    fn a_login_in_the_url_becomes_a_header() {
        let endpoint = Endpoint::new("http://us%65r:p%3Aw@h/mcp#part", &[]).unwrap();
        assert_eq!(endpoint.url.as_str(), "http://h/mcp");
        assert_eq!(endpoint.headers[hyper::header::AUTHORIZATION], "Basic dXNlcjpwOnc=");
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        for (url, why) in
            [("ws://h", "begin with"), ("http://", "empty host"), ("h/mcp", "relative"), ("http://h:99999", "port")]
        {
            let error = Endpoint::new(url, &[]).err().unwrap();
            assert!(error.message().contains(why), "{error}");
        }
        let headers = [("X-A".to_owned(), Secret::new("a\r\nX-B: c"))];
        let error = Endpoint::new("http://h", &headers).err().unwrap();
        assert!(error.message().contains("X-A") && !error.message().contains("X-B"), "{error}");
    }
}
