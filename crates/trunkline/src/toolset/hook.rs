//! What is asked before a call: whether it may be made, and with which arguments. Asking a person, or a policy,
//! is left to whoever gives the hook.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::error::Result;
use crate::protocol::{Arguments, IntoArguments, ToolDefinition};

/// A call that is about to be made, as a [`before_call`](super::ToolSetBuilder::before_call) hook sees it. Its
/// arguments fit the tool's schema.
///
/// ```
/// use serde_json::json;
/// use trunkline::{Decision, FunctionTool, PendingCall, ToolSet};
///
/// /// Whether the tool says of itself that it changes nothing.
/// fn only_reads(call: &PendingCall) -> bool {
///     let hints = call.definition().annotations();
///     hints.and_then(|hints| hints.get("readOnlyHint")).is_some_and(|hint| hint.as_bytes() == b"true")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
/// let tools = ToolSet::builder()
///     .tool(FunctionTool::new("look", "", || "seen").annotations(json!({"readOnlyHint": true})))
///     .tool(FunctionTool::new("wipe", "", || "gone"))
///     .before_call(|call| match only_reads(&call) {
///         true => Decision::approve(),
///         false => Decision::refuse("Only reading is allowed."),
///     })
///     .build()?;
/// assert_eq!(tools.call("look", ()).await?, "seen");
/// assert!(tools.call("wipe", ()).await.is_err());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct PendingCall {
    pub(super) definition: ToolDefinition,
    pub(super) arguments: Arguments,
    pub(super) server: Option<Box<str>>,
}

impl PendingCall {
    /// The name the tool is called by.
    pub fn name(&self) -> &str {
        self.definition.name()
    }

    /// The arguments as they would be sent.
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// The tool's definition; its [`annotations`](ToolDefinition::annotations) say whether it only reads.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// The label of the tool's server; nothing for a tool of this process.
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }
}

/// What becomes of a [`PendingCall`].
///
/// ```
/// use serde_json::json;
/// use trunkline::Decision;
///
/// let decisions = [
///     Decision::approve(),
///     Decision::refuse("This folder is off limits. Work in ./notes."),
///     Decision::rewrite(json!({"path": "./notes"})),
/// ];
/// ```
#[derive(Debug, Clone)]
#[must_use = "a decision does nothing unless the hook returns it"]
pub struct Decision(pub(super) Verdict);

#[derive(Debug, Clone)]
pub(super) enum Verdict {
    Approve,
    Refuse(String),
    Rewrite(Result<Arguments>),
}

impl Decision {
    /// The call is made as it is.
    pub fn approve() -> Self {
        Self(Verdict::Approve)
    }

    /// The call isn't made. The model sees `reason` as an error result: say what it should do instead.
    pub fn refuse(reason: impl Into<String>) -> Self {
        Self(Verdict::Refuse(reason.into()))
    }

    /// The call is made with other arguments. They are checked against the schema as any others are.
    pub fn rewrite(arguments: impl IntoArguments) -> Self {
        Self(Verdict::Rewrite(arguments.into_arguments()))
    }
}

/// What a hook may return: a [`Decision`], or a future of one.
///
/// ```
/// use trunkline::{Decision, IntoDecision, ToolSet};
///
/// fn deny() -> impl IntoDecision {
///     async { Decision::refuse("Not now.") }
/// }
///
/// let tools = ToolSet::builder().before_call(|_| deny()).build()?;
/// # Ok::<(), trunkline::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no decision on a call",
    note = "return `Decision::approve()`, `Decision::refuse(reason)` or `Decision::rewrite(arguments)`, or a future of one"
)]
pub trait IntoDecision {
    /// Comes to the decision.
    fn into_decision(self) -> impl Future<Output = Decision> + Send;
}

impl IntoDecision for Decision {
    async fn into_decision(self) -> Decision {
        self
    }
}

impl<F: Future<Output = Decision> + Send> IntoDecision for F {
    fn into_decision(self) -> impl Future<Output = Decision> + Send {
        self
    }
}

/// A hook of any kind.
pub(super) type Hook = Arc<dyn Fn(PendingCall) -> BoxFuture<'static, Decision> + Send + Sync>;

pub(super) fn shared<F, D>(hook: F) -> Hook
where
    F: Fn(PendingCall) -> D + Send + Sync + 'static,
    D: IntoDecision + Send + 'static,
{
    Arc::new(move |call| {
        let decision = hook(call);
        Box::pin(async move { decision.into_decision().await })
    })
}
