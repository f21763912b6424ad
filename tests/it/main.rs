//! The integration tests: real subprocesses, real pipes, real failure.

mod blocking;
mod cases;
mod cassette;
mod contract;
mod examples;
mod layering;
mod limits_page;
mod oauth;
mod questions;
mod readme;
mod rig;
mod rmcp_peer;
mod seeds;
mod serving;
mod serving_http;
mod skills;
mod smoke;
mod testbed;
mod toolset;
