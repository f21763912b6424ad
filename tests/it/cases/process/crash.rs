//! A server that goes away by itself: everybody who waits hears it at once, and why.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use trunkline::{Client, Error, ErrorKind, Protocol, State};
use trunkline_tests::*;

use crate::rig::{Rig, assert_took, limits, ms, rig};

const LONG: Duration = Duration::from_secs(600);

fn crashing(end: impl IntoIterator<Item = Action>) -> Rig {
    let script =
        Script::new().on(call("echo").nth(5), end).on(call("echo").first(4), []).on(call("echo"), [text("alive")]);
    Rig::with(|_| script, |builder| builder.timeout(LONG).max_timeout(LONG))
}

async fn five_calls(rig: &Rig) -> Vec<Error> {
    let calls = (0..5).map(|_| rig.call("echo"));
    join_all(calls).await.into_iter().map(Result::unwrap_err).collect()
}

/// Waiting calls fail when the process ends, not when their long timeout does.
#[tokio::test]
async fn p05_every_waiting_call_fails_at_once_with_the_reason() {
    let held_open = || spawn_sharing(Script::new().ignore_eof());
    for (end, exit) in [
        (vec![stderr("boom\n"), exit(139)], "exit status 139"),
        (vec![stderr("boom"), die("SEGV")], "signal 11 (SIGSEGV)"),
        (vec![stderr("boom\n"), die("KILL")], "signal 9 (SIGKILL)"),
        (vec![held_open(), stderr("boom\n"), exit(3)], "exit status 3"),
    ] {
        let rig = crashing(end);
        rig.client.connect().await.unwrap();
        let begun = Instant::now();
        for error in five_calls(&rig).await {
            assert_eq!((error.kind(), error.get("exit")), (ErrorKind::Closed, Some(exit)), "{error:?}");
            assert!(error.message().contains(exit) && error.get("stderr").unwrap().contains("boom"), "{error:?}");
            assert!(error.may_have_run() && !error.is_retryable());
            assert_eq!(error.get("server"), Some("fake"));
        }
        assert_took(begun, ms(0));
        let State::Failed(error) = rig.client.state() else { panic!("{:?}", rig.client.state()) };
        assert_eq!(error.get("exit"), Some(exit));
    }
}

/// The streams tell too: one that is closed ends the session, though the process lives on. Its end comes after.
#[tokio::test]
async fn p05_a_closed_stream_fails_the_waiting_calls() {
    let rig = crashing([stderr("bye\n"), close_stdout()]);
    rig.client.connect().await.unwrap();
    let begun = Instant::now();
    for error in five_calls(&rig).await {
        assert_eq!(error.kind(), ErrorKind::Closed);
        assert_eq!(error.message(), "The server closed its output but keeps running");
    }
    assert_took(begun, ms(0));
}

/// A server that can't hear any more can't be called; the call goes to a new one, once the deaf one is gone.
#[tokio::test]
async fn p05_a_closed_input_ends_the_connection() {
    let dir = TempDir::new();
    let deaf_at_first = r#"
        answer() { read -r line; id=${line#*\"id\":}; echo "{\"jsonrpc\":\"2.0\",\"id\":${id%%,*},\"result\":$1}"; }
        answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}'
        read -r initialized
        if [ -e deaf ]; then answer '{"content":[]}'; read -r more; exit; fi
        exec 0<&-
        echo "$$" > deaf
        exec sleep 600"#;
    let client = Client::stdio("sh", ["-c", deaf_at_first]).cwd(dir.path()).limits(limits());
    let client = client.protocol(Protocol::Legacy).build().unwrap();
    client.connect().await.unwrap();
    let path = dir.join("deaf");
    let deaf = offload(move || wait_pid(path)).await;
    let begun = Instant::now();
    assert_eq!(client.call("echo", ()).timeout(LONG).await.unwrap().text(), "");
    assert_took(begun, ms(0));
    assert!(!alive(deaf));
}

/// The last line before the end counts, also without a line feed and from a server that never read a byte.
#[tokio::test]
async fn p04_a_death_before_the_handshake_is_told_at_once_with_all_there_is() {
    for (script, exit) in [
        (Script::new().on("@start", [stderr("E1\nE2\nmissing API key"), exit(3)]), "exit status 3"),
        (Script::new().reads(0).on("@start", [stderr("E1\nmissing API key\n"), exit(127)]), "exit status 127"),
        (Script::new().on("initialize", [stderr("E1\nmissing API key\n"), die("ABRT")]), "signal 6 (SIGABRT)"),
    ] {
        let rig = rig(script);
        let begun = Instant::now();
        let error = rig.client.connect().await.unwrap_err();
        assert_took(begun, ms(0));
        assert_eq!((error.kind(), error.get("exit")), (ErrorKind::Unreachable, Some(exit)), "{error:?}");
        assert_eq!(error.get("phase"), Some("initialize"));
        assert!(error.message().starts_with("Could not connect to server \"fake\": the server exited"), "{error}");
        assert!(error.get("stderr").unwrap().starts_with("E1\n"), "{error:?}");
        assert!(error.get("stderr").unwrap().ends_with("missing API key"), "{error:?}");
        assert!(error.get("command").unwrap().ends_with(".json"));
        assert!(error.hint().is_some() && !error.may_have_run());
    }
}

/// One that dies right after its handshake is noticed by whoever comes first, always with the reason.
#[tokio::test]
async fn p04_a_death_right_after_the_handshake_is_told_with_its_reason() {
    for _ in 0..10 {
        let rig = rig(Script::new().on("initialize", [default_answer(), stderr("no licence\n"), exit(4)]));
        let error = match rig.client.connect().await {
            Err(error) => error,
            Ok(()) => rig.call("echo").await.unwrap_err(),
        };
        assert_eq!(error.get("exit"), Some("exit status 4"), "{error:?}");
        assert_eq!(error.get("stderr"), Some("no licence"), "{error:?}");
    }
}

/// A request that the server could no longer read is told apart from one that it may have done.
#[tokio::test]
async fn p05_a_call_that_cannot_leave_is_made_on_a_new_connection() {
    for _ in 0..5 {
        let gone = || Script::new().on(on_method("notifications/initialized").start(1), [exit(0)]);
        let rig = Rig::with(|_| gone().on(call("echo"), [text("$START")]), |builder| builder);
        rig.client.connect().await.unwrap();
        let pid = rig.pid();
        offload(move || wait_gone(pid)).await;
        match rig.call("echo").await {
            // a program that another test starts just now holds the pipe until it is itself: then nobody can tell
            Err(error) if error.kind() == ErrorKind::Closed && error.may_have_run() => {}
            answer => {
                assert_eq!(answer.unwrap(), "2");
                return assert_eq!((rig.starts(), rig.sent("tools/call")), (2, 1));
            }
        }
    }
    panic!("five calls in a row were taken by a server that was gone");
}
