//! Streams of events as the answer to a request: how they may be written, and how they break.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::{Client, ErrorKind, Limits};
use trunkline_tests::http::*;

use super::{AT_ONCE, at, client, echo};

const OK: &str = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"ok"}]}}"#;

/// The same as the answer to the request that a stream was for, whose id the stream's own request doesn't have.
fn rest() -> Step {
    event(Event::result(json!({"content": [{"type": "text", "text": "rest"}]})))
}

fn posts(fake: &HttpFake) -> usize {
    fake.log().rpc("tools/call").len()
}

#[tokio::test]
async fn p58_every_spelling_of_an_event_is_read() {
    let (half, other) = OK.split_at(OK.find(",\"result\"").unwrap() + 1);
    let forms = [
        Event::data(OK).crlf().text(),
        Event::data(OK).cr().text(),
        Event::data(half).with_data(other).text(),
        Event::data(OK).compact().text(),
        Event::data(OK).name("message").text(),
        Event::data(OK).name("message").last_first().text(),
        format!("\u{feff}{}", Event::data(OK).text()),
        format!("{}{}", Event::blank().id("7").text(), Event::data(OK).text()),
        Event::blank().field("foo", "bar").with_data(OK).text(),
        format!(": hello\n\nretry: 10\n\n{}", Event::data(OK).comment("and").text()),
    ];
    for text in forms {
        for size in [1, 1000] {
            let fake = HttpScript::new().on(rpc_call("echo"), [pieces(size, 0), sse(), body(&text)]).start();
            assert_eq!(echo(&client(&fake), "x").await.unwrap(), json!("ok"), "{text:?}");
        }
    }
}

#[tokio::test]
async fn p59_signs_of_life_are_no_messages() {
    let odd = [
        comment("keepalive"),
        body("event: ping\ndata: 1\n\n"),
        event(Event::data(r#"{"type":"heartbeat"}"#)),
        event(Event::data("[DONE]")),
        event(Event::data("hello")),
        event(Event::empty()),
    ];
    let steps = [vec![sse()], [odd.clone(), odd].concat(), vec![event(Event::data(OK))]].concat();
    let fake = HttpScript::new().on(rpc_call("echo"), steps).start();
    let client = client(&fake);
    assert_eq!(echo(&client, "x").await.unwrap(), json!("ok"));
    let warnings = client.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(!warnings[0].contains("standard output"), "{warnings:?}");
}

#[tokio::test]
async fn p56_a_stream_that_breaks_is_taken_up_where_it_was() {
    let first = || vec![sse(), event(Event::empty().id("1").retry(300))];
    for end in [vec![], vec![cut()], vec![reset()]] {
        let fake = HttpScript::new()
            .on(rpc_call("echo"), [first(), end].concat())
            .on(get().header("last-event-id", "1"), [sse(), rest()])
            .start();
        assert_eq!(echo(&client(&fake), "x").await.unwrap(), json!("rest"));
        let log = fake.log();
        let back = log.of("GET").into_iter().find(|get| get.header("last-event-id").is_some()).unwrap();
        assert!(back.at - log.rpc("tools/call")[0].at >= Duration::from_millis(300));
        assert_eq!(
            (back.header("mcp-session-id"), back.header("mcp-protocol-version")),
            (Some("A"), Some("2025-06-18"))
        );
        assert_eq!(posts(&fake), 1);
    }
}

#[tokio::test]
async fn p56_a_stream_is_taken_up_as_often_as_it_says_something_new() {
    let progress = |n: u64| {
        let params = json!({"progressToken": "none", "progress": n});
        event(Event::notification("notifications/progress", params).id(&n.to_string()))
    };
    let mut script = HttpScript::new().on(rpc_call("echo"), [sse(), body("retry: 1\n\n"), progress(0)]);
    for n in 0..9 {
        script = script.on(get().header("last-event-id", &n.to_string()), [sse(), progress(n + 1)]);
    }
    let fake = script.on(get().header("last-event-id", "9"), [sse(), rest()]).start();
    assert_eq!(echo(&client(&fake), "x").await.unwrap(), json!("rest"));
    assert_eq!(posts(&fake), 1);
}

#[tokio::test]
async fn p56_what_fails_for_the_moment_is_tried_again() {
    let back = || get().header("last-event-id", "1");
    let fake = HttpScript::new()
        .on(rpc_call("echo"), [sse(), event(Event::empty().id("1").retry(1)), cut()])
        .on(back().nth(1), [send(reply(503))])
        .on(back().nth(2), [cut()])
        .on(back(), [sse(), rest()])
        .start();
    assert_eq!(echo(&client(&fake), "x").await.unwrap(), json!("rest"));
    assert_eq!(posts(&fake), 1);
}

#[tokio::test]
async fn p56_a_stream_that_can_not_be_taken_up_fails_its_call_at_once() {
    let with_id = || vec![sse(), event(Event::empty().id("1").retry(1)), cut()];
    for (steps, gets) in [
        (vec![sse(), event(Event::empty()), cut()], 0),
        (vec![sse()], 0),
        (vec![sse(), comment("x"), reset()], 0),
        (with_id(), 1),
    ] {
        let fake = HttpScript::new().on(rpc_call("echo"), steps).start();
        let client = client(&fake);
        client.connect().await.unwrap();
        let begun = Instant::now();
        let error = echo(&client, "x").await.unwrap_err();
        assert!(begun.elapsed() < AT_ONCE, "{error}");
        assert!(error.may_have_run() && error.message().contains("no answer"), "{error:?}");
        let back = fake.log().of("GET").iter().filter(|get| get.header("last-event-id").is_some()).count();
        assert_eq!((posts(&fake), back), (1, gets));
        assert_eq!(client.list_tools().await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn p56_a_server_that_never_comes_to_the_point_is_given_up() {
    let fake = HttpScript::new()
        .on(rpc_call("echo"), [sse(), event(Event::empty().id("1").retry(1))])
        .on(get().header("last-event-id", "1"), [sse(), event(Event::empty().id("1").retry(1))])
        .start();
    let limits = Limits { max_resumes: 3, ..Limits::default() };
    let client = at(fake.url()).limits(limits).build().unwrap();
    let error = echo(&client, "x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    let back = fake.log().of("GET").iter().filter(|get| get.header("last-event-id").is_some()).count();
    assert_eq!((posts(&fake), back), (1, 3));
}

#[tokio::test]
async fn progress_comes_while_the_call_runs() {
    let (gate, progress) = (
        Gate::new(),
        act(|request| {
            let token = request.params()["_meta"]["progressToken"].clone();
            let params = json!({"progressToken": token, "progress": 1, "total": 2, "message": "half"});
            vec![event(Event::notification("notifications/progress", params))]
        }),
    );
    let fake = HttpScript::new().on(rpc_call("echo"), [sse(), progress, wait(&gate), event(Event::data(OK))]).start();
    let opener = gate.clone();
    let call = client(&fake).call("echo", ()).on_progress(move |progress| {
        assert_eq!(progress.message.as_deref(), Some("half"));
        opener.open();
    });
    assert_eq!(call.await.unwrap().text(), "ok");
}

/// The call of an abandoned future is cancelled by a message of its own, since a closed stream says nothing.
#[tokio::test]
async fn p85_a_dropped_call_is_cancelled_once() {
    for (streams, steps) in [(true, vec![sse(), comment("x"), hang()]), (false, vec![hang()])] {
        let fake = HttpScript::new().on(rpc_call("echo"), steps).start();
        let client = client(&fake);
        let call = tokio::spawn({
            let client: Client = client.clone();
            async move { echo(&client, "x").await }
        });
        let id = fake.log().wait_rpc("tools/call", 1).await[0].json()["id"].clone();
        if streams {
            tokio::time::sleep(Duration::from_millis(20)).await; // let the head of the answer come, whichever it is
        }
        call.abort();
        let told = fake.log().wait_rpc("notifications/cancelled", 1).await;
        assert_eq!(told[0].params()["requestId"], id);
        fake.log().wait_for("the stream to be closed", |log| (!log.given_up().is_empty()).then_some(())).await;
        assert_eq!(client.list_tools().await.unwrap().len(), 1);
        assert_eq!(fake.log().rpc("notifications/cancelled").len(), 1);
    }
}

#[tokio::test]
async fn p86_sixty_four_calls_at_once_stream_side_by_side() {
    let gate = Gate::new();
    let fake = HttpScript::new().sse_answers().on(rpc_call("echo"), [wait(&gate), default_answer()]).start();
    let client = client(&fake);
    let calls = futures_util::future::join_all((0..64).map(|n| {
        let client = client.clone();
        async move { echo(&client, &n.to_string()).await.unwrap() }
    }));
    let (results, ()) = tokio::join!(calls, async {
        gate.reached(64).await;
        gate.open();
    });
    assert_eq!(results, (0..64).map(|n| json!(n)).collect::<Vec<_>>());
    let before = fake.log().connections();
    for n in 0..20 {
        echo(&client, &n.to_string()).await.unwrap();
    }
    assert!(fake.log().connections() <= before + 1, "{} connections", fake.log().connections());
}
