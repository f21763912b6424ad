//! Runs the examples of the library: each checks itself.

use std::process::Command;

fn run(example: &str) -> String {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "trunkline", "--example", example])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
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

#[test]
fn an_agent_with_a_local_and_a_remote_tool() {
    let said = run("agent_loop");
    assert!(said.contains("tool: lunch at 12:30\n") && said.ends_with("model: Lunch is in half an hour.\n"), "{said}");
}

#[test]
fn testing_without_a_server() {
    assert!(run("testing").ends_with("all as expected\n"));
}
