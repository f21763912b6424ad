//! The proxy on the way to an origin, if the environment names one, and the tunnel through it.

use hyper::header::HeaderValue;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::connect::{passed, reason, unbracketed};
use super::endpoint::{Endpoint, Origin};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::mask_url;

/// How much a proxy may answer to CONNECT.
const MAX_PROXY_ANSWER: usize = 16 << 10;

/// What to do where a proxy wants to know who asks.
pub(super) const PROXY_LOGIN: &str =
    "Put user and password into the proxy's URL (HTTP_PROXY, HTTPS_PROXY): http://user:password@host";

/// A proxy.
pub(super) struct Proxy {
    pub(super) host: String,
    pub(super) port: u16,
    /// For people: without its login.
    pub(super) shown: String,
    pub(super) login: Option<HeaderValue>,
}

/// The proxy for an endpoint.
pub(super) fn proxy_for(endpoint: &Endpoint) -> Result<Option<Proxy>> {
    let proxies = &endpoint.proxies;
    let text = |secret: &Option<crate::redact::Secret>| secret.as_ref().map_or("", |secret| secret.expose()).to_owned();
    let matcher = Matcher::builder()
        .http(text(&proxies.http))
        .https(text(&proxies.https))
        .no(proxies.none.clone().unwrap_or_default())
        .build();
    let Ok(uri) = endpoint.url.as_str().parse() else { return Ok(None) };
    let Some(found) = matcher.intercept(&uri) else { return Ok(None) };
    let shown = mask_url(&found.uri().to_string());
    let url = Url::parse(&found.uri().to_string()).ok().filter(|url| url.scheme() == "http");
    let Some((host, port)) = url.as_ref().and_then(|url| Some((url.host()?.to_owned(), url.port().unwrap_or(80))))
    else {
        return Err(Error::config(format!("The proxy {shown} can't be used: only http:// proxies can")).with_hint(
            "It comes from the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY); NO_PROXY lists hosts without",
        ));
    };
    Ok(Some(Proxy { host: unbracketed(&host), port, shown, login: found.basic_auth().cloned() }))
}

/// Asks a proxy for a tunnel to the origin.
pub(super) async fn tunnel(tcp: &mut TcpStream, proxy: &Proxy, origin: &Origin) -> Result<()> {
    let failed = |why: String| {
        let message = format!("The proxy {} gives no tunnel to {origin}: {why}", proxy.shown);
        Error::new(ErrorKind::Unreachable, message).with_context("stage", "proxy")
    };
    let target = format!("{}:{}", origin.host, origin.port);
    let mut ask = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
    if let Some(login) = &proxy.login {
        ask.extend_from_slice(b"Proxy-Authorization: ");
        ask.extend_from_slice(login.as_bytes());
        ask.extend_from_slice(b"\r\n");
    }
    ask.extend_from_slice(b"\r\n");
    tcp.write_all(&ask).await.map_err(|error| failed(reason(&error)))?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        // byte by byte: what follows belongs to the tunnel
        let byte = tcp.read_u8().await.map_err(|error| failed(reason(&error)))?;
        answer.push(byte);
        if answer.len() > MAX_PROXY_ANSWER {
            return Err(failed("its answer has no end".to_owned()));
        }
    }
    let status = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
    match status.split(' ').nth(1) {
        Some(code) if code.starts_with('2') => {
            passed("proxy", &proxy.shown);
            Ok(())
        }
        Some("407") => Err(failed(status).with_hint(PROXY_LOGIN)),
        _ => Err(failed(status)),
    }
}
