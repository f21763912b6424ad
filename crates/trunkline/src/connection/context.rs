//! [`CallContext`]: what travels with every call.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::handler::{Handler, SharedHandler};
use crate::protocol::RawJson;

/// What travels with a call: deadlines, `_meta`, where progress and log messages go, who answers the server's
/// questions, and a way to cancel. Empty by default and cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use trunkline::CallContext;
///
/// let cx = CallContext::new()
///     .with_timeout(Duration::from_secs(5))
///     .on_progress(|progress| eprintln!("{} of {:?}", progress.progress, progress.total));
/// assert_eq!(cx.timeout(), Some(Duration::from_secs(5)));
/// ```
#[derive(Clone, Default)]
pub struct CallContext {
    parts: Option<Arc<Parts>>,
    pulse: Option<Arc<Pulse>>,
}

type Sink<T> = Arc<dyn Fn(&T) + Send + Sync>;

#[derive(Clone, Default)]
struct Parts {
    timeout: Option<Duration>,
    max_timeout: Option<Duration>,
    meta: Option<RawJson>,
    progress: Option<Sink<Progress>>,
    log: Option<Sink<LogMessage>>,
    log_level: Option<Box<str>>,
    handler: Option<SharedHandler>,
    client_capabilities: Option<RawJson>,
    cancellation: Option<Cancellation>,
    party: Option<u64>,
    fresh: bool,
    detached: bool,
}

/// When progress came last, for whoever watches the deadline of a call.
struct Pulse {
    begun: Instant,
    last: AtomicU64,
    timeout: Duration,
    cap: Option<Duration>,
    /// How many questions of the server are being answered for the call: its time stands still.
    held: AtomicUsize,
}

/// Keeps the time of a call standing still.
pub(crate) struct Hold(Option<Arc<Pulse>>);

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(pulse) = &self.0 {
            pulse.beat();
            pulse.held.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Pulse {
    fn beat(&self) {
        self.last.store(self.begun.elapsed().as_millis() as u64, Ordering::Relaxed);
    }
}

/// One report of a running call (MCP specification, `notifications/progress`).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// How far the work is, in the server's own unit. Usually grows, but servers are not reliable there.
    pub progress: f64,
    /// The end of the scale, where known.
    pub total: Option<f64>,
    /// What is being done, for people.
    pub message: Option<String>,
}

impl Progress {
    /// A report of `progress` out of `total`.
    pub fn new(progress: f64, total: Option<f64>, message: Option<String>) -> Self {
        Self { progress, total, message }
    }
}

/// A log message of a server (MCP specification, `notifications/message`).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LogMessage {
    /// `debug` … `emergency`, or whatever word the server used.
    pub level: String,
    /// The server's name for the part that speaks.
    pub logger: Option<String>,
    /// Any JSON; usually text.
    pub data: RawJson,
}

impl LogMessage {
    /// A message of `level` that says `text`.
    pub fn new(level: impl Into<String>, text: &str) -> Self {
        Self { level: level.into(), logger: None, data: serde_json::Value::from(text).into() }
    }

    /// The message as text; JSON where it isn't text.
    pub fn text(&self) -> String {
        self.data.as_text().unwrap_or_else(|| self.data.to_string())
    }
}

impl CallContext {
    /// An empty context: the defaults of the client apply.
    pub fn new() -> Self {
        Self::default()
    }

    fn edit(mut self, f: impl FnOnce(&mut Parts)) -> Self {
        f(Arc::make_mut(self.parts.get_or_insert_default()));
        self
    }

    fn parts(&self) -> Option<&Parts> {
        self.parts.as_deref()
    }

    /// The context of a call that begins now, with its bounds and the time of its progress noted.
    pub(crate) fn watched(&self, begun: Instant, timeout: Duration, cap: Option<Duration>) -> Self {
        let pulse = Pulse { begun, last: AtomicU64::new(0), timeout, cap, held: AtomicUsize::new(0) };
        Self { parts: self.parts.clone(), pulse: Some(Arc::new(pulse)) }
    }

    /// Whether the deadline that is watched has passed.
    pub(crate) fn is_overdue(&self) -> bool {
        self.pulse.as_ref().is_some_and(|pulse| {
            let until = self.last_progress() + pulse.timeout;
            pulse.begun.elapsed() >= pulse.cap.map_or(until, |cap| cap.min(until))
        })
    }

    /// The deadlines and the switch of this call, for a list that has to be asked for first, and anew: what is meant for one
    /// server (`_meta`, sinks, a handler) doesn't reach another.
    pub(crate) fn bounds(&self) -> Self {
        let bounds = |parts: &Parts| Parts {
            timeout: parts.timeout,
            max_timeout: parts.max_timeout,
            cancellation: parts.cancellation.clone(),
            ..Parts::default()
        };
        Self { parts: self.parts().map(|parts| Arc::new(bounds(parts))), pulse: None }.with_fresh_answers()
    }

    /// How long after its beginning the call reported progress last; zero before the first report. Answering the server
    /// is progress.
    pub(crate) fn last_progress(&self) -> Duration {
        self.pulse.as_ref().map_or(Duration::ZERO, |pulse| match pulse.held.load(Ordering::SeqCst) {
            0 => Duration::from_millis(pulse.last.load(Ordering::Relaxed)),
            _ => pulse.begun.elapsed(),
        })
    }

    /// While this side answers the server, the call's timeout doesn't run; the hard cap does.
    pub(crate) fn hold(&self) -> Hold {
        let pulse = self.pulse.clone();
        if let Some(pulse) = &pulse {
            pulse.held.fetch_add(1, Ordering::SeqCst);
        }
        Hold(pulse)
    }

    /// How long to wait for the answer. Progress starts the wait anew, up to the hard cap.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.edit(|parts| parts.timeout = Some(timeout))
    }

    /// The hard cap: how long the call may take whatever progress it reports.
    #[must_use]
    pub fn with_max_timeout(self, max_timeout: Duration) -> Self {
        self.edit(|parts| parts.max_timeout = Some(max_timeout))
    }

    /// Members for the request's `_meta` object.
    #[must_use]
    pub fn with_meta(self, meta: RawJson) -> Self {
        self.edit(|parts| parts.meta = Some(meta))
    }

    /// Calls `sink` for each progress report, on the task that reads from the server: be quick.
    #[must_use]
    pub fn on_progress(self, sink: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.edit(|parts| parts.progress = Some(Arc::new(sink)))
    }

    /// Calls `sink` for each log message that belongs to this call.
    #[must_use]
    pub fn on_log(self, sink: impl Fn(&LogMessage) + Send + Sync + 'static) -> Self {
        self.edit(|parts| parts.log = Some(Arc::new(sink)))
    }

    /// From which level on the server should log during this call: `debug`, `info` … `emergency`. `info` where somebody
    /// listens ([`on_log`](Self::on_log)). Servers of revisions before 2026-07-28 are told their level for all calls, by
    /// `logging/setLevel`.
    #[must_use]
    pub fn with_log_level(self, level: &str) -> Self {
        self.edit(|parts| parts.log_level = Some(level.into()))
    }

    /// Who answers what the server asks while this call runs.
    #[must_use]
    pub fn with_handler(self, handler: impl Handler) -> Self {
        self.with_shared_handler(SharedHandler::new(handler))
    }

    /// The same for a call of this server, which its handler may mind.
    pub(crate) fn of_server(&self, label: &str) -> Self {
        match self.handler().and_then(|handler| handler.for_server(label)) {
            Some(handler) => self.clone().with_shared_handler(handler),
            None => self.clone(),
        }
    }

    pub(crate) fn with_shared_handler(self, handler: SharedHandler) -> Self {
        self.edit(|parts| parts.handler = Some(handler))
    }

    /// The capabilities of whoever is behind this call, for relays.
    #[must_use]
    pub fn with_client_capabilities(self, capabilities: RawJson) -> Self {
        self.edit(|parts| parts.client_capabilities = Some(capabilities))
    }

    /// Asks the server in any case. Otherwise a list, or a resource, of which a server of revision 2026-07-28 said how long it
    /// holds (`ttlMs`) isn't asked for again before; [`Limits::max_cached`](crate::Limits::max_cached) turns that off.
    #[must_use]
    pub fn with_fresh_answers(self) -> Self {
        self.edit(|parts| parts.fresh = true)
    }

    /// Whether the server is to be asked in any case.
    pub fn is_fresh(&self) -> bool {
        self.parts().is_some_and(|parts| parts.fresh)
    }

    /// Doesn't wait for the end of a call that its server goes on with as a task: the result then names the task.
    #[must_use]
    pub fn detached(self) -> Self {
        self.edit(|parts| parts.detached = true)
    }

    /// Whether a call that becomes a task is left to its caller.
    pub fn is_detached(&self) -> bool {
        self.parts().is_some_and(|parts| parts.detached)
    }

    /// For which of several clients the call is made. What a server says during it without naming the call reaches
    /// that client only if all that runs there is that client's.
    pub(crate) fn for_party(self, party: u64) -> Self {
        self.edit(|parts| parts.party = Some(party))
    }

    pub(crate) fn party(&self) -> Option<u64> {
        self.parts().and_then(|parts| parts.party)
    }

    /// Ends the call early when `cancellation` fires. Dropping the future does the same.
    #[must_use]
    pub fn with_cancellation(self, cancellation: Cancellation) -> Self {
        self.edit(|parts| parts.cancellation = Some(cancellation))
    }

    /// The timeout of this call, where one was given.
    pub fn timeout(&self) -> Option<Duration> {
        self.parts()?.timeout
    }

    /// The hard cap of this call, where one was given.
    pub fn max_timeout(&self) -> Option<Duration> {
        self.parts()?.max_timeout
    }

    /// The members for `_meta`.
    pub fn meta(&self) -> Option<&RawJson> {
        self.parts()?.meta.as_ref()
    }

    /// Whether anybody listens to progress.
    pub fn wants_progress(&self) -> bool {
        self.pulse.is_some() || self.parts().is_some_and(|parts| parts.progress.is_some())
    }

    /// Reports progress to whoever made this call.
    pub fn report_progress(&self, progress: &Progress) {
        if let Some(pulse) = &self.pulse {
            pulse.beat();
        }
        if let Some(sink) = self.parts().and_then(|parts| parts.progress.as_ref()) {
            sink(progress);
        }
    }

    /// From which level on to log, where that was said or somebody listens.
    pub fn log_level(&self) -> Option<&str> {
        let parts = self.parts()?;
        parts.log_level.as_deref().or_else(|| parts.log.is_some().then_some("info"))
    }

    /// Sends a log message to whoever made this call.
    pub fn log(&self, message: &LogMessage) {
        if let Some(sink) = self.parts().and_then(|parts| parts.log.as_ref()) {
            sink(message);
        }
    }

    /// Who answers the server's questions during this call.
    pub fn handler(&self) -> Option<&SharedHandler> {
        self.parts()?.handler.as_ref()
    }

    /// The forwarded capabilities.
    pub fn client_capabilities(&self) -> Option<&RawJson> {
        self.parts()?.client_capabilities.as_ref()
    }

    /// What can cancel this call.
    pub fn cancellation(&self) -> Option<&Cancellation> {
        self.parts()?.cancellation.as_ref()
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("CallContext");
        if let Some(parts) = self.parts() {
            out.field("timeout", &parts.timeout).field("max_timeout", &parts.max_timeout);
        }
        out.finish_non_exhaustive()
    }
}

/// A switch that ends calls early; clones share it.
#[derive(Clone, Default)]
pub struct Cancellation(Arc<(AtomicBool, Notify)>);

impl Cancellation {
    /// A switch that is off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every call that carries this switch.
    pub fn cancel(&self) {
        self.0.0.store(true, Ordering::SeqCst);
        self.0.1.notify_waiters();
    }

    /// Whether it was fired.
    pub fn is_cancelled(&self) -> bool {
        self.0.0.load(Ordering::SeqCst)
    }

    /// Waits until it fires.
    pub async fn cancelled(&self) {
        let mut notified = std::pin::pin!(self.0.1.notified());
        notified.as_mut().enable();
        if !self.is_cancelled() {
            notified.await;
        }
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancellation").field(&self.is_cancelled()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cancellation_is_seen_before_and_after_it_fires() {
        let early = Cancellation::new();
        early.cancel();
        early.cancelled().await;
        let late = Cancellation::new();
        let waiter = tokio::spawn({
            let late = late.clone();
            async move { late.cancelled().await }
        });
        tokio::task::yield_now().await;
        late.cancel();
        waiter.await.unwrap();
    }

    #[test]
    fn clones_of_a_context_do_not_share_changes() {
        let base = CallContext::new().with_timeout(Duration::from_secs(1));
        let other = base.clone().with_timeout(Duration::from_secs(2));
        assert_eq!((base.timeout(), other.timeout()), (Some(Duration::from_secs(1)), Some(Duration::from_secs(2))));
    }
}
