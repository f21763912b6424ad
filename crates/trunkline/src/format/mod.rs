//! How tools, calls and results are written for the model providers: definitions that a provider accepts, the calls
//! of a model's message, the results that go back to it. Pure values; making the calls is left to the tool set, and
//! talking to a provider to its user.
//!
//! Every provider takes tools in a dialect of its own: another envelope, other names, another part of JSON Schema.
//! One tool that breaks a rule makes it refuse the whole request. [`Definitions`] writes the tools so that it
//! doesn't, and tells of every change. Nothing is taken from the tools themselves: arguments are still checked
//! against the schema that the server gave.
//!
//! ```
//! use serde_json::json;
//! use trunkline::format::Dialect;
//! use trunkline::{FunctionTool, ToolSet};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
//! let tools = ToolSet::builder().tool(FunctionTool::new("now", "The time of day.", || "noon")).build()?;
//! let definitions = tools.definitions_for(Dialect::OpenAiChat).await?;
//!
//! // the request: {"model": …, "messages": messages, "tools": definitions.tools()}; the model's answer to it:
//! let message = json!({"role": "assistant", "tool_calls": [
//!     {"id": "call_1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
//! ]});
//! let answers = tools.run(&definitions, &message).await;
//! assert_eq!(
//!     answers.messages()[0].to_value(), // to append to the messages, after the model's own
//!     json!({"role": "tool", "tool_call_id": "call_1", "content": "noon"})
//! );
//! # Ok(()) }
//! ```

mod answer;
mod call;
mod definitions;
mod dialect;
#[cfg(any(test, fuzzing))]
pub(crate) mod laws;
mod reply;
mod report;
mod schema;
pub(crate) mod text;
mod write;

pub use answer::{Answer, Answers};
pub use call::ToolCall;
pub use definitions::Definitions;
pub use dialect::Dialect;
pub use report::{Change, Effect, Strictness, ToolReport};
