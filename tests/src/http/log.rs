//! `HttpLog`: every request that came, and the connections they came on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::request::HttpRequest;
use crate::wait::limit;

/// What a fake saw. Clones are the same log.
#[derive(Debug, Clone)]
pub struct HttpLog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    seen: Mutex<Seen>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Vec<HttpRequest>,
    opened: usize,
    /// Connections that the client has closed.
    closed: Vec<usize>,
    refused: Vec<usize>,
    given_up: Vec<HttpRequest>,
}

impl HttpLog {
    pub(crate) fn new() -> HttpLog {
        HttpLog(Arc::new(Shared { seen: Mutex::default(), changes: watch::Sender::new(()) }))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a connection; its number.
    pub(crate) fn opened(&self) -> usize {
        let number = {
            let mut seen = self.seen();
            seen.opened += 1;
            seen.opened
        };
        self.0.changes.send_replace(());
        number
    }

    pub(crate) fn closed(&self, connection: usize) {
        self.seen().closed.push(connection);
        self.0.changes.send_replace(());
    }

    pub(crate) fn refused_tls(&self, connection: usize) {
        self.seen().refused.push(connection);
        self.closed(connection);
    }

    pub(crate) fn given_up_on(&self, request: &HttpRequest) {
        self.seen().given_up.push(request.clone());
        self.0.changes.send_replace(());
    }

    pub(crate) fn note(&self, request: &HttpRequest) {
        self.seen().requests.push(request.clone());
        self.0.changes.send_replace(());
    }

    /// Everything, in order.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.seen().requests.clone()
    }

    /// The requests with this HTTP method.
    pub fn of(&self, method: &str) -> Vec<HttpRequest> {
        self.matching(|request| request.method == method)
    }

    /// The posts of messages with this JSON-RPC method.
    pub fn rpc(&self, method: &str) -> Vec<HttpRequest> {
        self.matching(|request| request.rpc_method().as_deref() == Some(method))
    }

    /// The posts of answers to what the server asked.
    pub fn replies(&self) -> Vec<HttpRequest> {
        self.matching(|request| request.method == "POST" && request.rpc_method().is_none() && request.id() != "null")
    }

    fn matching(&self, fits: impl Fn(&HttpRequest) -> bool) -> Vec<HttpRequest> {
        self.requests().into_iter().filter(fits).collect()
    }

    /// The methods in order: JSON-RPC's where there is one, else HTTP's.
    pub fn methods(&self) -> Vec<String> {
        self.requests().iter().map(|request| request.rpc_method().unwrap_or_else(|| request.method.clone())).collect()
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.seen().opened
    }

    /// The connections that the client has closed, in this order.
    pub fn closed_by_client(&self) -> Vec<usize> {
        self.seen().closed.clone()
    }

    /// The connections on which the client didn't agree to TLS.
    pub fn tls_refused(&self) -> Vec<usize> {
        self.seen().refused.clone()
    }

    /// The requests whose client went before the response had ended: with its connection, or over HTTP/2 by itself.
    pub fn given_up(&self) -> Vec<HttpRequest> {
        self.seen().given_up.clone()
    }

    /// Waits until the log gives a value; at the limit panics with `what` and what there is. Any runtime of tokio will
    /// do.
    pub async fn wait_for<T>(&self, what: &str, check: impl FnMut(&HttpLog) -> Option<T>) -> T {
        match tokio::time::timeout(limit(), self.until(check)).await {
            Ok(value) => value,
            Err(_) => panic!("waited in vain for: {what}\nthere were {:?}", self.methods()),
        }
    }

    pub(crate) async fn until<T>(&self, mut check: impl FnMut(&HttpLog) -> Option<T>) -> T {
        let mut changes = self.0.changes.subscribe();
        loop {
            if let Some(value) = check(self) {
                return value;
            }
            let _ = changes.changed().await; // this log holds the sender
        }
    }

    /// Waits for n posts with this JSON-RPC method.
    pub async fn wait_rpc(&self, method: &str, n: usize) -> Vec<HttpRequest> {
        let what = format!("{n} × {method}");
        self.wait_for(&what, |log| Some(log.rpc(method)).filter(|sent| sent.len() >= n)).await
    }

    /// Waits for n requests with this HTTP method.
    pub async fn wait_of(&self, method: &str, n: usize) -> Vec<HttpRequest> {
        let what = format!("{n} × {method}");
        self.wait_for(&what, |log| Some(log.of(method)).filter(|sent| sent.len() >= n)).await
    }
}
