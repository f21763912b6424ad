//! The command lines of `complete`, `watch`, `ping` and `info`.

use clap::Args;
use clap_complete::ArgValueCompleter;

use super::Answering;
use crate::completing;

pub(super) const WATCH_HELP: &str = "\
Each change is a line on standard output. It ends with Ctrl-C, or after --count changes. A server that ends is started again, \
and told again what to watch.";

#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// SERVER.PROMPT, a prompt's name, or a resource template such as file:///{path}
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    /// The prompt's argument, or the template's variable
    pub(crate) argument: String,
    /// What is written of it
    #[arg(default_value = "")]
    pub(crate) prefix: String,
    /// What another argument has been given already (can be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) given: Vec<String>,
    /// The server that has it
    #[arg(long, value_name = "SERVER", add = ArgValueCompleter::new(completing::servers))]
    pub(crate) from: Option<String>,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The resource's URI
    pub(crate) uri: String,
    /// The server that has it
    #[arg(long, value_name = "SERVER", add = ArgValueCompleter::new(completing::servers))]
    pub(crate) from: Option<String>,
    /// Print the resource at first and after each change
    #[arg(long)]
    pub(crate) read: bool,
    /// End after this many changes
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) answering: Answering,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Ping {
    /// Only these servers
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completing::servers))]
    pub(crate) servers: Vec<String>,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Only these servers
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completing::servers))]
    pub(crate) servers: Vec<String>,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
