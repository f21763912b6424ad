//! `HttpFake`: a fake that runs, on a thread of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::connection;
use super::event::Event;
use super::log::HttpLog;
use super::state::{Pushed, State};

/// A fake that runs. It ends with the value.
pub struct HttpFake {
    state: Arc<State>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl HttpFake {
    pub(crate) fn start(state: State) -> HttpFake {
        let state = Arc::new(state);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let thread = std::thread::spawn({
            let state = state.clone();
            move || run(listener, &state)
        });
        HttpFake { state, address, thread: Some(thread) }
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its origin, such as `http://127.0.0.1:4711`.
    pub fn origin(&self) -> String {
        format!("{}://{}", if self.state.tls.is_some() { "https" } else { "http" }, self.address)
    }

    /// The address that a client is given.
    pub fn url(&self) -> String {
        let path = if self.state.script.legacy { "/sse" } else { "/mcp" };
        self.origin() + path
    }

    /// What it saw.
    pub fn log(&self) -> HttpLog {
        self.state.log.clone()
    }

    /// The sessions that are known.
    pub fn sessions(&self) -> Vec<String> {
        self.state.sessions()
    }

    /// Forgets all sessions, as a server does that was started anew.
    pub fn forget_sessions(&self) {
        self.state.forget_sessions();
    }

    /// Sends an event on the streams that listen; kept for the first one where there is none yet.
    pub fn push(&self, event: Event) {
        self.state.push(event.text());
    }

    /// Ends the streams that listen, in order.
    pub fn end_streams(&self) {
        let _ = self.state.pushed.send(Pushed::End); // none listens
    }

    /// Sets a variable, for [`HttpMatch::when`](super::HttpMatch::when).
    pub fn set(&self, name: &str, value: &str) {
        self.state.set(name, value);
    }
}

impl Drop for HttpFake {
    fn drop(&mut self) {
        self.state.over.send_replace(true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the fake has failed");
        }
    }
}

fn run(listener: std::net::TcpListener, state: &Arc<State>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a listener that doesn't block");
        let listener = TcpListener::from_std(listener).expect("a listener");
        let mut over = state.over.subscribe();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let (stream, _) = accepted.expect("a connection");
                    let state = state.clone();
                    connections.spawn(async move { connection::serve(stream, &state).await.expect("a socket") });
                }
                Some(ended) = connections.join_next() => ended.expect("the script to make sense"),
                _ = over.wait_for(|over| *over) => return,
            }
        }
    });
}
