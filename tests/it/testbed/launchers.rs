//! Launchers as people use them, with the servers they start: npx with node, python with python as uvx does it, a shell
//! with either. Nothing of them is left, however their client ends.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use trunkline::Client;
use trunkline::processes::{self, Started};
use trunkline_tests::*;

use super::testbed;

/// What the guard may take with graces of 300 ms, and much more for a busy machine.
const GUARDED: Duration = Duration::from_secs(20);

/// Command lines, to be run in the folder of the node packages.
fn launchers() -> Vec<(&'static str, Vec<String>)> {
    let python = testbed().join("python/servers/bin/python").display().to_string();
    let launch = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)";
    let npx = ["npx", "--offline", "--no-install", "mcp-server-everything", "stdio"];
    let uvx = [python.as_str(), "-c", launch, &python, "-m", "mcp_server_time"];
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let behind_a_shell = |words: &[&str]| [vec!["sh".to_owned()], shell(words[0], &words[1..])].concat();
    vec![
        ("npx", owned(&npx)),
        ("uvx", owned(&uvx)),
        ("sh-npx", behind_a_shell(&npx)),
        ("sh-python", behind_a_shell(&[&python, "-m", "mcp_server_time"])),
    ]
}

/// A parent that is connected to such a server.
fn connected(then: &str, words: &[String]) -> Child {
    default_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_holder"));
    command.arg(then).args(words).current_dir(testbed().join("node"));
    let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "{words:?}");
    holder
}

fn started_by(holder: u32) -> Vec<Started> {
    let mut all = processes::started().unwrap();
    all.retain(|started| started.owner.pid == holder);
    all
}

#[test]
#[ignore = "testbed"]
fn p01_real_launchers_leave_nothing_however_their_client_ends() {
    for (name, words) in launchers() {
        for end in ["return", "panic", "abort", "INT", "TERM", "HUP", "KILL"] {
            let by_signal = end.chars().all(char::is_uppercase);
            let mut holder = connected(if by_signal { "wait" } else { end }, &words);
            let started = started_by(holder.id());
            let pids: Vec<u32> = started.iter().flat_map(|started| started.pids.clone()).collect();
            assert!(started.len() == 1 && pids.len() >= 2, "{name}: a launcher and its server: {started:?}");
            if by_signal {
                send_signal(holder.id(), end);
            } else {
                drop(holder.stdin.take());
            }
            holder.wait().unwrap();
            let gone = || (!pids.iter().any(|pid| alive(*pid))).then_some(());
            eventually_within(GUARDED, &format!("{name} to be gone after {end}"), gone);
            assert!(started_by(holder.id()).is_empty(), "{name}, {end}");
        }
    }
}

#[tokio::test]
#[ignore = "testbed"]
async fn p01_real_launchers_leave_nothing_after_a_close() {
    for (name, words) in launchers() {
        let client = Client::stdio(&words[0], &words[1..]).cwd(testbed().join("node")).label(name).build().unwrap();
        assert!(!client.list_tools().await.unwrap().is_empty(), "{name}");
        let own = |started: &Started| started.server == name && started.owner.pid == std::process::id();
        let mut started = processes::started().unwrap();
        started.retain(own);
        assert!(started.len() == 1 && started[0].pids.len() >= 2, "{name}: a launcher and its server: {started:?}");
        client.disconnect().await;
        assert!(!processes::started().unwrap().iter().any(own), "{name}");
        assert!(!started[0].pids.iter().any(|pid| alive(*pid)), "{name}");
    }
}
