//! Time: what may take how long, and how the error says which limit it was.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::{ErrorKind, Limits};
use trunkline_tests::http::*;

use super::{AT_ONCE, at, echo};

const LIMIT: Duration = Duration::from_millis(300);

/// Nothing; a head and nothing; signs of life without end.
fn silences() -> [Vec<Step>; 3] {
    [vec![hang()], vec![sse(), hang()], vec![sse(), forever([comment("x"), pause(20)])]]
}

#[tokio::test]
async fn p65_a_call_has_its_time_whatever_the_server_does_with_it() {
    for steps in silences() {
        let fake = HttpScript::new().on(rpc_call("echo"), steps).start();
        let client = at(fake.url()).timeout(LIMIT).build().unwrap();
        client.connect().await.unwrap();
        let begun = Instant::now();
        let error = echo(&client, "x").await.unwrap_err();
        assert!(begun.elapsed() >= LIMIT && begun.elapsed() < AT_ONCE);
        assert_eq!(error.kind(), ErrorKind::Deadline);
        assert!(error.message().contains("0.3 s (timeout") && error.may_have_run(), "{error:?}");
        fake.log().wait_rpc("notifications/cancelled", 1).await;
    }
}

#[tokio::test]
async fn p65_the_start_has_its_own_time() {
    for steps in
        silences().into_iter().chain([vec![open(reply(200).content("application/json", "{").chunked()), hang()]])
    {
        let fake = HttpScript::new().on(rpc("initialize"), steps).start();
        let client = at(fake.url()).start_timeout(LIMIT).build().unwrap();
        let begun = Instant::now();
        let error = client.connect().await.unwrap_err();
        assert!(begun.elapsed() >= LIMIT && begun.elapsed() < AT_ONCE);
        assert_eq!(error.kind(), ErrorKind::Deadline);
        assert!(error.message().contains("within 0.3 s (it waited for"), "{error}");
        assert!(fake.log().rpc("notifications/cancelled").is_empty());
    }
}

#[tokio::test]
async fn p65_silence_is_limited_apart_from_the_call() {
    let limits = Limits { stream_silence: LIMIT, ..Limits::default() };
    let slow = [
        sse(),
        comment("x"),
        pause(150),
        comment("x"),
        pause(150),
        comment("x"),
        pause(150),
        comment("x"),
        event(Event::result(json!({"content": [{"type": "text", "text": "late"}]}))),
    ];
    let fake = HttpScript::new()
        .on(rpc_call("echo").contains("silent"), [sse(), hang()])
        .on(rpc_call("echo").contains("half"), [open(reply(200).content("application/json", "{").chunked()), hang()])
        .on(rpc_call("echo").contains("slow"), slow)
        .start();
    let client = at(fake.url()).limits(limits).timeout(Duration::ZERO).build().unwrap();
    client.connect().await.unwrap();
    for what in ["silent", "half"] {
        let begun = Instant::now();
        let error = echo(&client, what).await.unwrap_err();
        assert!(begun.elapsed() >= LIMIT && begun.elapsed() < AT_ONCE);
        assert_eq!(error.kind(), ErrorKind::Deadline, "{error:?}");
        assert!(error.message().contains("0.3 s") && error.message().contains("stream_silence"), "{error}");
        assert!(error.may_have_run());
    }
    assert_eq!(echo(&client, "slow").await.unwrap(), json!("late"));
}

#[tokio::test]
async fn p65_connecting_has_its_own_time() {
    let ca = TestCa::new();
    let fake = HttpScript::new().on(accepted(), [hang()]).start_tls(Tls::of(&ca));
    let limits = Limits { connect_timeout: LIMIT, ..Limits::default() };
    let client = at(fake.url()).limits(limits).build().unwrap();
    let begun = Instant::now();
    let error = client.connect().await.unwrap_err();
    assert!(begun.elapsed() >= LIMIT && begun.elapsed() < AT_ONCE);
    assert_eq!((error.kind(), error.get("stage")), (ErrorKind::Deadline, Some("connect")));
    assert!(error.message().contains("0.3 s (Limits::connect_timeout)") && !error.may_have_run(), "{error}");
}

#[tokio::test]
async fn progress_extends_a_call_over_http_too() {
    let progress = act(|request| {
        let token = request.params()["_meta"]["progressToken"].clone();
        let told = |n: u64| {
            event(Event::notification("notifications/progress", json!({"progressToken": token, "progress": n})))
        };
        (0..4).flat_map(|n| [pause(200), told(n)]).collect()
    });
    let fake =
        HttpScript::new().on(rpc_call("echo"), [sse(), progress, event(Event::result(json!({"content": []})))]).start();
    let client = at(fake.url()).timeout(Duration::from_millis(600)).build().unwrap();
    echo(&client, "x").await.unwrap();
}
