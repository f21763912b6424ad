//! The life of a server's process, from its start to the last member of its group.

mod child;
mod close;
mod crash;
mod orphans;
mod program;
mod reconnect;
mod shutdown;
mod start;
