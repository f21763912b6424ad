//! The program `trunkline`, ended in every way while it has a launched server: nothing of it is left.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use trunkline_tests::*;

use crate::rig::assert_took;
use crate::smoke::FAKE;

/// What the default graces allow, and as much again for a busy machine.
const GRACES: Duration = Duration::from_secs(10);

/// The program with a fake behind a shell.
struct Program {
    dir: TempDir,
    log: Log,
    script: PathBuf,
}

impl Program {
    fn with(script: Script) -> Program {
        let dir = TempDir::new();
        let log = Log::at(dir.join("log"));
        let script = script.log(log.path()).pid_file(dir.join("pid")).write_to(&dir);
        Program { dir, log, script }
    }

    fn start(&self, args: &[&str]) -> Child {
        default_signals();
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline-under-test"));
        command.args(args).args(["--", "sh"]).args(shell(FAKE, &[self.script.to_str().unwrap()]));
        command.current_dir(self.dir.path()).env("HOME", self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn server(&self) -> u32 {
        wait_pid(self.dir.join("pid"))
    }

    /// Runs to the end; what it said, and that nothing was left at that moment.
    fn run(&self, args: &[&str]) -> Output {
        let output = self.start(args).wait_with_output().unwrap();
        assert!(!alive(self.server()), "{output:?}");
        output
    }
}

/// One that holds its calls and doesn't end by itself.
fn stubborn() -> Script {
    Script::new().ignore_eof().on(call("echo"), [])
}

#[test]
fn p01_the_program_leaves_nothing_of_a_launcher_after_a_normal_end() {
    for script in [Script::new(), Script::new().ignore_eof()] {
        let output = Program::with(script).run(&["call", "echo"]);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ok\n"[..]), "{output:?}");
    }
}

#[test]
fn p01_the_program_leaves_nothing_of_a_launcher_after_a_failed_handshake() {
    let refusing = Script::new().ignore_eof().on("initialize", [respond_error(-32602, "no")]);
    let output = Program::with(refusing).run(&["list"]);
    assert_eq!(output.status.code(), Some(6), "{output:?}");
}

/// Ctrl-C and SIGTERM end it in order: the call is cancelled, its server is gone before the program is.
#[test]
fn p01_the_program_leaves_nothing_of_a_launcher_when_it_is_interrupted() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let program = Program::with(stubborn());
        let child = program.start(&["call", "echo"]);
        program.log.wait_sent("tools/call", 1);
        send_signal(child.id(), signal);
        let output = child.wait_with_output().unwrap();
        assert!(!alive(program.server()), "{signal}");
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(program.log.sent("notifications/cancelled").len(), 1, "{signal}");
    }
}

#[test]
fn p01_the_program_leaves_nothing_of_a_launcher_when_it_is_interrupted_in_a_handshake() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let program = Program::with(Script::new().ignore_eof().on("initialize", []));
        let child = program.start(&["call", "echo"]);
        program.log.wait_sent("initialize", 1);
        send_signal(child.id(), signal);
        let output = child.wait_with_output().unwrap();
        assert!(!alive(program.server()), "{signal}");
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
}

/// A terminal that is closed, and `kill -9`: the guard does it.
#[test]
fn p01_the_program_leaves_nothing_of_a_launcher_when_it_is_killed() {
    let silent = Script::new().ignore_eof().on("initialize", []);
    let scripts = [stubborn(), stubborn().ignore_term(), silent];
    let started = ["HUP", "KILL"].into_iter().flat_map(|signal| scripts.clone().map(|script| (signal, script)));
    let killed = started.map(|(signal, script)| {
        let program = Program::with(script);
        let mut child = program.start(&["call", "echo"]);
        program.log.wait_sent("initialize", 1);
        let server = program.server();
        send_signal(child.id(), signal);
        assert_eq!(child.wait().unwrap().code(), None, "{signal}");
        (program, server)
    });
    for (program, server) in killed.collect::<Vec<_>>() {
        eventually_within(GRACES, "the end of the server", || (!alive(server)).then_some(()));
        drop(program);
    }
}

/// The bound holds for the program too, and it says by which step a server had to be ended.
#[test]
fn p03_the_program_ends_a_stubborn_server_within_its_bound() {
    let program = Program::with(Script::new().ignore_eof().ignore_term());
    let begun = Instant::now();
    let output = program.run(&["call", "echo", "-v"]);
    assert_took(begun, Duration::from_secs(4));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("[sh] warning: The server had to be ended by SIGKILL"), "{told}");
}

/// The first run of a launcher downloads what it starts. Nobody has to know a setting for that.
#[test]
fn p09_the_program_waits_for_a_first_download() {
    let fetching = |times| Script::new().on("@start", [repeat(times, [stderr("npm fetch $I\n"), sleep(1000)])]);
    let output = Program::with(fetching(12)).run(&["call", "echo"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ok\n"[..]), "{output:?}");
    let begun = Instant::now();
    let output = Program::with(fetching(60)).run(&["call", "echo", "--start-timeout", "3s"]);
    assert_took(begun, Duration::from_secs(3));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{told}");
    for part in ["within 3 s", "The process is alive", "startTimeout", "--start-timeout", "npm fetch 3"] {
        assert!(told.contains(part), "{part} in {told}");
    }
}
