//! `trunkline completions`: the script that teaches a shell to complete the command line. It asks this program on
//! each TAB (`completing`).

use clap_complete::env::Shells;

use crate::completing::VARIABLE;
use crate::exit::{Failure, Outcome};

pub(crate) fn run(shell: clap_complete::Shell) -> Outcome {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&shell.to_string()) else {
        return Err(Failure::usage(format!("There is no completion for {shell}")));
    };
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "trunkline", "trunkline", "trunkline", &mut script)?;
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(())
}
