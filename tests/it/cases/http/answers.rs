//! The forms that answers come in, and what is no answer.

use std::time::Instant;

use serde_json::json;
use trunkline::{ErrorKind, Limits};
use trunkline_tests::http::*;

use super::{AT_ONCE, at, client, echo};

const OK: &str = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"ok"}]}}"#;

#[tokio::test]
async fn p55_any_success_will_do_for_a_notification() {
    for answer in [
        reply(202),
        reply(200),
        reply(204),
        reply(200).content("text/plain", "Accepted"),
        reply(202).content("application/json", "null").chunked(),
        reply(200).content("text/event-stream", ": nothing\n\n").chunked(),
        reply(200).content("text/html", "x".repeat(200 << 10)),
    ] {
        let fake = HttpScript::new().on(rpc("notifications/initialized"), [send(answer.clone())]).start();
        assert_eq!(client(&fake).list_tools().await.unwrap().len(), 1, "{answer:?}");
    }
}

#[tokio::test]
async fn p98_json_and_streams_are_told_apart_whatever_their_type_is_called() {
    let log = Event::notification("notifications/message", json!({"level": "info", "data": "x"}));
    let stream = |kind: &str| {
        vec![open(reply(200).header("Content-Type", kind).chunked()), event(log.clone()), event(log.clone())]
    };
    let last = Event::data(OK);
    let json = |kind: &str| vec![send(reply(200).content(kind, OK))];
    let forms = [
        json("application/json; charset=utf-8"),
        json("Application/JSON"),
        vec![send(reply(200).body(OK))],
        vec![send(reply(200).body(format!("\n  {OK}\n")))],
        vec![send(reply(201).content("application/json", OK).until_closed())],
        [stream("text/event-stream;charset=utf-8"), vec![event(last.clone())]].concat(),
        [stream("TEXT/Event-Stream"), vec![event(last), event(log.clone())]].concat(),
    ];
    for steps in forms {
        let fake = HttpScript::new().on(rpc_call("echo"), steps).start();
        let client = client(&fake);
        assert_eq!(echo(&client, "x").await.unwrap(), json!("ok"));
        let call = &fake.log().rpc("tools/call")[0];
        assert_eq!(call.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(call.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn p98_what_is_no_answer_is_told_at_once() {
    let page = format!("<html><title>Oops</title>{}</html>", "x".repeat(2 << 20));
    for (answer, kind, told) in [
        (reply(500).content("text/html", &page), ErrorKind::Protocol, "500 Internal Server Error: <html><title>Oops"),
        (
            reply(502).content("text/html", "<h1>Bad\n\x1b[2JGateway</h1>"),
            ErrorKind::Unreachable,
            r"<h1>Bad \u{1b}[2JGateway",
        ),
        (reply(200).content("application/json", ""), ErrorKind::Protocol, "200 OK with nothing in it"),
        (reply(202), ErrorKind::Protocol, "202 Accepted with nothing in it"),
        (
            reply(200).content("text/html", "<form>Log in</form>"),
            ErrorKind::Protocol,
            "text/html instead of JSON: <form>Log in",
        ),
        (reply(200).body("hello"), ErrorKind::Protocol, "no JSON"),
        (reply(200).content("application/json", "{\"jsonrpc\":"), ErrorKind::Protocol, "something else"),
        (reply(200).content("application/json", OK.replace("$ID", "4711")), ErrorKind::Protocol, "something else"),
        (reply(429).header("Retry-After", "7"), ErrorKind::Unreachable, "429"),
        (reply(401), ErrorKind::Auth, "401"),
        (reply(403).content("application/json", r#"{"error":"no"}"#), ErrorKind::Auth, "403"),
    ] {
        let fake = HttpScript::new().on(rpc_call("echo"), [send(answer.clone())]).start();
        let client = client(&fake);
        client.connect().await.unwrap();
        let begun = Instant::now();
        let error = echo(&client, "x").await.unwrap_err();
        assert!(begun.elapsed() < AT_ONCE, "{error}");
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(error.message().contains(told), "{error}");
        assert!(error.message().len() < 500 && !error.message().contains('\x1b'), "{error}");
        assert!(error.hint().is_some() || kind == ErrorKind::Protocol, "{error:?}");
        assert_eq!(fake.log().rpc("tools/call").len(), 1);
        assert_eq!(error.get("retry-after"), (told == "429").then_some("7"));
        assert_eq!(client.list_tools().await.unwrap().len(), 1, "the session goes on after {told}");
    }
}

#[tokio::test]
async fn p23_an_error_in_a_refusal_is_the_request_s_own() {
    for id in ["null", "$ID"] {
        for status in [400, 200, 500] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"bad arguments","data":[1]}}}}"#
            );
            let refusal = [send(reply(status).content("application/json", text))];
            let gate = Gate::new();
            let slow = [wait(&gate), text_result("late")];
            let fake =
                HttpScript::new().on(rpc_call("echo").contains("slow"), slow).on(rpc_call("echo"), refusal).start();
            let client = client(&fake);
            let (slow, error) = tokio::join!(echo(&client, "slow"), async {
                gate.reached(1).await;
                let error = echo(&client, "x").await.unwrap_err();
                gate.open();
                error
            });
            assert_eq!(slow.unwrap(), json!("late"));
            assert_eq!((error.code(), error.message()), (Some(-32602), "bad arguments"), "{error:?}");
            assert_eq!(error.data().unwrap().to_value(), json!([1]));
        }
    }
}

#[tokio::test]
async fn p22_an_id_that_comes_back_as_text_is_known() {
    let text = OK.replace("$ID", "\"$ID\"");
    let fake = HttpScript::new().on(rpc_call("echo"), [send(reply(200).content("application/json", text))]).start();
    let client = client(&fake);
    for _ in 0..3 {
        assert_eq!(echo(&client, "x").await.unwrap(), json!("ok"));
    }
    assert_eq!(client.warnings().len(), 1, "{:?}", client.warnings());
}

#[tokio::test]
async fn p20_a_batch_settles_every_call_it_answers() {
    for version in ["2025-03-26", "2025-06-18"] {
        let gate = Gate::new();
        let batch = act(move |request| {
            let own: i64 = request.id().parse().unwrap();
            let one = |id: i64| json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": id.to_string()}]}});
            let log =
                json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
            vec![send(reply(200).json(json!([one(own), one(own - 1), log])))]
        });
        let fake = HttpScript::new()
            .version(version)
            .on(rpc_call("echo").contains("first"), [wait(&gate)])
            .on(rpc_call("echo").contains("second"), [batch])
            .start();
        let client = client(&fake);
        client.connect().await.unwrap();
        let begun = Instant::now();
        let (a, b) = tokio::join!(echo(&client, "first"), async {
            gate.reached(1).await;
            echo(&client, "second").await
        });
        let (a, b) = (a.unwrap().as_i64().unwrap(), b.unwrap().as_i64().unwrap());
        assert_eq!(a + 1, b);
        assert!(begun.elapsed() < AT_ONCE);
    }
}

#[tokio::test]
async fn p16_an_answer_has_its_largest_size() {
    let big = |size: usize| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"content":[{{"type":"text","text":"{}"}}]}}}}"#,
            "x".repeat(size)
        );
        let json = [send(reply(200).content("application/json", &text))];
        let chunked = [send(reply(200).content("application/json", &text).chunked())];
        let stream = [sse(), event(Event::data(&text))];
        [Vec::from(json), Vec::from(chunked), Vec::from(stream)]
    };
    let limits = Limits { max_message: 100_000, ..Limits::default() };
    for (small, large) in big(90_000).into_iter().zip(big(150_000)) {
        let fake = HttpScript::new()
            .on(rpc_call("echo").contains("small"), small)
            .on(rpc_call("echo").contains("large"), large)
            .start();
        let client = at(fake.url()).limits(limits.clone()).build().unwrap();
        assert_eq!(echo(&client, "small").await.unwrap().as_str().unwrap().len(), 90_000);
        let error = echo(&client, "large").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error:?}");
        assert!(error.message().contains("100000") && error.may_have_run(), "{error:?}");
        echo(&client, "small").await.unwrap();
        assert_eq!(fake.log().rpc("initialize").len(), 1, "a message too long ends its own call alone");
    }
}

#[tokio::test]
async fn p17_an_answer_in_small_pieces_is_whole() {
    let text = "日本語🎉é".repeat(50);
    let answer = json!({"jsonrpc": "2.0", "id": 0, "result": {"content": [{"type": "text", "text": &text}]}});
    let answer = answer.to_string().replace("\"id\":0", "\"id\":$ID");
    for steps in [
        vec![pieces(7, 0), send(reply(200).content("application/json", &answer).chunked())],
        vec![pieces(1, 0), send(reply(200).content("application/json", &answer))],
        vec![pieces(3, 0), sse(), event(Event::data(&answer).crlf())],
    ] {
        let fake = HttpScript::new().on(rpc_call("echo"), steps).start();
        assert_eq!(echo(&client(&fake), "x").await.unwrap(), json!(text));
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_fails_its_call_alone() {
    let text = OK.len() + 200;
    for step in [cut_at(text), reset_at(text), cut(), reset()] {
        let fake = HttpScript::new()
            .on(rpc_call("echo").nth(1), [step, send(reply(200).content("application/json", "x".repeat(4096)))])
            .start();
        let client = client(&fake);
        let error = echo(&client, "x").await.unwrap_err();
        assert!(error.may_have_run(), "{error:?}");
        assert!(matches!(error.kind(), ErrorKind::Unreachable | ErrorKind::Protocol), "{error:?}");
        assert_eq!(fake.log().rpc("tools/call").len(), 1, "never again by itself");
        assert_eq!(echo(&client, "y").await.unwrap(), json!("y"));
        assert_eq!(fake.log().rpc("initialize").len(), 1);
    }
}
