//! Runs the shell sessions of README.md and compares what they print. (Its Rust snippets are doc tests of the
//! library.)

use std::process::Command;

use trunkline_tests::TempDir;

/// One `$ command` of a session with the output that follows it.
struct Step {
    command: String,
    expected: Vec<String>,
}

fn sessions() -> Vec<Step> {
    let text = include_str!("../../README.md");
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

#[test]
fn every_shell_session_prints_what_the_readme_says() {
    let home = TempDir::new();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_trunkline-under-test"));
    let bin = home.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(program, bin.join("trunkline")).unwrap();
    let steps = sessions();
    assert!(steps.len() >= 8, "the sessions were found");
    for step in steps {
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let output = Command::new("/bin/sh")
            .args(["-c", &format!("exec 2>&1; {}", step.command)])
            .current_dir(home.path())
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", path)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("note: no config was found"));
        let lines: Vec<_> = lines.map(str::trim_end).collect();
        assert!(matches(&step.expected, &lines), "$ {}\n{text}", step.command);
    }
}

#[test]
fn the_commands_of_the_start_exist() {
    let text = include_str!("../../README.md");
    assert!(text.contains("cargo run --release -- list") && text.contains("cargo xtask test"));
    let config = include_str!("../../.cargo/config.toml");
    assert!(config.contains("xtask = "));
}
