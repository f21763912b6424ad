//! `ForwardProxy`: the proxy that `HTTP_PROXY` and `HTTPS_PROXY` name. Tunnels with CONNECT, passes plain requests on,
//! and remembers what it was asked for.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::log::HttpLog;
use super::reader::Reader;
use super::request::HttpRequest;

/// A forward proxy. It ends with the value.
#[derive(Debug)]
pub struct ForwardProxy {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Names that only this proxy knows.
    hosts: HashMap<String, SocketAddr>,
    /// What `Proxy-Authorization` has to be.
    credentials: Option<String>,
    log: HttpLog,
    over: watch::Sender<bool>,
}

impl ForwardProxy {
    /// A proxy that knows these names (`host:port`) beside all addresses.
    pub fn start<const N: usize>(hosts: [(&str, SocketAddr); N]) -> ForwardProxy {
        ForwardProxy::start_with(hosts, None)
    }

    /// One that asks for this value of `Proxy-Authorization`.
    pub fn start_guarded<const N: usize>(hosts: [(&str, SocketAddr); N], credentials: &str) -> ForwardProxy {
        ForwardProxy::start_with(hosts, Some(credentials.to_owned()))
    }

    fn start_with<const N: usize>(hosts: [(&str, SocketAddr); N], credentials: Option<String>) -> ForwardProxy {
        let hosts = hosts.map(|(name, address)| (name.to_owned(), address)).into();
        let shared = Arc::new(Shared { hosts, credentials, log: HttpLog::new(), over: watch::Sender::new(false) });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let thread = std::thread::spawn({
            let shared = shared.clone();
            move || run(listener, &shared)
        });
        ForwardProxy { shared, address, thread: Some(thread) }
    }

    /// What the proxy variables are set to.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests that came, as they came.
    pub fn log(&self) -> HttpLog {
        self.shared.log.clone()
    }

    /// What was asked for: `CONNECT host:port`, `POST http://host/path`.
    pub fn targets(&self) -> Vec<String> {
        let requests = self.shared.log.requests();
        requests.iter().map(|request| format!("{} {}", request.method, request.target)).collect()
    }
}

impl Drop for ForwardProxy {
    fn drop(&mut self) {
        self.shared.over.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // the test has failed by then
        }
    }
}

fn run(listener: std::net::TcpListener, shared: &Arc<Shared>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a listener that doesn't block");
        let listener = TcpListener::from_std(listener).expect("a listener");
        let mut over = shared.over.subscribe();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let (client, _) = accepted.expect("a connection");
                    let shared = shared.clone();
                    tokio::spawn(async move { serve(client, &shared).await });
                }
                _ = over.wait_for(|over| *over) => return,
            }
        }
    });
}

async fn serve(mut client: TcpStream, shared: &Shared) {
    let number = shared.log.opened();
    let mut reader = Reader::default();
    let Some(request) = reader.next(&mut client, number).await else { return };
    shared.log.note(&request);
    if shared.credentials.is_some() && request.header("proxy-authorization") != shared.credentials.as_deref() {
        let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"test\"\r\nContent-Length: 0\r\n\r\n";
        let _ = client.write_all(refusal.as_bytes()).await; // it may be gone
        return;
    }
    let (host, first) = match request.method.as_str() {
        "CONNECT" => (request.target.clone(), reader.rest()),
        _ => match onwards(&request) {
            Some(onwards) => onwards,
            None => return,
        },
    };
    let Some(mut server) = shared.reach(&host).await else {
        let _ = client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").await; // it may be gone
        return;
    };
    let greeting: &[u8] = match request.method.as_str() {
        "CONNECT" => b"HTTP/1.1 200 Connection established\r\n\r\n",
        _ => b"",
    };
    if client.write_all(greeting).await.is_ok() && server.write_all(&first).await.is_ok() {
        let _ = copy_bidirectional(&mut client, &mut server).await; // either may go at any time
    }
}

impl Shared {
    async fn reach(&self, host: &str) -> Option<TcpStream> {
        match self.hosts.get(host) {
            Some(address) => TcpStream::connect(address).await.ok(),
            None => TcpStream::connect(host).await.ok(),
        }
    }
}

/// The host of a plain request, and the request as that host wants it, alone on its connection.
fn onwards(request: &HttpRequest) -> Option<(String, Vec<u8>)> {
    let rest = request.target.strip_prefix("http://")?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut head =
        format!("{} {} HTTP/1.1\r\nConnection: close\r\n", request.method, if path.is_empty() { "/" } else { path });
    let own = ["connection", "proxy-authorization", "proxy-connection", "transfer-encoding", "content-length"];
    for (name, value) in request.headers.iter().filter(|(name, _)| !own.contains(&name.as_str())) {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", request.body.len());
    let host = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    Some((host, [head.as_bytes(), &request.body].concat()))
}
