//! The command line of `trunkline task`.

use clap::Args;

use super::Answering;

pub(crate) const TASK_HELP: &str = "\
Examples:
  trunkline call render.pages from=1 to=400 --detach    prints the task's id
  trunkline task render 786512e2                        where it stands
  trunkline task render 786512e2 --wait                 its result, once it is done
  trunkline task render 786512e2 --cancel

What the server asks meanwhile is answered as in `trunkline call`.";

#[derive(Debug, Args)]
pub(crate) struct Task {
    /// The server that has it
    pub(crate) server: String,
    /// The task's id, as `trunkline call --detach` printed it
    pub(crate) id: String,
    /// Wait for its end and print the result
    #[arg(long, conflicts_with = "cancel")]
    pub(crate) wait: bool,
    /// Ask the server to give it up
    #[arg(long)]
    pub(crate) cancel: bool,
    #[command(flatten)]
    pub(crate) answering: Answering,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
