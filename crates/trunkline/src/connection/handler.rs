//! Who answers what a server asks its client: sampling, elicitation, roots.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use tokio::sync::watch;

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;

/// Answers the requests a server makes to its client.
///
/// What [`capabilities`](Self::capabilities) returns is declared to the server; a request that isn't answered
/// gets JSON-RPC error `-32601`.
pub trait Handler: Send + Sync + 'static {
    /// The client capabilities this handler stands for, such as `{"elicitation": {}}`.
    fn capabilities(&self) -> RawJson;

    /// Answers one request. Runs in a task of its own, so it may call the same server.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] becomes `-32601`; anything else an error with its message.
    fn handle(&self, method: &str, params: RawJson) -> impl Future<Output = Result<RawJson>> + Send;

    /// The same handler for the questions of the server with this label, where it minds which one asks.
    fn for_server(&self, _label: &str) -> Option<SharedHandler> {
        None
    }

    /// When the roots it answers change, from now on, which its servers are told. Never by default.
    fn root_changes(&self) -> RootChanges {
        RootChanges::none()
    }
}

/// When the roots of a [`Handler`] change.
#[derive(Debug, Clone)]
pub struct RootChanges(Option<watch::Receiver<u64>>);

impl RootChanges {
    /// They never do.
    pub fn none() -> Self {
        Self(None)
    }

    pub(crate) fn of(receiver: watch::Receiver<u64>) -> Self {
        Self(Some(receiver))
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    fn onwards(mut self) -> Self {
        self.0.iter_mut().for_each(watch::Receiver::mark_unchanged);
        self
    }

    /// Waits for the next change; several at once count as one. For ever where there is none.
    pub(crate) async fn next(&mut self) {
        let changed = match &mut self.0 {
            Some(receiver) => receiver.changed().await.is_ok(),
            None => false,
        };
        if !changed {
            std::future::pending().await // nobody is left to change them
        }
    }
}

trait ErasedHandler: Send + Sync {
    fn capabilities(&self) -> RawJson;
    fn handle<'a>(&'a self, method: &'a str, params: RawJson) -> BoxFuture<'a, Result<RawJson>>;
    fn for_server(&self, label: &str) -> Option<SharedHandler>;
    fn root_changes(&self) -> RootChanges;
}

impl<H: Handler> ErasedHandler for H {
    fn capabilities(&self) -> RawJson {
        Handler::capabilities(self)
    }

    fn handle<'a>(&'a self, method: &'a str, params: RawJson) -> BoxFuture<'a, Result<RawJson>> {
        Box::pin(Handler::handle(self, method, params))
    }

    fn for_server(&self, label: &str) -> Option<SharedHandler> {
        Handler::for_server(self, label)
    }

    fn root_changes(&self) -> RootChanges {
        Handler::root_changes(self)
    }
}

/// Any [`Handler`], cheap to clone.
#[derive(Clone)]
pub struct SharedHandler(Arc<dyn ErasedHandler>);

impl SharedHandler {
    /// Shares a handler.
    pub fn new(handler: impl Handler) -> Self {
        Self(Arc::new(handler))
    }
}

impl Handler for SharedHandler {
    fn capabilities(&self) -> RawJson {
        self.0.capabilities()
    }

    async fn handle(&self, method: &str, params: RawJson) -> Result<RawJson> {
        self.0.handle(method, params).await
    }

    fn for_server(&self, label: &str) -> Option<SharedHandler> {
        self.0.for_server(label)
    }

    fn root_changes(&self) -> RootChanges {
        self.0.root_changes()
    }
}

impl fmt::Debug for SharedHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedHandler({})", self.0.capabilities())
    }
}

/// One request of a server.
pub(crate) struct Asked {
    /// The server's label; empty where it isn't known.
    pub(crate) server: Arc<str>,
    pub(crate) params: RawJson,
}

type Respond = Arc<dyn Fn(Asked) -> BoxFuture<'static, Result<RawJson>> + Send + Sync>;

/// A handler put together from functions. The typed ones ([`elicit`](Self::elicit), [`sample`](Self::sample),
/// [`roots`](Self::roots)) declare exactly what they answer; [`on`](Self::on) answers anything else.
///
/// ```
/// use trunkline::{Answer, Handlers};
///
/// let handlers = Handlers::new()
///     .roots(["file:///home/me/project"])
///     .elicit(|request| async move {
///         eprintln!("{} asks: {}", request.server(), request.message());
///         Answer::accept_defaults()
///     });
/// ```
#[derive(Clone)]
pub struct Handlers {
    server: Arc<str>,
    capabilities: serde_json::Map<String, serde_json::Value>,
    responds: IndexMap<String, Respond>,
    root_changes: RootChanges,
}

impl Default for Handlers {
    fn default() -> Self {
        Self {
            server: "".into(),
            capabilities: serde_json::Map::new(),
            responds: IndexMap::new(),
            root_changes: RootChanges::none(),
        }
    }
}

impl Handlers {
    /// Answers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers `method` by `f`, raw in and raw out, and declares `capabilities` (an object) to the server.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::Handlers;
    ///
    /// let handlers = Handlers::new().on("vendor/ask", json!({"experimental": {"vendor": {}}}), |_params| async {
    ///     Ok(json!({"answer": 42}).into())
    /// });
    /// ```
    #[must_use]
    pub fn on<F, Fut>(self, method: &str, capabilities: serde_json::Value, f: F) -> Self
    where
        F: Fn(RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson>> + Send + 'static,
    {
        self.respond(method, capabilities, move |asked| f(asked.params))
    }

    /// The same, for who minds which server asks.
    pub(crate) fn respond<F, Fut>(mut self, method: &str, capabilities: serde_json::Value, f: F) -> Self
    where
        F: Fn(Asked) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson>> + Send + 'static,
    {
        if let serde_json::Value::Object(more) = capabilities {
            self.capabilities.extend(more);
        }
        self.responds.insert(method.to_owned(), Arc::new(move |asked| Box::pin(f(asked))));
        self
    }

    pub(crate) fn telling(mut self, root_changes: RootChanges) -> Self {
        self.root_changes = root_changes;
        self
    }
}

impl Handler for Handlers {
    fn capabilities(&self) -> RawJson {
        serde_json::Value::Object(self.capabilities.clone()).into()
    }

    async fn handle(&self, method: &str, params: RawJson) -> Result<RawJson> {
        match self.responds.get(method) {
            Some(respond) => respond(Asked { server: self.server.clone(), params }).await,
            None => Err(Error::new(ErrorKind::Unsupported, format!("This client doesn't answer \"{method}\""))),
        }
    }

    fn for_server(&self, label: &str) -> Option<SharedHandler> {
        Some(SharedHandler::new(Self { server: label.into(), ..self.clone() }))
    }

    fn root_changes(&self) -> RootChanges {
        self.root_changes.clone().onwards()
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.responds.keys()).finish()
    }
}
