//! The fake as a process: starts, locks, signals, ends, children, arguments.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_tests::*;

use crate::peer::{Peer, command};

#[test]
fn the_end_of_stdin_ends_it_after_the_answers() {
    let mut peer = Peer::start(&Script::new().on("ping", [sleep(20), default_answer()]));
    peer.request(1, "ping", json!({}));
    let rest = peer.rest();
    assert_eq!(rest.iter().filter(|&&byte| byte == b'\n').count(), 1);
    assert_eq!(peer.status().code(), Some(0));
}

#[test]
fn a_clean_end_leaves_its_marks() {
    let dir = TempDir::new();
    let marks = dir.join("marks");
    let script = Script::new()
        .log(dir.join("log"))
        .on("@eof", [mark(&marks, "EOF"), sleep(30), mark(&marks, "CLEAN"), exit(7)])
        .on("@term", [mark(&marks, "TERM")]);
    let mut peer = Peer::start(&script);
    peer.close_stdin();
    assert_eq!(peer.status().code(), Some(7));
    assert_eq!(dir.read("marks"), "EOF\nCLEAN\n");
    assert_eq!(Log::at(dir.join("log")).notes(), ["start 1", "eof", "exit 7"]);
}

#[test]
fn term_has_its_rule_even_while_a_call_runs() {
    let dir = TempDir::new();
    let script = Script::new()
        .log(dir.join("log"))
        .ignore_eof()
        .on(call("echo"), [wait_file(dir.join("never"))])
        .on("@term", [sleep(50), exit(0)]);
    let mut peer = Peer::start(&script);
    peer.call(1, "echo", json!({}));
    peer.close_stdin();
    Log::at(dir.join("log")).wait_note("eof");
    let sent = Instant::now();
    assert!(send_signal(peer.pid(), "TERM"));
    assert_eq!(peer.status().code(), Some(0));
    assert!(sent.elapsed() >= Duration::from_millis(50));
}

#[test]
fn eof_and_term_can_be_ignored() {
    let dir = TempDir::new();
    let log = Log::at(dir.join("log"));
    let mut peer = Peer::start(&Script::new().log(log.path()).ignore_eof().ignore_term());
    peer.close_stdin();
    log.wait_note("eof");
    send_signal(peer.pid(), "TERM");
    log.wait_note("term");
    assert!(peer.is_running());
    send_signal(peer.pid(), "KILL");
    assert_eq!(peer.status().signal(), Some(9));
}

#[test]
fn without_a_rule_term_kills() {
    let dir = TempDir::new();
    let script = Script::new().pid_file(dir.join("pid")).on(on_method("@term").start(2), []);
    let mut peer = Peer::start(&script);
    assert_eq!(wait_pid(dir.join("pid")), peer.pid());
    send_signal(peer.pid(), "TERM");
    assert_eq!(peer.status().signal(), Some(15));
}

#[test]
fn it_dies_as_told_with_stderr_before() {
    let script = Script::new()
        .on(call("echo").nth(1), [stderr("E1\nmissing \"$NAME\"\n"), exit(139)])
        .on("ping", [die("SEGV")])
        .on("tools/list", [die("KILL")]);
    let mut peer = Peer::start(&script);
    peer.call(1, "echo", json!({}));
    assert_eq!(peer.status().code(), Some(139));
    assert_eq!(peer.stderr(), "E1\nmissing \"echo\"\n");
    for (method, signal) in [("ping", 11), ("tools/list", 9)] {
        let mut peer = Peer::start(&script);
        peer.request(1, method, json!({}));
        assert_eq!(peer.status().signal(), Some(signal));
    }
}

#[test]
fn stderr_takes_more_than_a_pipe() {
    let mut peer = Peer::start(&Script::new().on("ping", [stderr("$REPEAT(2600,0123456789\n)"), default_answer()]));
    for id in 1..=10 {
        peer.request(id, "ping", json!({}));
        assert_eq!(peer.json()["id"], json!(id));
    }
    peer.close_stdin();
    assert_eq!(peer.stderr().len(), 10 * 2600 * 11);
}

#[test]
fn starts_are_counted_and_choose_rules() {
    let dir = TempDir::new();
    let log = Log::at(dir.join("log"));
    let script = Script::new()
        .log(log.path())
        .starts(dir.join("starts"))
        .on(on_method("@start").first_starts(2), [exit(3)])
        .on(on_method("ping").start(3), [respond(json!("$START"))]);
    assert_eq!(Peer::start(&script).status().code(), Some(3));
    assert_eq!(Peer::start(&script).status().code(), Some(3));
    let mut peer = Peer::start(&script);
    peer.request(1, "ping", json!({}));
    assert_eq!(peer.json()["result"], json!(3));
    let mut peer = Peer::start(&script);
    peer.request(1, "ping", json!({}));
    assert_eq!(peer.json()["result"], json!({}));
    let starts = log.starts();
    assert_eq!(starts.len(), 4);
    assert_eq!(starts[3].pid, peer.pid());
    assert!(starts.windows(2).all(|pair| pair[0].at < pair[1].at));
}

#[test]
fn a_lock_that_is_taken_ends_it() {
    let dir = TempDir::new();
    let script = Script::new().lock(dir.join("lock")).pid_file(dir.join("pid"));
    let mut first = Peer::start(&script);
    wait_pid(dir.join("pid"));
    assert_eq!(Peer::start(&script).status().code(), Some(9));
    first.close_stdin();
    first.status();
    let mut second = Peer::start(&script);
    second.request(1, "ping", json!({}));
    assert_eq!(second.json()["id"], json!(1));
}

#[test]
fn a_slow_start_reads_meanwhile() {
    let dir = TempDir::new();
    let log = Log::at(dir.join("log"));
    let script =
        Script::new().log(log.path()).on("@start", [repeat(3, [stderr("fetch $I\n")]), wait_file(dir.join("go"))]);
    let mut peer = Peer::start(&script);
    peer.request(1, "ping", json!({}));
    log.wait_sent("ping", 1);
    assert!(log.entries().iter().all(|entry| entry.kind != Kind::Wrote));
    dir.write("go", "");
    assert_eq!(peer.json()["id"], json!(1));
    peer.close_stdin();
    assert_eq!(peer.stderr(), "fetch 1\nfetch 2\nfetch 3\n");
}

#[test]
fn children_stay_in_the_group_and_outlive_it() {
    let dir = TempDir::new();
    let child = Script::new().ignore_eof().ignore_term().pid_file(dir.join("child"));
    let script = Script::new().on("@start", [spawn(child)]).on("ping", [exit(0)]);
    let mut peer = Peer::run(command().args(script.args()).process_group(0));
    let (parent, child) = (peer.pid(), wait_pid(dir.join("child")));
    let mut members = group_members(parent);
    members.sort_unstable();
    assert_eq!(members, [parent, child]);
    assert_eq!(group_of(child), Some(parent));
    peer.request(1, "ping", json!({}));
    peer.status();
    assert_eq!(peer.bytes(), b"", "stdout ends with the parent");
    assert!(alive(child));
    send_signal(child, "KILL");
    wait_gone(child);
    wait_group_gone(parent);
}

#[test]
fn a_sharing_child_holds_stdout_open() {
    let dir = TempDir::new();
    let child = Script::new().ignore_eof().on("@start", [wait_file(dir.join("go")), line("from the child"), exit(0)]);
    let mut peer = Peer::start(&Script::new().on("@start", [spawn_sharing(child), exit(0)]));
    peer.status();
    dir.write("go", "");
    assert_eq!(peer.line(), "from the child");
    assert_eq!(peer.bytes(), b"");
}

#[test]
fn a_shell_between_is_the_parent() {
    let dir = TempDir::new();
    let script = Script::new().pid_file(dir.join("it's a pid")).write_to(&dir);
    let args = shell(env!("CARGO_BIN_EXE_fake"), &[script.to_str().unwrap()]);
    let mut peer = Peer::run(Command::new("sh").args(args));
    let pid = wait_pid(dir.join("it's a pid"));
    assert_ne!(pid, peer.pid());
    peer.request(1, "ping", json!({}));
    assert_eq!(peer.json()["id"], json!(1));
    peer.close_stdin();
    assert_eq!(peer.status().code(), Some(0));
    assert!(!alive(pid));
}

#[test]
fn it_dumps_what_it_was_given() {
    let dir = TempDir::new();
    let script = Script::new().on(call("echo"), [dump()]);
    let args = ["; touch P", "$(touch Q)", "--k=v"];
    let mut command = Command::new(dir.link("bin/other", env!("CARGO_BIN_EXE_fake")));
    command.args(args).env_clear().env("FAKE_SCRIPT", script.json()).env("X", "${HOME}").current_dir(&dir);
    let mut peer = Peer::run(&mut command);
    peer.call(1, "echo", json!({}));
    let seen: Value = serde_json::from_str(&peer.text()).unwrap();
    assert_eq!(seen["argv"][0], json!(dir.join("bin/other")));
    assert_eq!(seen["argv"].as_array().unwrap()[1..], args.map(Value::from));
    assert_eq!(seen["env"], json!({"FAKE_SCRIPT": script.json(), "X": "${HOME}"}));
    assert_eq!(seen["cwd"], json!(dir.path()));
}

#[test]
fn it_can_stop_reading() {
    use std::io::{ErrorKind, Write as _};
    use std::process::Stdio;
    let mut command = command();
    command.args(Script::new().reads(1).args());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (done, written) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        stdin.write_all(b"{\"id\":1,\"method\":\"ping\"}\n").unwrap();
        done.send(()).unwrap();
        stdin.write_all(&[b'x'; 1 << 20]).unwrap_err().kind()
    });
    written.recv_timeout(limit()).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert!(!writer.is_finished(), "a megabyte fits in no pipe");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(writer.join().unwrap(), ErrorKind::BrokenPipe);
}

#[test]
fn a_wrong_script_is_refused_with_its_place() {
    let mut peer = Peer::run(command().args(["--inline", r#"{"rulez":[]}"#]));
    assert_eq!(peer.status().code(), Some(64));
    let problem = peer.stderr();
    assert!(problem.contains("the inline script") && problem.contains("rulez"), "{problem}");
    let mut peer = Peer::run(command().arg("/no/such.json"));
    assert_eq!(peer.status().code(), Some(64));
    assert!(peer.stderr().contains("/no/such.json"));
    let mut peer = Peer::start(&Script::new().on("ping", [sleep_arg("ms")]));
    peer.request(1, "ping", json!({}));
    assert_eq!(peer.status().code(), Some(70));
    assert!(peer.stderr().contains("not a number of milliseconds"));
}

#[test]
fn it_starts_fast() {
    let began = Instant::now();
    for _ in 0..20 {
        assert_eq!(pinged_once(), 1);
    }
    let each = began.elapsed() / 20;
    assert!(each < Duration::from_millis(300), "{each:?} each, with a ping");
}

fn pinged_once() -> u64 {
    let mut peer = Peer::start(&Script::new());
    peer.request(1, "ping", json!({}));
    peer.json()["id"].as_u64().unwrap()
}
