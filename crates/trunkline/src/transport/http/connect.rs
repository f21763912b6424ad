//! From an origin to an open HTTP connection: name, TCP, proxy, TLS. Each stage is named in what goes wrong, and traced.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hyper::header::HeaderValue;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use url::Host;

use super::endpoint::{Endpoint, Origin};
use super::fetch::lock;
use super::proxy::{Proxy, proxy_for, tunnel};
use super::reach::Reach;
use super::tls;
use crate::error::{Error, ErrorKind, Result};

/// How long the next address waits for the one before it.
const HEAD_START: Duration = Duration::from_millis(250);
/// After so long without a sign of life, and then as often, the peer is asked for one.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A byte stream to a server or proxy.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The way to an origin.
pub(super) struct Route {
    pub(super) origin: Origin,
    proxy: Option<Proxy>,
    endpoint: Arc<Endpoint>,
    /// Which addresses may be connected to; any where it isn't said.
    reach: Option<Reach>,
    /// Whom a direct connection led to last.
    peer: Mutex<Option<IpAddr>>,
    /// How to speak TLS, once that was asked for.
    tls: OnceLock<Arc<ClientConfig>>,
}

impl Route {
    pub(super) fn new(endpoint: &Arc<Endpoint>) -> Result<Self> {
        let origin = Origin::of(&endpoint.url)
            .ok_or_else(|| Error::config(format!("The URL {} names no host", endpoint.shown())))?;
        let proxy = if origin.is_loopback() { None } else { proxy_for(endpoint)? };
        let (reach, peer, tls) = (None, Mutex::default(), OnceLock::new());
        Ok(Self { origin, proxy, endpoint: endpoint.clone(), reach, peer, tls })
    }

    /// The same, connecting to no other addresses than these.
    #[cfg(feature = "oauth")]
    pub(super) fn within(self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self }
    }

    /// Whom a direct connection led to last.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        *lock(&self.peer)
    }

    /// For requests that a proxy passes on one by one (that is, without TLS): its login, if it wants one.
    pub(super) fn relay(&self) -> Option<Option<&HeaderValue>> {
        self.proxy.as_ref().filter(|_| !self.origin.tls).map(|proxy| proxy.login.as_ref())
    }

    /// The proxy on the way, without its login.
    pub(super) fn shown_proxy(&self) -> Option<&str> {
        self.proxy.as_ref().map(|proxy| proxy.shown.as_str())
    }

    /// Opens a connection; whether it speaks HTTP/2.
    pub(super) async fn open(&self) -> Result<(Stream, bool)> {
        let (host, port) = match &self.proxy {
            Some(proxy) => (proxy.host.clone(), proxy.port),
            None => (unbracketed(&self.origin.host), self.origin.port),
        };
        let mut tcp = self.dial(&host, port).await?;
        if !self.origin.tls {
            return Ok((Stream::Plain(tcp), false));
        }
        if let Some(proxy) = &self.proxy {
            tunnel(&mut tcp, proxy, &self.origin).await?;
        }
        let stream = self.secure(tcp).await?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok((Stream::Tls(Box::new(stream)), http2))
    }

    async fn dial(&self, host: &str, port: u16) -> Result<TcpStream> {
        let failed = |stage: &'static str, why: String| {
            let via = self.proxy.as_ref().map_or(String::new(), |proxy| format!(" (the proxy {})", proxy.shown));
            let hint = match (stage, &self.proxy) {
                (_, Some(_)) => {
                    "The proxy comes from the environment (HTTP_PROXY, HTTPS_PROXY); NO_PROXY lists hosts without"
                }
                ("name", _) => "Check the host name in the URL, and that this machine is online",
                _ => "Is the server running, and is the port in the URL right?",
            };
            let what = if stage == "name" { "find" } else { "connect to" };
            Error::new(ErrorKind::Unreachable, format!("Can't {what} {host}:{port}{via}: {why}"))
                .with_hint(hint)
                .with_context("stage", stage)
        };
        let found = tokio::net::lookup_host((host, port)).await;
        let mut addresses: Vec<_> = found.map_err(|error| failed("name", reason(&error)))?.collect();
        passed("name", &host);
        if let Some(reach) = self.reach.filter(|_| self.proxy.is_none()) {
            addresses.retain(|address| reach.admits(address.ip()));
            if addresses.is_empty() {
                return Err(reach.refusal(host));
            }
        }
        let tcp = first_of(interleaved(addresses)).await.map_err(|error| failed("connect", reason(&error)))?;
        passed("connect", &tcp.peer_addr().map_or_else(|_| host.to_owned(), |address| address.to_string()));
        if self.proxy.is_none() {
            *lock(&self.peer) = tcp.peer_addr().ok().map(|address| address.ip());
        }
        let _ = tcp.set_nodelay(true); // slower without, not wrong
        let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
        let _ = socket2::SockRef::from(&tcp).set_tcp_keepalive(&keepalive); // a dead peer is noticed later
        Ok(tcp)
    }

    async fn secure(&self, tcp: TcpStream) -> Result<TlsStream<TcpStream>> {
        let config = match self.tls.get() {
            Some(config) => config.clone(),
            None => {
                let made = tls::config(self.endpoint.ca_file.as_deref())?;
                self.tls.get_or_init(|| made).clone()
            }
        };
        let failed = |why: String| {
            let error = Error::new(ErrorKind::Unreachable, format!("No TLS with {}: {why}", self.origin));
            error.with_context("stage", "TLS").with_hint(tls_hint(&why))
        };
        let name = unbracketed(&self.origin.host);
        let name = ServerName::try_from(name).map_err(|error| failed(error.to_string()))?;
        let stream = TlsConnector::from(config).connect(name, tcp).await.map_err(|error| failed(reason(&error)))?;
        let agreed = stream.get_ref().1;
        let protocol = agreed.alpn_protocol().map_or("http/1.1".into(), String::from_utf8_lossy);
        let version = agreed.protocol_version().and_then(|version| version.as_str()).unwrap_or("TLS");
        passed("TLS", &format_args!("{version}, {protocol}"));
        Ok(stream)
    }
}

/// Tells whoever follows how far a request has come.
pub(super) fn passed(stage: &'static str, detail: &dyn std::fmt::Display) {
    tracing::debug!(target: "trunkline::http", stage, %detail);
}

fn tls_hint(why: &str) -> &'static str {
    if why.contains("UnknownIssuer") || why.contains("unknown issuer") {
        "The server's certificate is signed by an authority this system doesn't trust: name its certificate with caFile \
         in the config (ca_file in code)"
    } else if why.contains("InvalidContentType") || why.contains("corrupt message") {
        "The server seems to speak plain HTTP there: try http:// in the URL"
    } else {
        "Check the server's certificate, and the host name in the URL"
    }
}

pub(super) fn unbracketed(host: &Host<String>) -> String {
    match host {
        Host::Domain(name) => name.clone(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    }
}

/// What an I/O error says, without its number.
pub(super) fn reason(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return "the connection was closed".to_owned(); // TLS says much more, for programmers
    }
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Alternates between the two families of addresses, so that a broken one costs little.
fn interleaved(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (one, other): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let longest = one.len().max(other.len());
    (0..longest).flat_map(|at| [one.get(at).copied(), other.get(at).copied()]).flatten().collect()
}

/// Tries the addresses, each with a head start before the next; the first that answers is taken.
async fn first_of(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut trying = FuturesUnordered::new();
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    let mut left = addresses.into_iter();
    loop {
        match left.next() {
            Some(address) => trying.push(TcpStream::connect(address)),
            None if trying.is_empty() => return Err(failure),
            None => {}
        }
        let more = left.len() > 0;
        loop {
            tokio::select! {
                tried = trying.next() => match tried {
                    Some(Ok(stream)) => return Ok(stream),
                    Some(Err(error)) => failure = error,
                    None => break,
                },
                () = tokio::time::sleep(HEAD_START), if more => break,
            }
            if more {
                break;
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
