//! Counts the instructions of the hot paths, by valgrind, and holds them against a committed baseline: a number that doesn't
//! hang on what else the machine does. `bench/counts` does the things that are counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::judge;

/// How much more a path may take than it did, in percent.
const MOST: u64 = 10;

/// Two numbers of repetitions: what a run costs beside them is the same in both.
const TIMES: [u64; 2] = [20, 120];

/// What stands behind `cargo xtask counts`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// None for all.
    names: Vec<String>,
    /// Write the baseline anew.
    update: bool,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        for arg in args {
            match arg.as_str() {
                "--update" => options.update = true,
                flag if flag.starts_with('-') => {
                    return Err(format!("`counts` knows no option `{flag}`; there is only --update"));
                }
                name => options.names.push(name.to_owned()),
            }
        }
        Ok(options)
    }
}

/// Instructions by name.
type Counts = BTreeMap<String, u64>;

/// Counts and compares; gives a word on how it went.
pub(crate) fn run(root: &Path, options: &Options) -> Result<String, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok("skipped: the baseline is for Linux on x86_64".to_owned());
    }
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Ok("skipped: valgrind is not installed (on Debian: apt-get install valgrind)".to_owned());
    }
    let file = root.join("bench/counts/baseline.txt");
    let compiler = compiler()?;
    let (made_with, baseline) = read(&fs::read_to_string(&file).unwrap_or_default());
    if made_with != compiler && !options.update {
        return Ok(format!("skipped: the baseline was made with {made_with}, and this is {compiler}"));
    }
    let program = build(root)?;
    let counts = count(&program, &options.names)?;
    if options.update {
        let all: Counts = baseline.into_iter().filter(|_| made_with == compiler).chain(counts).collect();
        fs::write(&file, written(&compiler, &all))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        return Ok(format!("wrote {}", file.display()));
    }
    compare(&baseline, &counts, options.names.is_empty())
}

/// Release, and its second number: a patch of the compiler changes little.
fn compiler() -> Result<String, String> {
    let output =
        Command::new("rustc").arg("--version").output().map_err(|error| format!("cannot run rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().nth(1).ok_or_else(|| format!("rustc calls itself {text:?}"))?;
    Ok(format!("rustc {}", version.split('.').take(2).collect::<Vec<_>>().join(".")))
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--quiet", "--profile", "soak", "--package", "bench-counts"]).current_dir(root);
    if std::env::var_os("CI").is_some() {
        command.arg("--locked");
    }
    judge(command.status(), "cargo build --profile soak --package bench-counts")?;
    let target = root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    Ok(target.join("soak/bench-counts"))
}

fn count(program: &Path, names: &[String]) -> Result<Counts, String> {
    let output =
        Command::new(program).output().map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let known: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    if let Some(odd) = names.iter().find(|name| !known.contains(name)) {
        return Err(format!("nothing named `{odd}` is counted; there are {}", known.join(", ")));
    }
    let chosen = if names.is_empty() { known } else { names.to_vec() };
    chosen.into_iter().map(|name| Ok((name.clone(), instructions(program, &name)?))).collect()
}

/// What one repetition takes.
fn instructions(program: &Path, name: &str) -> Result<u64, String> {
    let [few, many] = TIMES.map(|times| collected(program, name, times));
    let (few, many) = (few?, many?);
    many.checked_sub(few).map(|more| more / (TIMES[1] - TIMES[0])).ok_or_else(|| format!("`{name}`: more took less"))
}

fn collected(program: &Path, name: &str, times: u64) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args([name, &times.to_string()]);
    let output = command.output().map_err(|error| format!("cannot run valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let found = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    found.filter(|_| output.status.success()).ok_or_else(|| format!("valgrind counted nothing of `{name}`:\n{text}"))
}

/// The compiler and the counts of a baseline.
fn read(text: &str) -> (String, Counts) {
    let made_with = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("nothing").to_owned();
    let counts = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.trim().parse().ok()?))
    });
    (made_with, counts.collect())
}

fn written(compiler: &str, counts: &Counts) -> String {
    let mut out = format!("# {compiler}\n# instructions of one repetition, written by `cargo xtask counts --update`\n");
    for (name, count) in counts {
        let _ = writeln!(out, "{name:<16} {count:>10}");
    }
    out
}

/// Every path beside what it took before; an error where one takes much more, or isn't known.
fn compare(baseline: &Counts, counts: &Counts, all: bool) -> Result<String, String> {
    let (mut faults, mut less) = (Vec::new(), 0);
    for (name, now) in counts {
        let Some(before) = baseline.get(name).copied().filter(|before| *before > 0) else {
            faults.push(format!("`{name}` has no line in the baseline"));
            continue;
        };
        let percent = (*now as f64 / before as f64 - 1.0) * 100.0;
        println!("  {name:<16} {now:>10} instructions, {percent:+.1} %");
        if now * 100 > before * (100 + MOST) {
            faults.push(format!("`{name}` takes {now} instructions, {percent:.1} % more than the {before} it took"));
        }
        less += usize::from(now * 100 < before * (100 - MOST));
    }
    faults.extend(
        baseline
            .keys()
            .filter(|name| all && !counts.contains_key(*name))
            .map(|name| format!("`{name}` stands in the baseline, and is counted no more")),
    );
    if !faults.is_empty() {
        let advice = "If that is worth it, `cargo xtask counts --update` writes the baseline anew.";
        return Err(format!("{}\n{advice}", faults.join("\n")));
    }
    let hint = if less > 0 { format!("; {less} take far less now: --update keeps that") } else { String::new() };
    Ok(format!("{} paths within {MOST} %{hint}", counts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(&str, u64)]) -> Counts {
        list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn a_baseline_is_read_as_it_is_written() {
        let all = counts(&[("call", 12_345), ("a-long-name-indeed", 1)]);
        assert_eq!(read(&written("rustc 1.95", &all)), ("rustc 1.95".to_owned(), all));
        assert_eq!(read(""), ("nothing".to_owned(), Counts::new()));
    }

    #[test]
    fn growth_over_the_bound_and_strangers_are_faults() {
        let before = counts(&[("call", 1000), ("list", 1000)]);
        assert_eq!(
            compare(&before, &counts(&[("call", 1100), ("list", 990)]), true),
            Ok("2 paths within 10 %".to_owned())
        );
        assert!(compare(&before, &counts(&[("call", 500), ("list", 990)]), true).unwrap().contains("1 take far less"));
        let fault = |now: &[(&str, u64)], all| compare(&before, &counts(now), all).unwrap_err();
        assert!(fault(&[("call", 1101)], false).contains("`call` takes 1101 instructions, 10.1 % more"));
        assert!(fault(&[("call", 1000), ("list", 1000), ("new", 1)], true).contains("`new` has no line"));
        assert!(fault(&[("call", 1000)], true).contains("`list` stands in the baseline"));
        assert!(compare(&before, &counts(&[("call", 1000)]), false).is_ok());
    }

    #[test]
    fn options_are_names_and_update() {
        let parse = |line: &str| Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(parse("call --update"), Ok(Options { names: vec!["call".to_owned()], update: true }));
        assert!(parse("--fast").unwrap_err().contains("--update"));
    }
}
