//! `ps` and `reap`: what runs, whose it is, and what is left of it. Each test looks at servers of its own names, so that
//! nobody else's are ended.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use trunkline_tests::default_signals;

use crate::harness::{Bench, PROGRAM, Ran, runs, signal, tool, wait_until};

/// A name that no other test, and no other run of this one, has.
fn label(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// The program in a call that is never answered, of a server that ignores the end of its input and SIGTERM.
struct Calling {
    bench: Bench,
    label: String,
    program: Child,
    server: String,
}

impl Calling {
    fn start(name: &str) -> Self {
        let (bench, label) = (Bench::new(), label(name));
        let variables = json!({
            "TOOLS": tool("t", ""), "SLOW": "1", "STUBBORN": "1", "LOG": bench.path("log"), "PIDFILE": bench.path("pid"),
            "API_KEY": "sk-live-0123456789"
        });
        let mut entry = bench.server(variables);
        let more = [json!("--token=t0ken-abcdefgh"), json!("sk-live-0123456789")];
        entry["args"].as_array_mut().unwrap().extend(more);
        let config = bench.config([(&label, entry)]);
        let program = bench.start_until(&["call", &format!("{label}.t"), "--config", &config], "pid");
        wait_until("the call", || bench.read("log").contains("tools/call"));
        let server = bench.pid("pid");
        Self { bench, label, program, server }
    }

    /// Kills the program and what guards it: a crash that nobody cleared up after.
    fn crash(&mut self) {
        let guard = guard_of(self.program.id());
        assert!(Command::new("kill").args(["-KILL", &guard]).status().unwrap().success());
        wait_until("the guard's end", || !runs(&guard));
        signal(&self.program, "KILL");
        self.program.wait().unwrap();
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.bench.run(&[args, &[self.label.as_str()]].concat())
    }

    fn only_server(&self) -> Value {
        let told = self.run(&["ps", "--json"]).json();
        let servers = told["servers"].as_array().unwrap();
        assert_eq!(servers.len(), 1, "{told}");
        servers[0].clone()
    }
}

fn guard_of(parent: u32) -> String {
    let children = Command::new("ps").args(["-o", "pid=,args=", "--ppid", &parent.to_string()]).output().unwrap();
    let children = String::from_utf8(children.stdout).unwrap();
    let guard = children.lines().find(|line| line.contains("trunkline-guard")).expect("a guard");
    guard.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn p01_ps_shows_who_started_what_without_its_secrets() {
    let mut calling = Calling::start("shown");
    let shown = calling.only_server();
    let (server, program): (u32, u32) = (calling.server.parse().unwrap(), calling.program.id());
    assert_eq!((&shown["server"], &shown["left_over"]), (&json!(calling.label), &json!(false)));
    assert_eq!((&shown["owner"]["pid"], &shown["owner"]["alive"]), (&json!(program), &json!(true)));
    assert!(shown["owner"]["command"].as_str().unwrap().starts_with("PROGRAM call "), "{shown}");
    assert!(shown["pids"].as_array().unwrap().contains(&json!(server)), "{shown}");
    assert!((100_000..1_000_000_000).contains(&shown["memory"].as_u64().unwrap()), "{shown}");
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!((now - 120..=now + 1).contains(&shown["since"].as_u64().unwrap()), "{shown} at {now}");
    let command = shown["command"].as_str().unwrap();
    assert!(command.starts_with("/bin/sh ") && command.ends_with("/server.sh --token=*** ***"), "{command}");

    let table = calling.run(&["ps"]);
    let lines: Vec<_> = table.stdout.lines().collect();
    assert_eq!((table.code, lines.len(), table.stderr.as_str()), (0, 2, ""), "{table:?}");
    assert!(!table.stdout.contains("sk-live"), "{table:?}");
    let headings: Vec<_> = lines[0].split_whitespace().collect();
    assert_eq!(headings, ["SERVER", "PID", "AGE", "MEMORY", "STARTED", "BY", "COMMAND"]);
    assert!(lines[1].starts_with(&format!("{}  {server}", calling.label)), "{table:?}");
    assert!(lines[1].contains(&format!("{program} trunkline")) && lines[1].ends_with("--token=*** ***"), "{table:?}");

    let reaped = calling.run(&["reap"]);
    reaped.is(0, "", "Nothing is left of any server\n");
    assert!(runs(&calling.server), "its owner is alive");
    signal(&calling.program, "INT");
    calling.program.wait().unwrap();
    assert!(!runs(&calling.server));
    calling.run(&["ps"]).is(0, "", "No server runs\n");
}

#[test]
fn p01_what_a_crash_left_is_shown_and_reaped() {
    let mut calling = Calling::start("left");
    calling.crash();
    let (program, server) = (calling.program.id(), &calling.server);
    let shown = calling.only_server();
    assert_eq!((&shown["owner"]["alive"], &shown["owner"]["command"]), (&json!(false), &Value::Null));
    assert_eq!(shown["left_over"], json!(true));
    let table = calling.run(&["ps"]);
    assert!(table.stdout.contains(&format!("{program}, gone")), "{table:?}");
    assert_eq!(table.stderr, "1 has lost its owner; `trunkline reap` ends it\n");

    let would = calling.run(&["reap", "--dry-run"]);
    assert!(would.stdout.starts_with(&format!("Would end {} (process {server}", calling.label)), "{would:?}");
    assert!(runs(server) && would.code == 0);
    let reaped = calling.run(&["reap", "--json"]);
    let told = reaped.json();
    assert_eq!((told["ended"].as_array().unwrap().len(), &told["still_running"]), (1, &json!([])), "{told}");
    assert!(!runs(server) && reaped.code == 0);
    calling.run(&["reap"]).is(0, "", "Nothing is left of any server\n");
}

/// A process that carries this mark, in a session of its own as what a server started may be.
fn marked(mark: &str, script: &str) -> Child {
    default_signals();
    let mut command = Command::new("setsid");
    command.args(["sh", "-c", script]).env("TRUNKLINE_SERVER", mark);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// This process: its namespace, its number, when it began.
fn this_process() -> (String, u32, u64) {
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let digits = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    (digits, std::process::id(), fields.split_whitespace().nth(19).unwrap().parse().unwrap())
}

/// A number that another process has by now is no owner; a process of another container has an owner elsewhere.
#[test]
fn p01_reap_knows_an_owner_by_its_start_and_leaves_other_containers_alone() {
    let (namespace, pid, began) = this_process();
    let (label, bench) = (label("marks"), Bench::new());
    let mark = |namespace: &str, began: u64| format!("{namespace}.{pid}.{began}.1 {label}");
    let mut owned = marked(&mark(&namespace, began), "exec sleep 600");
    let mut reused = marked(&mark(&namespace, began + 1), "exec sleep 600");
    let mut elsewhere = marked(&mark("1", began + 1), "exec sleep 600");
    let odd = marked(&format!("no mark {label}"), "exec sleep 600");
    let shown = || bench.run(&["ps", "--json", &label]).json()["servers"].as_array().unwrap().len();
    wait_until("both to be shown", || shown() == 2);
    let reaped = bench.run(&["reap", &label]);
    assert_eq!((reaped.code, reaped.stdout.lines().count()), (0, 1), "{reaped:?}");
    assert!(reaped.stdout.contains(&format!("(process {};", reused.id())), "{reaped:?}");
    reused.wait().unwrap();
    for child in [&mut owned, &mut elsewhere, &mut { odd }] {
        assert!(child.try_wait().unwrap().is_none(), "{reaped:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Whoever works in a shell that a server of old started doesn't end that shell.
#[test]
fn p01_reap_does_not_end_what_it_runs_in() {
    let (namespace, pid, began) = this_process();
    let label = label("inside");
    let script = format!("'{PROGRAM}' reap {label}; echo alive");
    let shell = marked(&format!("{namespace}.{pid}.{}.1 {label}", began + 1), &script);
    let output = shell.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "alive\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "Nothing is left of any server\n");
}
