//! [`FunctionTool`]: a function of this process as a tool. Catches its panics; deadlines are left to whoever calls.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde_json::Value;

use super::schema;
use super::signature::{Body, Call, Kind, ToolFunction};
use super::Tool;
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
mod tests {
    use std::thread;

    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::connection::Progress;
    use crate::protocol::IntoArguments;
    use crate::tool::Json;

    #[derive(Deserialize, JsonSchema)]
    struct Add {
        a: i64,
        b: Option<i64>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Sum {
        sum: i64,
    }

    async fn call(tool: &FunctionTool, arguments: impl IntoArguments) -> Result<ToolResult> {
        tool.call(arguments.into_arguments().unwrap(), &CallContext::new()).await
    }

    fn add(x: Add) -> i64 {
        x.a + x.b.unwrap_or_default()
    }

    #[tokio::test]
    async fn every_form_of_function_is_a_tool() {
        let tools = [
            FunctionTool::new("t", "", || 3),
            FunctionTool::new("t", "", || async { 3 }),
            FunctionTool::new("t", "", |x: Add| add(x)),
            FunctionTool::new("t", "", add),
            FunctionTool::new("t", "", |x: Add| async move { Ok::<_, Error>(add(x)) }),
            FunctionTool::new("t", "", |x: Add, _cx: CallContext| x.a + 2),
            FunctionTool::new("t", "", |x: Add, _cx: CallContext| async move { x.a + 2 }),
            FunctionTool::new("t", "", |_cx: CallContext| 3),
            FunctionTool::new("t", "", |x: Arguments| x.get("a").unwrap().decode::<i64>().map(|a| a + 2)),
            FunctionTool::new("t", "", |x: Add| Json(Sum { sum: add(x) }).0.sum),
            FunctionTool::new("t", "", |x: Add| json!(add(x))),
            FunctionTool::new("t", "", |x: Add| ToolResult::local(json!(add(x)))),
            FunctionTool::new("t", "", |x: Add| -> Result<i64, std::fmt::Error> { Ok(add(x)) }),
            FunctionTool::new("t", "", |x: Add| Ok::<_, String>(add(x))).blocking(),
            FunctionTool::with_schema("t", "", json!({"type": "object"}), |x: Add| add(x)),
        ];
        for (at, tool) in tools.iter().enumerate() {
            let result = call(tool, json!({"a": 1, "b": 2})).await.unwrap();
            assert_eq!(result.into_value("t").unwrap(), 3, "tool {at}");
        }
    }

    #[tokio::test]
    async fn definitions_say_what_was_given() {
        let tool = FunctionTool::new("add", "Adds.", add)
            .title("Addition")
            .annotations(json!({"readOnlyHint": true}))
            .output_schema::<Sum>();
        assert_eq!(
            tool.definition().raw().to_value(),
            json!({
                "name": "add",
                "title": "Addition",
                "description": "Adds.",
                "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": ["integer", "null"]}}, "required": ["a"]},
                "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
                "annotations": {"readOnlyHint": true},
            })
        );
        assert_eq!(FunctionTool::new("x", "", || 1).definition().input_schema().to_value(), json!({"type": "object", "properties": {}}));
    }

    #[tokio::test]
    async fn errors_and_panics_are_error_results() {
        fn slip(_: Add) -> i64 {
            panic!("off by {}", 1)
        }
        let tools = [
            (FunctionTool::new("t", "", |_: Add| Err::<i64, _>("no such number")), "no such number"),
            (FunctionTool::new("t", "", |_: Add| async { Err::<i64, _>("no such number") }), "no such number"),
            (FunctionTool::new("t", "", slip), "Tool \"t\" panicked: off by 1"),
            (FunctionTool::new("t", "", slip).blocking(), "Tool \"t\" panicked: off by 1"),
            (FunctionTool::new("t", "", |x: Add| async move { slip(x) }), "Tool \"t\" panicked: off by 1"),
            (FunctionTool::new("t", "", |x: Add| std::future::ready(slip(x))), "Tool \"t\" panicked: off by 1"),
        ];
        for (tool, told) in &tools {
            let result = call(tool, json!({"a": 1})).await.unwrap();
            assert!(result.is_error());
            assert_eq!(result.text(), *told);
        }
    }

    #[tokio::test]
    async fn misfitting_arguments_keep_the_function_from_running() {
        for tool in [
            FunctionTool::new("t", "", |_: Add| -> i64 { panic!("ran") }),
            FunctionTool::new("t", "", |_: Add| async { panic!("ran") as i64 }),
            FunctionTool::new("t", "", |_: Add| -> i64 { panic!("ran") }).blocking(),
        ] {
            let error = call(&tool, json!({"a": "x"})).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArguments);
            assert!(error.message().starts_with("Tool \"t\": argument \"a\": invalid type"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_mistake_in_the_making_is_told_by_check_and_by_calls() {
        for (tool, told) in [
            (FunctionTool::new("t", "", |text: String| text), "its argument `string` is of type \"string\""),
            (FunctionTool::new("t", "", || "x").output_schema::<String>(), "its output schema `string`"),
            (FunctionTool::new(" ", "", || "x"), "A tool needs a name"),
        ] {
            let error = tool.check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().contains(told), "{error}");
            assert_eq!(call(&tool, ()).await.unwrap_err().message(), error.message());
        }
    }

    #[tokio::test]
    async fn only_blocking_functions_leave_the_thread() {
        let here = format!("{:?}", thread::current().id());
        let id = || format!("{:?}", thread::current().id());
        assert_eq!(call(&FunctionTool::new("t", "", id), ()).await.unwrap().text(), here);
        assert_ne!(call(&FunctionTool::new("t", "", id).blocking(), ()).await.unwrap().text(), here);
    }

    #[tokio::test]
    async fn the_context_reaches_the_function() {
        let tool = FunctionTool::new("t", "", |cx: CallContext| async move {
            cx.report_progress(&Progress::new(1.0, Some(2.0), None));
            cx.wants_progress()
        });
        let (sender, receiver) = std::sync::mpsc::channel();
        let cx = CallContext::new().on_progress(move |progress| sender.send(progress.progress).unwrap());
        let result = tool.call(Arguments::none(), &cx).await.unwrap();
        assert_eq!(result.into_value("t").unwrap(), true);
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1.0]);
    }
}
