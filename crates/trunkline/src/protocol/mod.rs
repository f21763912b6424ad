//! Plain values of the protocol: no I/O, no state.

pub(crate) mod content;
pub(crate) mod era;
pub(crate) mod jsonrpc;
#[cfg(any(test, fuzzing))]
pub(crate) mod laws;
pub(crate) mod raw;
mod result;
mod rewrite;
mod scan;
mod types;

pub use content::{ContentBlock, PromptMessage, PromptResult, ReadResult, ResourceContents};
pub use era::{LegacyRevision, Protocol};
pub use raw::{Arguments, IntoArguments, RawJson};
pub use result::ToolResult;
pub(crate) use result::{input_required, result_type};
pub use types::{
    Completion, CompletionQuery, Icon, Prompt, PromptArgument, Resource, ResourceTemplate, ServerInfo, Task,
    TaskStatus, ToolDefinition,
};
