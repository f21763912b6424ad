//! Builds the fuzzers of `fuzz/` and runs them for a bounded time, two at a time. Needs nothing but the toolchain at hand
//! and a C++ compiler: what is compiled is watched by flags that every rustc takes, and libFuzzer comes as a crate.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::run::judge;

/// How many run at once.
const AT_ONCE: usize = 2;

/// What rustc is told: count edges, tell comparisons, as cargo-fuzz has it, but for the sanitizer, of which code without
/// `unsafe` has no use.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// What stands behind `cargo xtask fuzz`.
#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    /// None for all.
    pub(crate) targets: Vec<String>,
    pub(crate) seconds: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { targets: Vec::new(), seconds: 15 }
    }
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--seconds" => {
                    let given = args.next().and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0);
                    options.seconds = given.ok_or("`--seconds` needs a number of seconds, such as 600")?;
                }
                flag if flag.starts_with('-') => {
                    return Err(format!("`fuzz` knows no option `{flag}`; there is only --seconds N"));
                }
                target => options.targets.push(target.to_owned()),
            }
        }
        Ok(options)
    }
}

/// Builds and runs; gives a word on how it went.
pub(crate) fn run(root: &Path, options: &Options) -> Result<String, String> {
    let targets = chosen(known(root)?, &options.targets)?;
    let Some(compiler) = compiler() else {
        return Ok("skipped: libFuzzer needs a C++ compiler (on Debian: apt-get install g++)".to_owned());
    };
    if cfg!(windows) {
        return Ok("skipped: the flags are for Linux and macOS".to_owned());
    }
    let programs = build(root, &targets, compiler)?;
    let queue = Mutex::new(VecDeque::from(targets));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some(target) = next() {
            match fuzz(root, &programs, &target, options.seconds) {
                Ok(line) => println!("{line}"),
                Err(message) => {
                    println!("  {target:<12} FAILED");
                    failures.lock().unwrap_or_else(PoisonError::into_inner).push(message);
                }
            }
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    match failures.into_inner().unwrap_or_else(PoisonError::into_inner) {
        failures if failures.is_empty() => Ok(format!("nothing found in {} s each", options.seconds)),
        failures => Err(failures.join("\n\n")),
    }
}

/// All targets there are, by name.
fn known(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("fuzz/fuzz_targets");
    let files = fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let names = files.filter_map(|file| Some(file.ok()?.path().file_stem()?.to_string_lossy().into_owned()));
    let mut names: Vec<_> = names.collect();
    names.sort();
    Ok(names)
}

fn chosen(known: Vec<String>, wanted: &[String]) -> Result<Vec<String>, String> {
    if let Some(odd) = wanted.iter().find(|name| !known.contains(name)) {
        return Err(format!("no fuzzer is named `{odd}`; there are {}", known.join(", ")));
    }
    Ok(if wanted.is_empty() { known } else { wanted.to_vec() })
}

/// A C++ compiler that works.
fn compiler() -> Option<OsString> {
    let named = std::env::var_os("CXX").into_iter();
    named
        .chain(["c++", "g++", "clang++"].map(OsString::from))
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()))
}

/// Builds the targets; gives the folder of the programs.
fn build(root: &Path, targets: &[String], compiler: OsString) -> Result<PathBuf, String> {
    let host = host()?;
    let target = root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join("fuzz");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", &host, "--target-dir"]);
    command.arg(&target).args(targets.iter().flat_map(|name| ["--bin", name.as_str()])).current_dir(root);
    if std::env::var_os("CI").is_some() {
        command.arg("--locked");
    }
    command.env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS").env("CXX", compiler);
    judge(command.status(), "cargo xtask fuzz")?;
    Ok(target.join(host).join("release"))
}

fn host() -> Result<String, String> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV").output();
    let output = output.map_err(|error| format!("cannot run rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// Runs one; a line of figures, or what it found and how to see it again.
fn fuzz(root: &Path, programs: &Path, target: &str, seconds: u64) -> Result<String, String> {
    let (program, fuzz) = (programs.join(target), root.join("fuzz"));
    let (corpus, artifacts) = (fuzz.join("corpus").join(target), fuzz.join("artifacts").join(target));
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    let log = artifacts.join("log");
    let file = File::create(&log).map_err(|error| format!("cannot make {}: {error}", log.display()))?;
    let mut command = Command::new(&program);
    command.arg(&corpus).arg(fuzz.join("seeds").join(target));
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let status = command.status().map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    if status.success() {
        let (executions, edges) = figures(&text).unwrap_or_default();
        return Ok(format!("  {target:<12} {executions:>10} executions, {edges:>6} edges, {seconds} s"));
    }
    let found = found(&text).unwrap_or("the last input is not known");
    Err(format!(
        "{target}: {}\n  {found}\n  see it again: {} {found}\n  all that was said: {}\n  \
         Once it is mended, keep that file in fuzz/seeds/{target}/: each seed is a unit test.",
        said(&text),
        program.display(),
        log.display(),
    ))
}

/// How often it ran, and how many edges of the code it saw.
fn figures(log: &str) -> Option<(u64, u64)> {
    let number = |after: &str| {
        let (_, rest) = log.rsplit_once(after)?;
        rest.split_whitespace().next()?.parse().ok()
    };
    Some((number("stat::number_of_executed_units:")?, number(" cov: ")?))
}

/// The file of the input that failed.
fn found(log: &str) -> Option<&str> {
    log.lines().find_map(|line| line.split_once("Test unit written to ").map(|(_, file)| file))
}

/// What went wrong: the words of the panic, or libFuzzer's.
fn said(log: &str) -> String {
    let panic =
        log.lines().skip_while(|line| !line.contains("panicked at")).take_while(|line| *line != "stack backtrace:");
    let panic: Vec<_> = panic.filter(|line| !line.is_empty()).take(6).collect();
    if panic.is_empty() {
        return log.lines().find(|line| line.contains("ERROR: libFuzzer")).unwrap_or("it failed").to_owned();
    }
    panic.join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &str) -> Result<Options, String> {
        Options::parse(&args.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn targets_and_seconds_are_read() {
        let wanted = Options { targets: vec!["sse".to_owned(), "json".to_owned()], seconds: 600 };
        assert_eq!(options("sse --seconds 600 json"), Ok(wanted));
        assert_eq!(options(""), Ok(Options::default()));
        for wrong in ["--seconds", "--seconds x", "--seconds 0", "--jobs 4"] {
            assert!(options(wrong).unwrap_err().contains("seconds"), "{wrong}");
        }
        let known = || vec!["json".to_owned(), "sse".to_owned()];
        assert_eq!(chosen(known(), &[]), Ok(known()));
        assert!(chosen(known(), &["see".to_owned()]).unwrap_err().contains("`see`; there are json, sse"));
    }

    #[test]
    fn figures_and_finds_are_read_from_what_libfuzzer_says() {
        let log =
            "#8\tINITED cov: 9 ft: 9\n#90\tDONE   cov: 12 ft: 30 corp: 2/5b\nstat::number_of_executed_units: 90\n";
        assert_eq!(figures(log), Some((90, 12)));
        let log = "#9 NEW\nthread '<unnamed>' (1) panicked at a.rs:1:2:\nboth differ\nstack backtrace:\n 0: x\n\
                   artifact_prefix='a/'; Test unit written to a/crash-1\n";
        assert_eq!(found(log), Some("a/crash-1"));
        assert_eq!(said(log), "thread '<unnamed>' (1) panicked at a.rs:1:2:\n  both differ");
        assert_eq!(
            said("==1== ERROR: libFuzzer: timeout after 10 seconds\n"),
            "==1== ERROR: libFuzzer: timeout after 10 seconds"
        );
    }
}
