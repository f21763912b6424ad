//! The integration tests: real subprocesses, real pipes, real failure.

mod blocking;
mod contract;
mod examples;
mod layering;
mod readme;
mod cases_framing;
mod cases_process;
mod cases_rpc;
mod rig;
mod smoke;
mod testbed;
mod toolset;
mod seeds;
mod cases_lists;
mod cases_content;
mod cases_multi;
mod serving;
