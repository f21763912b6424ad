//! A remote tool as an ordinary tool.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::Client;
use crate::connection::{CallContext, Connection};
use crate::error::Result;
use crate::limits::Limits;
use crate::protocol::{Arguments, IntoArguments, RawJson, ToolDefinition, ToolResult};
use crate::schema::Checker;
use crate::tool::Tool;

/// A tool of a server, ready for an agent: a [`Tool`] like a local function. (Seed: `MCPToolProxy`.)
#[derive(Clone)]
pub struct ToolProxy {
    client: Client,
    /// As shown: exposed name, a description in any case.
    definition: ToolDefinition,
    /// The name on the wire, where it is another.
    wire: Option<Box<str>>,
}

impl ToolProxy {
    pub(crate) fn new(client: Client, tool: ToolDefinition) -> Self {
        let exposed = client.exposed(&tool);
        let wire = (exposed != tool.name()).then(|| tool.name().into());
        let described = match tool.is_described() {
            true => tool,
            false => {
                let description = format!("MCP tool '{}' from {}.", tool.name(), client.label());
                tool.with("description", Value::from(description))
            }
        };
        let definition = if wire.is_some() { described.with("name", Value::from(exposed)) } else { described };
        Self { client, definition, wire }
    }

    /// The same tool, shown under another name.
    pub(crate) fn renamed(mut self, name: &str) -> Self {
        if name != self.name() {
            self.wire.get_or_insert_with(|| self.definition.name().into());
            self.definition = self.definition.with("name", Value::from(name));
        }
        self
    }

    /// The name to show and to call it by.
    pub fn name(&self) -> &str {
        self.definition.name()
    }

    /// The name the server knows it by.
    pub fn wire_name(&self) -> &str {
        self.wire.as_deref().unwrap_or(self.definition.name())
    }

    /// The label of its server.
    pub fn server(&self) -> &str {
        self.client.label()
    }

    /// What it does; "MCP tool 'x' from server." where the server doesn't say.
    pub fn description(&self) -> String {
        self.definition.description().unwrap_or_default()
    }

    /// The JSON Schema of its arguments.
    pub fn input_schema(&self) -> RawJson {
        self.definition.input_schema()
    }

    /// Whether these arguments fit the tool's schema, without calling it. Where the schema itself can't be used,
    /// everything fits: the server checks for itself.
    ///
    /// # Errors
    /// [`InvalidArguments`](crate::ErrorKind::InvalidArguments) that names each argument that doesn't fit.
    pub fn check_arguments(&self, arguments: &Arguments) -> Result<()> {
        match Checker::compile(&self.input_schema(), self.limits()) {
            Ok(checker) => checker.check(arguments),
            Err(reason) => {
                tracing::debug!(server = self.server(), tool = self.wire_name(), reason, "the schema can't be used");
                Ok(())
            }
        }
    }

    /// Why arguments can't be checked against the tool's schema, if they can't.
    pub fn schema_fault(&self) -> Option<String> {
        Checker::compile(&self.input_schema(), self.limits()).err()
    }

    /// The bounds of its server.
    pub(crate) fn limits(&self) -> &Arc<Limits> {
        &self.client.managed().setup().limits
    }

    /// Calls it and unwraps the result, as [`Client::call_tool`] does.
    ///
    /// # Errors
    /// As [`Client::call_tool`].
    pub async fn invoke(&self, arguments: impl IntoArguments) -> Result<Value> {
        let result = self.call(arguments.into_arguments()?, &CallContext::new()).await?;
        result.into_value(self.wire_name()).map_err(|error| error.with_context("server", self.server()))
    }
}

impl Tool for ToolProxy {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        self.client.managed().call_tool(self.wire_name(), arguments, cx).await
    }
}

impl fmt::Debug for ToolProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolProxy").field("name", &self.name()).field("server", &self.server()).finish()
    }
}
