//! Every MCP server behind one client.
//!
//! A [Model Context Protocol](https://modelcontextprotocol.io) server offers tools, resources and prompts. This crate
//! connects to any number of them and makes a remote tool an ordinary tool: discovered with its schema, named so that
//! nothing collides, called with deadlines, its result unwrapped.
//!
//! | you have | you want |
//! | --- | --- |
//! | one server | [`Client`] |
//! | several servers | [`MultiServer`], or [`Client::from_config`] |
//! | an agent with tools of its own and of servers | [`ToolSet`] |
//! | functions that should be a server, or a test without one | [`StaticServer`], [`FunctionTool`], [`#[tool]`](macro@tool) |
//! | those tools in the request to a model, and its calls carried out | [`format`](mod@format) |
//! | something else that has tools | implement [`Connection`] |
//! | a server that wants a login | [`OAuth`] |
//! | tools that stay what somebody agreed to | [`Lock`], [`Locked`] |
//! | a test that must not need its servers | [`Tape`] records, [`Cassette`] replays |
//! | no async runtime | [`blocking`] |
//! | to know which servers run, and what a crash left | [`processes`] |
//!
//! ```
//! use serde_json::json;
//! use trunkline::{Client, StaticServer};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
//! // a server that is a subprocess: Client::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."])
//! let server = StaticServer::new().function("ping", "Answers pong.", || "pong");
//! let client = Client::from_connection(server).build()?;
//! assert_eq!(client.list_tools().await?[0].name(), "ping");
//! assert_eq!(client.call_tool("ping", json!({})).await?, json!("pong"));
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! | feature | default | what |
//! | --- | --- | --- |
//! | `stdio` | yes | servers that run as a subprocess |
//! | `http` | yes | servers over Streamable HTTP |
//! | `sse` | yes | servers over the HTTP+SSE of revision 2024-11-05 |
//! | `oauth` | yes | logging in to HTTP servers: OAuth 2.1 |
//! | `blocking` | yes | twins of the clients for code without an async runtime |
//! | `macros` | yes | the attribute `#[tool]` |
//! | `skills` | yes | `Client::list_skills`: the skills of a server, verified |
//! | `serve-http` | no | `HttpServer`: serving a connection over Streamable HTTP |
//! | `rig` | no | `ToolSet::rig_tools`: the tools of a set as tools of rig |
//!
//! `serde_json` and [`schemars`] are part of the public interface.
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// In reading order: from the user's handle down to the wire.

// what a user holds
#[cfg(feature = "blocking")]
pub mod blocking;
mod client;
mod multi;
mod questions;
#[cfg(feature = "rig")]
mod rig;
#[cfg(feature = "skills")]
mod skills;
mod static_server;
mod tool;
mod toolset;

// the seam between a server and whoever uses it
mod cassette;
mod connection;
mod filtered;
mod lock;

// a server that is connected when it is needed
mod auth;
mod config;
mod managed;
#[cfg(feature = "oauth")]
mod oauth;

// the wire
#[cfg(feature = "stdio")]
pub mod processes;
#[cfg(all(feature = "stdio", feature = "http"))]
mod program;
mod server;
mod session;
mod tasks;
mod transport;

// values and rules, without state
pub mod display;
mod environment;
mod error;
pub mod format;
mod limits;
mod name;
pub mod protocol;
mod redact;
mod schema;
mod suggest;

#[cfg(all(feature = "stdio", feature = "http"))]
pub use auth::TokenCommand;
pub use auth::{Challenge, TokenSource};
pub use cassette::{Cassette, Recorder, Replay, Tape};
pub use client::{Call, Client, ClientBuilder, TaskHandle, ToolProxy};
pub use config::{
    Config, Entry, HttpSpec, Loser, Origin, Problem, ServerSpec, StdioSpec, ToolFilter, TransportSpec, TrustStatus,
    TrustStore, Untrusted, parse_duration,
};
pub use connection::{
    CallContext, Cancellation, Connection, Event, EventKind, Events, Handler, Handlers, LogMessage, Progress,
    RootChanges, SharedConnection, SharedHandler,
};
pub use environment::Environment;
pub use error::{Error, ErrorKind, Result};
pub use filtered::Filtered;
pub use limits::Limits;
pub use lock::{
    AddedTools, Change, Lock, LockFile, LockReport, Locked, Severity, ToolReport, ToolState, UnknownServers,
};
pub use managed::State;
pub use multi::{Member, MemberStatus, MultiServer, Outcome, ServerListing};
#[cfg(feature = "oauth")]
pub use oauth::{
    Assertion, ClientAuth, Consent, ConsentRequest, FileStore, Grant, IdentityProvider, Login, LoginKey, Loopback,
    MemoryStore, OAuth, Redirect, Registration, SigningAlgorithm, StoreGuard, TokenStore, TokenType,
};
pub use protocol::{
    Arguments, Completion, CompletionQuery, ContentBlock, Icon, IntoArguments, LegacyRevision, Prompt, PromptArgument,
    PromptMessage, PromptResult, Protocol, RawJson, ReadResult, Resource, ResourceContents, ResourceTemplate,
    ServerInfo, Task, TaskStatus, ToolDefinition, ToolResult,
};
pub use questions::{
    Answer, Choice, Elicitation, FieldKind, FormField, Root, Roots, Sampled, Sampling, ToolChoice, ToolUse,
};
pub use redact::{Redactor, Secret, mask_url};
pub use server::serve_stdio;
#[cfg(feature = "serve-http")]
pub use server::{HttpAnswers, HttpServer, HttpServerLimits, HttpServing};
#[cfg(feature = "skills")]
pub use skills::{Skill, SkillFile};
pub use static_server::{IntoPromptResult, StaticResource, StaticServer};
pub use tool::{FunctionTool, IntoToolResult, Json, SharedTool, Tool, ToolFunction};
pub use toolset::{Decision, IntoDecision, PendingCall, ToolSet, ToolSetBuilder, ToolSource};

pub use schemars;
#[cfg(feature = "macros")]
pub use trunkline_macros::tool;

#[doc(hidden)]
pub use tool::support as __private;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;

/// The snippets of README.md, as tests.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The snippets of docs/http.md, as tests.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../../../docs/http.md")]
struct Http;

/// The snippets of docs/auth.md, as tests.
#[cfg(all(doctest, feature = "oauth"))]
#[doc = include_str!("../../../docs/auth.md")]
struct AuthPage;

/// The snippets of docs/lock.md, as tests.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../../../docs/lock.md")]
struct LockPage;

/// The snippets of docs/questions.md, as tests.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../../../docs/questions.md")]
struct Questions;

/// The snippets of docs/agents.md, as tests.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../../../docs/agents.md")]
struct Agents;
