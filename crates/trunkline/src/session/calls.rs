//! One call from its id to its answer: written, waited for, told the server about when nobody waits any more.

use tokio::sync::oneshot;

use super::Session;
use super::waiting::Waiter;
use crate::connection::{CallContext, Cancellation};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;
use crate::protocol::jsonrpc::{self, Field, Meta, Params};
use crate::transport::{Exchange, Kind, Tags};

/// With more calls than this under way, requests are gathered and written together.
const EAGER: usize = 3;

/// A request as it leaves.
pub(super) struct Outgoing<'a> {
    pub(super) method: &'a str,
    pub(super) params: Params<'a>,
    /// What every request of the session says in its `_meta`.
    pub(super) stamp: Option<&'a RawJson>,
    /// What its headers say, where it has some.
    pub(super) tags: Tags,
    /// Told that the server has taken up what it was asked to go on telling.
    pub(super) acknowledged: Option<oneshot::Sender<RawJson>>,
}

impl<'a> Outgoing<'a> {
    pub(super) fn plain(method: &'a str, params: Params<'a>) -> Self {
        Self { method, params, stamp: None, tags: Tags::new(), acknowledged: None }
    }
}

/// Makes a request as the session's revision has it.
pub(super) async fn request(session: &Session, method: &str, params: Params<'_>, cx: &CallContext) -> Result<RawJson> {
    match session.modern() {
        None => send(session, Outgoing::plain(method, params), cx).await,
        Some(modern) => Box::pin(modern.request(session, method, params, cx)).await, // so that a call stays small
    }
}

/// Sends a request and waits for its answer. Dropping the future tells the server once.
pub(super) async fn send(session: &Session, request: Outgoing<'_>, cx: &CallContext) -> Result<RawJson> {
    let Outgoing { method, params, stamp, tags, acknowledged } = request;
    if cx.cancellation().is_some_and(Cancellation::is_cancelled) {
        return Err(cancelled(method));
    }
    let (answer, waiting) = oneshot::channel();
    let waiter = Waiter { answer, cx: cx.clone(), works: works(method), acknowledged };
    let (id, under_way) = session.desk.expect(waiter)?;
    let meta = Meta { members: cx.meta(), progress: cx.wants_progress(), stamp };
    let line = jsonrpc::request(id, method, params, meta);
    session.desk.trace("out", &line);
    let mut call = Call { id, session, cancel: false, settled: false };
    let mut sent = match session.wire.send(Kind::Request { id, eager: under_way <= EAGER }, line, tags).await {
        Ok(sent) => sent,
        Err(unsent) => return Err(why_unsent(unsent, waiting).await),
    };
    let waiting = answered(waiting, sent.take_exchange());
    // the handshake must not be cancelled, and what is no more than a question whether it is needed has no effect; where
    // each request has a stream of its own, closing that says it
    let by_its_stream = stamp.is_some() && session.wire.has_headers();
    call.cancel = !matches!(method, "initialize" | "server/discover") && !by_its_stream;
    let answer = match cx.cancellation() {
        None => waiting.await,
        Some(cancellation) => tokio::select! {
            answer = waiting => answer,
            () = cancellation.cancelled() => return Err(cancelled(method).with_may_have_run(true)),
        },
    };
    call.settled = true;
    answer.map_err(|error| match error.kind() {
        ErrorKind::Closed if session.wire.lost(&sent) => error.with_may_have_run(false),
        _ => error,
    })
}

/// Whether a request makes the server do something for which it may ask or log; its own lists and a ping don't.
fn works(method: &str) -> bool {
    const OWN: [&str; 5] = ["ping", "initialize", "server/discover", "logging/setLevel", "subscriptions/listen"];
    !method.ends_with("/list") && !OWN.contains(&method)
}

/// Waits for the answer, and does what has to be done for it meanwhile.
async fn answered(mut waiting: oneshot::Receiver<Result<RawJson>>, exchange: Option<Exchange>) -> Result<RawJson> {
    let ended = || Error::new(ErrorKind::Closed, "The session ended").with_may_have_run(true);
    let Some(mut exchange) = exchange else { return waiting.await.unwrap_or_else(|_| Err(ended())) };
    tokio::select! {
        biased;
        error = exchange.run() => waiting.try_recv().unwrap_or(Err(error)),
        answer = &mut waiting => {
            exchange.leave();
            answer.unwrap_or_else(|_| Err(ended()))
        }
    }
}

/// Sends a notification.
pub(super) async fn notify(session: &Session, method: &str) -> Result<()> {
    let line = jsonrpc::notification(method, Params::None);
    session.desk.trace("out", &line);
    let Err(unsent) = session.wire.send(Kind::Other, line, Tags::new()).await else { return Ok(()) };
    let (answer, waiting) = oneshot::channel();
    let (id, _) = session.desk.expect(Waiter { answer, cx: CallContext::new(), works: false, acknowledged: None })?;
    let error = why_unsent(unsent, waiting).await;
    session.desk.forget(id);
    Err(error)
}

fn cancelled(method: &str) -> Error {
    Error::new(ErrorKind::Cancelled, format!("The call ({method}) was cancelled"))
}

/// Why a message didn't leave. Where the server is gone, the news of it is on its way to everybody who waits.
async fn why_unsent(unsent: Error, waiting: oneshot::Receiver<Result<RawJson>>) -> Error {
    let news = if unsent.kind() == ErrorKind::Closed { waiting.await.ok().and_then(Result::err) } else { None };
    news.unwrap_or(unsent).with_may_have_run(false)
}

/// A call under way. Dropped before the answer came, it frees the id and tells the server.
struct Call<'a> {
    id: u64,
    session: &'a Session,
    cancel: bool,
    settled: bool,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.settled || !self.session.desk.forget(self.id) || !self.cancel {
            return;
        }
        let id = serde_json::Value::from(self.id).into();
        let reason = Field::Text("The client no longer waits for the answer");
        let params = [("requestId", Field::Json(&id)), ("reason", reason)];
        let line = jsonrpc::notification("notifications/cancelled", Params::Fields(&params));
        let _ = self.session.wire.tell(Kind::Other, line); // best effort: the server may be gone
    }
}
