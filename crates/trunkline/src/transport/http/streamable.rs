//! Streamable HTTP: each message is a POST, whose answer is JSON or a stream of events (MCP specification, Transports).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::connect::passed;
use super::endpoint::Endpoint;
use super::fetch::{Ask, Fetcher, LAST_EVENT_ID, PROTOCOL_VERSION, Refusal, SESSION_ID, lock};
use super::follow::{End, Place, follow, hand_on, silent, too_long};
use super::pool::{Answer, Body, Failure, within};
use super::standing::may_come_back;
use super::{ACCEPT_BOTH, ACCEPT_EVENTS, Progress, standing};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::protocol::jsonrpc;
use crate::redact::Secret;
use crate::transport::{Evidence, Exchange, Inbox, Kind};

/// An open session over HTTP.
pub(crate) struct HttpWire {
    core: Arc<Core>,
    runtime: Handle,
    listening: Mutex<Option<AbortHandle>>,
    ended: AtomicBool,
}

/// What the requests of a session share.
pub(super) struct Core {
    pub(super) fetcher: Fetcher,
    pub(super) inbox: Arc<dyn Inbox>,
    pub(super) limits: Arc<Limits>,
    terms: Mutex<Terms>,
    progress: Progress,
    /// Whether the standing stream is open.
    pub(super) listens: AtomicBool,
}

/// What was agreed on in the handshake.
#[derive(Default, Clone)]
struct Terms {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The server no longer knows the session.
    lost: bool,
}

impl HttpWire {
    pub(crate) fn open(endpoint: &Endpoint, limits: &Limits, inbox: Arc<dyn Inbox>) -> Result<Self> {
        let limits = Arc::new(limits.clone());
        let core = Core {
            fetcher: Fetcher::new(endpoint.clone(), &limits)?,
            inbox,
            limits,
            terms: Mutex::default(),
            progress: Progress::default(),
            listens: AtomicBool::new(false),
        };
        Ok(Self {
            core: Arc::new(core),
            runtime: Handle::current(),
            listening: Mutex::default(),
            ended: AtomicBool::new(false),
        })
    }

    /// Sends a message. What is left to do for the answer to a request is the exchange.
    pub(crate) async fn send(&self, kind: Kind, line: Vec<u8>) -> Result<Option<Exchange>> {
        if self.ended.load(Ordering::SeqCst) {
            return Err(crate::transport::gone());
        }
        let core = self.core.clone();
        match kind {
            Kind::Request { id, .. } => Ok(Some(Exchange::new(async move { core.request(id, line.into()).await }))),
            Kind::Other => core.notify(line.into()).await.map(|()| None),
        }
    }

    /// Sends a notification or a reply from where nothing can be awaited.
    pub(crate) fn tell(&self, line: Vec<u8>) {
        let core = self.core.clone();
        self.runtime.spawn(async move {
            if let Err(error) = core.notify(line.into()).await {
                tracing::debug!(%error, "a notification was not delivered");
            }
        });
    }

    /// The revision that was agreed on: from now on every request names it.
    pub(crate) fn agreed(&self, version: &str) {
        lock(&self.core.terms).version = HeaderValue::from_str(version).ok();
    }

    /// Opens the standing stream, on which the server says what belongs to no request. Waits a moment for it, so that
    /// what the server says soon after isn't missed.
    pub(crate) async fn listen(&self) {
        let (opened, open) = tokio::sync::oneshot::channel();
        let task = self.runtime.spawn(standing::listen(Arc::downgrade(&self.core), opened));
        *lock(&self.listening) = Some(task.abort_handle());
        let _ = tokio::time::timeout(self.core.limits.stream_wait, open).await; // it goes on opening beside
    }

    pub(crate) async fn close(&self) {
        self.stop();
        if !self.ended.swap(true, Ordering::SeqCst) {
            self.core.delete().await;
        }
        self.core.fetcher.pool().close();
        self.core.inbox.closed(crate::transport::gone());
    }

    fn stop(&self) {
        if let Some(task) = lock(&self.listening).take() {
            task.abort();
        }
    }

    pub(crate) fn token(&self) -> Option<Secret> {
        self.core.fetcher.token()
    }

    pub(crate) fn evidence(&self) -> Evidence {
        Evidence { alive: true, waits: Some(self.core.progress.told()), ..Evidence::default() }
    }
}

impl Drop for HttpWire {
    fn drop(&mut self) {
        self.stop();
        if !self.ended.swap(true, Ordering::SeqCst) {
            let core = self.core.clone();
            self.runtime.spawn(async move { core.delete().await });
        }
    }
}

impl Core {
    /// The headers that the session wants on each request.
    fn terms(&self) -> Vec<(HeaderName, HeaderValue)> {
        let Terms { session, version, .. } = lock(&self.terms).clone();
        let session = session.map(|session| (SESSION_ID, session));
        session.into_iter().chain(version.map(|version| (PROTOCOL_VERSION, version))).collect()
    }

    fn post(&self, body: Bytes) -> Ask<'static> {
        Ask { method: Method::POST, url: None, accept: ACCEPT_BOTH, body, headers: self.terms() }
    }

    /// Asks for a stream of events, from where another one ended.
    pub(super) async fn get(&self, last: Option<&str>) -> Result<Answer, Failure> {
        let mut headers = self.terms();
        headers.extend(last.and_then(|last| Some((LAST_EVENT_ID, HeaderValue::from_str(last).ok()?))));
        self.fetcher
            .fetch(Ask { method: Method::GET, url: None, accept: ACCEPT_EVENTS, body: Bytes::new(), headers })
            .await
    }

    /// Sends a notification or a reply; any success will do, whatever it holds (public fault P-55 of MCP clients).
    async fn notify(&self, line: Bytes) -> Result<()> {
        let mut answer = self.fetcher.fetch(self.post(line)).await.map_err(|failure| failure.error)?;
        if answer.status.is_success() {
            drain(&mut answer.body, self.limits.max_refusal).await;
            return Ok(());
        }
        if self.is_lost(answer.status) {
            return Err(self.lose());
        }
        match self.fetcher.refusal(answer).await {
            Refusal::Status(error) => Err(error),
            Refusal::Rpc(text) => {
                let message =
                    format!("{} refused a notification: {}", self.fetcher.shown(), self.fetcher.snippet(&text));
                Err(Error::new(ErrorKind::Protocol, message))
            }
        }
    }

    /// Sends a request and hands on what comes for it. Ends when nothing more will come; why.
    async fn request(&self, id: u64, line: Bytes) -> Error {
        self.progress.reach(1);
        let answer = match self.fetcher.fetch(self.post(line)).await {
            Ok(answer) => answer,
            Err(Failure { error, left }) => return error.with_may_have_run(left),
        };
        self.progress.reach(2);
        let outcome = self.take_answer(id, answer).await;
        self.progress.reach(3);
        outcome.err().unwrap_or_else(|| no_answer("the answer ended before it held a result"))
    }

    async fn take_answer(&self, id: u64, mut answer: Answer) -> Result<()> {
        let status = answer.status;
        if self.is_lost(status) {
            return Err(self.lose());
        }
        if !status.is_success() {
            return match self.fetcher.refusal(answer).await {
                Refusal::Status(error) => Err(error),
                Refusal::Rpc(text) => {
                    self.inbox.message(text, Some(id));
                    Err(no_answer("its error belongs to no request"))
                }
            };
        }
        self.note_session(&answer);
        let kind = content_type(&answer);
        passed("content type", &kind.as_deref().unwrap_or("none"));
        match kind.as_deref() {
            Some("text/event-stream") => self.take_events(id, answer.body).await,
            Some("application/json") | None => {
                let text = whole(&mut answer.body, &self.limits).await?;
                self.take_json(id, status, text).await
            }
            Some(other) => {
                let text = whole(&mut answer.body, &self.limits).await.unwrap_or_default();
                Err(self.not_mcp(other, &text))
            }
        }
    }

    async fn take_json(&self, id: u64, status: StatusCode, text: Bytes) -> Result<()> {
        if text.trim_ascii().is_empty() {
            if status == StatusCode::ACCEPTED && self.listens.load(Ordering::Relaxed) {
                return std::future::pending().await; // the answer comes on the standing stream, or too late
            }
            return Err(no_answer(&format!("it answered {status} with nothing in it")).with_context("stage", "content"));
        }
        let text = jsonrpc::without_mark(text);
        if !text.trim_ascii_start().starts_with(b"{") && !text.trim_ascii_start().starts_with(b"[") {
            return Err(self.not_mcp("text that is no JSON", &text));
        }
        self.inbox.message(text.clone(), Some(id));
        let sent = if self.inbox.awaits(id) { self.fetcher.snippet(&text) } else { String::new() };
        Err(no_answer(&format!("it sent something else: {sent}")))
    }

    fn not_mcp(&self, kind: &str, text: &[u8]) -> Error {
        let message =
            format!("{} answered with {kind} instead of JSON: {}", self.fetcher.shown(), self.fetcher.snippet(text));
        Error::new(ErrorKind::Protocol, message)
            .with_hint("Is this the URL of an MCP endpoint? A login page, for instance, is none")
            .with_context("stage", "content type")
            .with_may_have_run(true)
    }

    /// Follows the stream of a request, and takes it up again where it broke (specification, Resumability).
    async fn take_events(&self, id: u64, mut body: Body) -> Result<()> {
        let mut place = Place::default();
        let mut tries = 0;
        loop {
            place.heard = false;
            let silence = self.limits.stream_silence;
            let end = follow(&mut body, &mut place, &self.limits, silence, &mut |event, data| {
                hand_on(&*self.inbox, event, data, Some(id));
            })
            .await;
            let error = match end {
                _ if !self.inbox.awaits(id) => return Ok(()),
                End::Refused(error) => return Err(error),
                End::Clean => no_answer("the server ended the stream"),
                End::Broken(why) => no_answer(&why),
                End::Silent(why) => no_answer(&why).with_kind_if(true, ErrorKind::Deadline),
            };
            tries = if place.heard { 1 } else { tries + 1 };
            body = self.resumed(&place, &mut tries, error).await?;
        }
    }

    /// Asks for the rest of a stream that ended with this error, several times where that may help.
    async fn resumed(&self, place: &Place, tries: &mut usize, mut error: Error) -> Result<Body> {
        let Some(last) = &place.last else { return Err(error) };
        while *tries <= self.limits.max_resumes {
            tokio::time::sleep(pause(place.retry, *tries)).await;
            let (why, passing) = match self.get(Some(last)).await {
                Ok(answer) if self.is_lost(answer.status) => return Err(self.lose().with_may_have_run(true)),
                Ok(answer)
                    if answer.status.is_success() && content_type(&answer).as_deref() == Some("text/event-stream") =>
                {
                    return Ok(answer.body);
                }
                Ok(answer) => (format!("the server answered {}", answer.status), may_come_back(answer.status)),
                Err(Failure { error, .. }) => {
                    (error.message().to_owned(), matches!(error.kind(), ErrorKind::Unreachable | ErrorKind::Deadline))
                }
            };
            error = no_answer(&format!("its stream broke and, asked for the rest: {why}"));
            if !passing {
                break;
            }
            *tries += 1;
        }
        Err(error)
    }

    /// Takes the id that the server gives the session with its answer to the handshake.
    fn note_session(&self, answer: &Answer) {
        let mut terms = lock(&self.terms);
        if terms.version.is_none() && terms.session.is_none() {
            terms.session = answer.headers.get(SESSION_ID).cloned();
        }
    }

    /// Whether this status says that the server no longer knows the session.
    pub(super) fn is_lost(&self, status: StatusCode) -> bool {
        status == StatusCode::NOT_FOUND && lock(&self.terms).session.is_some()
    }

    /// The session is over: no new request takes part in it; what is under way ends as it does.
    pub(super) fn lose(&self) -> Error {
        lock(&self.terms).lost = true;
        let message = format!("{} no longer knows the session (404)", self.fetcher.shown());
        let error = Error::new(ErrorKind::Closed, message).with_context("status", "404");
        self.inbox.lost(error.clone());
        error.with_may_have_run(false)
    }

    /// Ends the session at the server, within a bound and whatever it answers.
    async fn delete(&self) {
        let headers = self.terms();
        {
            let mut terms = lock(&self.terms);
            if terms.lost || terms.session.take().is_none() {
                return;
            }
        }
        let ask = Ask { method: Method::DELETE, url: None, accept: ACCEPT_BOTH, body: Bytes::new(), headers };
        let ended = async {
            if let Ok(mut answer) = self.fetcher.fetch(ask).await {
                drain(&mut answer.body, self.limits.max_refusal).await;
            }
        };
        let _ = tokio::time::timeout(self.limits.close_grace, ended).await; // the server forgets it some day
    }
}

/// How long to wait before coming back for the rest of a stream.
pub(super) fn pause(retry: Option<Duration>, tries: usize) -> Duration {
    const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(30);
    let doubled = |base: Duration, times: usize| base.saturating_mul(1 << times.min(10)).min(LONGEST.max(base));
    match retry {
        Some(retry) => doubled(retry, tries.saturating_sub(1)),
        None => doubled(FIRST, tries.saturating_sub(1)),
    }
}

fn no_answer(why: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("The server gave no answer to the request: {why}")).with_may_have_run(true)
}

/// The type of an answer, without parameters and in small letters.
pub(super) fn content_type(answer: &Answer) -> Option<String> {
    let told = answer.headers.get(CONTENT_TYPE)?.to_str().ok()?;
    Some(told.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()).filter(|kind| !kind.is_empty())
}

/// The whole body, if it isn't too long. One piece stays as it is.
async fn whole(body: &mut Body, limits: &Limits) -> Result<Bytes> {
    let Some(first) = piece(body, limits).await? else { return Ok(Bytes::new()) };
    let Some(second) = piece(body, limits).await? else { return Ok(first) };
    let mut all = BytesMut::with_capacity(2 * (first.len() + second.len()));
    all.extend_from_slice(&first);
    all.extend_from_slice(&second);
    while all.len() <= limits.max_message {
        let Some(chunk) = piece(body, limits).await? else { return Ok(all.freeze()) };
        all.extend_from_slice(&chunk);
    }
    Err(too_long(limits.max_message))
}

async fn piece(body: &mut Body, limits: &Limits) -> Result<Option<Bytes>> {
    match within(limits.stream_silence, body.chunk()).await {
        Ok(Ok(Some(piece))) if piece.len() > limits.max_message => Err(too_long(limits.max_message)),
        Ok(piece) => piece.map_err(|error| no_answer(&format!("the answer broke off: {error}"))),
        Err(_) => Err(no_answer(&silent(limits.stream_silence)).with_kind_if(true, ErrorKind::Deadline)),
    }
}

/// Reads and drops what there is, so that the connection can be used again.
pub(super) async fn drain(body: &mut Body, most: usize) {
    let mut seen = 0;
    while let Ok(Some(chunk)) = body.chunk().await {
        seen += chunk.len();
        if seen > most {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_from_what_the_server_asks_for() {
        let millis = Duration::from_millis;
        assert_eq!(pause(Some(millis(300)), 1), millis(300));
        assert_eq!(pause(Some(millis(300)), 3), millis(1200));
        assert_eq!(pause(None, 1), millis(1000));
        assert_eq!(pause(None, 90), millis(30_000));
        assert_eq!(pause(Some(millis(60_000)), 5), millis(60_000), "never sooner than asked for");
    }
}
