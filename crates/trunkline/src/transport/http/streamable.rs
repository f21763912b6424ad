//! Streamable HTTP: each message is a POST, whose answer is JSON or a stream of events (MCP specification, Transports).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::endpoint::Endpoint;
use super::fetch::lock;
use super::requests::Core;
use super::standing;
use crate::error::Result;
use crate::limits::Limits;
use crate::transport::{Evidence, Exchange, Inbox, Kind, Tags, Terms};

/// An open session over HTTP.
pub(crate) struct HttpWire {
    core: Arc<Core>,
    runtime: Handle,
    listening: Mutex<Option<AbortHandle>>,
    ended: AtomicBool,
}

impl HttpWire {
    pub(crate) fn open(endpoint: &Endpoint, limits: &Limits, inbox: Arc<dyn Inbox>) -> Result<Self> {
        Ok(Self {
            core: Arc::new(Core::new(endpoint, limits, inbox)?),
            runtime: Handle::current(),
            listening: Mutex::default(),
            ended: AtomicBool::new(false),
        })
    }

    /// Sends a message. What is left to do for the answer to a request is the exchange.
    pub(crate) async fn send(&self, kind: Kind, line: Vec<u8>, tags: Tags) -> Result<Option<Exchange>> {
        if self.ended.load(Ordering::SeqCst) {
            return Err(crate::transport::gone());
        }
        let core = self.core.clone();
        match kind {
            Kind::Request { id, .. } => {
                Ok(Some(Exchange::new(async move { core.request(id, line.into(), tags).await })))
            }
            // boxed: else every call, over a pipe too, would be as large as this, and be moved about
            Kind::Other => Box::pin(core.notify(line.into())).await.map(|()| None),
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

    /// What every request says from now on.
    pub(crate) fn agree(&self, terms: &Terms) {
        self.core.agree(terms);
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
