//! The integration tests: real subprocesses, real pipes, real failure.

mod smoke;
mod testbed;
