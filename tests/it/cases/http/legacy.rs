//! HTTP+SSE of revision 2024-11-05, and servers whose kind is a guess.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline::{Client, ClientBuilder, Environment, ErrorKind, Handlers};
use trunkline_tests::http::*;

use super::{AT_ONCE, client, echo};

fn sse_at(url: impl Into<String>) -> ClientBuilder {
    Client::sse(url).label("fake").environment(Environment::from_pairs::<&str, &str>([]))
}

/// A server whose stream says to post to `target`, under any path.
fn naming(target: &str) -> HttpScript {
    let answer = act(|request| {
        let result = match request.rpc_method().as_deref() {
            Some("initialize") => {
                json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "f", "version": "1"}})
            }
            Some("tools/call") => json!({"content": [{"type": "text", "text": "ok"}]}),
            _ => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        };
        let answer = request.wants_answer().then(|| push(Event::result(result).name("message")));
        answer.into_iter().chain([send(reply(202))]).collect()
    });
    let endpoint = event(Event::data(target).name("endpoint"));
    HttpScript::new().on(get(), [sse(), endpoint, listen()]).on(post(), [answer])
}

#[tokio::test]
async fn everything_comes_on_the_one_stream() {
    let fake = HttpScript::new().legacy_sse().start();
    let client = sse_at(fake.url()).build().unwrap();
    let calls = (0..32).map(|n| {
        let client = client.clone();
        async move { echo(&client, &n.to_string()).await.unwrap() }
    });
    let results = futures_util::future::join_all(calls).await;
    assert_eq!(results, (0..32).map(|n| json!(n)).collect::<Vec<Value>>());
    client.disconnect().await;
    let log = fake.log();
    assert_eq!((log.of("GET").len(), log.of("DELETE").len()), (1, 0));
    log.wait_for("the stream to be closed", |log| (!log.given_up().is_empty()).then_some(())).await;
}

#[tokio::test]
async fn p63_where_to_post_is_told_in_any_form_of_a_reference() {
    for (target, path) in [
        ("/p/messages?x=1", "/p/messages?x=1"),
        ("messages?x=1", "/p/messages?x=1"),
        ("?x=1", "/p/sse?x=1"),
        ("../m", "/m"),
    ] {
        let fake = naming(target).start();
        let client = sse_at(fake.origin() + "/p/sse").bearer("T-1").build().unwrap();
        assert_eq!(echo(&client, "x").await.unwrap(), json!("ok"), "{target}");
        let log = fake.log();
        assert!(log.of("POST").iter().all(|post| post.target == path), "{:?}", log.of("POST")[0].target);
        assert!(log.requests().iter().all(|request| request.header("authorization") == Some("Bearer T-1")));
    }
}

#[tokio::test]
async fn p63_messages_and_credentials_go_to_no_other_origin() {
    let other = HttpScript::new().start();
    let port = other.address().port();
    for target in [
        format!("http://127.0.0.1:{port}/steal"),
        format!("//127.0.0.1:{port}/steal"),
        format!("http://localhost:{port}/steal"),
        format!("https://127.0.0.1:{port}/steal"),
    ] {
        let fake = naming(&target).start();
        let client = sse_at(fake.origin() + "/sse").bearer("T-1").build().unwrap();
        let begun = Instant::now();
        let error = client.connect().await.unwrap_err();
        assert!(begun.elapsed() < AT_ONCE, "{error}");
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        let there = target.trim_start_matches("https:").trim_start_matches("http:").trim_end_matches("/steal");
        assert!(error.message().contains(&fake.origin()) && error.message().contains(there), "{error}");
        assert!(fake.log().of("POST").is_empty());
    }
    assert_eq!(other.log().connections(), 0);
    let fake = naming("file:///etc/passwd").start();
    let error = sse_at(fake.origin() + "/sse").build().unwrap().connect().await.unwrap_err();
    assert!(error.message().contains("no http or https URL"), "{error}");
}

#[tokio::test]
async fn p63_without_a_word_on_where_to_post_the_start_times_out() {
    for steps in [vec![sse(), hang()], vec![sse(), forever([comment("x"), pause(20)])], vec![hang()]] {
        let fake = HttpScript::new().on(get(), steps).start();
        let client = sse_at(fake.origin() + "/sse").start_timeout(Duration::from_millis(300)).build().unwrap();
        let begun = Instant::now();
        let error = client.connect().await.unwrap_err();
        assert!(begun.elapsed() >= Duration::from_millis(300) && begun.elapsed() < AT_ONCE);
        assert_eq!(error.kind(), ErrorKind::Deadline);
        assert!(error.message().contains("0.3 s"), "{error}");
        assert!(fake.log().of("POST").is_empty());
    }
}

#[tokio::test]
async fn a_stream_that_ends_fails_what_waits_and_is_opened_again_by_the_next_call() {
    let fake = HttpScript::new().legacy_sse().on(rpc_call("echo").contains("slow"), [send(reply(202))]).start();
    let client = sse_at(fake.url()).build().unwrap();
    let (error, ()) = tokio::join!(echo(&client, "slow"), async {
        fake.log().wait_rpc("tools/call", 1).await;
        fake.end_streams();
    });
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(error.may_have_run(), "{error:?}");
    assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    assert_eq!((fake.log().of("GET").len(), fake.log().rpc("tools/call").len()), (2, 2));
}

#[tokio::test]
async fn a_refused_post_fails_its_own_call() {
    let rpc_error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad"}}"#;
    let fake = HttpScript::new()
        .legacy_sse()
        .on(rpc_call("echo").contains("one"), [send(reply(400).content("application/json", rpc_error))])
        .on(rpc_call("echo").contains("two"), [send(reply(500).body("oops"))])
        .start();
    let client = sse_at(fake.url()).build().unwrap();
    let error = echo(&client, "one").await.unwrap_err();
    assert_eq!((error.code(), error.message()), (Some(-32602), "bad"), "{error:?}");
    let error = echo(&client, "two").await.unwrap_err();
    assert!(error.message().contains("500") && error.message().contains("oops"), "{error:?}");
    assert_eq!(echo(&client, "three").await.unwrap(), json!("three"));
    assert_eq!(fake.log().of("GET").len(), 1);
}

#[tokio::test]
async fn what_the_server_asks_is_answered_by_a_post() {
    let ask = push(Event::request(json!("q-1"), "roots/list", json!({})).name("message"));
    let answered = wait_request(post().contains("\"q-1\""));
    let fake = HttpScript::new().legacy_sse().on(rpc_call("echo"), [ask, answered, default_answer()]).start();
    let client = sse_at(fake.url()).handler(Handlers::new().roots(["file:///a"])).build().unwrap();
    assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    let answer = &fake.log().replies()[0];
    assert_eq!(answer.json()["result"]["roots"][0]["uri"], json!("file:///a"));
    assert_eq!(answer.path(), "/messages");
}

#[tokio::test]
async fn no_stream_is_told() {
    for (answer, told) in [
        (reply(404), "404"),
        (reply(200).content("text/html", "<p>hi</p>"), "text/html"),
        (reply(200).json(json!({})), "application/json"),
        (reply(401), "401"),
    ] {
        let fake = HttpScript::new().on(any(), [send(answer)]).start();
        let error = sse_at(fake.url()).build().unwrap().connect().await.unwrap_err();
        assert!(error.message().contains(told), "{error}");
        assert!(error.hint().is_some());
    }
}

#[tokio::test]
async fn a_guessed_kind_falls_back_once_and_is_remembered() {
    for status in [400, 404, 405] {
        let fake = HttpScript::new().legacy_sse().on(post().path("/sse"), [send(reply(status))]).start();
        let client = client(&fake);
        assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
        client.disconnect().await;
        assert_eq!(echo(&client, "y").await.unwrap(), json!("y"));
        let tried = fake.log().of("POST").iter().filter(|post| post.path() == "/sse").count();
        assert_eq!((tried, fake.log().of("GET").len()), (2, 2), "{status}: which era, then the handshake");
    }
}

#[tokio::test]
async fn a_guess_is_not_taken_further_than_it_should_be() {
    for (status, gets) in [(500, 0), (401, 0), (403, 0), (404, 1)] {
        let fake = HttpScript::new().on(any(), [send(reply(status).body("no"))]).start();
        let error = client(&fake).connect().await.unwrap_err();
        assert!(error.message().contains(&status.to_string()), "{error}");
        assert_eq!(fake.log().of("GET").len(), gets, "{status}");
        assert_eq!(error.get("also tried").is_some(), gets == 1, "{error:?}");
    }
}
