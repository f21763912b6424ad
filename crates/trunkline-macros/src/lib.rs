//! The attribute `#[tool]` of the crate `trunkline`: reads a function, keeps it and writes its tool beside it.
//! Use it through `trunkline::tool`; the code it writes names nothing but `::trunkline`.

mod docs;
mod expand;
mod options;
mod parameter;

use proc_macro::TokenStream;

/// Makes a tool of a function: keeps the function as it is and adds `NAME_tool()` beside it, which gives its
/// `FunctionTool`. The function stays callable, and testable, as it was.
///
/// ```
/// use trunkline::{Tool, tool};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(
///     /// The first number.
///     a: i64,
///     /// The second one.
///     #[tool(default = 1)]
///     b: i64,
/// ) -> i64 {
///     a + b
/// }
///
/// assert_eq!(add(1, 2), 3);
/// let tool = add_tool();
/// assert_eq!(tool.definition().name(), "add");
/// assert_eq!(tool.definition().description().as_deref(), Some("Adds two numbers."));
/// ```
///
/// # What becomes what
///
/// * The tool's name is the function's, its description the doc comment up to the first heading.
/// * Each parameter is an argument of its own name. Its type implements `serde::Deserialize` and
///   `schemars::JsonSchema`; `&str`, `&[T]`, `&T` and an `Option` of them are read as `String`, `Vec<T>` and `T`.
/// * An argument's description is its own doc comment, or its line in a list under the heading `# Arguments`
///   (`` * `a` - The first number. ``).
/// * `Option<T>` is optional. So is an argument with `#[tool(default)]` (the type's default) or
///   `#[tool(default = EXPRESSION)]`. An argument that the function doesn't have is refused.
/// * `#[serde(..)]` and `#[schemars(..)]` on a parameter apply to the argument.
/// * A `CallContext` or `&CallContext` is no argument: the function is given that of the call.
/// * The result is any `IntoToolResult` or any type that implements `Serialize`, or a `Result` of one, whose `Err`
///   the model sees as an error result. The function may be `async`.
///
/// # Options
///
/// `#[tool(name = "..", title = "..", description = "..", blocking, read_only, destructive, idempotent, open_world)]`.
/// `blocking` runs a sync function on the pool for blocking work. The last four are hints for people and models,
/// and may be given as `read_only = false`.
///
/// ```
/// use trunkline::{CallContext, ToolResult, tool};
///
/// /// Reads a file.
/// ///
/// /// # Arguments
/// /// * `path` - Which file.
/// /// * `limit` - How many bytes at most; all of them if not given.
/// ///
/// /// # Errors
/// /// Only people read this part.
/// #[tool(name = "read_file", title = "Read a file", blocking, read_only)]
/// fn read(path: &str, limit: Option<usize>) -> std::io::Result<String> {
///     let text = std::fs::read_to_string(path)?;
///     Ok(text.chars().take(limit.unwrap_or(usize::MAX)).collect())
/// }
///
/// /// Looks something up.
/// #[tool]
/// async fn look_up(words: Vec<String>, cx: &CallContext) -> ToolResult {
///     ToolResult::text_result(format!("{} words, progress wanted: {}", words.len(), cx.wants_progress()))
/// }
/// # let _ = (read_tool(), look_up_tool());
/// ```
///
/// # What it refuses
///
/// Methods, generic and `unsafe` functions, parameters that are patterns:
///
/// ```compile_fail
/// struct Desk;
/// impl Desk {
///     #[trunkline::tool]
///     fn add(&self, a: i64) -> i64 { a }
/// }
/// ```
/// ```compile_fail
/// #[trunkline::tool]
/// fn first<T>(of: Vec<T>) -> Option<T> { of.into_iter().next() }
/// ```
/// ```compile_fail
/// #[trunkline::tool]
/// fn add((a, b): (i64, i64)) -> i64 { a + b }
/// ```
/// ```compile_fail
/// #[trunkline::tool(readonly)]
/// fn add(a: i64, b: i64) -> i64 { a + b }
/// ```
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(options.into(), item.into()).into()
}
