//! How the questions of servers are answered, on every command whose servers may ask.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "When a server asks")]
pub(crate) struct Answering {
    /// Fill in this field of a server's form (can be repeated): key=value, key:=JSON, key=@FILE. What isn't given gets its
    /// default, or is asked on a terminal
    #[arg(long = "answer", value_name = "KEY=VALUE")]
    pub(crate) answers: Vec<String>,
    /// Ask nobody: what --answer and the defaults leave open is declined
    #[arg(long)]
    pub(crate) no_input: bool,
    /// Let this command answer for a model: it reads the request as JSON, and writes text or a JSON result
    #[arg(long, value_name = "COMMAND")]
    pub(crate) sample_command: Option<String>,
    /// Tell servers that they may work in this directory (can be repeated)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
}
