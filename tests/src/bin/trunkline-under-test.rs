//! The program `trunkline`, built as part of this package so that its tests find it.

fn main() -> std::process::ExitCode {
    trunkline_cli::main()
}
