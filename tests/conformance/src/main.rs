//! The official conformance suite, played with a client made of this library: runs it, counts what it checked, and writes
//! `docs/conformance.md`. `cargo xtask conformance` installs the suite and starts this.
//!
//! One program: `run` plays the suite, which starts `client URL` for each of its scenarios.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks on its standard streams")]

mod client;
mod floor;
mod legs;
mod page;
mod results;
mod run;
mod suite;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: trunkline-conformance run [--scenario NAME] [--spec VERSION] [--update-floor]
       trunkline-conformance client URL
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.split_first().map(|(command, rest)| (command.as_str(), rest)) {
        Some(("client", [url])) => return client::main(url),
        Some(("run", rest)) => run::Options::parse(rest).and_then(|options| run::run(&options)),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
