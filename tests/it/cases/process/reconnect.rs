//! Connecting again: once for each use that needs it, never beside a process that still runs.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use trunkline::{CallContext, ErrorKind, Limits, MultiServer, Outcome, Protocol};
use trunkline_tests::*;

use crate::rig::{Rig, SOON, ms, rig};

/// A fake of which there can be only one at a time: a second one exits with 9.
fn exclusive(dir: &TempDir) -> Script {
    Script::new().lock(dir.join("lock")).tools([tool("echo"), tool("quit")]).on(call("echo"), [text("$START")])
}

fn assert_never_overlapped(rig: &Rig) {
    let notes = rig.log.notes();
    assert!(!notes.iter().any(|note| note.starts_with("lock taken")), "{notes:?}");
}

#[tokio::test]
async fn p10_callers_at_the_same_time_share_one_handshake() {
    for round in 1..=2 {
        let slow = Script::new().on("initialize", [sleep(100), default_answer()]);
        let rig = rig(slow);
        for _ in 0..round {
            let lists = join_all((0..8).map(|_| rig.client.list_tools())).await;
            assert!(lists.into_iter().all(|list| list.unwrap().len() == 1));
        }
        assert_eq!((rig.starts(), rig.sent("initialize")), (1, 1));
    }
}

/// A caller who gives up doesn't take the connection from the others.
#[tokio::test]
async fn p87_the_attempt_outlives_whoever_began_it() {
    let rig = Rig::with(
        |dir| Script::new().on("initialize", [wait_file(dir.join("go")), default_answer()]),
        |builder| builder,
    );
    let first = tokio::spawn({
        let client = rig.client.clone();
        async move { client.connect().await }
    });
    rig.wait_sent("initialize", 1).await;
    first.abort();
    rig.dir.write("go", "");
    rig.client.connect().await.unwrap();
    assert_eq!(rig.starts(), 1);
}

#[tokio::test]
async fn p06_the_next_use_after_a_crash_connects_again_and_only_once() {
    let rig = Rig::with(|dir| exclusive(dir).on(call("quit"), [exit(1)]), |builder| builder);
    for round in 1..=3 {
        let calls = join_all((0..4).map(|_| rig.call("echo"))).await;
        assert!(calls.into_iter().all(|text| text.unwrap() == round.to_string()));
        assert_eq!(rig.call("quit").await.unwrap_err().kind(), ErrorKind::Closed);
    }
    assert_eq!(rig.starts(), 3);
    assert_never_overlapped(&rig);
}

/// A process that lives on after its connection broke has to be gone before the next one starts.
#[tokio::test]
async fn p10_a_new_process_waits_for_the_old_one_s_end() {
    let rig = Rig::with(
        |dir| exclusive(dir).ignore_eof().on(call("quit"), [close_stdout()]).on("@term", [sleep(200), exit(0)]),
        |builder| builder,
    );
    assert_eq!(rig.call("quit").await.unwrap_err().kind(), ErrorKind::Closed);
    assert!(alive(rig.pid()));
    assert_eq!(rig.call("echo").await.unwrap(), "2");
    // the same after closing it, from whoever comes first
    let (closed, called) = tokio::join!(rig.client.disconnect(), rig.call("echo"));
    let () = closed;
    assert!(called.is_ok_and(|start| start == "3"));
    assert_never_overlapped(&rig);
}

#[tokio::test]
async fn p10_retries_after_a_failed_handshake_never_overlap() {
    let rig = Rig::with(
        |dir| {
            let refusing = Script::new().lock(dir.join("lock")).on("initialize", [respond_error(-32602, "no")]);
            refusing.ignore_eof().on("@term", [sleep(200), exit(0)])
        },
        |builder| builder,
    );
    for _ in 0..3 {
        assert_eq!(rig.client.connect().await.unwrap_err().code(), Some(-32602));
    }
    let both = join_all([rig.client.connect(), rig.client.connect()]).await;
    assert!(both.into_iter().all(|outcome| outcome.unwrap_err().code() == Some(-32602)));
    assert_eq!(rig.starts(), 4);
    assert_never_overlapped(&rig);
}

/// A server that can't be started is tried once for each use, and works as soon as it can be.
#[tokio::test]
async fn p06_a_server_that_recovers_is_used() {
    let script = Script::new().on(on_method("@start").first_starts(3), [exit(1)]).on(call("echo"), [text("$START")]);
    let rig = Rig::with(|_| script, |builder| builder.protocol(Protocol::Legacy));
    for _ in 0..3 {
        assert_eq!(rig.call("echo").await.unwrap_err().kind(), ErrorKind::Unreachable);
    }
    assert_eq!(rig.call("echo").await.unwrap(), "4");
}

/// Slow isn't dead: what a timeout says of one call says nothing of the server.
#[tokio::test]
async fn p06_a_timeout_does_not_end_the_server() {
    let rig = rig(Script::new().on(call("echo").nth(1), []).on(call("echo"), [text("$START")]));
    let error = rig.client.call("echo", ()).timeout(ms(200)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(rig.call("echo").await.unwrap(), "1");
    assert_eq!(rig.starts(), 1);
}

/// A connection belongs to the runtime it was made in. Used from another one after that is gone, it is made anew,
/// and a call that waits for it doesn't wait for ever.
#[test]
fn p87_a_client_survives_its_runtime() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let rig = Rig::with(|dir| exclusive(dir).ignore_eof(), |builder| builder);
    for start in ["1", "2"] {
        let runtime = runtime();
        assert_eq!(runtime.block_on(rig.call("echo")).unwrap(), start);
    }
    let starting = Rig::with(|_| Script::new().on(on_method("initialize").start(1), []), |builder| builder);
    let first = runtime();
    let late = first.block_on(async { tokio::time::timeout(ms(100), starting.client.connect()).await });
    assert!(late.is_err());
    drop(first);
    let second = runtime();
    second
        .block_on(async { tokio::time::timeout(Duration::from_secs(20), starting.client.connect()).await })
        .unwrap()
        .unwrap();
    second.block_on(starting.client.disconnect());
    assert_never_overlapped(&rig);
}

/// A server that starts and breaks again and again rests between two lists, longer each time. A call still tries it.
#[tokio::test]
async fn p06_a_crash_loop_rests_between_lists() {
    let looping = rig(Script::new().on("tools/list", [stderr("broken\n"), exit(1)]));
    let mut servers = MultiServer::new();
    servers.add(looping.client.clone()).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < ms(1500) {
        let listed = servers.tools_by_server(&CallContext::new()).await;
        assert!(matches!(&listed[0].outcome, Outcome::Failed(error) if error.get("exit") == Some("exit status 1")));
    }
    let starts = looping.starts();
    // the first break needs no rest; then 1 s, 2 s, 4 s, ...
    let allowed = [0, 0, 1, 3, 7, 15].into_iter().filter(|second| begun.elapsed() >= ms(second * 1000)).count();
    assert!((2..=allowed).contains(&starts), "{starts} starts, at most {allowed} allowed");
    assert_eq!(looping.call("echo").await.unwrap(), "ok");
}

/// A server that fails again and again is tried ever more rarely, and as soon as it works it is used.
#[tokio::test]
async fn p06_a_server_that_fails_rests_twice_as_long_each_time() {
    let limits = Limits { min_backoff: ms(40), max_backoff: ms(400), ..crate::rig::limits() };
    let script = Script::new().on(on_method("@start").first_starts(8), [exit(1)]).on(call("echo"), [text("$START")]);
    let failing = Rig::with(|_| script, |builder| builder.limits(limits.clone()).protocol(Protocol::Legacy));
    let mut servers = MultiServer::new();
    servers.add(failing.client.clone()).unwrap();
    let listed = async {
        while !matches!(servers.tools_by_server(&CallContext::new()).await[0].outcome, Outcome::Ready(_)) {
            tokio::time::sleep(ms(2)).await;
        }
    };
    tokio::time::timeout(limit(), listed).await.expect("the ninth start serves");
    assert_eq!(failing.call("echo").await.unwrap(), "9");
    let starts = failing.log.starts();
    assert_eq!(starts.len(), 9);
    // what a start takes until it has failed only adds to the rest
    let rests = starts.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at));
    for (rest, least) in rests.zip([40, 80, 160, 320, 320, 320, 320, 320]) {
        assert!(rest >= ms(least), "{rest:?} after a start, at least {least} ms expected");
    }
}

/// A rest is for lists. Who calls a server wants it now, and gets one attempt.
#[tokio::test]
async fn p06_a_call_tries_a_resting_server_once() {
    let limits = Limits { min_backoff: SOON * 100, max_backoff: SOON * 100, ..crate::rig::limits() };
    let script = Script::new().on(on_method("@start").first_starts(2), [exit(1)]).on(call("echo"), [text("$START")]);
    let failing = Rig::with(|_| script, |builder| builder.limits(limits).protocol(Protocol::Legacy));
    let mut servers = MultiServer::new();
    servers.add(failing.client.clone()).unwrap();
    for _ in 0..3 {
        assert!(matches!(servers.tools_by_server(&CallContext::new()).await[0].outcome, Outcome::Failed(_)));
    }
    assert_eq!(failing.starts(), 1);
    assert_eq!(failing.call("echo").await.unwrap_err().kind(), ErrorKind::Unreachable);
    assert_eq!(failing.starts(), 2);
    assert_eq!(failing.call("echo").await.unwrap(), "3");
}

/// What counts as sound is having run for a while, not having started.
#[tokio::test]
async fn p06_a_server_that_ran_for_a_while_starts_afresh() {
    let limits = Limits { min_backoff: ms(2000), max_backoff: ms(3000), ..crate::rig::limits() };
    let script = Script::new().tools([tool("echo"), tool("quit")]).on(call("quit"), [exit(1)]);
    let script = script.on(on_method("@start").first_starts(3), [exit(1)]);
    let rig = Rig::with(|_| script, |builder| builder.limits(limits).protocol(Protocol::Legacy));
    let mut servers = MultiServer::new();
    servers.add(rig.client.clone()).unwrap();
    for _ in 0..3 {
        assert_eq!(rig.call("echo").await.unwrap_err().kind(), ErrorKind::Unreachable);
    }
    let is_ready = async || matches!(servers.tools_by_server(&CallContext::new()).await[0].outcome, Outcome::Ready(_));
    rig.client.connect().await.unwrap();
    assert_eq!(rig.call("quit").await.unwrap_err().kind(), ErrorKind::Closed);
    assert!(!is_ready().await, "it only started: the fourth failure in a row");
    rig.client.connect().await.unwrap();
    tokio::time::sleep(ms(3050)).await; // the time itself is what is tested
    assert_eq!(rig.call("quit").await.unwrap_err().kind(), ErrorKind::Closed);
    assert!(is_ready().await, "it ran: nothing to rest for");
}

/// A new process knows nothing of what the old one was asked to tell.
#[tokio::test]
async fn p52_subscriptions_and_the_log_level_outlive_a_crash() {
    let rig = Rig::with(|_| Script::new().tools([tool("echo"), tool("quit")]).on(call("quit"), [exit(1)]), |it| it);
    let ask = async |method: &str, params: serde_json::Value| {
        rig.client.request(method, Some(params.into())).await.unwrap();
    };
    ask("logging/setLevel", json!({"level": "error"})).await;
    ask("resources/subscribe", json!({"uri": "a:1"})).await;
    rig.call("quit").await.unwrap_err();
    assert_eq!(rig.call("echo").await.unwrap(), "ok");
    let methods = rig.log.methods();
    let second = methods.iter().rposition(|method| method == "initialize").unwrap();
    assert_eq!(
        methods[second..],
        ["initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe", "tools/call"]
    );
    assert_eq!(rig.log.sent("resources/subscribe")[1].params(), json!({"uri": "a:1"}));
}
