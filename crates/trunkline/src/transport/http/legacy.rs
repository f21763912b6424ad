//! HTTP+SSE of revision 2024-11-05: one stream brings everything, each message out is a POST to where the stream says.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use url::Url;

use super::answer::{content_type, drain};
use super::endpoint::{Endpoint, Origin};
use super::fetch::{Ask, Fetcher};
use super::follow::{End, Place, follow, hand_on};
use super::pool::Failure;
use super::refusal::Refusal;
use super::sse::Event;
use super::{ACCEPT_BOTH, ACCEPT_EVENTS, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::redact::mask_url;
use crate::transport::{Evidence, Exchange, Inbox, Kind};

/// An open session over HTTP+SSE.
pub(crate) struct SseWire {
    core: Arc<Core>,
    runtime: Handle,
    reading: AbortHandle,
}

struct Core {
    fetcher: Fetcher,
    inbox: Arc<dyn Inbox>,
    limits: Arc<Limits>,
    /// Where to post to, once the server has said so; an error where it never will.
    target: watch::Sender<Option<Result<Url>>>,
    progress: Progress,
}

impl SseWire {
    pub(crate) fn open(endpoint: &Endpoint, limits: &Limits, inbox: Arc<dyn Inbox>) -> Result<Self> {
        let limits = Arc::new(limits.clone());
        let fetcher = Fetcher::new(endpoint.clone(), &limits)?;
        let core =
            Arc::new(Core { fetcher, inbox, limits, target: watch::Sender::new(None), progress: Progress::default() });
        let runtime = Handle::current();
        let reading = runtime.spawn(read(core.clone())).abort_handle();
        Ok(Self { core, runtime, reading })
    }

    /// Sends a message, once the server has said where to.
    pub(crate) async fn send(&self, kind: Kind, line: Vec<u8>) -> Result<Option<Exchange>> {
        let core = self.core.clone();
        match kind {
            Kind::Request { id, .. } => Ok(Some(Exchange::new(async move {
                match core.post(line.into(), Some(id)).await {
                    Ok(()) => std::future::pending().await, // the answer comes on the stream
                    Err(error) => error,
                }
            }))),
            Kind::Other => Box::pin(core.post(line.into(), None)).await.map(|()| None), // boxed: see `HttpWire::send`
        }
    }

    /// Sends a notification or a reply from where nothing can be awaited.
    pub(crate) fn tell(&self, line: Vec<u8>) {
        let core = self.core.clone();
        self.runtime.spawn(async move {
            if let Err(error) = core.post(line.into(), None).await {
                tracing::debug!(%error, "a notification was not delivered");
            }
        });
    }

    pub(crate) fn close(&self) {
        self.reading.abort();
        self.core.fetcher.pool().close();
        self.core.inbox.closed(crate::transport::gone());
    }

    pub(crate) fn evidence(&self) -> Evidence {
        Evidence { alive: true, waits: Some(self.core.progress.told()), ..Evidence::default() }
    }
}

impl Drop for SseWire {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Reads the stream from its beginning to its end, which is the end of the session.
async fn read(core: Arc<Core>) {
    let error = core.read().await;
    core.target.send_if_modified(|target| {
        let news = target.is_none();
        if news {
            *target = Some(Err(error.clone()));
        }
        news
    });
    core.inbox.closed(error);
}

impl Core {
    async fn read(&self) -> Error {
        self.progress.reach(1);
        let ask =
            Ask { method: Method::GET, url: None, accept: ACCEPT_EVENTS, body: Bytes::new(), headers: Vec::new() };
        let mut answer = match self.fetcher.fetch(ask).await {
            Ok(answer) => answer,
            Err(Failure { error, .. }) => return error,
        };
        self.progress.reach(2);
        if !answer.status.is_success() {
            return match self.fetcher.refusal(answer).await {
                Refusal::Status(error) => error,
                Refusal::Rpc(text) => self.no_stream(&self.fetcher.snippet(&text)),
            };
        }
        if content_type(&answer).as_deref() != Some("text/event-stream") {
            return self.no_stream(&content_type(&answer).unwrap_or_else(|| "something without a type".to_owned()));
        }
        let mut refused = None;
        let mut place = Place::default();
        let mut take = |event: &Event, data: Bytes| match &*event.name {
            "endpoint" => refused = self.take_target(&data).err().or(refused.take()),
            _ => hand_on(&*self.inbox, event, data, None),
        };
        let end = follow(&mut answer.body, &mut place, &self.limits, Duration::ZERO, &mut take).await;
        if let Some(error) = refused {
            return error;
        }
        let why = match end {
            End::Clean => "it ended it".to_owned(),
            End::Broken(why) | End::Silent(why) => why,
            End::Refused(error) => return error,
        };
        Error::new(ErrorKind::Closed, format!("The server's stream is over: {why}"))
    }

    fn no_stream(&self, instead: &str) -> Error {
        let message = format!("{} answered with {instead} instead of a stream of events", self.fetcher.shown());
        Error::new(ErrorKind::Unreachable, message)
            .with_context("stage", "content type")
            .with_hint("Is this the URL of an HTTP+SSE endpoint (often /sse)?")
    }

    /// Takes where to post to.
    fn take_target(&self, data: &[u8]) -> Result<()> {
        let outcome = told_target(&self.fetcher, data);
        let verdict = outcome.as_ref().map(drop).map_err(Error::clone);
        self.progress.reach(3);
        self.target.send_if_modified(|target| {
            let first = target.is_none();
            if first {
                *target = Some(outcome);
            }
            first
        });
        verdict
    }

    /// Posts a message; an error that the answer holds belongs to the request it is `about`.
    async fn post(&self, line: Bytes, about: Option<u64>) -> Result<()> {
        let mut told = self.target.subscribe();
        let target = told.wait_for(Option::is_some).await.ok().and_then(|target| target.clone());
        let target = target.unwrap_or_else(|| Err(crate::transport::gone()))?;
        let ask =
            Ask { method: Method::POST, url: Some(&target), accept: ACCEPT_BOTH, body: line, headers: Vec::new() };
        match self.fetcher.fetch(ask).await {
            Err(Failure { error, left }) => Err(error.with_may_have_run(left)),
            Ok(mut answer) if answer.status.is_success() => {
                drain(&mut answer.body, self.limits.max_refusal).await;
                Ok(())
            }
            Ok(answer) => match self.fetcher.refusal(answer).await {
                Refusal::Status(error) => Err(error),
                Refusal::Rpc(text) => {
                    let message = format!("The server refused a message: {}", self.fetcher.snippet(&text));
                    if about.is_some() {
                        self.inbox.message(text, about);
                    }
                    Err(Error::new(ErrorKind::Protocol, message))
                }
            },
        }
    }
}

/// Where to post to, if that is where the credentials belong.
pub(super) fn told_target(fetcher: &Fetcher, data: &[u8]) -> Result<Url> {
    let told = String::from_utf8_lossy(data);
    let told = told.trim();
    let target = fetcher.endpoint.url.join(told).ok();
    let here = fetcher.origin();
    match target.as_ref().and_then(Origin::of) {
        Some(origin) if origin == *here => target.ok_or_else(crate::transport::gone),
        Some(origin) => {
            let message = format!("The server at {here} wants its messages sent to another origin, {origin}; none was");
            let hint = format!("If that is the server, use a URL there; it named {}", mask_url(told));
            Err(Error::new(ErrorKind::Unreachable, message).with_hint(hint).with_context("stage", "endpoint"))
        }
        None => {
            let message = format!("The server wants its messages sent to {told:?}, which is no http or https URL");
            Err(Error::new(ErrorKind::Protocol, message).with_context("stage", "endpoint"))
        }
    }
}
