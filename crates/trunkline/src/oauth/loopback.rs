//! The way back from the browser: a listener on the loopback interface that takes one redirect (RFC 8252, section 7.3).
//! What comes is read here and judged elsewhere; of it, nothing is shown in the browser.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, OnceCell};

use super::consent::{Consent, ConsentRequest, Redirect};
use crate::error::{Error, ErrorKind, Result};

const PATH: &str = "/callback";
/// More than any redirect takes; a browser adds its own headers.
const LONGEST_HEAD: usize = 64 << 10;
/// Browsers open connections that they never use.
const MOST_CONNECTIONS: usize = 32;
/// How long one connection may take to say what it wants, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(10);

type Show = dyn Fn(&ConsentRequest) + Send + Sync;

/// Asks a person by their browser: shows the address in a way of the program's own, and waits on 127.0.0.1 for the browser
/// to come back (RFC 8252, section 7.3). Only the redirect of the login that is asked for is taken; strangers, and pages that
/// reach this port under another name, are turned away.
///
/// ```no_run
/// use trunkline::{Client, Loopback, OAuth};
///
/// let person = Loopback::new(|request| eprintln!("To log in to {}, open {}", request.server(), request.url()));
/// let client = Client::http("https://example.com/mcp").oauth(OAuth::new().person(person)).build()?;
/// # Ok::<(), trunkline::Error>(())
/// ```
pub struct Loopback {
    show: Box<Show>,
    port: u16,
    /// Opened when it is first needed, and the same from then on: clients are registered with its address.
    listener: OnceCell<Listener>,
    /// One question at a time.
    asking: Mutex<()>,
}

impl Loopback {
    /// Shows addresses by this.
    pub fn new(show: impl Fn(&ConsentRequest) + Send + Sync + 'static) -> Self {
        let (listener, asking) = (OnceCell::new(), Mutex::new(()));
        Self { show: Box::new(show), port: 0, listener, asking }
    }

    /// Listens at this port: for clients that are registered with an address of their own. A free one by default.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    async fn listener(&self) -> Result<&Listener> {
        self.listener.get_or_try_init(|| Listener::open(self.port)).await
    }
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loopback").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Consent for Loopback {
    async fn redirect_uri(&self) -> Result<String> {
        Ok(self.listener().await?.redirect_uri())
    }

    async fn authorize(&self, request: &ConsentRequest) -> Result<Redirect> {
        let listener = self.listener().await?;
        let _asking = self.asking.lock().await;
        (self.show)(request);
        Ok(Redirect::new(listener.redirect(request.state()).await))
    }
}

/// A listener that waits for a redirect.
#[derive(Debug)]
struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens on 127.0.0.1, at a free port where `port` is 0.
    async fn open(port: u16) -> Result<Self> {
        let failed = |error: io::Error| {
            let message = format!("Can't listen on 127.0.0.1:{port} for the answer to the login: {error}");
            Error::new(ErrorKind::Auth, message).with_source(error)
        };
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { socket, address })
    }

    fn redirect_uri(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Waits for the redirect that carries this state, and gives its whole address. Whatever else comes is answered and
    /// forgotten.
    async fn redirect(&self, state: &str) -> String {
        let mut open = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.socket.accept(), if open.len() < MOST_CONNECTIONS => match accepted {
                    Ok((stream, _)) => open.push(tokio::time::timeout(PATIENCE, self.serve(stream, state))),
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await, // out of file descriptors, for one
                },
                Some(served) = open.next() => {
                    if let Ok(Ok(Some(redirect))) = served {
                        return redirect;
                    }
                }
            }
        }
    }

    /// Answers one connection; the redirect, if it was that.
    async fn serve(&self, mut stream: TcpStream, state: &str) -> io::Result<Option<String>> {
        let Some(head) = read_head(&mut stream).await? else {
            answer(&mut stream, "431 Request Header Fields Too Large", "That is too much.").await?;
            return Ok(None);
        };
        match self.target(&head, state) {
            Ok(target) => {
                // the page is of no consequence: the redirect has come
                let _ = answer(&mut stream, "200 OK", "The answer has arrived. You can close this window.").await;
                Ok(Some(format!("http://{}{target}", self.address)))
            }
            Err((status, text)) => {
                answer(&mut stream, status, text).await?;
                Ok(None)
            }
        }
    }

    /// The target of a request that is the redirect; else what to answer.
    fn target<'a>(&self, head: &'a str, state: &str) -> std::result::Result<&'a str, (&'static str, &'static str)> {
        let bad = ("400 Bad Request", "That is no request.");
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(_), None) = (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(bad);
        };
        let host = |line: &'a str| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        let mut hosts = lines.filter_map(host).map(|(_, value)| value.trim());
        // a page of a stranger reaches this port under the stranger's own name (DNS rebinding)
        let ours =
            |host: &str| host == self.address.to_string() || host == format!("localhost:{}", self.address.port());
        if !matches!((hosts.next(), hosts.next()), (Some(host), None) if ours(host)) {
            return Err(("421 Misdirected Request", "Nothing of that name is here."));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if path != PATH {
            return Err(("404 Not Found", "There is nothing here."));
        }
        if method != "GET" {
            return Err(("405 Method Not Allowed", "Only GET will do."));
        }
        let given: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == "state").collect();
        match given.as_slice() {
            [(_, given)] if given == state => Ok(target),
            _ => Err(("400 Bad Request", "This is not the login that is waited for. Start it again in the terminal.")),
        }
    }
}

/// The head of a request; none where it is too long.
async fn read_head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while memchr::memmem::find(&head, b"\r\n\r\n").is_none() {
        if head.len() >= LONGEST_HEAD {
            return Ok(None);
        }
        if stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Trunkline</title>\
         <body style=\"font: 1.2em sans-serif; margin: 4em\"><p>{text}</p></html>\n"
    );
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n",
        page.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(page.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = "the-right-state";

    async fn ask(port: &str, request: &str) -> String {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await; // what is refused unread may end in a reset
        String::from_utf8(answer).unwrap()
    }

    fn port(listener: &Listener) -> String {
        listener.address.port().to_string()
    }

    #[tokio::test]
    async fn only_the_redirect_that_is_waited_for_is_taken() {
        let listener = Listener::open(0).await.unwrap();
        let port = port(&listener);
        let good = format!("GET /callback?code=c%3D1&state={STATE} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        let waiting = tokio::spawn(async move { listener.redirect(STATE).await });
        let _silent = TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap(); // browsers do that
        for (from, to, status) in [
            ("", "", "HTTP/1.1 431"), // stands for a head without an end
            ("/callback", "/favicon.ico", "HTTP/1.1 404"),
            (STATE, "another-state", "HTTP/1.1 400"),
            ("&state=", "&no=", "HTTP/1.1 400"),
            ("&state=", "&state=x&state=", "HTTP/1.1 400"),
            ("GET", "POST", "HTTP/1.1 405"),
            ("Host: 127.0.0.1:", "Host: evil.example:", "HTTP/1.1 421"),
            ("Host: 127.0.0.1:", "Host: 127.0.0.1.evil.example:", "HTTP/1.1 421"),
            ("Host", "X", "HTTP/1.1 421"),
            ("\r\nHost", "\r\nHost: x\r\nHost", "HTTP/1.1 421"),
            (" HTTP/1.1", "", "HTTP/1.1 400"),
        ] {
            let request = if from.is_empty() { "x".repeat(LONGEST_HEAD) } else { good.replacen(from, to, 1) };
            let answer = ask(&port, &request).await;
            assert!(answer.starts_with(status), "{from} -> {to}: {answer}");
            assert!(!waiting.is_finished());
        }
        let answer = ask(&port, &good).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("You can close this window"), "{answer}");
        assert!(!answer.contains("c%3D1") && !answer.contains(STATE), "{answer}");
        assert_eq!(waiting.await.unwrap(), format!("http://127.0.0.1:{port}/callback?code=c%3D1&state={STATE}"));
        assert!(TcpStream::connect(format!("127.0.0.1:{port}")).await.is_err(), "it listens no more");
    }

    #[tokio::test]
    async fn it_is_reached_by_the_name_of_this_machine_too() {
        let listener = Listener::open(0).await.unwrap();
        let port = port(&listener);
        let good = format!("GET /callback?error=x&state={STATE} HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n");
        let (redirect, answer) = tokio::join!(listener.redirect(STATE), ask(&port, &good));
        assert!(redirect.contains("error=x") && answer.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_told() {
        let taken = Listener::open(0).await.unwrap();
        let error = Listener::open(taken.address.port()).await.unwrap_err();
        assert!(error.message().contains(&taken.address.to_string()), "{error}");
    }
}
