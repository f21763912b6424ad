//! Sessions over Streamable HTTP: their id, their version, their loss, their end.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::ErrorKind;
use trunkline_tests::http::*;
use trunkline_tests::{eventually, offload};

use super::{AT_ONCE, client, echo};

#[tokio::test]
async fn p53_every_request_names_the_session_and_the_version_the_server_chose() {
    let fake = HttpScript::new().strict_version().listening().start();
    let client = client(&fake);
    assert_eq!(client.list_tools().await.unwrap()[0].name(), "echo");
    assert_eq!(echo(&client, "hi").await.unwrap(), json!("hi"));
    fake.log().wait_of("GET", 1).await;
    client.disconnect().await;
    let log = fake.log();
    assert_eq!(log.of("DELETE").len(), 1);
    assert!(log.rpc("initialize")[0].header("mcp-protocol-version").is_none());
    assert!(log.rpc("initialize")[0].header("mcp-session-id").is_none());
    let opens =
        |request: &&HttpRequest| matches!(request.rpc_method().as_deref(), Some("initialize" | "server/discover"));
    for request in log.requests().iter().filter(|request| !opens(request)) {
        assert_eq!(request.header("mcp-session-id"), Some("A"), "{request:?}");
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-06-18"), "{request:?}");
    }
}

#[tokio::test]
async fn p54_an_unknown_version_ends_the_session_it_began() {
    for (version, told) in [
        (r#""protocolVersion":"1999-01-01","#, "1999-01-01"),
        (r#""protocolVersion":20250618,"#, "20250618"),
        ("", "names no protocol version"),
    ] {
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":$ID,"result":{{{version}"capabilities":{{}},"serverInfo":{{"name":"f","version":"1"}}}}}}"#
        );
        let first = reply(200).header("Mcp-Session-Id", "A").content("application/json", answer);
        let fake = HttpScript::new().on(rpc("initialize"), [send(first)]).start();
        let error = client(&fake).connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.message().contains(told), "{error}");
        assert!(error.hint().unwrap().contains("2025-06-18"), "{error:?}");
        let log = fake.log();
        assert_eq!(log.methods(), ["server/discover", "initialize", "DELETE"]);
        assert_eq!(log.of("DELETE")[0].header("mcp-session-id"), Some("A"));
    }
}

#[tokio::test]
async fn p52_a_lost_session_is_made_anew_once_for_all() {
    let fake = HttpScript::new().start();
    let client = client(&fake);
    echo(&client, "1").await.unwrap();
    fake.forget_sessions();
    let calls = (0..10).map(|n| {
        let client = client.clone();
        async move { echo(&client, &n.to_string()).await }
    });
    for (n, result) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(result.unwrap(), json!(n));
    }
    let log = fake.log();
    assert_eq!(log.rpc("initialize").len(), 2);
    assert!(log.rpc("initialize")[1].header("mcp-session-id").is_none());
}

#[tokio::test]
async fn p52_a_server_that_always_forgets_is_an_error_and_no_loop() {
    let fake = HttpScript::new().on(rpc("tools/call"), [send(lost_session())]).start();
    let error = echo(&client(&fake), "x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(!error.may_have_run());
    assert_eq!((fake.log().rpc("initialize").len(), fake.log().rpc("tools/call").len()), (2, 2));
}

#[tokio::test]
async fn a_lost_session_ends_no_call_that_is_under_way() {
    let gate = Gate::new();
    let slow = [wait(&gate), text_result("late")];
    let fake = HttpScript::new().on(rpc_call("echo").contains("slow"), slow).start();
    let client = client(&fake);
    let (one, other) = tokio::join!(echo(&client, "slow"), async {
        gate.reached(1).await;
        fake.forget_sessions();
        let other = echo(&client, "x").await;
        gate.open();
        other
    });
    assert_eq!((one.unwrap(), other.unwrap()), (json!("late"), json!("x")));
}

#[tokio::test]
async fn p64_a_session_is_ended_once_and_whatever_is_answered() {
    for status in [200, 204, 404, 405, 500] {
        let fake = HttpScript::new().on(delete(), [send(reply(status))]).start();
        let client = client(&fake);
        let mut events = client.events();
        echo(&client, "x").await.unwrap();
        client.disconnect().await;
        client.disconnect().await;
        assert_eq!(fake.log().of("DELETE").len(), 1);
        assert_eq!(client.warnings(), Vec::<String>::new());
        while let Some(event) = events.next().await {
            match event.kind {
                trunkline::EventKind::Closed => break,
                trunkline::EventKind::Failed(error) => panic!("{error}"),
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn p64_a_server_that_never_answers_the_end_holds_nobody_up() {
    let fake = HttpScript::new().on(delete(), [hang()]).start();
    let client = client(&fake);
    echo(&client, "x").await.unwrap();
    let begun = Instant::now();
    client.disconnect().await;
    assert!(begun.elapsed() < Duration::from_millis(4500), "took {:?}", begun.elapsed());
    assert_eq!(fake.log().of("DELETE").len(), 1);
}

#[tokio::test]
async fn p64_the_last_handle_ends_the_session_too() {
    let fake = HttpScript::new().listening().start();
    let client = client(&fake);
    let other = client.clone();
    echo(&client, "x").await.unwrap();
    drop(client);
    echo(&other, "x").await.unwrap();
    drop(other);
    let ends = fake.log().wait_of("DELETE", 1).await;
    assert_eq!(ends[0].header("mcp-session-id"), Some("A"));
    offload(move || eventually("the session to be over", || fake.sessions().is_empty().then_some(()))).await;
}

#[tokio::test]
async fn a_server_without_sessions_is_not_told_of_any_end() {
    let fake = HttpScript::new().sessionless().start();
    let client = client(&fake);
    echo(&client, "x").await.unwrap();
    client.disconnect().await;
    assert!(fake.log().of("DELETE").is_empty());
    assert!(fake.log().requests().iter().all(|request| request.header("mcp-session-id").is_none()));
}

#[tokio::test]
async fn clients_of_one_server_have_their_own_sessions() {
    let fake = HttpScript::new().start();
    let (one, other) = (client(&fake), client(&fake));
    let begun = Instant::now();
    let all = (0..32).flat_map(|n| {
        [one.clone(), other.clone()].map(|client| async move { (n, echo(&client, &n.to_string()).await.unwrap()) })
    });
    for (n, result) in futures_util::future::join_all(all).await {
        assert_eq!(result, json!(n));
    }
    one.disconnect().await;
    echo(&other, "still").await.unwrap();
    let ended: Vec<_> =
        fake.log().of("DELETE").iter().map(|end| end.header("mcp-session-id").map(str::to_owned)).collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(fake.sessions().len(), 1);
    assert!(begun.elapsed() < AT_ONCE);
}

#[tokio::test]
async fn p64_nothing_of_a_session_runs_on_after_its_end() {
    let fake = HttpScript::new().start();
    let client = client(&fake);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let once = async || {
        echo(&client, "x").await.unwrap();
        client.disconnect().await;
        tasks()
    };
    let after_one = once().await;
    for _ in 0..20 {
        once().await;
    }
    let gone = async {
        while tasks() > after_one {
            tokio::time::sleep(Duration::from_millis(5)).await; // the last one ends beside
        }
    };
    assert!(tokio::time::timeout(AT_ONCE, gone).await.is_ok(), "{} tasks, and {after_one} before", tasks());
}

/// What the server was asked to keep in mind is gone with its session, so the next session is asked again, before
/// anything else is.
#[tokio::test]
async fn p52_subscriptions_and_the_log_level_are_asked_for_again() {
    let fake = HttpScript::new().start();
    let client = client(&fake);
    let ask = async |method: &str, params: serde_json::Value| {
        client.request(method, Some(params.into())).await.unwrap();
    };
    ask("resources/subscribe", json!({"uri": "a:1"})).await;
    ask("resources/subscribe", json!({"uri": "a:2"})).await;
    ask("resources/unsubscribe", json!({"uri": "a:2"})).await;
    ask("logging/setLevel", json!({"level": "warning"})).await;
    fake.forget_sessions();
    assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    let log = fake.log();
    let sent = |method: &str| log.rpc(method).iter().map(|sent| sent.params()).collect::<Vec<_>>();
    assert_eq!(sent("resources/subscribe").last(), Some(&json!({"uri": "a:1"})));
    assert_eq!((sent("resources/subscribe").len(), sent("logging/setLevel").len()), (3, 2));
    assert_eq!(sent("logging/setLevel").last(), Some(&json!({"level": "warning"})));
    let (renewed, again) = (&log.rpc("resources/subscribe")[2], &log.rpc("tools/call")[1]);
    assert!(renewed.at < again.at && renewed.header("mcp-session-id") == again.header("mcp-session-id"));
    client.disconnect().await;
    assert_eq!(echo(&client, "y").await.unwrap(), json!("y"));
    assert_eq!(log.rpc("resources/subscribe").len(), 3, "a connection that was closed on purpose is over");
}

#[tokio::test]
async fn p52_a_subscription_that_cannot_be_renewed_is_told() {
    let refusal = [error(-32002, "no such resource")];
    let fake = HttpScript::new().on(rpc("resources/subscribe").nth(2), refusal).start();
    let client = client(&fake);
    client.request("resources/subscribe", Some(json!({"uri": "a:1"}).into())).await.unwrap();
    fake.forget_sessions();
    assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    let warnings = client.warnings();
    let told = |part: &str| warnings.iter().any(|warning| warning.contains(part));
    assert!(told("the subscription to a:1") && told("no such resource"), "{warnings:?}");
}
