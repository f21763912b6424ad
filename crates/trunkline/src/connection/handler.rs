//! Who answers what a server asks its client: sampling, elicitation, roots.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use serde_json::json;

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
}

trait ErasedHandler: Send + Sync {
    fn capabilities(&self) -> RawJson;
    fn handle<'a>(&'a self, method: &'a str, params: RawJson) -> BoxFuture<'a, Result<RawJson>>;
}

impl<H: Handler> ErasedHandler for H {
    fn capabilities(&self) -> RawJson {
        Handler::capabilities(self)
    }

    fn handle<'a>(&'a self, method: &'a str, params: RawJson) -> BoxFuture<'a, Result<RawJson>> {
        Box::pin(Handler::handle(self, method, params))
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
}

impl fmt::Debug for SharedHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedHandler({})", self.0.capabilities())
    }
}

type Answer = Arc<dyn Fn(RawJson) -> BoxFuture<'static, Result<RawJson>> + Send + Sync>;

/// A handler put together from functions.
///
/// ```
/// use trunkline::Handlers;
/// use serde_json::json;
///
/// let handlers = Handlers::new()
///     .roots(["file:///home/me/project"])
///     .on("elicitation/create", json!({"elicitation": {}}), |_params| async {
///         Ok(json!({"action": "decline"}).into())
///     });
/// ```
#[derive(Clone, Default)]
pub struct Handlers {
    capabilities: serde_json::Map<String, serde_json::Value>,
    answers: IndexMap<String, Answer>,
}

impl Handlers {
    /// Answers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers `roots/list` with these URIs.
    #[must_use]
    pub fn roots<U: Into<String>>(self, uris: impl IntoIterator<Item = U>) -> Self {
        let roots: Vec<_> = uris.into_iter().map(|uri| json!({"uri": uri.into()})).collect();
        let answer = RawJson::from(json!({"roots": roots}));
        self.on("roots/list", json!({"roots": {}}), move |_| std::future::ready(Ok(answer.clone())))
    }

    /// Answers `method` by `f`, and declares `capabilities` (an object) to the server.
    #[must_use]
    pub fn on<F, Fut>(mut self, method: &str, capabilities: serde_json::Value, f: F) -> Self
    where
        F: Fn(RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson>> + Send + 'static,
    {
        if let serde_json::Value::Object(more) = capabilities {
            self.capabilities.extend(more);
        }
        self.answers.insert(method.to_owned(), Arc::new(move |params| Box::pin(f(params))));
        self
    }
}

impl Handler for Handlers {
    fn capabilities(&self) -> RawJson {
        serde_json::Value::Object(self.capabilities.clone()).into()
    }

    async fn handle(&self, method: &str, params: RawJson) -> Result<RawJson> {
        match self.answers.get(method) {
            Some(answer) => answer(params).await,
            None => Err(Error::new(ErrorKind::Unsupported, format!("This client doesn't answer \"{method}\""))),
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.answers.keys()).finish()
    }
}
