//! The program as a person or a script meets it: what it prints, where, and its exit code. One file for each topic.
#![cfg(unix)]

mod arguments;
mod ask;
mod asks;
mod call;
mod caps;
mod cassette;
mod check;
mod completing;
mod config;
mod diagnostics;
mod ending;
mod entries;
mod harness;
mod hostile;
mod http;
mod list;
mod lock;
mod login;
mod processes;
mod questions;
mod read;
mod terminal;
mod trust;
