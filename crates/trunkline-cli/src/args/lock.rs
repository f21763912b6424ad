//! The options of `trunkline lock`.

use clap::Args;

pub(super) const LOCK_HELP: &str = "\
The lock file holds the whole definition of every tool that somebody agreed to: trunkline.lock beside the config file, or \
--lock FILE. It belongs in version control. Where there is one, every other command calls a tool only while its \
definition is still that; a server that isn't in it isn't started.

  trunkline lock                      agree to all tools of servers that aren't in it yet
  trunkline lock --check              what changed since: suspicious, breaking, compatible, only texts
  trunkline lock --approve s.tool     agree to that tool as it is now (or to its absence)
  trunkline lock --approve s          agree to a whole server as it is now

Exit codes: 0 everything is as it was agreed to; 8 something isn't; else what kept a server from being asked.";

#[derive(Debug, Args)]
pub(crate) struct Lock {
    /// Only these servers
    #[arg(value_name = "SERVER", conflicts_with = "approve")]
    pub(crate) servers: Vec<String>,
    /// Only compare, and write nothing
    #[arg(long, conflicts_with = "approve")]
    pub(crate) check: bool,
    /// Agree to this tool, or all tools of this server, as they are now (can be repeated)
    #[arg(long, value_name = "SERVER[.TOOL]")]
    pub(crate) approve: Vec<String>,
    /// With --check: print SARIF 2.1.0, for code scanning
    #[arg(long, requires = "check", conflicts_with = "json")]
    pub(crate) sarif: bool,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
