//! The twin of a tool set.

use serde_json::Value;

use super::runtime::{finish, run, wait};
use crate::connection::CallContext;
use crate::error::{Error, Result};
use crate::format::text::text_of_error;
use crate::format::{Answers, Definitions, Dialect};
use crate::protocol::{IntoArguments, RawJson, ToolDefinition, ToolResult};
use crate::toolset::{self, ToolSetBuilder};

/// The tools of an agent. Twin of [`ToolSet`](crate::ToolSet), which says more of each method.
///
/// Tools of this process, and the hook, run on the thread that makes the call; a hook may ask a person there.
///
/// ```
/// use serde_json::json;
/// use trunkline::{Client, FunctionTool, StaticServer, ToolSet};
///
/// # fn main() -> trunkline::Result<()> {
/// let server = StaticServer::new().function("far", "Far.", || 2);
/// let tools = ToolSet::builder()
///     .tool(FunctionTool::new("near", "Near.", || 1))
///     .mcp(Client::from_connection(server))
///     .build_blocking()?;
/// let names: Vec<_> = tools.definitions()?.iter().map(|tool| tool.name().to_owned()).collect();
/// assert_eq!(names, ["near", "far"]);
/// assert_eq!(tools.call("far", json!({}))?, json!(2));
/// assert_eq!(tools.call_text("fat", json!({})), "Error: No tool named \"fat\". Did you mean \"far\"? There are \"far\", \"near\"");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ToolSet(toolset::ToolSet);

impl ToolSetBuilder {
    /// Builds the [blocking](crate::blocking) set without connecting to anything.
    ///
    /// ```
    /// use trunkline::{FunctionTool, ToolSet};
    ///
    /// let tools = ToolSet::builder().tool(FunctionTool::new("now", "", || "noon")).build_blocking()?;
    /// assert_eq!(tools.call("now", ())?, "noon");
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_blocking(self) -> Result<ToolSet> {
        self.build().map(ToolSet)
    }
}

impl ToolSet {
    /// The async set behind this one.
    pub fn inner(&self) -> &toolset::ToolSet {
        &self.0
    }

    /// What to show a model.
    ///
    /// # Errors
    /// As [`ToolSet::definitions`](crate::ToolSet::definitions).
    pub fn definitions(&self) -> Result<Vec<ToolDefinition>> {
        run(self.0.definitions())
    }

    /// The tools in the dialect of a model's provider.
    ///
    /// # Errors
    /// As [`ToolSet::definitions_for`](crate::ToolSet::definitions_for).
    pub fn definitions_for(&self, dialect: Dialect) -> Result<Definitions> {
        run(self.0.definitions_for(dialect))
    }

    /// Makes the calls that a model's message asks for and writes the messages that answer them. Never fails.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::format::Dialect;
    /// use trunkline::{FunctionTool, ToolSet};
    ///
    /// let tools = ToolSet::builder().tool(FunctionTool::new("now", "", || "noon")).build_blocking()?;
    /// let definitions = tools.definitions_for(Dialect::OpenAiChat)?;
    /// let message = json!({"tool_calls": [{"id": "c1", "function": {"name": "now", "arguments": "{}"}}]});
    /// assert_eq!(tools.run(&definitions, &message).answers()[0].text(), "noon");
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    pub fn run(&self, definitions: &Definitions, message: impl Into<RawJson>) -> Answers {
        let message = message.into();
        wait(self.0.run(definitions, message.clone())).unwrap_or_else(|error| definitions.refused(message, &error))
    }

    /// Calls a tool and unwraps what it gives.
    ///
    /// # Errors
    /// As [`ToolSet::call`](crate::ToolSet::call).
    pub fn call(&self, name: &str, arguments: impl IntoArguments) -> Result<Value> {
        run(self.0.call(name, arguments.into_arguments()?))
    }

    /// Checks what every call is checked for before the hook is asked about it. Calls nothing.
    ///
    /// # Errors
    /// As [`ToolSet::check`](crate::ToolSet::check).
    pub fn check(&self, name: &str, arguments: impl IntoArguments) -> Result<()> {
        run(self.0.check(name, arguments.into_arguments()?))
    }

    /// Calls a tool with a context of its own and gives the whole result, error results included.
    ///
    /// # Errors
    /// As [`ToolSet::call_result`](crate::ToolSet::call_result).
    pub fn call_result(&self, name: &str, arguments: impl IntoArguments, cx: &CallContext) -> Result<ToolResult> {
        run(self.0.call_result(name, arguments.into_arguments()?, cx))
    }

    /// Calls a tool and says what came of it in the words that a model should see. Never fails.
    pub fn call_text(&self, name: &str, arguments: impl IntoArguments) -> String {
        wait(self.0.call_text(name, arguments)).unwrap_or_else(|error| text_of_error(&error))
    }

    /// Makes many calls. Outcomes in the calls' order; one that fails doesn't stop the others.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{FunctionTool, ToolSet};
    ///
    /// let tools = ToolSet::builder().tool(FunctionTool::new("now", "", || "noon")).build_blocking()?;
    /// let outcomes = tools.call_many([("now", json!({})), ("gone", json!({}))]);
    /// assert!(outcomes[0].is_ok() && outcomes[1].is_err());
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    pub fn call_many<N, A>(&self, calls: impl IntoIterator<Item = (N, A)>) -> Vec<Result<Value>>
    where
        N: AsRef<str>,
        A: IntoArguments,
    {
        let calls: Vec<_> = calls.into_iter().collect();
        let count = calls.len();
        wait(self.0.call_many(calls)).unwrap_or_else(|error| vec![Err(error); count])
    }

    /// Makes many calls, each told as by [`call_text`](Self::call_text).
    pub fn call_many_text<N, A>(&self, calls: impl IntoIterator<Item = (N, A)>) -> Vec<String>
    where
        N: AsRef<str>,
        A: IntoArguments,
    {
        let calls: Vec<_> = calls.into_iter().collect();
        let count = calls.len();
        let all = wait(self.0.call_many_text(calls));
        all.unwrap_or_else(|error| vec![text_of_error(&error); count])
    }

    /// The label of the server that a listed tool is of; nothing for a tool of this process.
    pub fn server(&self, name: &str) -> Option<String> {
        self.0.server(name)
    }

    /// What was odd and put up with, each once.
    pub fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    /// The servers that gave no tools when they were asked last, and why.
    pub fn failures(&self) -> Vec<(String, Error)> {
        self.0.failures()
    }

    /// Ends the connections of all servers. On the background thread it doesn't wait.
    pub fn disconnect(&self) {
        let tools = self.0.clone();
        finish(async move { tools.disconnect().await });
    }
}

impl From<toolset::ToolSet> for ToolSet {
    fn from(tools: toolset::ToolSet) -> Self {
        Self(tools)
    }
}
