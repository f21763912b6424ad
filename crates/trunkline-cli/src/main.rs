//! The program. Everything is in the library beside it, so that it can be built as part of other packages.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    trunkline_cli::main()
}
