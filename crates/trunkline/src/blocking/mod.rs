//! The same clients for code without an async runtime: each method waits until its async twin is done.
//!
//! Build the async one and turn it into its twin: [`build_blocking`](crate::ClientBuilder::build_blocking), or
//! `from` for a [`Client`](crate::Client), a [`MultiServer`](crate::MultiServer) or a [`ToolSet`](crate::ToolSet).
//!
//! ```no_run
//! use serde_json::json;
//! use trunkline::Client;
//!
//! # fn main() -> trunkline::Result<()> {
//! let files = Client::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]).build_blocking()?;
//! for tool in files.list_tools()? {
//!     println!("{}: {}", tool.name(), tool.description());
//! }
//! let text = files.call_tool("read_text_file", json!({"path": "README.md"}))?;
//! # Ok(()) }
//! ```
//!
//! # Where things run
//!
//! One background thread, started at first use, reads from all servers of all twins. It also runs what they call
//! back: handlers of the servers' questions, progress and log callbacks, and the functions of servers that are
//! spoken to [in memory](crate::Client::in_memory). From there a twin can't be waited for: what it would wait for
//! runs on that very thread. Such a call is an error of kind [`Unsupported`](crate::ErrorKind::Unsupported) at once.
//!
//! Local tools of a [`ToolSet`] and its hook run on the thread that makes the call, and may use twins themselves.
//!
//! Twins work inside async code too, where they hold up the thread as any blocking call does. One trap is left: a
//! client that was connected by a current-thread runtime before it was turned into a twin can't be waited for *on
//! that runtime's thread*, since its reading stops meanwhile; the call ends at its timeout. Turn clients into
//! twins before they connect.

mod call;
mod client;
mod events;
mod multi;
mod runtime;
#[cfg(feature = "skills")]
mod skills;
mod toolset;

pub use call::Call;
pub use client::{Client, ToolProxy};
pub use events::Events;
pub use multi::MultiServer;
#[cfg(feature = "skills")]
pub use skills::Skill;
pub use toolset::ToolSet;
