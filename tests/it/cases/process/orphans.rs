//! A parent that ends without a word: no server may outlive it for long, nor the guard that sees to that.

use std::io::BufReader;
use std::path::Path;
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
        Holder::launched(then, |dir, script| fake_behind_a_shell(&script.write_to(dir)), script)
    }

    /// One whose server is started by these arguments of `sh`.
    fn launched(then: &str, sh: impl FnOnce(&TempDir, Script) -> Vec<String>, script: Script) -> Holder {
        let dir = TempDir::new();
        let script = script.pid_file(dir.join("pid"));
        let sh = sh(&dir, script);
        let mut process = spawn_holder(then, &sh, &[]);
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

fn fake_behind_a_shell(script: &Path) -> Vec<String> {
    shell(FAKE, &[script.to_str().unwrap()])
}

/// A server that first starts another process in a session of its own, where nobody looks for it.
pub(super) fn straying(dir: &TempDir, stray: Script, server: &Path) -> Vec<String> {
    let stray = stray.pid_file(dir.join("stray")).json().replace('\'', r"'\''");
    let stray = format!("setsid '{FAKE}' --inline '{stray}' < /dev/null > /dev/null 2>&1 &");
    vec!["-c".to_owned(), format!("{stray} exec '{FAKE}' '{}'", server.display())]
}

fn spawn_holder(then: &str, sh: &[String], env: &[(&str, &str)]) -> Child {
    held(then, &[&["sh".to_owned()], sh].concat(), env)
}

/// A process that holds a connection to this server.
fn held(then: &str, server: &[String], env: &[(&str, &str)]) -> Child {
    default_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_holder"));
    command.arg(then).args(server).envs(env.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
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
fn p01_a_killed_parent_leaves_nothing() {
    for script in [Script::new(), Script::new().ignore_eof(), Script::new().ignore_eof().ignore_term()] {
        let holder = Holder::start("wait", script);
        assert!(alive(holder.server));
        send_signal(holder.process.id(), "KILL");
        holder.assert_nothing_left();
    }
}

/// Ctrl-C and SIGTERM reach the parent alone: the server is in a group of its own.
#[test]
fn p01_a_parent_that_a_signal_ends_leaves_nothing() {
    for signal in ["INT", "TERM", "HUP"] {
        let holder = Holder::start("wait", Script::new().ignore_eof());
        send_signal(holder.process.id(), signal);
        holder.assert_nothing_left();
    }
}

#[test]
fn p01_a_parent_that_panics_aborts_or_exits_leaves_nothing() {
    for then in ["panic", "abort", "exit", "return"] {
        let mut holder = Holder::start(then, Script::new().ignore_eof());
        holder.go();
        holder.assert_nothing_left();
    }
}

/// The process lives on, but not the runtime that the client worked in.
#[test]
fn p01_a_dropped_runtime_leaves_no_server_while_the_parent_lives() {
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
fn p01_a_guard_that_is_gone_is_replaced() {
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

/// A parent that is killed before it knew its server: the guard knew the mark.
#[test]
fn p01_a_parent_killed_during_a_handshake_leaves_nothing() {
    let dir = TempDir::new();
    let silent = Script::new().ignore_eof().ignore_term().pid_file(dir.join("pid")).on("initialize", []);
    let mut holder = spawn_holder("wait", &fake_behind_a_shell(&silent.write_to(&dir)), &[]);
    let server = wait_pid(dir.join("pid"));
    let guard = guard_of(holder.id());
    send_signal(holder.id(), "KILL");
    holder.wait().unwrap();
    for pid in [server, guard] {
        eventually_within(GUARDED, "the end of the server and the guard", || (!alive(pid)).then_some(()));
    }
}

/// Launchers as they are: one that stays its server's parent behind another (npx), one that passes no signal on, one whose
/// server holds the pipes after it is gone.
#[test]
fn p01_nothing_of_any_launcher_is_left_after_a_killed_parent() {
    let nested = |script: &Path| {
        let inner = fake_behind_a_shell(script);
        shell("sh", &inner)
    };
    let deaf = |script: &Path| vec!["-c".to_owned(), format!("trap '' TERM; '{FAKE}' '{}'; true", script.display())];
    let gone = |script: &Path| vec!["-c".to_owned(), format!("exec 3<&0; '{FAKE}' '{}' <&3 & exit", script.display())];
    for is_deaf in [false, true] {
        let launcher = |dir: &TempDir, script: Script| {
            let script = script.write_to(dir);
            if is_deaf { deaf(&script) } else { nested(&script) }
        };
        let holder = Holder::launched("wait", launcher, Script::new().ignore_eof());
        send_signal(holder.process.id(), "KILL");
        holder.assert_nothing_left();
    }
    // this launcher's end is the end of the connection, so the holder never gets ready; its server goes all the same
    let dir = TempDir::new();
    let script = Script::new().ignore_eof().on("initialize", []).pid_file(dir.join("pid")).write_to(&dir);
    let mut holder = spawn_holder("wait", &gone(&script), &[]);
    assert!(!holder.wait().unwrap().success());
    wait_gone(wait_pid(dir.join("pid")));
}

/// A grandchild that made itself a session of its own is in no group that anybody knows of. Its mark tells.
#[test]
fn p01_what_left_the_group_goes_with_a_killed_parent() {
    for stray in [Script::new().ignore_eof(), Script::new().ignore_eof().ignore_term()] {
        let sh = |dir: &TempDir, script: Script| straying(dir, stray, &script.write_to(dir));
        let holder = Holder::launched("wait", sh, Script::new());
        let stray = wait_pid(holder.dir.join("stray"));
        assert_ne!(group_of(stray), Some(holder.group));
        send_signal(holder.process.id(), "KILL");
        eventually_within(GUARDED, "the stray", || (!alive(stray)).then_some(()));
        holder.assert_nothing_left();
    }
}

/// What outlives its server on purpose drops the mark.
#[test]
fn p01_what_drops_the_mark_and_leaves_the_group_is_left_alone() {
    let dir = TempDir::new();
    let pid = dir.join("free");
    let sh = |dir: &TempDir, script: Script| {
        let free = format!(
            "env -u TRUNKLINE_SERVER setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600'",
            pid.display()
        );
        let server = format!("exec '{FAKE}' '{}'", script.write_to(dir).display());
        vec!["-c".to_owned(), format!("{free} < /dev/null > /dev/null 2>&1 & {server}")]
    };
    let mut holder = Holder::launched("return", sh, Script::new());
    let free = wait_pid(&pid);
    holder.go();
    holder.assert_nothing_left();
    assert!(alive(free));
    send_signal(free, "KILL");
}

/// A server that needs its time gets it from the guard too: as much as was agreed on, and no signal before.
#[test]
fn p02_the_guard_waits_as_long_as_the_limits_say() {
    let dir = TempDir::new();
    let marks = dir.join("marks");
    let end = [mark(&marks, "EOF"), sleep(1200), mark(&marks, "CLEAN"), exit(0)];
    let script = Script::new().on("@eof", end).on("@term", [mark(&marks, "TERM")]).pid_file(dir.join("pid"));
    let patient = [("HOLDER_GRACE", "8000")];
    let mut holder = spawn_holder("wait", &fake_behind_a_shell(&script.write_to(&dir)), &patient);
    assert_eq!(line(&mut BufReader::new(holder.stdout.take().unwrap())), "ready");
    let server = wait_pid(dir.join("pid"));
    send_signal(holder.id(), "KILL");
    holder.wait().unwrap();
    wait_gone(server);
    assert_eq!(dir.read("marks"), "EOF\nCLEAN\n");
}

/// A server that logs more than a pipe holds must not stand still because nobody reads it, nor fill the memory.
#[test]
fn p07_a_flood_on_the_standard_error_neither_blocks_nor_piles_up() {
    let hundred = "x".repeat(100);
    let flooded = [repeat(2622, [stderr(&format!("{hundred}\n"))]), text("ok")];
    let mut holder = Holder::start("flooded", Script::new().tools([tool("flooded")]).on(call("flooded"), flooded));
    let before = peak_memory(holder.process.id()).unwrap();
    holder.go();
    for _ in 0..20 {
        let said = line(&mut holder.output);
        let took = said.strip_prefix("ok ").expect("an answer").parse::<u64>().unwrap();
        assert!(took < limit().as_millis() as u64, "a call took {took} ms");
    }
    let grown = peak_memory(holder.process.id()).unwrap().saturating_sub(before);
    assert!(grown < 5 << 20, "grown by {} KiB", grown >> 10);
    send_signal(holder.process.id(), "KILL");
    holder.assert_nothing_left();
}

/// What a long message costs in memory is a small multiple of its length.
#[test]
fn p15_a_long_message_costs_a_small_multiple_of_its_length() {
    const LENGTH: u64 = 7 << 20;
    let dir = TempDir::new();
    let script = Script::new().tools([tool("long")]).on(call("long"), [text(&format!("$REPEAT({LENGTH},x)"))]);
    let script = script.write_to(&dir);
    let bridge = http::Bridge::start(FAKE, &script, false);
    for server in [vec![FAKE.to_owned(), script.display().to_string()], vec![bridge.url()]] {
        let mut holder = held("long", &server, &[]);
        let mut output = BufReader::new(holder.stdout.take().unwrap());
        assert_eq!(line(&mut output), "ready");
        let before = peak_memory(holder.id()).unwrap();
        drop(holder.stdin.take());
        assert_eq!(line(&mut output), LENGTH.to_string());
        let grown = peak_memory(holder.id()).unwrap().saturating_sub(before);
        assert!(grown < 6 * LENGTH, "grown by {} KiB for {} over {server:?}", grown >> 10, LENGTH >> 10);
        send_signal(holder.id(), "KILL");
        holder.wait().unwrap();
    }
}

/// A line without end costs no more memory than the limit allows, and the server.
#[test]
fn p16_endless_output_costs_bounded_memory() {
    let mut holder = Holder::start("flood", Script::new().on(call("flood"), [flood("a")]));
    holder.go();
    assert_eq!(line(&mut holder.output), "limit");
    wait_group_gone(holder.group);
    let peak = peak_memory(holder.process.id()).unwrap();
    assert!(peak < (2 * 8 + 20) << 20, "{} MiB for a limit of 8 MiB", peak >> 20);
    send_signal(holder.process.id(), "KILL");
    holder.assert_nothing_left();
}
