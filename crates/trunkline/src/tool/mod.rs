//! What an agent holds: the trait [`Tool`], its cloneable handle [`SharedTool`], and [`FunctionTool`], a function
//! of this process as a tool. Knows no MCP server; remote tools implement the same trait elsewhere.

mod function;
mod output;
mod schema;
mod shared;
mod signature;
#[doc(hidden)]
pub mod support;

pub use function::FunctionTool;
pub use output::{IntoToolResult, Json};
pub use shared::SharedTool;
pub use signature::ToolFunction;

use std::future::Future;

use crate::connection::CallContext;
use crate::error::Result;
use crate::protocol::{Arguments, ToolDefinition, ToolResult};

/// Something an agent can call: a function of this process or a tool of a server, with nothing to tell them apart.
///
/// [`FunctionTool`] and the attribute [`#[tool]`](macro@crate::tool) make tools of functions; implement the trait
/// where a tool has to hold more than that. `call` is written as a plain `async fn`.
///
/// ```
/// use trunkline::{Arguments, CallContext, Result, Tool, ToolDefinition, ToolResult};
/// use serde_json::json;
///
/// struct Dice {
///     definition: ToolDefinition,
/// }
///
/// impl Tool for Dice {
///     fn definition(&self) -> &ToolDefinition {
///         &self.definition
///     }
///     async fn call(&self, _arguments: Arguments, _cx: &CallContext) -> Result<ToolResult> {
///         Ok(ToolResult::local(json!(4)))
///     }
/// }
///
/// let dice = Dice { definition: ToolDefinition::new("roll", "Rolls a die.", json!({"type": "object"})) };
/// assert_eq!(dice.definition().name(), "roll");
/// ```
pub trait Tool: Send + Sync + 'static {
    /// Name, description and schema, as a model is shown them.
    fn definition(&self) -> &ToolDefinition;

    /// Runs the tool. What the tool itself reports as failure is an error *result*
    /// ([`ToolResult::is_error`]), which a model should see; `Err` means that the tool didn't run, or that
    /// nobody knows how it ended.
    fn call(&self, arguments: Arguments, cx: &CallContext) -> impl Future<Output = Result<ToolResult>> + Send;

    /// Whether the tool was put together rightly. Whoever takes in a tool asks this once, so that a mistake
    /// shows before the first call.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) says what is wrong.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}
