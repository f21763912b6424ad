//! A parent that ends without a word: no server may outlive it for long, nor the guard that sees to that.

use std::io::BufReader;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use trunkline_tests::*;

use crate::smoke::FAKE;

/// What the guard may take, and as much again for a busy machine.
const GUARDED: Duration = Duration::from_secs(12);

/// A process that holds a connection to a launched fake, and whom it holds.
struct Holder {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
    dir: TempDir,
    server: u32,
    group: u32,
    guard: u32,
}

impl Holder {
    fn start(then: &str, script: Script) -> Holder {
        let dir = TempDir::new();
        let script = script.pid_file(dir.join("pid")).write_to(&dir);
        let mut process = Command::new(env!("CARGO_BIN_EXE_holder"))
            .args([then, "sh"])
            .args(shell(FAKE, &[script.to_str().unwrap()]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        assert_eq!(line(&mut output), "ready");
        let server = wait_pid(dir.join("pid"));
        let group = group_of(server).unwrap_or(0);
        let guard = guard_of(process.id());
        Holder { process, output, dir, server, group, guard }
    }

    /// Lets it do what it was started for.
    fn go(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Waits for the holder's end and asserts that it took everything with it.
    fn assert_nothing_left(mut self) {
        self.process.wait().unwrap();
        for (what, pid) in [("the server", self.server), ("the guard", self.guard)] {
            eventually_within(GUARDED, what, || (!alive(pid)).then_some(()));
        }
        assert!(group_members(self.group).is_empty());
        drop(self.dir);
    }
}

fn line(output: &mut impl std::io::BufRead) -> String {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// The guard among the children of a process.
fn guard_of(parent: u32) -> u32 {
    let is_guard = |pid: &u32| {
        if !alive(*pid) {
            return false;
        }
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let stat = read("stat");
        let its_parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        its_parent == Some(parent) && read("cmdline").contains("trunkline-guard")
    };
    let pids = || std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    eventually("the guard", || pids().find(is_guard))
}

/// `kill -9` leaves a process no time to clear up after itself.
#[test]
fn a_killed_parent_leaves_nothing() {
    for script in [Script::new(), Script::new().ignore_eof(), Script::new().ignore_eof().ignore_term()] {
        let holder = Holder::start("wait", script);
        assert!(alive(holder.server));
        send_signal(holder.process.id(), "KILL");
        holder.assert_nothing_left();
    }
}

/// Ctrl-C and SIGTERM reach the parent alone: the server is in a group of its own.
#[test]
fn a_parent_that_a_signal_ends_leaves_nothing() {
    for signal in ["INT", "TERM", "HUP"] {
        let holder = Holder::start("wait", Script::new().ignore_eof());
        send_signal(holder.process.id(), signal);
        holder.assert_nothing_left();
    }
}

#[test]
fn a_parent_that_panics_aborts_or_exits_leaves_nothing() {
    for then in ["panic", "abort", "exit", "return"] {
        let mut holder = Holder::start(then, Script::new().ignore_eof());
        holder.go();
        holder.assert_nothing_left();
    }
}

/// The process lives on, but not the runtime that the client worked in.
#[test]
fn a_dropped_runtime_leaves_no_server_while_the_parent_lives() {
    let mut holder = Holder::start("drop-runtime", Script::new().ignore_eof().ignore_term());
    holder.go();
    wait_group_gone(holder.group);
    assert!(holder.process.try_wait().unwrap().is_none());
    assert!(alive(holder.guard), "the guard stays for the next server");
    send_signal(holder.process.id(), "KILL");
    holder.assert_nothing_left();
}

/// Somebody ended the guard: the next server gets a new one.
#[test]
fn a_guard_that_is_gone_is_replaced() {
    let mut holder = Holder::start("reconnect", Script::new().ignore_eof());
    send_signal(holder.guard, "KILL");
    wait_gone(holder.guard);
    holder.go();
    assert_eq!(line(&mut holder.output), "ready again");
    holder.server = wait_pid(holder.dir.join("pid"));
    holder.group = group_of(holder.server).unwrap();
    holder.guard = guard_of(holder.process.id());
    send_signal(holder.process.id(), "KILL");
    holder.assert_nothing_left();
}

/// A line without end costs no more memory than the limit allows, and the server.
#[test]
fn endless_output_costs_bounded_memory() {
    let mut holder = Holder::start("flood", Script::new().on(call("flood"), [flood("a")]));
    holder.go();
    assert_eq!(line(&mut holder.output), "limit");
    wait_group_gone(holder.group);
    let peak = peak_memory(holder.process.id()).unwrap();
    assert!(peak < (2 * 8 + 20) << 20, "{} MiB for a limit of 8 MiB", peak >> 20);
    send_signal(holder.process.id(), "KILL");
    holder.assert_nothing_left();
}
