//! Which URLs are used at all: `https`, or `http` on this machine.

use url::{Host, Url};

use crate::error::{Error, ErrorKind, Result};
use crate::redact::mask_url;

/// The URL, if it may be used as `what`.
pub(super) fn checked(url: &str, what: &str) -> Result<Url> {
    let wrong = |why: &str| {
        let message = format!("The {what} {:?} can't be used: {why}", mask_url(url));
        Error::new(ErrorKind::Auth, message).with_context("stage", "address")
    };
    let parsed = Url::parse(url).map_err(|error| wrong(&error.to_string()))?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(wrong("it holds a login"));
    }
    match parsed.scheme() {
        "https" => Ok(parsed),
        "http" if is_loopback(&parsed) => Ok(parsed),
        "http" => Err(wrong("it is http, and not on this machine")),
        _ => Err(wrong("it is neither https nor, on this machine, http")),
    }
}

/// Whether a URL names this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Scheme, host and port.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The well-known place of metadata: between the origin and the path (RFC 8615, RFC 8414, RFC 9728).
pub(super) fn inserted(url: &Url, name: &str) -> String {
    format!("{}/.well-known/{name}{}", origin(url), url.path().trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_are_used() {
        for good in
            ["https://h/a", "http://localhost:1/a", "http://127.0.0.1/a", "http://[::1]:2/", "http://a.localhost"]
        {
            assert!(checked(good, "URL").is_ok(), "{good}");
        }
        for bad in [
            "http://h/a",
            "ftp://h",
            "file:///etc/passwd",
            "h/a",
            "https://u:pw-BBB@h/",
            "http://10.0.0.1",
            "javascript:x",
        ] {
            let error = checked(bad, "URL").unwrap_err();
            assert!(!error.message().contains("pw-BBB"), "{error}");
        }
    }

    #[test]
    fn the_well_known_place_is_between_origin_and_path() {
        let at = |url: &str| inserted(&Url::parse(url).unwrap(), "x");
        assert_eq!(at("https://h"), "https://h/.well-known/x");
        assert_eq!(at("https://h:1/a/b/?q#f"), "https://h:1/.well-known/x/a/b");
    }
}
