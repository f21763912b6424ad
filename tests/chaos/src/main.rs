//! Chaos and soak: many servers that fail in every way, and many calls for a long time. Both make a great number of
//! calls on real processes and then ask what must be true of them. `docs/robustness.md` says what that is.
//!
//! One program: `chaos` and `soak` are the runs, `serve` is the server that they start.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks on its standard streams")]

#[cfg(unix)]
mod chaos;
#[cfg(unix)]
mod deed;
#[cfg(unix)]
mod fleet;
#[cfg(unix)]
mod host;
#[cfg(unix)]
mod ledger;
#[cfg(unix)]
mod plan;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod slope;
#[cfg(unix)]
mod soak;
#[cfg(unix)]
mod verdict;
#[cfg(unix)]
mod vitals;

const USAGE: &str = "\
Usage: trunkline-chaos chaos [--seconds N] [--seed N]    50 servers that fail in every way (60 s; a seed by chance, or $SEED)
       trunkline-chaos soak [--calls N]                  so many calls over stdio, and as many over HTTP (1000000)
";

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", way, folder, label, port] => {
            server::serve(way, std::path::Path::new(folder), label, port.parse().unwrap_or_default());
            Ok(())
        }
        ["chaos", ref options @ ..] => run(options, &["--seconds", "--seed"], |given| async move {
            let seed = given[1].or_else(|| std::env::var("SEED").ok()?.parse().ok());
            chaos::run(given[0].unwrap_or(60), seed.unwrap_or_else(plan::chance)).await
        }),
        ["soak", ref options @ ..] => {
            run(options, &["--calls"], |given| async move { soak::run(given[0].unwrap_or(1_000_000)).await })
        }
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            std::process::ExitCode::FAILURE
        }
    }
}

/// Reads `--name N` options and runs on a runtime with two threads.
#[cfg(unix)]
fn run<F: Future<Output = Result<(), String>>>(
    options: &[&str],
    known: &[&str],
    work: impl FnOnce(Vec<Option<u64>>) -> F,
) -> Result<(), String> {
    let mut given = vec![None; known.len()];
    for pair in options.chunks(2) {
        let at = known.iter().position(|name| *name == pair[0]).ok_or(USAGE)?;
        given[at] = Some(pair.get(1).and_then(|value| value.parse().ok()).ok_or(USAGE)?);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(work(given))
}

#[cfg(not(unix))]
fn main() -> std::process::ExitCode {
    eprint!("{USAGE}\nNeeds a Unix system.");
    std::process::ExitCode::FAILURE
}
