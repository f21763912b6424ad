//! Calling the tools of a set: found, checked, asked about, made, and told in the form that was wanted.

use std::future::Future;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use super::ToolSet;
use super::hook::{PendingCall, Verdict};
use super::table::Entry;
use crate::connection::CallContext;
use crate::error::{Error, ErrorKind, Result};
use crate::format::text;
use crate::managed::{What, within_context};
use crate::protocol::{Arguments, IntoArguments, ToolResult};
use crate::tool::Tool;

impl ToolSet {
    /// Calls a tool and unwraps what it gives: text where it is text, parsed JSON where it is JSON, otherwise the
    /// raw payload; of a tool of this process the value itself.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{Client, FunctionTool, StaticServer, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let server = StaticServer::new().function("far", "Far.", || 2);
    /// let tools = ToolSet::builder()
    ///     .tool(FunctionTool::new("near", "Near.", || 1))
    ///     .mcp(Client::from_connection(server))
    ///     .build()?;
    /// assert_eq!(tools.call("near", ()).await?, json!(1));
    /// assert_eq!(tools.call("far", ()).await?, json!(2));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) for an unknown name (with the nearest), [`InvalidArguments`](ErrorKind::InvalidArguments)
    /// when the arguments don't fit the schema, [`Tool`](ErrorKind::Tool) when the tool reports an error or the hook
    /// refuses, else what its server failed with.
    pub async fn call(&self, name: &str, arguments: impl IntoArguments) -> Result<Value> {
        self.value(name, arguments.into_arguments()).await
    }

    async fn value(&self, name: &str, arguments: Result<Arguments>) -> Result<Value> {
        let answer = self.attempt(name, arguments, &CallContext::new()).await?;
        let refused = answer.refused;
        answer.result.into_value(name).map_err(|error| answer.entry.of_tool(error).with_may_have_run(!refused))
    }

    /// Checks what every call is checked for before the hook is asked about it: that there is such a tool, and that the
    /// arguments fit its schema. Calls nothing.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{FunctionTool, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let tools = ToolSet::builder().tool(FunctionTool::new("wipe", "Deletes everything.", || "gone")).build()?;
    /// tools.check("wipe", json!({})).await?; // worth asking the user about
    /// assert!(tools.check("whip", json!({})).await.is_err());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) and [`InvalidArguments`](ErrorKind::InvalidArguments), as [`call`](Self::call),
    /// and what the tool's server failed with where it had to be asked.
    pub async fn check(&self, name: &str, arguments: impl IntoArguments) -> Result<()> {
        let arguments = arguments.into_arguments();
        let entry = self.find(name).await?;
        entry.check(&arguments.map_err(|error| entry.of_tool(error))?, self.hub())
    }

    /// Calls a tool with a context of its own and gives the whole result, error results included.
    ///
    /// ```
    /// use std::time::Duration;
    /// use trunkline::{CallContext, FunctionTool, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let tools = ToolSet::builder().tool(FunctionTool::new("fail", "", || Err::<(), _>("no luck"))).build()?;
    /// let cx = CallContext::new().with_timeout(Duration::from_secs(5));
    /// let result = tools.call_result("fail", (), &cx).await?;
    /// assert!(result.is_error());
    /// assert_eq!(result.text(), "no luck");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`call`](Self::call), but an error that the tool reports, or a refusal, is a result.
    pub async fn call_result(&self, name: &str, arguments: impl IntoArguments, cx: &CallContext) -> Result<ToolResult> {
        Ok(self.attempt(name, arguments.into_arguments(), cx).await?.result)
    }

    /// Calls a tool and says what came of it in the words that a model should see. Never fails: errors are text
    /// that says what to do about them.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{FunctionTool, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let tools = ToolSet::builder().tool(FunctionTool::new("now", "The time of day.", || "noon")).build()?;
    /// assert_eq!(tools.call_text("now", json!({})).await, "noon");
    /// let told = tools.call_text("nov", json!({})).await;
    /// assert_eq!(told, "Error: No tool named \"nov\". Did you mean \"now\"?");
    /// # Ok(()) }
    /// ```
    pub fn call_text(&self, name: &str, arguments: impl IntoArguments) -> impl Future<Output = String> + Send {
        self.text(name, arguments.into_arguments())
    }

    async fn text(&self, name: &str, arguments: Result<Arguments>) -> String {
        let outcome = self.attempt(name, arguments, &CallContext::new()).await;
        text::seen_by_model(name, outcome.map(|answer| answer.result))
    }

    /// Makes many calls, so many at once as [`concurrency`](super::ToolSetBuilder::concurrency) says. Outcomes in the
    /// calls' order; one that fails doesn't stop the others.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{FunctionTool, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let tools = ToolSet::builder().tool(FunctionTool::new("now", "The time of day.", || "noon")).build()?;
    /// let outcomes = tools.call_many([("now", json!({})), ("gone", json!({})), ("now", json!({}))]).await;
    /// assert_eq!(outcomes[0].as_ref().unwrap(), "noon");
    /// assert!(outcomes[1].is_err() && outcomes[2].is_ok());
    /// # Ok(()) }
    /// ```
    pub fn call_many<N, A>(
        &self,
        calls: impl IntoIterator<Item = (N, A)>,
    ) -> impl Future<Output = Vec<Result<Value>>> + Send
    where
        N: AsRef<str>,
        A: IntoArguments,
    {
        let one = |(name, arguments): Prepared| async move { self.value(&name, arguments).await };
        at_once(self.0.concurrency, prepared(calls).into_iter().map(one).collect())
    }

    /// Makes many calls as [`call_many`](Self::call_many) does, each told as by [`call_text`](Self::call_text).
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{FunctionTool, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let tools = ToolSet::builder().tool(FunctionTool::new("now", "The time of day.", || "noon")).build()?;
    /// assert_eq!(tools.call_many_text([("now", json!({})), ("now", json!({}))]).await, ["noon", "noon"]);
    /// # Ok(()) }
    /// ```
    pub fn call_many_text<N, A>(
        &self,
        calls: impl IntoIterator<Item = (N, A)>,
    ) -> impl Future<Output = Vec<String>> + Send
    where
        N: AsRef<str>,
        A: IntoArguments,
    {
        let one = |(name, arguments): Prepared| async move { self.text(&name, arguments).await };
        at_once(self.0.concurrency, prepared(calls).into_iter().map(one).collect())
    }

    /// Finds the tool, checks the arguments, asks the hook, makes the call.
    async fn attempt(&self, name: &str, arguments: Result<Arguments>, cx: &CallContext) -> Result<Answer> {
        let entry = self.find(name).await?;
        let mut arguments = arguments.map_err(|error| entry.of_tool(error))?;
        entry.check(&arguments, self.hub())?;
        if let Some(hook) = &self.0.hook {
            let (definition, server) = (entry.definition().clone(), entry.server.clone());
            match hook(PendingCall { definition, arguments: arguments.clone(), server }).await.0 {
                Verdict::Approve => {}
                Verdict::Refuse(reason) => {
                    return Ok(Answer { result: ToolResult::error(reason), entry, refused: true });
                }
                Verdict::Rewrite(others) => {
                    arguments = others.map_err(|error| entry.of_tool(error))?;
                    entry.check(&arguments, self.hub())?;
                }
            }
        }
        let call = async {
            match entry.server {
                Some(_) => entry.tool.call(arguments, cx).await,
                None => local(&entry, arguments, cx).await,
            }
        };
        let result = call.await.map_err(|error| entry.of_tool(error))?;
        Ok(Answer { result, entry, refused: false })
    }
}

/// What came of a call.
struct Answer {
    result: ToolResult,
    entry: Arc<Entry>,
    /// The hook refused it; nothing ran.
    refused: bool,
}

/// Runs a tool of this process within what its context asks for, as a client does for a remote one.
async fn local(entry: &Entry, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
    let what = What("tool", Some(entry.name()));
    let call = within_context(what, cx, async |cx| entry.tool.call(arguments, &cx).await);
    match cx.cancellation() {
        None => call.await,
        Some(cancellation) => tokio::select! {
            biased;
            outcome = call => outcome,
            () = cancellation.cancelled() => {
                let error = Error::new(ErrorKind::Cancelled, format!("The call of {what} was cancelled"));
                Err(error.with_may_have_run(true))
            }
        },
    }
}

type Prepared = (String, Result<Arguments>);

fn prepared<N: AsRef<str>, A: IntoArguments>(calls: impl IntoIterator<Item = (N, A)>) -> Vec<Prepared> {
    calls.into_iter().map(|(name, arguments)| (name.as_ref().to_owned(), arguments.into_arguments())).collect()
}

/// Runs so many at a time; outcomes in the order of `calls`.
pub(super) async fn at_once<T>(concurrency: usize, calls: Vec<impl Future<Output = T>>) -> Vec<T> {
    let numbered: Vec<_> = calls.into_iter().enumerate().map(|(at, call)| async move { (at, call.await) }).collect();
    let mut outcomes: Vec<_> = stream::iter(numbered).buffer_unordered(concurrency).collect().await;
    outcomes.sort_unstable_by_key(|(at, _)| *at);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}
