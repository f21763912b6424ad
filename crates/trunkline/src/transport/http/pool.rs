//! Connections to one origin, kept for the next request. An HTTP/1.1 connection serves one request at a time (`lane`), an
//! HTTP/2 connection is shared and has a task.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::{HOST, HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::task::AbortHandle;

use super::answer::{Answer, Body};
use super::connect::Route;
use super::lane::{Lane, drive};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{self, Limits};

/// The connections to one origin.
pub(super) struct Pool {
    route: Route,
    /// The origin's host and port, as a header.
    host: Option<HeaderValue>,
    limits: Arc<Limits>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Idle>,
    shared: Option<Shared>,
    /// Who closes what nobody uses any more, while there is something.
    reaper: Option<AbortHandle>,
    closed: bool,
}

struct Idle {
    lane: Box<Lane>,
    since: Instant,
    until: Instant,
}

/// An HTTP/2 connection.
struct Shared {
    sender: http2::SendRequest<Full<Bytes>>,
    used: Instant,
}

/// How a server says that it did nothing for a request (RFC 9113, sections 6.8 and 8.7).
enum Refused {
    /// It takes no more of them on this connection.
    Leaving,
    /// It was too busy for this one.
    Busy,
}

impl Refused {
    fn by(error: &hyper::Error) -> Option<Self> {
        let error = std::error::Error::source(error)?.downcast_ref::<h2::Error>()?;
        match error.is_remote() {
            true if error.is_go_away() => Some(Self::Leaving),
            true if error.reason() == Some(h2::Reason::REFUSED_STREAM) => Some(Self::Busy),
            _ => None,
        }
    }
}

/// Why a request has no answer.
pub(super) struct Failure {
    pub(super) error: Error,
    /// Whether the request, or a part of it, left.
    pub(super) left: bool,
}

impl Pool {
    pub(super) fn new(route: Route, limits: Arc<Limits>) -> Arc<Self> {
        let host = HeaderValue::from_str(&route.origin.authority()).ok();
        Arc::new(Self { route, host, limits, state: Mutex::default() })
    }

    pub(super) fn route(&self) -> &Route {
        &self.route
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what is idle, and what is given back from now on.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.stop_reaper();
        let gone = (std::mem::take(&mut state.idle), state.shared.take());
        drop(state);
        drop(gone);
    }

    /// Sends a request and waits for the head of the answer. A connection that was kept too long is replaced, as long
    /// as nothing was sent over it.
    pub(super) async fn send(self: &Arc<Self>, mut request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
        let mut again = true;
        loop {
            if let Some(shared) = self.shared().await {
                match self.send_shared(shared, request).await {
                    Err((_, Some(undone))) if again => (again, request) = (false, undone),
                    Err((failure, _)) => return Err(failure),
                    Ok(answer) => return Ok(answer),
                }
                continue;
            }
            let (lane, kept) = match self.take_idle().await {
                Some(lane) => (lane, true),
                None => match self.connect().await.map_err(|error| Failure { error, left: false })? {
                    Some(lane) => (lane, false),
                    None => continue, // shared from now on
                },
            };
            match self.send_alone(lane, request).await {
                Err((_, Some(unsent))) if kept => request = unsent,
                Err((failure, _)) => return Err(failure),
                Ok(answer) => return Ok(answer),
            }
        }
    }

    async fn shared(&self) -> Option<http2::SendRequest<Full<Bytes>>> {
        let used = self.state().shared.as_ref().map(|shared| shared.used)?;
        hear_after(used).await;
        let mut state = self.state();
        let shared = state.shared.as_mut()?;
        if shared.sender.is_closed() {
            state.shared = None;
            return None;
        }
        shared.used = Instant::now();
        Some(shared.sender.clone())
    }

    async fn take_idle(&self) -> Option<Box<Lane>> {
        loop {
            let idle = self.state().idle.pop()?;
            let mut lane = idle.lane;
            hear_after(idle.since).await;
            if idle.until > Instant::now() && lane.is_usable().await {
                return Some(lane);
            }
        }
    }

    /// A new connection, within the time there is for it; nothing where it is one to share.
    async fn connect(&self) -> Result<Option<Box<Lane>>> {
        let limit = self.limits.connect_timeout;
        let Ok(opened) = within(limit, self.open()).await else {
            let message = format!(
                "No connection to {} within {} s (Limits::connect_timeout)",
                self.route.origin,
                limit.as_secs_f64()
            );
            let error = Error::new(ErrorKind::Deadline, message).with_context("stage", "connect");
            return Err(
                error.with_hint("Is the host reachable from here? A proxy or a firewall may swallow the connection")
            );
        };
        opened
    }

    /// hyper takes no less than this.
    fn max_head(&self) -> usize {
        self.limits.max_head.max(8 << 10)
    }

    async fn open(&self) -> Result<Option<Box<Lane>>> {
        let (stream, http2) = self.route.open().await?;
        let failed = |error: hyper::Error| self.broken("connecting to", &error);
        if http2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder.adaptive_window(true).max_header_list_size(u32::try_from(self.max_head()).unwrap_or(u32::MAX));
            let (sender, driver) = builder.handshake(TokioIo::new(stream)).await.map_err(failed)?;
            tokio::spawn(async move {
                let _ = driver.await; // whoever waits for an answer hears of it
            });
            self.state().shared = Some(Shared { sender, used: Instant::now() });
            return Ok(None);
        }
        let mut builder = http1::Builder::new();
        builder.max_buf_size(self.max_head());
        let (sender, driver) = builder.handshake(TokioIo::new(stream)).await.map_err(failed)?;
        Ok(Some(Box::new(Lane { sender, driver: Some(driver) })))
    }

    async fn send_alone(
        self: &Arc<Self>,
        mut lane: Box<Lane>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Answer, (Failure, Option<Request<Full<Bytes>>>)> {
        self.address(&mut request, false);
        let Lane { sender, driver } = &mut *lane;
        match drive(driver, sender.try_send_request(request)).await {
            Ok(response) => Ok(self.answer(response, Some(lane))),
            Err(mut failed) => {
                let unsent = failed.take_message();
                let error = self.broken("waiting for the answer of", failed.error());
                Err((Failure { error, left: unsent.is_none() }, unsent))
            }
        }
    }

    /// Gives the request back where it never left, or where the server says that it didn't look at it.
    async fn send_shared(
        self: &Arc<Self>,
        mut shared: http2::SendRequest<Full<Bytes>>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Answer, (Failure, Option<Request<Full<Bytes>>>)> {
        self.address(&mut request, true);
        let copy = request.clone();
        match shared.try_send_request(request).await {
            Ok(response) => Ok(self.answer(response, None)),
            Err(mut failed) => {
                let refused = Refused::by(failed.error());
                if matches!(refused, Some(Refused::Leaving)) {
                    self.state().shared = None; // what is under way on it goes on
                }
                let undone = failed.take_message().or_else(|| refused.map(|_| copy));
                let error = self.broken("waiting for the answer of", failed.error());
                Err((Failure { error, left: undone.is_none() }, undone))
            }
        }
    }

    fn answer(self: &Arc<Self>, response: Response<Incoming>, lane: Option<Box<Lane>>) -> Answer {
        let (head, incoming) = response.into_parts();
        let keep = told_to_keep(&head.headers).unwrap_or(self.limits.http_idle).min(self.limits.http_idle);
        Answer { status: head.status, headers: head.headers, body: Body { incoming, lane, keep, pool: self.clone() } }
    }

    /// Writes the target as the connection wants it.
    fn address(&self, request: &mut Request<Full<Bytes>>, http2: bool) {
        let relay = self.route.relay();
        if http2 || relay.is_some() {
            let scheme = if self.route.origin.tls { "https" } else { "http" };
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
            if let Ok(uri) = format!("{scheme}://{}{path}", self.route.origin.authority()).parse::<Uri>() {
                *request.uri_mut() = uri;
            }
        }
        if let Some(Some(login)) = relay {
            request.headers_mut().insert(PROXY_AUTHORIZATION, login.clone());
        }
        if let Some(host) = self.host.as_ref().filter(|_| !http2) {
            request.headers_mut().entry(HOST).or_insert_with(|| host.clone());
        }
    }

    pub(super) fn give_back(self: &Arc<Self>, lane: Box<Lane>, keep: Duration) {
        let mut state = self.state();
        if state.closed || lane.driver.is_none() || state.idle.len() >= self.limits.http_idle_connections {
            return;
        }
        let since = Instant::now();
        state.idle.push(Idle { lane, since, until: since + keep });
        // one that is finished was dropped with its runtime
        if state.reaper.as_ref().is_none_or(AbortHandle::is_finished) {
            state.reaper = Some(tokio::spawn(reap(Arc::downgrade(self))).abort_handle());
        }
    }

    pub(super) fn broken(&self, doing: &str, error: &hyper::Error) -> Error {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let why = cause.downcast_ref().map_or_else(|| cause.to_string(), super::connect::reason);
        let message = format!("The connection broke while {doing} {}: {why}", self.route.origin);
        if error.to_string().contains("head is too large") {
            let message = format!("{} sent a head of over {} bytes (max_head)", self.route.origin, self.max_head());
            return limits::exceeded("max_head", message).with_context("stage", "connection");
        }
        let broken = Error::new(ErrorKind::Unreachable, message).with_context("stage", "connection");
        let unasked = why.contains("unexpected message"); // it spoke first, or again
        if !error.is_parse() && !unasked {
            return broken;
        }
        broken.with_hint(match self.route.origin.tls {
            true => "What answers there doesn't speak HTTP: is the port in the URL right?",
            false => "What answers there doesn't speak plain HTTP: try https:// in the URL, or another port",
        })
    }
}

/// Runs `work` within `limit`; zero is no limit.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, tokio::time::error::Elapsed> {
    if limit.is_zero() { Ok(work.await) } else { tokio::time::timeout(limit, work).await }
}

/// Lets the runtime hear what came in since `then`, such as the end of a connection: nothing may have driven it.
async fn hear_after(then: Instant) {
    const QUIET: Duration = Duration::from_millis(5);
    if then.elapsed() > QUIET {
        tokio::task::yield_now().await; // the news comes in
        tokio::task::yield_now().await; // who drives the connection takes it
    }
}

/// How long the server says it keeps an idle connection, less a second for the way of the next request.
fn told_to_keep(headers: &HeaderMap) -> Option<Duration> {
    let told = headers.get("keep-alive")?.to_str().ok()?;
    let seconds = told.split(',').find_map(|part| part.trim().strip_prefix("timeout=")?.parse::<u64>().ok())?;
    Some(Duration::from_secs(seconds).saturating_sub(Duration::from_secs(1)))
}

impl State {
    fn stop_reaper(&mut self) {
        if let Some(reaper) = self.reaper.take() {
            reaper.abort();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.state().stop_reaper();
    }
}

/// Closes what was idle for too long, and goes when nothing is left.
async fn reap(pool: Weak<Pool>) {
    loop {
        let next = {
            let Some(pool) = pool.upgrade() else { return };
            let now = Instant::now();
            let mut state = pool.state();
            let gone: Vec<_> = state.idle.extract_if(.., |idle| idle.until <= now).collect();
            let next = state.idle.iter().map(|idle| idle.until).min();
            if next.is_none() {
                state.reaper = None;
            }
            drop(state);
            drop(gone);
            match next {
                Some(next) => next,
                None => return,
            }
        };
        tokio::time::sleep_until(next.into()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_s_word_on_idle_connections_is_kept() {
        for (header, keep) in
            [("timeout=5", Some(4)), ("max=10, timeout=60", Some(59)), ("timeout=0", Some(0)), ("x", None)]
        {
            let headers = HeaderMap::from_iter([("keep-alive".parse().unwrap(), HeaderValue::from_static(header))]);
            assert_eq!(told_to_keep(&headers), keep.map(Duration::from_secs), "{header}");
        }
    }
}
