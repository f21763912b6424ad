//! Every MCP server behind one client.
#![warn(missing_docs)]

#[cfg(feature = "blocking")]
pub mod blocking;
mod client;
mod config;
mod connection;
mod error;
mod filtered;
mod limits;
mod managed;
mod multi;
mod name;
pub mod protocol;
mod redact;
mod schema;
mod server;
mod session;
mod static_server;
mod suggest;
mod transport;
mod tool;
mod toolset;

pub use error::{Error, ErrorKind, Result};
pub use protocol::{
    Arguments, ContentBlock, IntoArguments, Prompt, PromptArgument, PromptMessage, PromptResult, RawJson, ReadResult,
    Resource, ResourceContents, ResourceTemplate, ServerInfo, ToolDefinition, ToolResult,
};
pub use connection::{
    CallContext, Cancellation, Connection, Event, EventKind, Events, Handler, Handlers, LogMessage, Progress,
    SharedConnection, SharedHandler,
};
pub use config::{Config, Entry, Environment, HttpSpec, Loser, Origin, Problem, ServerSpec, StdioSpec, ToolFilter, TransportSpec, TrustStatus, TrustStore, Untrusted, parse_duration};
pub use client::{Call, Client, ClientBuilder, ToolProxy};
pub use filtered::Filtered;
pub use limits::Limits;
pub use multi::{Member, MemberStatus, MultiServer, Outcome, ServerListing};
pub use managed::State;
pub use server::serve_stdio;
pub use redact::{Redactor, Secret, mask_url};
pub use static_server::{IntoPromptResult, StaticResource, StaticServer};
pub use tool::{FunctionTool, IntoToolResult, Json, SharedTool, Tool, ToolFunction};
pub use toolset::{Decision, IntoDecision, PendingCall, ToolSet, ToolSetBuilder, ToolSource};

#[cfg(feature = "macros")]
pub use trunkline_macros::tool;

#[doc(hidden)]
pub use tool::support as __private;
