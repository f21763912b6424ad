//! What the integration tests are made with: a scripted fake MCP server (the program `fake`) and the
//! builder that writes its script, readers for what it logged, process checks and bounded waits.
//!
//! Read `script` first: it lists every setting, rule and action. The tests themselves are elsewhere.
//! Unix only, since most of what it fakes (signals, process groups, `/proc`) is.
#![cfg(unix)]
#![forbid(unsafe_code)]

mod action;
mod json;
mod log;
mod process;
mod rule;
pub mod script;
mod temp;
mod wait;

pub mod authority;
pub mod contract;
pub mod fake;
pub mod http;
pub mod model;
pub mod providers;

pub use action::*;
pub use json::{Json, prompt, raw, resource, template, tool};
pub use log::{Entry, Kind, Log};
pub use process::{
    alive, default_signals, group_members, group_of, peak_memory, send_signal, shell, wait_gone, wait_group_gone,
    wait_pid,
};
pub use rule::{Match, call, on_method, read};
pub use script::Script;
pub use temp::TempDir;
pub use wait::{eventually, eventually_within, limit, offload};
