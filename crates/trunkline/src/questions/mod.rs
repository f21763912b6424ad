//! Typed faces of what servers ask their client: forms and pages ([`Elicitation`]), a model's turn ([`Sampling`]),
//! folders ([`Roots`]). They are put on [`Handlers`]; whatever they don't know goes through a raw
//! [`Handler`](crate::Handler).

mod answer;
mod elicitation;
mod field;
mod roots;
mod sampling;
#[cfg(test)]
mod tests;

use std::future::Future;

use serde_json::json;

pub use answer::Answer;
pub use elicitation::Elicitation;
pub use field::{Choice, FieldKind, FormField};
pub use roots::{Root, Roots};
pub use sampling::{Sampled, Sampling, ToolChoice, ToolUse};

use crate::connection::{Asked, Handlers};
use crate::error::{Error, Result};
use crate::protocol::RawJson;
use crate::protocol::jsonrpc::INVALID_PARAMS;

impl Handlers {
    /// Answers what servers ask a person: forms to fill in and pages to open (MCP specification, Elicitation). An
    /// answer that doesn't fit the form never leaves: the server gets an error instead. Declares
    /// `{"elicitation": {"form": {}, "url": {}}}`.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{Answer, Handlers};
    ///
    /// let handlers = Handlers::new().elicit(|request| async move {
    ///     match request.url() {
    ///         Some(_) => Answer::decline(),
    ///         None => Answer::accept(json!({"name": "Ann"})),
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn elicit<F, Fut>(self, answer: F) -> Self
    where
        F: Fn(Elicitation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        self.eliciting(true, answer)
    }

    /// The same for forms alone; pages are refused. Declares `{"elicitation": {"form": {}}}`.
    ///
    /// ```
    /// use trunkline::{Answer, Handlers};
    ///
    /// let handlers = Handlers::new().elicit_forms(|_form| async { Answer::accept_defaults() });
    /// ```
    #[must_use]
    pub fn elicit_forms<F, Fut>(self, answer: F) -> Self
    where
        F: Fn(Elicitation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        self.eliciting(false, answer)
    }

    fn eliciting<F, Fut>(self, pages: bool, answer: F) -> Self
    where
        F: Fn(Elicitation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        let modes = if pages { json!({"form": {}, "url": {}}) } else { json!({"form": {}}) };
        self.respond("elicitation/create", json!({"elicitation": modes}), move |asked| {
            let request = Elicitation::read(asked);
            let request = request.and_then(|request| match request.url() {
                Some(_) if !pages => Err(refused("This client opens no pages (mode \"url\")")),
                _ => Ok(request),
            });
            let answering = request.map(|request| (answer(request.clone()), request));
            async move {
                let (answering, request) = answering?;
                answering.await.into_result(&request)
            }
        })
    }

    /// Answers what servers ask of a model (MCP specification, Sampling). Requests with tools are refused. Declares
    /// `{"sampling": {}}`. A server can spend your tokens this way: mind what you let through.
    ///
    /// ```
    /// use trunkline::{Handlers, Sampled};
    ///
    /// let handlers = Handlers::new().sample(|request| async move {
    ///     let said = request.messages().last().map(|message| message.text()).unwrap_or_default();
    ///     Ok(Sampled::text("parrot-1", &said))
    /// });
    /// ```
    #[must_use]
    pub fn sample<F, Fut>(self, answer: F) -> Self
    where
        F: Fn(Sampling) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Sampled>> + Send + 'static,
    {
        self.sampling(false, answer)
    }

    /// The same with tools: the model may answer with the use of some. Declares `{"sampling": {"tools": {}}}`.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{Handlers, Sampled, ToolUse};
    ///
    /// let handlers = Handlers::new().sample_with_tools(|request| async move {
    ///     match request.tools().first() {
    ///         Some(tool) => Sampled::tool_uses("caller-1", [ToolUse::new("call-1", tool.name(), json!({}))?]),
    ///         None => Ok(Sampled::text("caller-1", "There is nothing to call.")),
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn sample_with_tools<F, Fut>(self, answer: F) -> Self
    where
        F: Fn(Sampling) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Sampled>> + Send + 'static,
    {
        self.sampling(true, answer)
    }

    fn sampling<F, Fut>(self, tools: bool, answer: F) -> Self
    where
        F: Fn(Sampling) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Sampled>> + Send + 'static,
    {
        let declared = if tools { json!({"tools": {}}) } else { json!({}) };
        self.respond("sampling/createMessage", json!({"sampling": declared}), move |asked| {
            let request = Sampling::read(asked).and_then(|request| match request.uses_tools() {
                true if !tools => Err(refused("This client samples without tools")),
                _ => Ok(request),
            });
            let answering = request.map(&answer);
            async move { Ok(answering?.await?.raw().clone()) }
        })
    }

    /// Answers `roots/list` with these roots, by their URIs or as [`Root`]s, for good. Declares `{"roots": {}}`.
    #[must_use]
    pub fn roots<R: Into<Root>>(self, roots: impl IntoIterator<Item = R>) -> Self {
        let answer = Roots::new(roots).to_result();
        self.on("roots/list", json!({"roots": {}}), move |_| std::future::ready(Ok(answer.clone())))
    }

    /// Answers `roots/list` with these roots, which may change: connected servers are told then. Declares
    /// `{"roots": {"listChanged": true}}`.
    ///
    /// ```
    /// use trunkline::{Handlers, Root, Roots};
    ///
    /// let roots = Roots::new([Root::new("file:///home/me/project").named("project")]);
    /// let handlers = Handlers::new().live_roots(&roots);
    /// roots.set([Root::new("file:///home/me/other")]);
    /// ```
    #[must_use]
    pub fn live_roots(self, roots: &Roots) -> Self {
        let (changes, roots) = (roots.changes(), roots.clone());
        let answer = move |_: Asked| std::future::ready(Ok(roots.to_result()));
        self.respond("roots/list", json!({"roots": {"listChanged": true}}), answer).telling(changes)
    }
}

/// What the server may not ask of this client.
fn refused(why: &str) -> Error {
    Error::protocol(INVALID_PARAMS, why, None)
}

/// A text that is there and says something.
fn said(raw: &RawJson, field: &str) -> Option<String> {
    raw.text(field).filter(|text| !text.trim().is_empty())
}
