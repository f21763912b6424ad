//! Logging in at an authorization server that others wrote: FastMCP's own.

use std::process::{Command, Stdio};

use trunkline_tests::TempDir;
use trunkline_tests::authority::browser;

use super::over_http::Listening;
use super::{Bench, Way};

/// The program with a home of its own: a new process each time.
fn trunkline(home: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline-under-test"));
    command.args(args).env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin").current_dir(home.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(home: &TempDir, args: &[&str]) -> (i32, String, String) {
    let output = trunkline(home, args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
#[ignore = "testbed"]
fn a_person_logs_in_once_and_the_next_process_is_let_in() {
    let (bench, home) = (Bench::new(), TempDir::new());
    let mut server = bench.take("fastmcp");
    let fixture = server.args[0].replace("fastmcp_server.py", "fastmcp_login.py");
    let way = Way {
        way: "http".to_owned(),
        args: vec![fixture, "{port}".to_owned()],
        env: std::mem::take(&mut server.env),
        path: "/mcp".to_owned(),
        progress_apart: false,
    };
    let listening = Listening::start(&server, &way);
    let url = format!("notes={}", listening.url);
    let call = ["call", "notes.scope", "--url", &url];

    let (code, _, err) = run(&home, &call);
    assert!(code == 3 && err.contains("trunkline login"), "{code} {err}");
    let mut child = trunkline(&home, &["login", &listening.url]).spawn().unwrap();
    let (address, _) = browser::shown_by(&mut child);
    let page = browser::follow(&address);
    assert!(page.status == 200 && page.body.contains("You can close this window"), "{page:?}");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");

    for _ in 0..2 {
        assert_eq!(run(&home, &call), (0, "notes:read\n".to_owned(), String::new()));
    }
    let (code, out, _) = run(&home, &["auth", "status"]);
    assert!(code == 0 && out.contains("notes:read") && out.contains("then renewed by itself"), "{out}");
    assert_eq!(run(&home, &["logout", &listening.url]).0, 0);
    assert_eq!(run(&home, &call).0, 3);
}
