//! The integration tests: real subprocesses, real pipes, real failure.

mod blocking;
mod cases_content;
mod cases_framing;
mod cases_lists;
mod cases_multi;
mod cases_process;
mod cases_rpc;
mod cassette;
mod contract;
mod examples;
mod http;
mod layering;
mod readme;
mod rig;
mod rmcp_peer;
mod seeds;
mod serving;
mod serving_http;
mod smoke;
mod testbed;
mod toolset;
mod tracing_spans;
