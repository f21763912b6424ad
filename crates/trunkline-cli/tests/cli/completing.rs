//! What a shell offers on TAB: asked of the program directly, and of each real shell that is installed.

use std::process::Command;

use serde_json::json;

use crate::harness::{Bench, tool};

/// A config of two servers, one of which has been listed; the log of the other stays empty.
fn bench() -> (Bench, String) {
    let bench = Bench::new();
    let tools = format!(
        "{},{}",
        tool("read_file", r#""path":{"type":"string"},"head":{"type":"integer"}"#),
        tool("remove", "")
    );
    let files = bench.server(json!({"TOOLS": tools, "PIDFILE": bench.path("started")}));
    let config = bench.config([("files", files), ("fresh", bench.server(json!({"LOG": bench.path("fresh")})))]);
    assert_eq!(bench.run(&["list", "files", "-q", "--config", &config]).code, 0);
    std::fs::remove_file(bench.path("started")).unwrap();
    (bench, config)
}

/// What is offered for the last of these words.
fn offered(bench: &Bench, words: &[&str]) -> Vec<String> {
    let mut command = bench.command(&[&["--", "trunkline"], words].concat());
    let index = words.len().to_string();
    command.env("COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_INDEX", index);
    command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "false");
    let ran = bench.ran(&command.output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn labels_tools_and_arguments_are_offered_without_starting_a_server() {
    let (bench, config) = bench();
    let config = ["--config", config.as_str()];
    let all = |words: &[&str]| offered(&bench, &[&config[..], words].concat());
    assert_eq!(all(&["call", "f"]), ["files.read_file", "files.remove", "fresh."]);
    assert_eq!(all(&["call", "files.re"]), ["files.read_file", "files.remove"]);
    // the options come after them
    assert_eq!(all(&["call", "files.read_file", ""])[..3], ["path=", "head=", "--args"]);
    assert_eq!(all(&["call", "files.read_file", "path=x", "h"]), ["head="]);
    assert_eq!(all(&["info", "fi"]), ["files"]);
    assert_eq!(all(&["wat"]), ["watch"]);
    assert!(!bench.path("started").exists() && !bench.path("fresh").exists(), "a server was started");
}

/// The real bash, with the script of `trunkline completions bash`.
#[test]
fn bash_completes_by_the_script() {
    if Command::new("bash").arg("--version").output().is_err() {
        return; // no bash here
    }
    let (bench, config) = bench();
    let program = crate::harness::PROGRAM;
    std::fs::create_dir(bench.path("bin")).unwrap();
    std::os::unix::fs::symlink(program, bench.path("bin/trunkline")).unwrap();
    let script = format!(
        "source <(trunkline completions bash)\n\
         COMP_WORDS=(trunkline --config '{config}' call files.rea); COMP_CWORD=4; COMP_TYPE=9\n\
         _clap_complete_trunkline trunkline files.rea call 2>/dev/null; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    );
    let mut command = Command::new("bash");
    command.args(["--norc", "--noprofile", "-c", &script]).env_clear().env("HOME", bench.path("home"));
    command.env("PATH", format!("{}:/usr/bin:/bin", bench.path("bin").display())).current_dir(bench.path("here"));
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "files.read_file", "{output:?}");
}
