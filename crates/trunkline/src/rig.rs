//! The tools of a set as tools of [rig](https://docs.rs/rig-core), for agents that are built with it. The agent, its
//! model and its loop are rig's.

use rig_core::message::{DocumentSourceKind, Image, ImageMediaType, MimeType as _, ToolName, ToolResultContent};
use rig_core::tool::{DynamicTool, ToolErrorKind, ToolExecutionError, ToolOutput};

use crate::connection::CallContext;
use crate::error::{Error, ErrorKind, Result};
use crate::format::text;
use crate::protocol::{ContentBlock, IntoArguments as _, ToolResult};
use crate::tool::{SharedTool, Tool as _};
use crate::toolset::ToolSet;

impl ToolSet {
    /// The tools as rig takes them: `AgentBuilder::new(model).dynamic_tools(tools.rig_tools().await?)`. Follows
    /// rig-core 0.44.
    ///
    /// Calls go through this set: arguments are checked against the server's schema, the hook is asked. What fails is
    /// an error whose output for the model says what to do; images stay images.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::{Client, FunctionTool, StaticServer, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = StaticServer::new().function("ping", "Answers pong.", || "pong");
    /// let tools = ToolSet::builder()
    ///     .tool(FunctionTool::new("now", "The time of day.", || "noon"))
    ///     .mcp(Client::from_connection(server)) // or Client::stdio(...)
    ///     .build()?;
    /// let [now, ping] = tools.rig_tools().await?.try_into().unwrap();
    /// assert_eq!(now.execute(json!({})).await?.as_text(), Some("noon"));
    /// assert_eq!(ping.execute(json!({})).await?.as_text(), Some("pong"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`tools`](Self::tools).
    pub async fn rig_tools(&self) -> Result<Vec<DynamicTool>> {
        self.tools().await?.into_iter().map(bound).collect()
    }
}

fn bound(tool: SharedTool) -> Result<DynamicTool> {
    let definition = tool.definition();
    let name =
        ToolName::new(definition.name()).map_err(|error| Error::config("A tool has no name").with_source(error))?;
    let (description, schema) = (definition.description().unwrap_or_default(), definition.input_schema().to_value());
    Ok(DynamicTool::new(name, description, schema, move |arguments| {
        let tool = tool.clone();
        Box::pin(async move { called(&tool, arguments).await })
    }))
}

async fn called(tool: &SharedTool, arguments: serde_json::Value) -> Result<ToolOutput, ToolExecutionError> {
    let name = tool.definition().name();
    let outcome = match arguments.into_arguments() {
        Ok(arguments) => tool.call(arguments, &CallContext::new()).await,
        Err(error) => Err(error),
    };
    let (kind, retryable) = match &outcome {
        Ok(result) if !result.is_error() => return output(name, result),
        Ok(_) => (ToolErrorKind::Other, false),
        Err(error) => (kind(error.kind()), error.is_retryable()),
    };
    let told = text::seen_by_model(name, outcome);
    Err(ToolExecutionError::new(kind, told.clone()).with_model_feedback(told).with_retryable(retryable))
}

/// A result without images is told as any model is told; with them, block by block.
fn output(name: &str, result: &ToolResult) -> Result<ToolOutput, ToolExecutionError> {
    let blocks = result.content();
    if !blocks.iter().any(|block| image(block).is_some()) {
        return Ok(ToolOutput::text(text::seen_by_model(name, Ok(result.clone()))));
    }
    let content = blocks.iter().map(|block| match image(block) {
        Some(image) => ToolResultContent::Image(image),
        None => ToolResultContent::text(text::seen_by_model(name, Ok(ToolResult::from_blocks([block.clone()])))),
    });
    ToolOutput::content(content.collect())
}

fn image(block: &ContentBlock) -> Option<Image> {
    if block.kind() != "image" {
        return None;
    }
    let data = DocumentSourceKind::Base64(block.raw().text("data")?);
    let media_type = ImageMediaType::from_mime_type(&block.mime_type()?);
    Some(Image { data, media_type, ..Image::default() })
}

fn kind(kind: ErrorKind) -> ToolErrorKind {
    match kind {
        ErrorKind::NotFound => ToolErrorKind::NotFound,
        ErrorKind::InvalidArguments => ToolErrorKind::InvalidArgs,
        ErrorKind::Auth => ToolErrorKind::PermissionDenied,
        ErrorKind::Unreachable | ErrorKind::Closed => ToolErrorKind::Network,
        ErrorKind::Deadline => ToolErrorKind::Timeout,
        ErrorKind::Cancelled => ToolErrorKind::Cancelled,
        _ => ToolErrorKind::Other,
    }
}
