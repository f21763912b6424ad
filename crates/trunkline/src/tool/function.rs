//! [`FunctionTool`]: a function of this process as a tool. Catches its panics; deadlines are left to whoever calls.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde_json::Value;

use super::Tool;
use super::schema;
use super::signature::{Body, Call, Kind, ToolFunction};
use crate::connection::CallContext;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Arguments, RawJson, ToolDefinition, ToolResult};

/// A function of this process as a tool.
///
/// The function may be sync or async, takes its arguments as one type of yours and returns any
/// [`IntoToolResult`](crate::IntoToolResult). The schema comes from the argument's type: `Option` and
/// `#[serde(default)]` are optional, doc comments become descriptions.
///
/// Arguments that don't fit are an error of kind [`InvalidArguments`](ErrorKind::InvalidArguments) and the function
/// doesn't run. An `Err` that it returns is an error *result*, and so is a panic (where panics unwind).
///
/// A sync function runs where it is called; mark one that blocks with [`blocking`](Self::blocking).
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
/// use trunkline::{CallContext, FunctionTool, IntoArguments, Tool};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Divide {
///     /// What is divided.
///     a: f64,
///     /// By what.
///     b: f64,
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
/// let divide = FunctionTool::new("divide", "Divides a by b.", |x: Divide| match x.b {
///     0.0 => Err("b is zero"),
///     b => Ok(x.a / b),
/// });
/// let cx = CallContext::new();
/// let result = divide.call(json!({"a": 1, "b": 4}).into_arguments()?, &cx).await?;
/// assert_eq!(result.into_value("divide")?, 0.25);
/// let result = divide.call(json!({"a": 1, "b": 0}).into_arguments()?, &cx).await?;
/// assert!(result.is_error());
///
/// let wait = FunctionTool::new("wait", "Waits its turn.", |_: CallContext| async { "done" });
/// assert_eq!(wait.call(().into_arguments()?, &cx).await?.text(), "done");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct FunctionTool {
    definition: ToolDefinition,
    body: Body,
    blocking: bool,
    fault: Option<Error>,
}

impl FunctionTool {
    /// The tool of `function`, with the schema of its argument.
    ///
    /// An empty name, or an argument whose JSON is no object (such as a bare `String`), is told by
    /// [`check`](Tool::check) and by every call, as an error of kind [`Config`](ErrorKind::Config).
    pub fn new<F, Marker>(name: impl AsRef<str>, description: impl AsRef<str>, function: F) -> Self
    where
        F: ToolFunction<Marker>,
    {
        match F::schema() {
            Ok(schema) => Self::with_schema(name, description, schema, function),
            Err(fault) => {
                let fault = no_object(name.as_ref(), &fault);
                Self { fault: Some(fault), ..Self::with_schema(name, description, schema::any_object(), function) }
            }
        }
    }

    /// The tool of `function` with a schema of your own, taken as it is. The function usually takes
    /// [`Arguments`], the JSON as it came; any other argument is decoded as with [`new`](Self::new).
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{Arguments, FunctionTool};
    ///
    /// let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    /// let count = FunctionTool::with_schema("count", "Counts arguments.", schema, |arguments: Arguments| {
    ///     arguments.iter().count()
    /// });
    /// ```
    pub fn with_schema<F, Marker>(
        name: impl AsRef<str>,
        description: impl AsRef<str>,
        schema: Value,
        function: F,
    ) -> Self
    where
        F: ToolFunction<Marker>,
    {
        let fault = name.as_ref().trim().is_empty().then(|| Error::config("A tool needs a name"));
        let definition = ToolDefinition::new(name, description, schema);
        Self { definition, body: function.into_body(), blocking: false, fault }
    }

    /// Runs a sync function on the runtime's pool for blocking work instead of where it is called, so that it
    /// doesn't hold up other tasks. Needs a Tokio runtime. A call that is given up leaves the function running
    /// to its end. An async function is not affected.
    ///
    /// ```
    /// use trunkline::FunctionTool;
    ///
    /// let read = FunctionTool::new("motd", "The message of the day.", || std::fs::read_to_string("/etc/motd"))
    ///     .blocking();
    /// ```
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.blocking = true;
        self
    }

    /// Gives the tool a name for people.
    ///
    /// ```
    /// use trunkline::{FunctionTool, Tool};
    ///
    /// let tool = FunctionTool::new("now", "", || "noon").title("Current time");
    /// assert_eq!(tool.definition().title().as_deref(), Some("Current time"));
    /// ```
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.with("title", Value::from(title.into()))
    }

    /// Sets the hints of the MCP specification, such as `{"readOnlyHint": true}`.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{FunctionTool, Tool};
    ///
    /// let tool = FunctionTool::new("now", "", || "noon").annotations(json!({"readOnlyHint": true}));
    /// assert!(tool.definition().annotations().is_some());
    /// ```
    #[must_use]
    pub fn annotations(self, annotations: impl Into<RawJson>) -> Self {
        self.with("annotations", annotations)
    }

    /// Says that the result is a `T` (a JSON object, as of a struct), so that callers know its shape.
    ///
    /// A `T` whose JSON is no object is told as [`new`](Self::new) tells it of an argument.
    ///
    /// ```
    /// use trunkline::{FunctionTool, Json, Tool};
    ///
    /// #[derive(serde::Serialize, schemars::JsonSchema)]
    /// struct Weather {
    ///     celsius: f64,
    /// }
    ///
    /// let tool = FunctionTool::new("weather", "", || Json(Weather { celsius: 21.5 })).output_schema::<Weather>();
    /// assert!(tool.definition().output_schema().is_some());
    /// ```
    #[must_use]
    pub fn output_schema<T: JsonSchema>(mut self) -> Self {
        match schema::of_result::<T>() {
            Ok(schema) => self.with("outputSchema", schema),
            Err(fault) => {
                let told = format!("Tool \"{}\": its output schema {fault}", self.definition.name());
                self.fault.get_or_insert(Error::config(told).with_hint("Return a struct with named fields"));
                self
            }
        }
    }

    fn with(mut self, field: &str, value: impl Into<RawJson>) -> Self {
        self.definition = self.definition.with(field, value);
        self
    }
}

impl Tool for FunctionTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        self.check()?;
        let name = self.definition.name();
        match &self.body.0 {
            Kind::Inline(function) if self.blocking => {
                let (function, cx, tool) = (function.clone(), cx.clone(), name.to_owned());
                let run = move || guarded(&tool, || function(Call { tool: &tool, arguments: &arguments, cx: &cx }));
                tokio::task::spawn_blocking(run).await.unwrap_or_else(|_| Err(shut_down(name)))
            }
            Kind::Inline(function) => guarded(name, || function(Call { tool: name, arguments: &arguments, cx })),
            Kind::Awaited(function) => {
                let start = || function(Call { tool: name, arguments: &arguments, cx });
                match catch_unwind(AssertUnwindSafe(start)) {
                    Ok(future) => {
                        let result = AssertUnwindSafe(future?).catch_unwind().await;
                        Ok(result.unwrap_or_else(|panic| panicked(name, &*panic)))
                    }
                    Err(panic) => Ok(panicked(name, &*panic)),
                }
            }
        }
    }

    fn check(&self) -> Result<()> {
        self.fault.clone().map_or(Ok(()), Err)
    }
}

fn guarded(name: &str, run: impl FnOnce() -> Result<ToolResult>) -> Result<ToolResult> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Ok(panicked(name, &*panic)))
}

fn panicked(name: &str, panic: &(dyn Any + Send)) -> ToolResult {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    ToolResult::error(match said {
        Some(said) => format!("Tool \"{name}\" panicked: {said}"),
        None => format!("Tool \"{name}\" panicked"),
    })
}

fn shut_down(name: &str) -> Error {
    Error::new(ErrorKind::Cancelled, format!("Tool \"{name}\" didn't run: the runtime is shutting down"))
}

fn no_object(name: &str, fault: &str) -> Error {
    Error::config(format!("Tool \"{name}\": its argument {fault}"))
        .with_hint("Take a struct with a field for each argument, deriving Deserialize and JsonSchema")
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool")
            .field("definition", &self.definition)
            .field("blocking", &self.blocking)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "function_tests.rs"]
mod tests;
