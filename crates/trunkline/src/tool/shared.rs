//! [`SharedTool`]: any tool behind one cloneable handle, without a foreign macro on its implementer.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Tool;
use crate::connection::CallContext;
use crate::error::Result;
use crate::protocol::{Arguments, ToolDefinition, ToolResult};

/// The twin of [`Tool`] that can be a trait object.
trait Erased: Send + Sync + 'static {
    fn definition(&self) -> &ToolDefinition;
    fn call<'a>(&'a self, arguments: Arguments, cx: &'a CallContext) -> BoxFuture<'a, Result<ToolResult>>;
    fn check(&self) -> Result<()>;
}

impl<T: Tool> Erased for T {
    fn definition(&self) -> &ToolDefinition {
        Tool::definition(self)
    }
    fn call<'a>(&'a self, arguments: Arguments, cx: &'a CallContext) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(Tool::call(self, arguments, cx))
    }
    fn check(&self) -> Result<()> {
        Tool::check(self)
    }
}

/// Any [`Tool`], cheap to clone and to keep in a list. It is a `Tool` itself.
///
/// ```
/// use trunkline::{FunctionTool, SharedTool, Tool};
///
/// let tools = vec![
///     SharedTool::new(FunctionTool::new("one", "Gives 1.", || 1)),
///     SharedTool::new(FunctionTool::new("now", "Gives the time.", || async { "noon" })),
/// ];
/// assert_eq!(tools[1].definition().name(), "now");
/// ```
#[derive(Clone)]
pub struct SharedTool(Arc<dyn Erased>);

impl SharedTool {
    /// Shares a tool.
    pub fn new(tool: impl Tool) -> Self {
        Self(Arc::new(tool))
    }
}

impl Tool for SharedTool {
    fn definition(&self) -> &ToolDefinition {
        self.0.definition()
    }
    async fn call(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        self.0.call(arguments, cx).await
    }
    fn check(&self) -> Result<()> {
        self.0.check()
    }
}

impl fmt::Debug for SharedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedTool").field(&self.0.definition().name()).finish()
    }
}
