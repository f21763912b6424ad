//! What happens on a server's side between calls, as a stream that never makes the reader wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::context::LogMessage;
use crate::limits::Limits;

/// Something that happened, and on which server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Event {
    /// The server's label; empty for a connection that has none.
    pub server: String,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EventKind {
    /// The server is being started.
    Starting,
    /// The handshake is done.
    Ready,
    /// It could not be started, or its connection ended; why.
    Failed(crate::Error),
    /// It was closed from this side.
    Closed,
    /// Its tools are not what they were.
    ToolsChanged,
    /// Its resources are not what they were.
    ResourcesChanged,
    /// Its prompts are not what they were.
    PromptsChanged,
    /// A subscribed resource changed.
    ResourceUpdated {
        /// Which.
        uri: String,
    },
    /// What a server asked to be done on a page ([`Elicitation::url`](crate::Elicitation::url)) is done. Ids that nobody
    /// was asked about mean nothing.
    ElicitationComplete {
        /// Which, as [`Elicitation::id`](crate::Elicitation::id) gave it.
        id: String,
    },
    /// It logged something.
    Log(LogMessage),
    /// It wrote a line on its standard error.
    Stderr(String),
    /// It does something odd that was put up with.
    Warning(String),
    /// So many events were lost since the listener was too slow.
    Lagged(u64),
}

/// A stream of [`Event`]s.
#[derive(Debug)]
pub struct Events(Option<broadcast::Receiver<Event>>);

impl Events {
    /// A stream on which nothing ever happens.
    pub fn none() -> Self {
        Self(None)
    }

    /// The next event; `None` once the connection is gone for good. Waits for ever where nothing happens.
    pub async fn next(&mut self) -> Option<Event> {
        match self.0.as_mut() {
            None => std::future::pending().await,
            Some(receiver) => match receiver.recv().await {
                Ok(event) => Some(event),
                Err(RecvError::Lagged(lost)) => Some(Event { server: String::new(), kind: EventKind::Lagged(lost) }),
                Err(RecvError::Closed) => None,
            },
        }
    }

    /// What has happened already, without waiting.
    pub(crate) fn try_next(&mut self) -> Option<Event> {
        match self.0.as_mut()?.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Lagged(lost)) => Some(Event { server: String::new(), kind: EventKind::Lagged(lost) }),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

/// Where events are handed out. A hub can have parents, which hear everything it says.
#[derive(Debug)]
pub(crate) struct Hub {
    server: String,
    /// Made at the first listener: an idle server needs none.
    sender: OnceLock<broadcast::Sender<Event>>,
    parents: Mutex<Vec<Parent>>,
    changes: [AtomicU64; 3],
    epoch: AtomicU64,
    warnings: Mutex<Vec<String>>,
    max_events: usize,
    max_warnings: usize,
}

/// A hub that hears everything another one says.
#[derive(Debug, Clone)]
struct Parent {
    hub: Weak<Hub>,
    /// The server's label there, where it is another.
    alias: Option<Arc<str>>,
}

/// A list that can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    Tools,
    Resources,
    Prompts,
}

impl Hub {
    pub(crate) fn new(server: &str, limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            server: server.to_owned(),
            sender: OnceLock::new(),
            parents: Mutex::default(),
            changes: Default::default(),
            epoch: AtomicU64::new(0),
            warnings: Mutex::default(),
            max_events: limits.max_events.max(1),
            max_warnings: limits.max_warnings,
        })
    }

    pub(crate) fn emit(&self, kind: EventKind) {
        self.pass(&Event { server: self.server.clone(), kind });
    }

    /// How often a list is known to have changed. What was listed under another number is stale.
    pub(crate) fn generation(&self, list: Listed) -> u64 {
        self.changes[list as usize].load(Ordering::SeqCst)
    }

    fn count(&self, kind: &EventKind) {
        let changed: &[Listed] = match kind {
            EventKind::ToolsChanged => &[Listed::Tools],
            EventKind::ResourcesChanged => &[Listed::Resources],
            EventKind::PromptsChanged => &[Listed::Prompts],
            EventKind::Ready => &[Listed::Tools, Listed::Resources, Listed::Prompts],
            _ => &[],
        };
        for list in changed {
            self.changes[*list as usize].fetch_add(1, Ordering::SeqCst);
        }
        if !changed.is_empty() {
            self.epoch.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Counts up with everything that is learnt of the lists of this server, or of those it is a parent of.
    /// What was derived from them under another number has to be made anew.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Something was learnt of a list, without an event.
    pub(crate) fn advance(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        for parent in self.parents().iter().filter_map(|parent| parent.hub.upgrade()) {
            parent.advance();
        }
    }

    fn parents(&self) -> Vec<Parent> {
        self.parents.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The warnings so far, with the server's label where they come from another.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep_warning(&self, server: &str, text: &str) {
        let own = server == self.server || server.is_empty();
        let text = if own { text.to_owned() } else { format!("{server}: {text}") };
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.len() < self.max_warnings && !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Hands an event on as it is.
    pub(crate) fn pass(&self, event: &Event) {
        self.count(&event.kind);
        if let EventKind::Warning(text) = &event.kind {
            self.keep_warning(&event.server, text);
        }
        if let Some(sender) = self.sender.get() {
            let _ = sender.send(event.clone()); // nobody listening is fine
        }
        for Parent { hub, alias } in self.parents() {
            let Some(hub) = hub.upgrade() else { continue };
            match alias.filter(|_| event.server == self.server) {
                Some(alias) => hub.pass(&Event { server: alias.as_ref().to_owned(), kind: event.kind.clone() }),
                None => hub.pass(event),
            }
        }
    }

    pub(crate) fn listen(&self) -> Events {
        Events(Some(self.sender.get_or_init(|| broadcast::Sender::new(self.max_events)).subscribe()))
    }

    /// From now on `parent` hears all that is said here, under the label `alias` where one is given.
    pub(crate) fn add_parent(&self, parent: &Arc<Hub>, alias: Option<&str>) {
        let mut parents = self.parents.lock().unwrap_or_else(PoisonError::into_inner);
        parents.retain(|known| known.hub.strong_count() > 0);
        if !parents.iter().any(|known| std::ptr::eq(known.hub.as_ptr(), Arc::as_ptr(parent))) {
            parents.push(Parent { hub: Arc::downgrade(parent), alias: alias.map(Into::into) });
        }
    }
}
