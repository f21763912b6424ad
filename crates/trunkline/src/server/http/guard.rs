//! Who may ask: the guard against DNS rebinding. A page of another site reaches this server only under a foreign
//! `Host` or with its own `Origin`; both are refused before anything else is looked at (MCP specification,
//! Transports, Security Warning).

use std::net::SocketAddr;

use hyper::header::{HOST, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Uri};

/// The hosts under which this server answers.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    /// Whether any host and origin will do.
    pub(super) open: bool,
    /// `example.com` stands for every port, `example.com:8080` for one.
    pub(super) hosts: Vec<String>,
    /// `https://app.example.com`, exactly as browsers send it.
    pub(super) origins: Vec<String>,
    loopback: bool,
}

impl Guard {
    /// The guard of a server that listens there. On a loopback address this machine's own names are allowed.
    pub(super) fn listening(mut self, address: SocketAddr) -> Self {
        self.loopback = address.ip().is_loopback();
        self
    }

    /// Whether anybody at all may ask.
    pub(super) fn is_set(&self) -> bool {
        self.open || self.loopback || !self.hosts.is_empty()
    }

    /// Why a request is refused, if it is.
    pub(super) fn refuses(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        if self.open {
            return None;
        }
        let named = headers.get(HOST).and_then(|host| host.to_str().ok());
        let named = named.into_iter().chain(uri.authority().map(|authority| authority.as_str()));
        if !named.clone().all(|host| self.knows(host)) || named.count() == 0 {
            return Some("This server doesn't answer under the host that was asked for");
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        (!origins.all(|origin| self.trusts(origin))).then_some("Requests from this origin are not allowed")
    }

    fn knows(&self, host: &str) -> bool {
        let (name, _) = split_port(host);
        let listed = |entry: &String| {
            let wanted = if split_port(entry).1.is_some() { host } else { name };
            entry.eq_ignore_ascii_case(wanted)
        };
        (self.loopback && is_loopback(name)) || self.hosts.iter().any(listed)
    }

    fn trusts(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let own = self.loopback && host.is_some_and(|host| is_loopback(split_port(host).0));
        own || self.origins.iter().any(|entry| entry.eq_ignore_ascii_case(origin))
    }
}

/// A host and its port. The brackets of an IPv6 address stay.
fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => {
            (name, Some(port))
        }
        _ => (host, None),
    }
}

fn is_loopback(name: &str) -> bool {
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(guard: &Guard, host: &str, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
        }
        guard.refuses(&Uri::from_static("/mcp"), &headers).is_none()
    }

    #[test]
    fn on_loopback_only_this_machine_may_ask() {
        let guard = Guard::default().listening("127.0.0.1:8000".parse().unwrap());
        for host in ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000", "[::1]", "127.1.2.3"] {
            assert!(asked(&guard, host, None), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "", "::", "[::2]"]
        {
            assert!(!asked(&guard, host, None), "{host}");
        }
        for (origin, allowed) in [
            ("http://localhost:6274", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:3", true),
            ("http://evil.example", false),
            ("null", false),
            ("file://", false),
            ("http://localhost.evil.example", false),
        ] {
            assert_eq!(asked(&guard, "localhost", Some(origin)), allowed, "{origin}");
        }
    }

    #[test]
    fn elsewhere_only_what_is_listed() {
        let mut guard = Guard::default().listening("0.0.0.0:80".parse().unwrap());
        assert!(!guard.is_set());
        guard.hosts = vec!["mcp.example".into(), "other.example:81".into()];
        guard.origins = vec!["https://app.example".into()];
        for (host, allowed) in [
            ("mcp.example", true),
            ("MCP.example:9", true),
            ("other.example:81", true),
            ("other.example", false),
            ("other.example:82", false),
            ("localhost", false),
        ] {
            assert_eq!(asked(&guard, host, None), allowed, "{host}");
        }
        assert!(asked(&guard, "mcp.example", Some("https://app.example")));
        assert!(!asked(&guard, "mcp.example", Some("http://app.example")));
        assert!(!asked(&guard, "mcp.example", Some("http://localhost")));
    }

    #[test]
    fn the_authority_of_the_request_line_counts_too() {
        let guard = Guard::default().listening("127.0.0.1:8000".parse().unwrap());
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        assert!(guard.refuses(&Uri::from_static("http://evil.example/mcp"), &headers).is_some());
        assert!(guard.refuses(&Uri::from_static("http://localhost/mcp"), &headers).is_none());
        assert!(guard.refuses(&Uri::from_static("/mcp"), &HeaderMap::new()).is_some());
    }
}
