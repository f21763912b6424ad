//! How a server is ended: in steps, the whole group, within a bound.

use std::time::Instant;

use trunkline::{Client, ClientBuilder, ErrorKind, EventKind, Limits};
use trunkline_tests::*;

use super::orphans::straying;
use crate::rig::{Rig, SOON, assert_took, limits, ms, rig};
use crate::smoke::FAKE;

/// The fake behind a shell that stays its parent, as launchers do.
fn launched(dir: &TempDir, script: Script) -> ClientBuilder {
    let script = script.pid_file(dir.join("pid")).write_to(dir);
    Client::stdio("sh", shell(FAKE, &[script.to_str().unwrap()])).limits(limits())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A launcher's real server is its child: ending the launcher alone leaves it running for ever.
#[test]
fn p01_nothing_of_a_launcher_is_left_after_a_close() {
    for stubborn in [Script::new().ignore_eof(), Script::new().ignore_eof().ignore_term()] {
        let (dir, runtime) = (TempDir::new(), runtime());
        let client = runtime.block_on(launched(&dir, stubborn).connect()).unwrap();
        let pid = wait_pid(dir.join("pid"));
        let group = group_of(pid).unwrap();
        assert_ne!(group, pid, "the shell leads the group");
        runtime.block_on(client.disconnect());
        assert!(!alive(pid));
        assert!(group_members(group).is_empty());
    }
}

#[test]
fn p01_nothing_of_a_launcher_is_left_after_a_failed_handshake() {
    let (dir, runtime) = (TempDir::new(), runtime());
    let script = Script::new().ignore_eof().on("initialize", [respond_error(-32602, "no")]);
    let error = runtime.block_on(launched(&dir, script).connect()).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Protocol, Some(-32602)));
    assert!(!alive(wait_pid(dir.join("pid"))), "the failure is told when the process is gone");
}

#[test]
fn p01_nothing_of_a_launcher_is_left_when_the_client_is_dropped() {
    let (dir, runtime) = (TempDir::new(), runtime());
    for inside in [true, false] {
        let client = runtime.block_on(launched(&dir, Script::new().ignore_eof()).connect()).unwrap();
        let group = group_of(wait_pid(dir.join("pid"))).unwrap();
        if inside {
            runtime.block_on(async { drop(client) });
        } else {
            drop(client); // no runtime here, which must not matter
        }
        wait_group_gone(group);
    }
}

/// A runtime that goes first takes its tasks with it, and so whoever supervised the process.
#[test]
fn p01_nothing_of_a_launcher_is_left_when_the_runtime_is_dropped() {
    for single in [true, false] {
        let dir = TempDir::new();
        let runtime = match single {
            true => tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            false => runtime(),
        };
        let client = runtime.block_on(launched(&dir, Script::new().ignore_eof()).connect()).unwrap();
        let group = group_of(wait_pid(dir.join("pid"))).unwrap();
        drop(runtime);
        wait_group_gone(group);
        assert!(!client.connected());
        drop(client);
    }
}

/// A server that ends when its input does must see no signal, however long it takes within the grace.
#[tokio::test]
async fn p02_a_server_gets_the_time_to_end_by_itself() {
    let patient = |builder: ClientBuilder| builder.limits(Limits { exit_grace: SOON, ..limits() });
    let rig = Rig::with(
        |dir| {
            let marks = dir.join("marks");
            let end = [mark(&marks, "EOF"), sleep(300), mark(&marks, "CLEAN"), exit(0)];
            Script::new().on("@eof", end).on("@term", [mark(&marks, "TERM")])
        },
        patient,
    );
    rig.client.connect().await.unwrap();
    let begun = Instant::now();
    rig.client.disconnect().await;
    assert_took(begun, ms(300));
    assert_eq!(rig.dir.read("marks"), "EOF\nCLEAN\n");
    assert_eq!(rig.client.warnings(), Vec::<String>::new());
}

/// Each step comes after the one before has had its time, and the whole has a bound whatever the server does.
#[tokio::test]
async fn p03_a_stubborn_server_is_ended_step_by_step_within_a_bound() {
    for (script, frozen, least, signal) in [
        (Script::new().ignore_eof(), false, 300, "SIGTERM"),
        (Script::new().ignore_eof().ignore_term(), false, 600, "SIGKILL"),
        (Script::new(), true, 600, "SIGKILL"),
    ] {
        let rig = rig(script);
        rig.client.connect().await.unwrap();
        if frozen {
            send_signal(rig.pid(), "STOP");
        }
        let (mut events, begun) = (rig.client.events(), Instant::now());
        rig.client.disconnect().await;
        assert_took(begun, ms(least));
        assert!(!alive(rig.pid()));
        let told = events.next().await.unwrap();
        let EventKind::Warning(text) = told.kind else { panic!("{told:?}") };
        assert_eq!((told.server.as_str(), text), ("fake", format!("The server had to be ended by {signal}")));
        assert!(rig.warned(signal), "{:?}", rig.client.warnings());
    }
}

/// A server that doesn't read can't be told by the end of its input; that doesn't add to the bound.
#[tokio::test]
async fn p03_a_server_that_does_not_read_is_ended_within_the_same_bound() {
    let rig = Rig::with(|_| Script::new().reads(2), |builder| builder.timeout(ms(300)));
    rig.client.connect().await.unwrap();
    let arguments = serde_json::json!({"text": "x".repeat(1 << 20)}); // more than a pipe holds
    assert_eq!(rig.client.call("echo", arguments).await.unwrap_err().kind(), ErrorKind::Deadline);
    let begun = Instant::now();
    rig.client.disconnect().await;
    assert_took(begun, ms(300));
    assert!(!alive(rig.pid()));
}

/// Whatever a server started in its group goes too, also when the server itself ends in order.
#[tokio::test]
async fn p01_what_a_server_started_goes_with_it() {
    let rig = Rig::with(
        |dir| {
            let child = Script::new().ignore_eof().ignore_term().pid_file(dir.join("child"));
            Script::new().on("@start", [spawn(child), wait_file(dir.join("child"))])
        },
        |builder| builder,
    );
    rig.client.connect().await.unwrap();
    let child = rig.dir.read("child").trim().parse().unwrap();
    assert!(alive(child));
    rig.client.disconnect().await;
    assert!(!alive(child) && !alive(rig.pid()));
}

/// The same with one that holds the pipes, in the group or out of it.
#[tokio::test]
async fn p01_what_left_the_group_goes_with_its_server() {
    for stubborn in [Script::new().ignore_eof(), Script::new().ignore_eof().ignore_term()] {
        let dir = TempDir::new();
        let server = Script::new().on("@start", [spawn_sharing(Script::new().ignore_eof())]).write_to(&dir);
        let builder = Client::stdio("sh", straying(&dir, stubborn, &server)).limits(limits());
        let client = builder.connect().await.unwrap();
        let path = dir.join("stray");
        let stray = offload(move || wait_pid(path)).await;
        let begun = Instant::now();
        client.disconnect().await;
        assert_took(begun, ms(300));
        assert!(!alive(stray));
        let warnings = client.warnings();
        assert!(
            warnings.iter().any(|text| text.starts_with("What the server started had to be ended")),
            "{warnings:?}"
        );
    }
}

/// What nobody started from here is nobody's to end, whatever it looks like.
#[tokio::test]
async fn p01_another_server_of_the_same_command_is_left_alone() {
    let (first, second) = (rig(Script::new()), rig(Script::new()));
    first.client.connect().await.unwrap();
    second.client.connect().await.unwrap();
    first.client.disconnect().await;
    assert!(!alive(first.pid()) && alive(second.pid()));
    second.client.disconnect().await;
}
