//! The integration tests: real subprocesses, real pipes, real failure.

mod blocking;
mod smoke;
mod testbed;
mod toolset;
