//! What a server of a revision without a handshake is asked to go on telling (MCP specification 2026-07-28, Subscriptions):
//! changes of its lists, and of the resources that were subscribed to. Each is a request that stays open; one that
//! breaks is made anew.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::Session;
use super::calls::{self, Outgoing};
use crate::connection::{CallContext, EventKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;
use crate::protocol::jsonrpc::{Field, Params};

/// How often in a row such a request may end without having lasted.
const MOST_TRIES: u32 = 8;
/// One that lasted so long was worth it.
const LONG: Duration = Duration::from_secs(60);

/// The open requests. They end with this.
#[derive(Default)]
pub(super) struct Listening(Mutex<HashMap<Subject, AbortHandle>>);

/// What is listened to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Subject {
    Lists { tools: bool, prompts: bool, resources: bool },
    Resource(String),
}

impl Listening {
    fn streams(&self) -> MutexGuard<'_, HashMap<Subject, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stop(&self) {
        self.streams().drain().for_each(|(_, stream)| stream.abort());
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Subject {
    /// As a request names it.
    fn filter(&self) -> RawJson {
        match self {
            Self::Lists { tools, prompts, resources } => {
                let mut filter = serde_json::Map::new();
                let lists =
                    [("toolsListChanged", tools), ("promptsListChanged", prompts), ("resourcesListChanged", resources)];
                for (name, _) in lists.into_iter().filter(|(_, wanted)| **wanted) {
                    filter.insert(name.to_owned(), true.into());
                }
                Value::Object(filter).into()
            }
            Self::Resource(uri) => json!({"resourceSubscriptions": [uri]}).into(),
        }
    }

    /// What may have happened while nobody listened.
    fn missed(&self) -> Vec<EventKind> {
        match self {
            Self::Lists { tools, prompts, resources } => {
                let lists = [
                    (tools, EventKind::ToolsChanged),
                    (prompts, EventKind::PromptsChanged),
                    (resources, EventKind::ResourcesChanged),
                ];
                lists.into_iter().filter(|(wanted, _)| **wanted).map(|(_, kind)| kind).collect()
            }
            Self::Resource(uri) => vec![EventKind::ResourceUpdated { uri: uri.clone() }],
        }
    }
}

impl Session {
    /// Listens to changes of the lists, where the server tells them. Where that is a stream of its own, waits a moment for
    /// it, so that what is said soon after isn't missed.
    pub(super) async fn listen(&self) {
        let capabilities = self.server_info().capabilities();
        let told = |what: &str| {
            let told = capabilities.field(what).and_then(|offer| offer.field("listChanged"));
            told.is_some_and(|told| told.as_bytes() == b"true")
        };
        let (tools, prompts, resources) = (told("tools"), told("prompts"), told("resources"));
        if tools || prompts || resources {
            let opened = self.follow(Subject::Lists { tools, prompts, resources });
            if self.wire.has_headers() {
                let _ = tokio::time::timeout(self.limits.stream_wait, opened).await; // it goes on opening beside
            }
        }
    }

    /// Listens to changes of a resource, from now on.
    pub(super) async fn subscribe(&self, uri: &str, _cx: &CallContext) -> Result<()> {
        let subject = Subject::Resource(uri.to_owned());
        let ended = || Error::new(ErrorKind::Closed, "The session ended before the server agreed to the subscription");
        let opened = self.follow(subject.clone());
        let given_up = GivenUp { session: self, subject: Some(subject) };
        let agreed = opened.await.unwrap_or_else(|_| Err(ended()))?;
        let subscribed = agreed.field("resourceSubscriptions");
        if !subscribed.iter().flat_map(RawJson::items).any(|agreed| agreed.as_text().as_deref() == Some(uri)) {
            let message = format!("The server doesn't tell changes of the resource {uri}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        given_up.settle();
        Ok(())
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        self.leave(&Subject::Resource(uri.to_owned()));
    }

    fn leave(&self, subject: &Subject) {
        let stream = self.listening.as_ref().and_then(|listening| listening.streams().remove(subject));
        stream.iter().for_each(AbortHandle::abort);
    }

    /// Asks for it in the background; gives what the server agreed to.
    fn follow(&self, subject: Subject) -> oneshot::Receiver<Result<RawJson>> {
        let (opened, agreed) = oneshot::channel();
        if let Some(listening) = &self.listening {
            let unowned = Session { listening: None, ..self.clone() };
            let task = tokio::spawn(keep(unowned, subject.clone(), opened));
            if let Some(older) = listening.streams().insert(subject, task.abort_handle()) {
                older.abort();
            }
        }
        agreed
    }

    /// Makes the request, which stays open until it ends; why.
    async fn open_stream(&self, subject: &Subject, acknowledged: oneshot::Sender<RawJson>) -> Result<RawJson> {
        const METHOD: &str = "subscriptions/listen";
        let Some(modern) = self.modern() else {
            return Err(Error::new(ErrorKind::Unsupported, "There is no such stream"));
        };
        let (filter, cx) = (subject.filter(), CallContext::new());
        let fields = [("notifications", Field::Json(&filter))];
        let params = Params::Fields(&fields);
        let stamp = modern.stamp(&cx);
        let tags = modern.tags(self, METHOD, &params);
        let acknowledged = Some(acknowledged);
        let request = Outgoing { method: METHOD, params, stamp: Some(&stamp), tags, acknowledged };
        calls::send(self, request, &cx).await
    }
}

/// A subscription that nobody waits for any more is taken back, unless it was agreed to.
struct GivenUp<'a> {
    session: &'a Session,
    subject: Option<Subject>,
}

impl GivenUp<'_> {
    fn settle(mut self) {
        self.subject = None;
    }
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        self.subject.iter().for_each(|subject| self.session.leave(subject));
    }
}

/// Keeps such a request open. What the server doesn't agree to at first isn't asked for again.
async fn keep(session: Session, subject: Subject, opened: oneshot::Sender<Result<RawJson>>) {
    let mut opened = Some(opened);
    let mut tries = 0;
    loop {
        let begun = Instant::now();
        let (acknowledge, mut acknowledged) = oneshot::channel();
        let mut stream = std::pin::pin!(session.open_stream(&subject, acknowledge));
        let mut outcome = None;
        tokio::select! {
            ended = &mut stream => outcome = Some(ended),
            Ok(agreed) = &mut acknowledged => match opened.take() {
                Some(opened) => drop(opened.send(Ok(agreed))), // given up meanwhile
                None => subject.missed().into_iter().for_each(|missed| session.desk.changed(missed)),
            },
        }
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => stream.await,
        };
        if let Some(opened) = opened.take() {
            let refused = || Error::new(ErrorKind::Protocol, "The server ended the subscription at once");
            let _ = opened.send(Err(outcome.err().unwrap_or_else(refused))); // given up meanwhile
            return;
        }
        tracing::debug!(?subject, error = ?outcome.err(), "a subscription ended; it is asked for again");
        if session.over_because().is_some() {
            return;
        }
        tries = if begun.elapsed() > LONG { 1 } else { tries + 1 };
        if tries > MOST_TRIES {
            return session.desk.warn(format!("ends the subscription to {} again and again", subject.filter()));
        }
        tokio::time::sleep(Duration::from_millis(500) * 2u32.pow(tries - 1).min(60)).await;
    }
}
