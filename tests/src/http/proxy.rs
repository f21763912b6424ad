//! `Proxy`: stands between a client and a server and passes bytes on, badly where it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What is done to connections. Changes hold for those that are open too.
#[derive(Debug, Clone, Default)]
struct Faults {
    /// Connections opened before this count are over.
    cut: usize,
    reset: bool,
    refuse: bool,
    hold: bool,
    cut_after: Option<usize>,
    piece: Option<usize>,
    gather: Option<usize>,
    delay: Duration,
}

#[derive(Debug)]
struct Shared {
    faults: watch::Sender<Faults>,
    opened: watch::Sender<usize>,
    over: watch::Sender<bool>,
}

/// A proxy for TCP. It ends with the value, and its connections with it.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// A proxy before this server.
    pub fn to(server: SocketAddr) -> Proxy {
        let shared = Arc::new(Shared {
            faults: watch::Sender::default(),
            opened: watch::Sender::default(),
            over: watch::Sender::default(),
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let thread = std::thread::spawn({
            let shared = shared.clone();
            move || run(listener, server, &shared)
        });
        Proxy { shared, address, thread: Some(thread) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same address, by way of this proxy.
    pub fn via(&self, url: &str) -> String {
        let (scheme, rest) = url.split_once("://").expect("a whole address");
        let path = rest.find('/').map_or("", |at| &rest[at..]);
        format!("{scheme}://{}{path}", self.address)
    }

    /// How many connections came.
    pub fn connections(&self) -> usize {
        *self.shared.opened.borrow()
    }

    fn set(&self, change: impl FnOnce(&mut Faults)) {
        self.shared.faults.send_modify(change);
    }

    /// Closes every connection there is.
    pub fn cut(&self) {
        let opened = self.connections();
        self.set(|faults| (faults.cut, faults.reset) = (opened, false));
    }

    /// Resets every connection there is.
    pub fn reset(&self) {
        let opened = self.connections();
        self.set(|faults| (faults.cut, faults.reset) = (opened, true));
    }

    /// Closes each connection once this many bytes of the server have passed on it.
    pub fn cut_after(&self, bytes: impl Into<Option<usize>>) {
        let bytes = bytes.into();
        self.set(|faults| faults.cut_after = bytes);
    }

    /// Closes new connections at once, or no longer does.
    pub fn refuse(&self, refuse: bool) {
        self.set(|faults| faults.refuse = refuse);
    }

    /// Keeps back what the server says, until it is told otherwise.
    pub fn hold(&self, hold: bool) {
        self.set(|faults| faults.hold = hold);
    }

    /// Passes on what the server says in pieces of at most so many bytes.
    pub fn pieces(&self, bytes: usize) {
        self.set(|faults| faults.piece = Some(bytes));
    }

    /// Passes on what the server says once so many bytes have gathered, or its connection ends.
    pub fn gather(&self, bytes: usize) {
        self.set(|faults| faults.gather = Some(bytes));
    }

    /// Passes on everything so much later.
    pub fn delay(&self, delay: Duration) {
        self.set(|faults| faults.delay = delay);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.over.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // the test has failed by then
        }
    }
}

fn run(listener: std::net::TcpListener, server: SocketAddr, shared: &Arc<Shared>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a listener that doesn't block");
        let listener = TcpListener::from_std(listener).expect("a listener");
        let mut over = shared.over.subscribe();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let (client, _) = accepted.expect("a connection");
                    shared.opened.send_modify(|opened| *opened += 1);
                    let number = *shared.opened.borrow();
                    let faults = shared.faults.subscribe();
                    if !faults.borrow().refuse {
                        tokio::spawn(pass(client, server, faults, number));
                    }
                }
                _ = over.wait_for(|over| *over) => return,
            }
        }
    });
}

async fn pass(client: TcpStream, server: SocketAddr, mut faults: watch::Receiver<Faults>, number: usize) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let sockets: Vec<_> = [&client, &server].map(|stream| std::os::fd::AsFd::as_fd(stream).try_clone_to_owned()).into();
    let ((from_client, to_client), (from_server, to_server)) = (split(client), split(server));
    tokio::select! {
        () = upwards(from_client, to_server, faults.clone()) => {}
        () = downwards(from_server, to_client, faults.clone()) => {}
        _ = faults.wait_for(|faults| faults.cut >= number) => {}
    }
    if faults.borrow().reset && faults.borrow().cut >= number {
        for socket in sockets.into_iter().flatten() {
            let _ = set_socket_linger(&socket, Some(Duration::ZERO)); // it may be gone
        }
    }
}

/// Halves that say nothing when they are dropped.
fn split(stream: TcpStream) -> (ReadHalf<TcpStream>, WriteHalf<TcpStream>) {
    let _ = stream.set_nodelay(true); // it may be gone
    tokio::io::split(stream)
}

async fn upwards(mut from: ReadHalf<TcpStream>, mut to: WriteHalf<TcpStream>, faults: watch::Receiver<Faults>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let delay = faults.borrow().delay;
        tokio::time::sleep(delay).await;
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

async fn downwards(mut from: ReadHalf<TcpStream>, mut to: WriteHalf<TcpStream>, mut faults: watch::Receiver<Faults>) {
    let (mut waiting, mut passed, mut ended) = (Vec::new(), 0, false);
    while !ended {
        ended = !matches!(from.read_buf(&mut waiting).await, Ok(1..));
        let Ok(now) = faults.wait_for(|faults| !faults.hold).await.map(|faults| faults.clone()) else { return };
        if !ended && now.gather.is_some_and(|least| waiting.len() < least) {
            continue;
        }
        tokio::time::sleep(now.delay).await;
        let left = now.cut_after.map_or(usize::MAX, |most| most.saturating_sub(passed));
        let whole: Vec<u8> = waiting.drain(..).take(left).collect();
        for piece in whole.chunks(now.piece.unwrap_or(usize::MAX).max(1)) {
            if to.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        passed += whole.len();
        ended |= now.cut_after.is_some_and(|most| passed >= most);
    }
}
