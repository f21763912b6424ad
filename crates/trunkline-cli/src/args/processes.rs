//! The options of `trunkline ps` and `trunkline reap`.

use clap::Args;

pub(super) const PS_HELP: &str = "\
Every program that uses the library counts, trunkline itself among them; a server is known by the variable \
TRUNKLINE_SERVER that it and whatever it starts inherit. Memory is what all its processes keep resident. Linux only.

Exit codes: 0 shown, whatever there is; 2 not possible on this system.";

pub(super) const REAP_HELP: &str = "\
Ends, by SIGTERM and 2 s later SIGKILL, the servers of programs that don't run any more (`trunkline ps` shows them as \
gone), with all they started. Servers that somebody owns are left alone, and so is everything of other users. A program \
that is meant to outlive its server is started without TRUNKLINE_SERVER: env -u TRUNKLINE_SERVER COMMAND. Linux only.

Exit codes: 0 nothing is left (or would be); 1 something still runs; 2 not possible on this system.";

#[derive(Debug, Args)]
pub(crate) struct Ps {
    /// Only the servers of these names
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Reap {
    /// Only the servers of these names
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// Only show what would be ended
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}
