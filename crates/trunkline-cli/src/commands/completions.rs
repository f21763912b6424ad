//! `trunkline completions`: the script that teaches a shell to complete the command line.

use clap::CommandFactory as _;

use crate::args::Cli;
use crate::exit::Outcome;

pub(crate) fn run(shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "trunkline", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(())
}
