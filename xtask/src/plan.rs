//! Which steps a test run consists of, as data. Carries nothing out; that is `run`.

/// What stands behind `cargo xtask test`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    pub(crate) fast: bool,
    pub(crate) filters: Vec<String>,
    /// Set in CI, where a lock file that doesn't fit the manifests is an error and not mended in passing.
    pub(crate) locked: bool,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Options { locked: std::env::var_os("CI").is_some(), ..Options::default() };
        for arg in args {
            match arg.as_str() {
                "--fast" => options.fast = true,
                flag if flag.starts_with('-') => {
                    return Err(format!("`test` knows no option `{flag}`; there is only --fast"));
                }
                filter => options.filters.push(filter.to_owned()),
            }
        }
        Ok(options)
    }
}

/// One line of the run.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) action: Action,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Looks for node, npm, python3 and git.
    Tools,
    /// Runs cargo with these arguments and, maybe, one environment variable.
    Cargo { args: Vec<String>, env: Option<(&'static str, &'static str)> },
    /// Runs `cargo test`, whose results are counted; `some` asks for at least one test.
    Tests { args: Vec<String>, some: bool },
    /// Runs cargo-deny where it is installed.
    Deny,
    /// Runs every fuzzer for a while.
    Fuzz,
    /// Installs the servers of `testbed/`.
    Testbed,
    /// Runs the program of `tests/chaos`, which the step `build` has made.
    Chaos(&'static str),
    /// Plays the official conformance suite, which lies in the testbed, by the program of `tests/conformance`.
    Conformance,
}

/// The steps for these options, in order.
pub(crate) fn plan(options: &Options) -> Vec<Step> {
    let full = !options.fast;
    let everything = options.filters.is_empty();
    let mut steps = Vec::new();
    let mut add = |wanted: bool, name, action| {
        if wanted {
            steps.push(Step { name, action });
        }
    };
    add(full, "tools", Action::Tools);
    add(everything, "format", cargo(options, "fmt --all --check", "-- -l", None));
    let clippy = "clippy --workspace --all-targets --features trunkline/rig-example";
    // so that a lock file which doesn't fit is told at once, and not when the fuzzers are built
    let fuzzers = "tree --manifest-path fuzz/Cargo.toml --depth 0";
    add(everything && full, "fuzz lock", cargo(options, fuzzers, "", None));
    add(everything && full, "clippy", cargo(options, clippy, "-- -D warnings", None));
    let bare = "clippy --package trunkline --no-default-features";
    add(everything && full, "no features", cargo(options, bare, "-- -D warnings", None));
    add(true, "build", cargo(options, "build --workspace", "", None));
    add(true, "tests", tests(options, "test --workspace", ""));
    // in no default feature: it takes a while to build, and changes how serde_json orders keys
    add(full, "rig", tests(options, "test --package trunkline --features rig-example --test rig", ""));
    add(everything && full, "chaos", Action::Chaos("chaos --seconds 45"));
    add(everything && full, "soak", Action::Chaos("soak --calls 100000"));
    let strict = Some(("RUSTDOCFLAGS", "-D warnings"));
    add(everything && full, "rustdoc", cargo(options, "doc --workspace --no-deps --lib", "", strict));
    add(everything && full, "deny", Action::Deny);
    add(everything && full, "fuzz", Action::Fuzz);
    add(full, "testbed install", Action::Testbed);
    add(everything && full, "conformance", Action::Conformance);
    add(full, "testbed tests", tests(options, "test --package trunkline-tests --test it", "--ignored"));
    steps
}

fn cargo(options: &Options, args: &str, tail: &str, env: Option<(&'static str, &'static str)>) -> Action {
    let mut args = words(args);
    if options.locked && args[0] != "fmt" {
        args.push("--locked".to_owned());
    }
    args.extend(words(tail));
    Action::Cargo { args, env }
}

/// `cargo test` with `flags` for the test programs. The ignored tests are those of the testbed and the example that needs rig.
fn tests(options: &Options, args: &str, flags: &str) -> Action {
    let mut args = words(args);
    if options.locked {
        args.push("--locked".to_owned());
    }
    let mut tail = words(flags);
    tail.extend(options.filters.iter().cloned());
    let heavy = flags.contains("--ignored");
    if heavy && options.filters.is_empty() {
        tail.extend(words("testbed:: examples::rig::"));
    }
    if !tail.is_empty() {
        args.push("--".to_owned());
        args.extend(tail);
    }
    Action::Tests { args, some: options.filters.is_empty() }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &str) -> Options {
        Options { locked: false, ..Options::parse(&words(args)).unwrap() }
    }

    fn names(args: &str) -> Vec<&'static str> {
        plan(&options(args)).into_iter().map(|step| step.name).collect()
    }

    fn lines(options: &Options) -> Vec<String> {
        let line = |step: Step| match step.action {
            Action::Cargo { args, .. } | Action::Tests { args, .. } => Some(args.join(" ")),
            _ => None,
        };
        plan(options).into_iter().filter_map(line).collect()
    }

    #[test]
    fn a_full_run_has_every_step_and_installs_late() {
        let expected = [
            ["tools", "format", "fuzz lock", "clippy", "no features", "build", "tests"].as_slice(),
            &["rig", "chaos", "soak", "rustdoc", "deny", "fuzz", "testbed install", "conformance", "testbed tests"],
        ];
        assert_eq!(names(""), expected.concat());
    }

    #[test]
    fn fast_leaves_out_clippy_docs_and_testbed() {
        assert_eq!(names("--fast"), ["format", "build", "tests"]);
    }

    #[test]
    fn filters_run_tests_only() {
        assert_eq!(names("ping"), ["tools", "build", "tests", "rig", "testbed install", "testbed tests"]);
        assert_eq!(names("ping --fast"), ["build", "tests"]);
    }

    #[test]
    fn the_tests_of_the_testbed_are_the_ignored_ones() {
        let last = |args| lines(&options(args)).pop().unwrap();
        assert_eq!(last(""), "test --package trunkline-tests --test it -- --ignored testbed:: examples::rig::");
        assert_eq!(last("git time"), "test --package trunkline-tests --test it -- --ignored git time");
    }

    #[test]
    fn ci_pins_the_lock_file_in_every_build() {
        let found = lines(&Options { locked: true, ..Options::default() });
        assert!(
            found.iter().filter(|line| !line.starts_with("fmt")).all(|line| line.contains("--locked")),
            "{found:?}"
        );
        assert!(
            found.contains(
                &"clippy --workspace --all-targets --features trunkline/rig-example --locked -- -D warnings".to_owned()
            ),
            "{found:?}"
        );
    }

    #[test]
    fn an_unknown_option_is_named() {
        assert!(Options::parse(&words("--quick")).unwrap_err().contains("`--quick`"));
    }
}
