//! Carries out the steps of a plan one after the other: a line as each begins and ends, cargo's own output in
//! between, the tests counted, a summary at the end. Stops at the first step that fails.

use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::plan::{Action, Options, Step, plan};
use crate::{fuzz, testbed, tools};

/// Tests counted from cargo's closing lines.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Tally {
    passed: u64,
    failed: u64,
}

struct Run<'a> {
    root: &'a Path,
    installed: Option<PathBuf>,
    tally: Tally,
}

/// Runs every step for these options.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let steps = plan(options);
    let mut run = Run { root, installed: None, tally: Tally::default() };
    let mut times = Vec::new();
    let begin = Instant::now();
    let mut outcome = Ok(());
    for (index, step) in steps.iter().enumerate() {
        println!("[{}/{}] {} …", index + 1, steps.len(), step.name);
        let start = Instant::now();
        let result = run.step(step);
        times.push((step.name, start.elapsed()));
        match result {
            Ok(note) => println!("[{}/{}] {}: {note}, {}", index + 1, steps.len(), step.name, seconds(start.elapsed())),
            Err(message) => {
                outcome = Err(format!("step `{}` failed: {message}", step.name));
                break;
            }
        }
    }
    summary(&times, begin.elapsed(), run.tally, outcome.is_ok());
    if outcome.is_ok() && run.tally == Tally::default() {
        return Err(format!("no test has a name with {}", options.filters.join(" or ")));
    }
    outcome
}

impl Run<'_> {
    /// Does one step; gives a word on how it went.
    fn step(&mut self, step: &Step) -> Result<String, String> {
        match &step.action {
            Action::Tools => tools::check(),
            Action::Cargo { args, env } => self.cargo(args, *env),
            Action::Tests { args, some } => self.tests(args, *some),
            Action::Deny => self.deny(),
            Action::Fuzz => fuzz::run(self.root, &fuzz::Options::default()),
            Action::Chaos(args) => self.beside("trunkline-chaos", args),
            Action::Conformance => self.beside("trunkline-conformance", "run"),
            Action::Testbed => {
                let installed = testbed::install(self.root)?;
                let note = installed.describe();
                self.installed = Some(installed.dir);
                Ok(note)
            }
        }
    }

    fn cargo(&self, args: &[String], env: Option<(&str, &str)>) -> Result<String, String> {
        let mut command = self.command(args);
        if !std::io::stderr().is_terminal() {
            command.env("CARGO_TERM_QUIET", "true");
        }
        let shown = env.map(|(name, value)| format!("{name}='{value}' ")).unwrap_or_default();
        command.envs(env);
        judge(command.status(), &format!("{shown}cargo {}", args.join(" "))).map(|()| "ok".to_owned())
    }

    /// Runs `cargo test`, passing its lines on as they come.
    fn tests(&mut self, args: &[String], some: bool) -> Result<String, String> {
        let place = self.installed.as_ref().map(|dir| format!("TRUNKLINE_TESTBED='{}' ", dir.display()));
        let line = format!("{}cargo {}", place.unwrap_or_default(), args.join(" "));
        let mut command = self.command(args);
        if !args.iter().any(|arg| arg == "--ignored") && std::env::var_os("RUST_TEST_THREADS").is_none() {
            command.env("RUST_TEST_THREADS", at_once().to_string());
        }
        // a run says the same each time it is made; `cargo test` by hand, and the fuzzers, look further
        if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
            command.env("PROPTEST_RNG_SEED", "1");
        }
        command.stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start `{line}`: {error}"))?;
        let output = child.stdout.take().expect("the standard output is piped");
        let tally = pass_on(BufReader::new(output), std::io::stdout())
            .map_err(|error| format!("cannot pass on the output of `{line}`: {error}"))?;
        self.tally.passed += tally.passed;
        self.tally.failed += tally.failed;
        judge(child.wait(), &line)?;
        if some && tally.passed == 0 {
            return Err(format!("`{line}` ran no test at all"));
        }
        Ok(format!("{} passed", tally.passed))
    }

    fn deny(&self) -> Result<String, String> {
        let there = Command::new("cargo-deny").arg("--version").output().is_ok_and(|output| output.status.success());
        if !there {
            return Ok("skipped (cargo-deny is not installed; `cargo install --locked cargo-deny` gets it)".to_owned());
        }
        // Advisories change without the code changing, and need the net: they are checked by hand, `cargo deny check advisories`.
        let args = ["deny", "check", "bans", "licenses", "sources"].map(str::to_owned);
        self.cargo(&args, None)
    }

    /// Runs a program that lies beside this one.
    fn beside(&self, name: &str, args: &str) -> Result<String, String> {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        let program = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name(file);
        let mut command = self.knowing(Command::new(&program));
        judge(command.args(args.split(' ')).status(), &format!("{} {args}", program.display()))
            .map(|()| "ok".to_owned())
    }

    fn command(&self, args: &[String]) -> Command {
        let mut command = self.knowing(Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())));
        command.args(args).current_dir(self.root);
        command
    }

    /// The command, told where the testbed is.
    fn knowing(&self, mut command: Command) -> Command {
        if let Some(dir) = &self.installed {
            command.env("TRUNKLINE_TESTBED", dir);
        }
        command
    }
}

/// How many tests run at once: most of them wait for a server most of the time.
fn at_once() -> usize {
    4 * std::thread::available_parallelism().map_or(1, usize::from)
}

/// Builds the program of `tests/chaos` for a long run, and runs it.
pub(crate) fn chaos_by_hand(root: &Path, args: &[String]) -> Result<(), String> {
    let run = ["run", "--quiet", "--profile", "soak", "--package", "trunkline-chaos", "--"].map(str::to_owned);
    Run { root, installed: None, tally: Tally::default() }.cargo(&[&run, args].concat(), None).map(drop)
}

/// Installs the conformance suite, builds the program of `tests/conformance` and has it play.
pub(crate) fn conformance(root: &Path, args: &[String]) -> Result<(), String> {
    let installed = testbed::install(root)?;
    println!("{}", installed.describe());
    let run = ["run", "--quiet", "--package", "trunkline-conformance", "--", "run"].map(str::to_owned);
    Run { root, installed: Some(installed.dir), tally: Tally::default() }.cargo(&[&run, args].concat(), None).map(drop)
}

pub(crate) fn judge(status: std::io::Result<ExitStatus>, line: &str) -> Result<(), String> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) if line.starts_with("cargo fmt") => {
            Err(format!("{status}. To format the files named above: cargo fmt --all"))
        }
        Ok(status) => Err(format!("{status}. To run it alone: {line}")),
        Err(error) => Err(format!("cannot run `{line}`: {error}")),
    }
}

/// Copies test output line by line, counting what the closing lines say.
fn pass_on(mut output: impl BufRead, mut to: impl Write) -> std::io::Result<Tally> {
    let mut tally = Tally::default();
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        let (passed, failed) = results(&String::from_utf8_lossy(&line)).unwrap_or_default();
        tally.passed += passed;
        tally.failed += failed;
        line.clear();
    }
    Ok(tally)
}

/// The counts in a closing line such as `test result: ok. 3 passed; 0 failed; …`.
fn results(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word: &str| counts.split("; ").find_map(|part| part.strip_suffix(word)?.trim().parse().ok());
    Some((count("passed")?, count("failed")?))
}

fn summary(times: &[(&str, Duration)], total: Duration, tally: Tally, ok: bool) {
    println!();
    for (index, (name, time)) in times.iter().enumerate() {
        let mark = if ok || index + 1 < times.len() { "ok" } else { "FAILED" };
        println!("{name:<16} {:>8}  {mark}", seconds(*time));
    }
    println!("{:<16} {:>8}", "total", seconds(total));
    println!("{} passed, {} failed", tally.passed, tally.failed);
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_counted() {
        let line = "test result: ok. 12 passed; 1 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        assert_eq!(results(line), Some((12, 1)));
        assert_eq!(results("test result: FAILED. 0 passed; 2 failed; 0 ignored\n"), Some((0, 2)));
        assert_eq!(results("test plan::tests::a ... ok\n"), None);
        let output = format!("noise\n{line}{line}");
        let mut copy = Vec::new();
        let tally = pass_on(output.as_bytes(), &mut copy).unwrap();
        assert_eq!(tally, Tally { passed: 24, failed: 2 });
        assert_eq!(copy, output.as_bytes());
    }

    #[test]
    fn a_failing_command_is_shown_as_one_would_type_it() {
        let status = Command::new("sh").args(["-c", "exit 4"]).status();
        assert_eq!(judge(status, "cargo doc"), Err("exit status: 4. To run it alone: cargo doc".to_owned()));
    }
}
