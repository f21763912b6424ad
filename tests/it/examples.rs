//! Runs the examples of the library: each checks itself.

use std::process::Command;

use serde_json::{Value, json};
use trunkline_tests::model::{Model, Turn};

fn cargo(example: &str) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--package", "trunkline", "--example", example]);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn run(example: &str) -> String {
    let output = cargo(example).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout.into_owned()
}

#[test]
fn a_connection_of_ones_own_and_one_that_wraps_it() {
    assert_eq!(
        run("own_connection"),
        "5 words\ncalls made: [\"count {\\\"text\\\":\\\"every server behind one client\\\"}\"]\n"
    );
}

/// What a model makes of a local function and the built-in server, played to the example.
fn agent(example: &str, features: &str) {
    let model = Model::playing([
        Turn::calls([
            ("count_letters", json!({"word": "strawberry"})),
            ("add", json!({"a": 2, "b": 40})),
            ("fail", json!({"message": "no disk"})),
            ("add", json!({"a": 2})),
        ]),
        Turn::says("10 letters, and 42."),
    ]);
    let server = env!("CARGO_BIN_EXE_trunkline-under-test");
    let output = cargo(example)
        .args(["--features", features, "--", "how many?", server, "demo"])
        .envs([
            ("OPENAI_BASE_URL", model.base()),
            ("MODEL", "scripted".to_owned()),
            ("OPENAI_API_KEY", "sk-test".to_owned()),
        ])
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout, "10 letters, and 42.\n", "{stderr}");
    let requests = model.requests();
    assert_eq!(requests[0]["tools"].as_array().unwrap().len(), 10);
    let told: Vec<_> = requests[1]["messages"].as_array().unwrap().iter().skip(2).map(text).collect();
    assert_eq!(told[..3], ["10", "42", "Error: no disk"]);
    assert!(told[3].starts_with("Error: The arguments of tool \"add\" don't fit"), "{told:?}");
    assert_eq!(model.http().log().of("POST")[0].header("authorization"), Some("Bearer sk-test"));
}

/// The content of a message, whether it is a text or a list of parts.
fn text(message: &Value) -> String {
    let content = &message["content"];
    content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default().to_owned()
}

#[test]
fn an_agent_with_a_local_and_a_remote_tool() {
    agent("agent", "");
}

/// Run by `cargo xtask test`, since rig takes a while to build.
mod rig {
    #[test]
    #[ignore = "builds rig"]
    fn an_agent_of_rig_with_a_local_and_a_remote_tool() {
        super::agent("rig_agent", "rig-example");
    }
}

#[test]
fn testing_without_a_server() {
    assert!(run("testing").ends_with("all as expected\n"));
}
