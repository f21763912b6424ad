//! However the program ends, its servers end too; and each way has its exit code.

use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Bench, runs, signal, tool, wait_until};
use crate::terminal::Terminal;

/// A server whose calls are never answered, and the command line that calls it.
fn slow(bench: &Bench, more: serde_json::Value) -> Vec<String> {
    let mut variables = json!({
        "TOOLS": tool("t", ""), "SLOW": "1", "LOG": bench.path("log"), "PIDFILE": bench.path("pid")
    });
    variables.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let config = bench.config([("s", bench.server(variables))]);
    ["call", "s.t", "--config", &config].map(str::to_owned).to_vec()
}

fn started(bench: &Bench, args: &[String]) -> std::process::Child {
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let child = bench.start_until(&args, "pid");
    wait_until("the call", || bench.read("log").contains("tools/call"));
    child
}

#[test]
fn p01_p85_an_interrupt_cancels_at_the_server_and_leaves_no_process() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let bench = Bench::new();
        let child = started(&bench, &slow(&bench, json!({})));
        let pid = bench.pid("pid");
        signal(&child, name);
        let ran = bench.ran(&child.wait_with_output().unwrap());
        ran.is(code, "", "Interrupted\n");
        assert!(!runs(&pid), "{name}");
        assert_eq!(bench.read("log").matches("notifications/cancelled").count(), 1, "{name}");
    }
}

#[test]
fn p01_an_interrupt_while_a_server_starts_leaves_no_process() {
    let bench = Bench::new();
    let script = format!("echo $$ > '{}'; exec sleep 600", bench.path("pid").display());
    let config = bench.config([("silent", json!({"command": "/bin/sh", "args": ["-c", script]}))]);
    let child = bench.start_until(&["list", "--config", &config], "pid");
    let pid = bench.pid("pid");
    signal(&child, "INT");
    let ran = bench.ran(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{ran:?}");
    wait_until("the server to end", || !runs(&pid));
}

#[test]
fn p03_a_second_interrupt_does_not_wait_for_a_stubborn_server() {
    let bench = Bench::new();
    let child = started(&bench, &slow(&bench, json!({"STUBBORN": "1"})));
    let pid = bench.pid("pid");
    signal(&child, "INT");
    wait_until("the first interrupt", || bench.read("log").contains("notifications/cancelled"));
    let begun = Instant::now();
    signal(&child, "INT");
    let ran = bench.ran(&child.wait_with_output().unwrap());
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
    assert_eq!(ran.code, 130);
    wait_until("the server to be ended", || !runs(&pid));
}

#[test]
fn p01_a_program_that_is_killed_leaves_no_process() {
    let bench = Bench::new();
    let mut child = started(&bench, &slow(&bench, json!({"STUBBORN": "1"})));
    let pid = bench.pid("pid");
    assert!(runs(&pid));
    signal(&child, "KILL");
    child.wait().unwrap();
    wait_until("the server to be ended", || !runs(&pid));
}

#[test]
fn p01_a_normal_end_leaves_no_process() {
    let bench = Bench::new();
    let server = bench.server(json!({"TOOLS": tool("t", ""), "PIDFILE": bench.path("pid")}));
    let config = bench.config([("s", server)]);
    bench.run(&["list", "-q", "--config", &config]).is(0, "s\n  t()\n", "");
    assert!(!runs(&bench.pid("pid")));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let bench = Bench::new();
    let mut child = bench.command(&["list", "-q"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

/// The first run of `npx` or `uvx` downloads packages: whoever watches sees that, not just a wait.
#[test]
fn p09_a_server_that_is_still_starting_says_so_by_its_last_line() {
    let bench = Bench::new();
    let script = format!(
        "echo 'npm fetch sk-live-0123456789' >&2; while [ ! -e '{}' ]; do sleep 0.05; done; exec /bin/sh '{}'",
        bench.path("go").display(),
        bench.path("server.sh").display()
    );
    let variables = json!({"TOOLS": tool("t", ""), "API_KEY": "sk-live-0123456789"});
    let config = bench.config([("s", json!({"command": "/bin/sh", "args": ["-c", script], "env": variables}))]);
    let mut command = bench.command(&["list", "--config", &config]);
    command.env("TERM", "xterm");
    let terminal = Terminal::start(command);
    terminal.wait_for("s is still starting: npm fetch ***");
    bench.write("go", "");
    let shown = terminal.shown.clone();
    assert_eq!(terminal.end(), (0, "s\n  t()\n".to_owned()), "{}", shown.lock().unwrap());
}
