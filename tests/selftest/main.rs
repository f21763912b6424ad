//! The fake server driven over raw pipes: each ability that `trunkline_tests::script` lists, shown once.
//! What the helpers for tests do is at the end of `process` and in `helpers`.
#![cfg(unix)]

mod answers;
mod authority;
mod bridge;
mod helpers;
mod http;
mod http_between;
mod peer;
mod process;
mod rules;
mod wire;
