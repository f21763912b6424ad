//! Connections: reused, replaced where the server closed them, and what is told where there is none.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;
use trunkline::{ErrorKind, Limits};
use trunkline_tests::http::*;

use super::{all_of, at, client, echo};

#[tokio::test]
async fn one_connection_serves_one_call_after_the_other() {
    for script in [HttpScript::new(), HttpScript::new().sse_answers()] {
        let fake = script.start();
        let client = client(&fake);
        for n in 0..20 {
            assert_eq!(echo(&client, &n.to_string()).await.unwrap(), json!(n));
        }
        client.disconnect().await;
        // one for what is said beside each other at the start, and one for the rest of a stream
        assert!(fake.log().connections() <= 3, "{}", fake.log().connections());
    }
}

#[tokio::test]
async fn calls_side_by_side_leave_connections_that_are_used_again() {
    let gate = Gate::new();
    let fake = HttpScript::new().on(rpc_call("echo").first(64), [wait(&gate), default_answer()]).start();
    let client = client(&fake);
    let calls = || futures_util::future::join_all((0..64).map(|_| echo(&client, "x")));
    let (results, ()) = tokio::join!(calls(), async {
        gate.reached(64).await;
        gate.open();
    });
    assert!(results.iter().all(Result::is_ok));
    let opened = fake.log().connections();
    assert!(calls().await.iter().all(Result::is_ok));
    assert!(fake.log().connections() <= opened.max(66), "{opened}, then {}", fake.log().connections());
}

#[tokio::test]
async fn only_so_many_idle_connections_are_kept_and_only_so_long() {
    let gate = Gate::new();
    let fake = HttpScript::new().on(rpc_call("echo"), [wait(&gate), default_answer()]).start();
    let limits = Limits { http_idle_connections: 2, http_idle: Duration::from_millis(100), ..Limits::default() };
    let client = at(fake.url()).limits(limits).build().unwrap();
    let calls = futures_util::future::join_all((0..8).map(|_| echo(&client, "x")));
    let (results, ()) = tokio::join!(calls, async {
        gate.reached(8).await;
        gate.open();
    });
    assert!(results.iter().all(Result::is_ok));
    let all = fake.log().connections();
    fake.log().wait_for("all to be closed", |log| (log.closed_by_client().len() == all).then_some(())).await;
    echo(&client, "x").await.unwrap();
}

#[tokio::test]
async fn a_connection_the_server_closed_meanwhile_costs_nothing() {
    for end in [cut(), reset()] {
        let fake = HttpScript::new().on(rpc_call("echo"), [default_answer(), end]).start();
        let client = client(&fake);
        for n in 0..10 {
            assert_eq!(echo(&client, &n.to_string()).await.unwrap(), json!(n));
            tokio::time::sleep(Duration::from_millis(20)).await; // the news of the end comes some time after the answer
        }
        assert_eq!(fake.log().rpc("tools/call").len(), 10);
    }
}

/// Nothing drives the runtime between the calls, so that nobody has heard of the closed connection.
#[test]
fn a_connection_that_was_closed_while_nobody_looked_costs_nothing() {
    let ca = TestCa::new();
    let dir = trunkline_tests::TempDir::new();
    let script = || HttpScript::new().on(rpc_call("echo"), [default_answer(), pause(10), cut()]);
    for fake in [script().start(), script().start_tls(Tls::of(&ca).http1()), script().start_tls(Tls::of(&ca))] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = at(fake.url()).ca_file(ca.file(&dir)).build().unwrap();
        for n in 0..5 {
            assert_eq!(runtime.block_on(echo(&client, &n.to_string())).unwrap(), json!(n));
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(fake.log().rpc("tools/call").len(), 5);
    }
}

#[tokio::test]
async fn a_server_that_closes_every_connection_is_served_too() {
    let close = act(|request| {
        let text = json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": {"content": []}});
        vec![send(reply(200).json(text).header("Connection", "close").until_closed())]
    });
    let fake = HttpScript::new().on(rpc_call("echo"), [close]).start();
    let client = client(&fake);
    for _ in 0..5 {
        echo(&client, "x").await.unwrap();
    }
}

#[tokio::test]
async fn what_was_sent_before_the_connection_broke_is_not_sent_again() {
    for end in [cut(), reset()] {
        let fake = HttpScript::new().on(rpc_call("echo").nth(2), [end]).start();
        let client = client(&fake);
        echo(&client, "1").await.unwrap();
        let error = echo(&client, "2").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
        assert!(error.may_have_run() && error.message().contains(&fake.origin()), "{error:?}");
        assert_eq!(fake.log().rpc("tools/call").len(), 2);
        assert_eq!(echo(&client, "3").await.unwrap(), json!(3));
        assert_eq!(fake.log().rpc("initialize").len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_with_what_to_check() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = at(format!("http://{free}/mcp")).build().unwrap().connect().await.unwrap_err();
    assert_eq!((error.kind(), error.get("stage")), (ErrorKind::Unreachable, Some("connect")));
    assert!(error.message().contains(&free.to_string()) && error.message().contains("refused"), "{error}");
    assert!(!error.message().contains("os error"), "{error}");
    assert!(error.hint().unwrap().contains("running") && !error.may_have_run());

    let error = at("http://no-such-host.invalid/mcp").build().unwrap().connect().await.unwrap_err();
    assert_eq!((error.kind(), error.get("stage")), (ErrorKind::Unreachable, Some("name")), "{error:?}");
    assert!(error.message().contains("no-such-host.invalid") && error.hint().unwrap().contains("name"));
}

#[tokio::test]
async fn a_server_that_comes_later_is_found_by_the_next_call() {
    let fake = HttpScript::new().start();
    let proxy = Proxy::to(fake.address());
    let client = at(proxy.via(&fake.url())).build().unwrap();
    proxy.refuse(true);
    let error = echo(&client, "x").await.unwrap_err();
    assert!(!all_of(&error).is_empty());
    proxy.refuse(false);
    assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
}

#[tokio::test]
async fn what_speaks_no_http_is_told() {
    for noise in ["SSH-2.0-OpenSSH_9.6\r\n", "\x15\x03\x01\x00\x02\x02\x46"] {
        let fake = HttpScript::new().on(accepted(), [wire(noise), pause(50), cut()]).start();
        let error = client(&fake).connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.message().contains(&fake.origin()), "{error}");
        assert!(error.hint().unwrap().contains("HTTP") || error.hint().unwrap().contains("https"), "{error:?}");
    }
}
