//! Runs the shell sessions of README.md and docs/agents.md and compares what they print. (Their Rust snippets are doc
//! tests of the library.)

use std::process::Command;

use serde_json::json;
use trunkline_tests::TempDir;
use trunkline_tests::model::{Model, Turn};

/// One `$ command` of a session with the output that follows it.
struct Step {
    command: String,
    expected: Vec<String>,
}

fn sessions(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for line in block.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => steps.push(Step { command: command.to_owned(), expected: Vec::new() }),
                None => steps.last_mut().expect("a command first").expected.push(line.to_owned()),
            }
        }
    }
    steps
}

/// Whether the lines match; a line `...` stands for any number of lines.
fn matches(expected: &[String], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((line, rest)) if line == "..." => (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..])),
        Some((line, rest)) => {
            actual.split_first().is_some_and(|(first, others)| first == line && matches(rest, others))
        }
    }
}

/// Runs each step in an empty home with these variables besides.
fn run(steps: &[Step], variables: &[(&str, &str)]) {
    let home = TempDir::new();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_trunkline-under-test"));
    let bin = home.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(program, bin.join("trunkline")).unwrap();
    for step in steps {
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let output = Command::new("/bin/sh")
            .args(["-c", &format!("exec 2>&1; {}", step.command)])
            .current_dir(home.path())
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", path)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("note: no config was found"));
        let lines: Vec<_> = lines.map(|line| timeless(line.trim_end())).collect();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        assert!(matches(&step.expected, &lines), "$ {}\n{text}", step.command);
    }
}

/// The end of a call with the time it took as `...`.
fn timeless(line: &str) -> String {
    match line.rsplit_once(" (") {
        Some((start, end)) if line.starts_with("<- ") && end.ends_with("s)") => format!("{start} (...)"),
        _ => line.to_owned(),
    }
}

#[test]
fn every_shell_session_prints_what_the_readme_says() {
    let steps = sessions(include_str!("../../README.md"));
    assert!(steps.len() >= 8, "the sessions were found");
    run(&steps, &[]);
}

#[test]
fn every_question_to_a_model_goes_as_the_page_on_agents_says() {
    let text = include_str!("../../docs/agents.md");
    let steps: Vec<_> = sessions(text).into_iter().filter(|step| step.command.contains("trunkline ask")).collect();
    let model = Model::playing([
        Turn::calls([("demo_add", json!({"a": 2, "b": 40}))]),
        Turn::says("It is 42."),
        Turn::says("I have no tool for that."),
    ]);
    assert_eq!(steps.len(), 2, "the sessions were found");
    run(&steps, &[("OPENAI_BASE_URL", &model.base())]);
    assert_eq!((model.requests().len(), model.left()), (3, 0));
}

#[test]
fn the_commands_of_the_start_exist() {
    let text = include_str!("../../README.md");
    assert!(text.contains("cargo run --release -- list") && text.contains("cargo xtask test"));
    let config = include_str!("../../.cargo/config.toml");
    assert!(config.contains("xtask = "));
}
