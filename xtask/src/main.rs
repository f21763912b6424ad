//! `cargo xtask …`: the chores of this repository. This file reads the command line and owns the exit code;
//! `plan` says which steps a test run has, `run` carries them out, `fuzz` runs the fuzzers, `counts` counts instructions, `testbed` installs servers, `tools` looks
//! for what a machine must have. Std only, so that it builds in a moment on a fresh machine.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks on its standard streams")]

mod counts;
mod fuzz;
mod plan;
mod run;
mod testbed;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <command>

  test [--fast] [FILTER…]   set up what is needed and run every check and test
                            --fast: no clippy, no rustdoc, no testbed
                            FILTER: run only the tests whose name contains it
  fuzz [TARGET…] [--seconds N]
                            build and run the fuzzers, or these, for so long each (15 s), two at a time
  testbed                   install the servers of testbed/ and print where
  conformance [--scenario NAME] [--spec VERSION] [--update-floor]
                            play the official conformance suite, count what it checked, write docs/conformance.md
  chaos [--seconds N] [--seed N]
                            50 servers that fail in every way; SEED=… does the same again
  soak [--calls N]          so many calls over stdio and over HTTP (1000000), in which memory stays flat
  counts [NAME…] [--update]
                            count the instructions of the hot paths and compare them with bench/counts/baseline.txt
  bench                     say how to run the benchmark
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<(), String> {
    let root = repository();
    match args.split_first().map(|(name, rest)| (name.as_str(), rest)) {
        Some(("test", rest)) => run::run(&root, &plan::Options::parse(rest)?),
        Some(("fuzz", rest)) => {
            println!("{}", fuzz::run(&root, &fuzz::Options::parse(rest)?)?);
            Ok(())
        }
        Some(("testbed", [])) => {
            println!("{}", testbed::install(&root)?.describe());
            Ok(())
        }
        Some(("conformance", rest)) => run::conformance(&root, rest),
        Some(("chaos" | "soak", _)) => run::chaos_by_hand(&root, args),
        Some(("counts", rest)) => {
            println!("{}", counts::run(&root, &counts::Options::parse(rest)?)?);
            Ok(())
        }
        Some(("bench", [])) => {
            println!("The benchmark has its own harness: bench/README.md says how to set it up and run it.");
            Ok(())
        }
        None | Some(("help" | "--help" | "-h", _)) => {
            print!("{USAGE}");
            Ok(())
        }
        Some((name, rest)) => Err(format!("cannot do `{}`\n\n{USAGE}", [&[name.to_owned()], rest].concat().join(" "))),
    }
}

/// The folder of the workspace this program was built from.
fn repository() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&manifest).parent().expect("xtask lies in a folder of the workspace").to_owned()
}
