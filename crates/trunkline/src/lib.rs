//! Every MCP server behind one client.
#![warn(missing_docs)]

mod connection;
mod error;
mod limits;
pub mod protocol;

pub use error::{Error, ErrorKind, Result};
pub use protocol::{
    Arguments, ContentBlock, IntoArguments, Prompt, PromptArgument, PromptMessage, PromptResult, RawJson, ReadResult,
    Resource, ResourceContents, ResourceTemplate, ServerInfo, ToolDefinition, ToolResult,
};
pub use connection::{
    CallContext, Cancellation, Connection, Event, EventKind, Events, Handler, Handlers, LogMessage, Progress,
    SharedConnection, SharedHandler,
};
pub use limits::Limits;
