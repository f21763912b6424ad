//! The standing stream: there or not, held back, ended.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::{EventKind, Limits};
use trunkline_tests::http::*;

use super::{AT_ONCE, at, client, echo};

#[tokio::test]
async fn p57_without_such_a_stream_it_is_asked_for_once() {
    for status in [400, 404, 405, 501] {
        let fake = HttpScript::new().on(get(), [send(reply(status))]).start();
        let client = client(&fake);
        for n in 0..5 {
            assert_eq!(echo(&client, &n.to_string()).await.unwrap(), json!(n), "GET {status}");
        }
        client.disconnect().await;
        let log = fake.log();
        assert_eq!(
            (log.of("GET").len(), log.rpc("initialize").len(), log.of("DELETE").len()),
            (1, 1, 1),
            "GET {status}"
        );
    }
}

#[tokio::test]
async fn p57_a_stream_that_ends_in_silence_is_asked_for_ever_later_and_then_no_more() {
    let fake = HttpScript::new().on(get(), [sse(), body("retry: 5\n\n")]).start();
    let client = client(&fake);
    echo(&client, "x").await.unwrap();
    let gets = fake.log().wait_of("GET", 8).await;
    let gap = |n: usize| gets[n].at - gets[n - 1].at;
    assert!(gap(7) >= Duration::from_millis(5 << 6) && gap(1) < gap(7), "{:?}", (1..8).map(gap).collect::<Vec<_>>());
    echo(&client, "x").await.unwrap();
    tokio::time::sleep(Duration::from_millis(5 << 8)).await; // longer than the pause that would come next
    assert!(fake.log().of("GET").len() <= 9);
    echo(&client, "x").await.unwrap();
}

#[tokio::test]
async fn p60_a_stream_whose_head_is_held_back_holds_nobody_up() {
    let fake = HttpScript::new().on(get(), [hang()]).start();
    let client = client(&fake);
    let begun = Instant::now();
    assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    assert!(begun.elapsed() < Duration::from_secs(2), "took {:?}", begun.elapsed());
    client.disconnect().await;
    assert!(begun.elapsed() < AT_ONCE);
}

#[tokio::test]
async fn p60_a_stream_that_breaks_is_no_failure_of_the_server() {
    let fake = HttpScript::new()
        .on(get().nth(1), [send(reply(502))])
        .on(get().nth(2), [sse(), body("retry: 1\n\n"), reset()])
        .on(get(), [sse(), listen()])
        .start();
    let client = client(&fake);
    let mut events = client.events();
    echo(&client, "x").await.unwrap();
    fake.log().wait_of("GET", 3).await;
    fake.push(Event::notification("notifications/tools/list_changed", json!({})));
    loop {
        match events.next().await.unwrap().kind {
            EventKind::ToolsChanged => break,
            EventKind::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }
    assert_eq!(echo(&client, "y").await.unwrap(), json!("y"));
    assert_eq!(client.warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn a_stream_that_was_there_tells_of_the_lost_session() {
    let fake = HttpScript::new().on(get().nth(1), [sse(), body("retry: 1\n\n"), listen()]).listening().start();
    let client = client(&fake);
    let mut events = client.events();
    echo(&client, "x").await.unwrap();
    fake.forget_sessions();
    fake.end_streams();
    while !matches!(events.next().await.unwrap().kind, EventKind::Failed(_)) {}
    assert_eq!(echo(&client, "y").await.unwrap(), json!("y"));
    assert_eq!(fake.log().rpc("initialize").len(), 2);
}

#[tokio::test]
async fn an_answer_may_come_on_the_standing_stream() {
    let answer = Event::data(r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"there"}]}}"#);
    let fake = HttpScript::new().listening().on(rpc_call("echo"), [send(reply(202)), push(answer)]).start();
    let client = client(&fake);
    assert_eq!(echo(&client, "x").await.unwrap(), json!("there"));
}

/// Silence is a fault only while a call waits.
#[tokio::test]
async fn the_standing_stream_may_be_silent() {
    let fake = HttpScript::new().listening().start();
    let limits = Limits { stream_silence: Duration::from_millis(50), ..Limits::default() };
    let client = at(fake.url()).limits(limits).build().unwrap();
    let mut events = client.events();
    echo(&client, "x").await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await; // several times the silence
    fake.push(Event::notification("notifications/tools/list_changed", json!({})));
    while !matches!(events.next().await.unwrap().kind, EventKind::ToolsChanged) {}
    assert_eq!(fake.log().of("GET").len(), 1);
}
