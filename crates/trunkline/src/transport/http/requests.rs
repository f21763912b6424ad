//! The requests of one session over Streamable HTTP: sending, taking the answer whether it is JSON or a stream of events,
//! taking a broken stream up again, ending the session.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, StatusCode};

use super::answer::{Answer, Body, content_type, drain, no_answer, whole};
use super::connect::passed;
use super::endpoint::Endpoint;
use super::fetch::{Ask, Fetcher, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID, lock};
use super::follow::{End, Place, follow, hand_on};
use super::pool::Failure;
use super::refusal::Refusal;
use super::standing::may_come_back;
use super::{ACCEPT_BOTH, ACCEPT_EVENTS, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::protocol::jsonrpc;
use crate::transport::{self, Inbox, Tags};

/// What the requests of a session share.
pub(super) struct Core {
    pub(super) fetcher: Fetcher,
    pub(super) inbox: Arc<dyn Inbox>,
    pub(super) limits: Arc<Limits>,
    terms: Mutex<Terms>,
    pub(super) progress: Progress,
    /// Whether the standing stream is open.
    pub(super) listens: AtomicBool,
}

/// What was agreed on.
#[derive(Default, Clone)]
struct Terms {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// There is no session, and a broken stream is not taken up again.
    stateless: bool,
    /// The server no longer knows the session.
    lost: bool,
}

impl Core {
    pub(super) fn new(endpoint: &Endpoint, limits: &Limits, inbox: Arc<dyn Inbox>) -> Result<Self> {
        let limits = Arc::new(limits.clone());
        let fetcher = Fetcher::new(endpoint.clone(), &limits)?;
        let (terms, progress, listens) = (Mutex::default(), Progress::default(), AtomicBool::new(false));
        Ok(Self { fetcher, inbox, limits, terms, progress, listens })
    }

    /// What every request says from now on.
    pub(super) fn agree(&self, agreed: &transport::Terms) {
        let mut terms = lock(&self.terms);
        terms.version = agreed.revision.as_ref().and_then(|revision| HeaderValue::from_str(revision).ok());
        terms.stateless = agreed.stateless;
    }

    /// The headers that the session wants on each request.
    fn terms(&self) -> Vec<(HeaderName, HeaderValue)> {
        let Terms { session, version, .. } = lock(&self.terms).clone();
        let session = session.map(|session| (SESSION_ID, session));
        session.into_iter().chain(version.map(|version| (PROTOCOL_VERSION, version))).collect()
    }

    fn post(&self, body: Bytes, tags: Tags) -> Ask<'static> {
        let mut headers = self.terms();
        headers.extend(tags.into_iter().filter_map(|(name, value)| {
            Some((HeaderName::try_from(name.as_ref()).ok()?, HeaderValue::try_from(value).ok()?))
        }));
        Ask { method: Method::POST, url: None, accept: ACCEPT_BOTH, body, headers }
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
    pub(super) async fn notify(&self, line: Bytes) -> Result<()> {
        let mut answer = self.fetcher.fetch(self.post(line, Tags::new())).await.map_err(|failure| failure.error)?;
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
    pub(super) async fn request(&self, id: u64, line: Bytes, tags: Tags) -> Error {
        self.progress.reach(1);
        let answer = match self.fetcher.fetch(self.post(line, tags)).await {
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
        let stateless = lock(&self.terms).stateless;
        let Some(last) = place.last.as_ref().filter(|_| !stateless) else { return Err(error) };
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
        if terms.version.is_none() && terms.session.is_none() && !terms.stateless {
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
    pub(super) async fn delete(&self) {
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
