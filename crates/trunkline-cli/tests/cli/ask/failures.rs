//! How endpoints fail, and what is said and done about it.

use serde_json::{Value, json};
use trunkline_tests::http::{Event, TestCa, Tls, body, cut, event, hang, open, reply, send, sse};
use trunkline_tests::model::{Model, Turn, chunk, last_chunk};

use super::Asked;
use crate::harness::{Bench, Ran};

/// Runs a question against a model that fails like this. The endpoint's address is shown as BASE.
fn failing(turns: impl IntoIterator<Item = Turn>, more: &[&str]) -> (Asked, Ran) {
    let asked = Asked::new(turns);
    let mut ran = asked.run(&[&["?", "-q"], more].concat());
    ran.stderr = ran.stderr.replace(&asked.model.base(), "BASE");
    (asked, ran)
}

const ENDPOINT: &str = "  endpoint  BASE/chat/completions\n";

#[test]
fn what_the_endpoint_refuses_is_told_with_what_to_do() {
    let base = "hint: Is --api-base right? It is what stands before /chat/completions, often ending in /v1\n";
    let said = |message: &str, code: &str| json!({"error": {"message": message, "code": code}});
    for (turn, code, error, hint) in [
        (
            Turn::status(401, said("Incorrect API key", "invalid_api_key")),
            3,
            "The endpoint wants an API key: Incorrect API key",
            "hint: Put it in $OPENAI_API_KEY, or name another variable with --api-key-env\n",
        ),
        (
            Turn::status(404, said("The model `scripted` does not exist", "model_not_found")),
            2,
            "The endpoint has no model \"scripted\": The model `scripted` does not exist",
            "hint: Did you mean \"scripted\"?\n",
        ),
        (
            Turn::status(404, json!({"detail": "Not Found"})),
            2,
            "There is no Chat Completions endpoint there (404 Not Found)",
            base,
        ),
        (
            Turn::steps([send(reply(302).header("location", "https://example.com/v1"))]),
            2,
            "There is no Chat Completions endpoint there (302 Found, it names https://example.com/v1)",
            base,
        ),
        (
            Turn::status(400, said("This model's maximum context length is 8192 tokens", "context_length_exceeded")),
            6,
            "The conversation is too long for the model: This model's maximum context length is 8192 tokens",
            "hint: Show it fewer tools (--server, --deny), or ask for less so that the results are smaller\n",
        ),
        (
            Turn::status(400, json!({"error": "scripted does not support tools"})),
            2,
            "The model can't call tools: scripted does not support tools",
            "hint: Choose another, or ask without tools: --deny '*'\n",
        ),
        (
            Turn::status(429, said("No credit", "insufficient_quota")),
            3,
            "The endpoint answers 429 Too Many Requests: No credit",
            "",
        ),
        (
            Turn::status(418, json!({"message": "short\nand stout"})),
            6,
            "The endpoint answers 418 I'm a teapot: short and stout",
            "",
        ),
        (
            Turn::steps([send(reply(200).content("text/html", "<html>"))]),
            6,
            "The endpoint answers with a web page, not with a completion",
            base,
        ),
        (Turn::steps([send(reply(200).body("plainly"))]), 6, "The endpoint sends what is no JSON: plainly", base),
        (Turn::steps([send(reply(200))]), 6, "The endpoint answers with nothing", base),
        (
            Turn::steps([send(reply(200).json(json!({"id": 1})))]),
            6,
            "The endpoint's answer is no completion: {\"id\":1}",
            base,
        ),
        (
            Turn::steps([sse(), event(Event::data("{\"choices\":"))]),
            6,
            "The endpoint sends what is no JSON: {\"choices\":",
            base,
        ),
        (
            Turn::steps([sse(), event(Event::json(json!({"error": {"message": "overloaded"}})))]),
            6,
            "The endpoint broke off with an error: overloaded",
            "",
        ),
        (Turn::says("half").finish("content_filter"), 6, "The endpoint withholds the answer (content_filter)", ""),
    ] {
        let (_, ran) = failing([turn], &[]);
        let place = if error.contains("content_filter") { "" } else { ENDPOINT };
        ran.is(code, "", &format!("error: {error}\n{place}{hint}"));
    }
}

#[test]
fn a_busy_endpoint_is_asked_again_when_it_says() {
    let busy =
        || Turn::steps([send(reply(429).header("retry-after", "0").json(json!({"error": {"message": "slow down"}})))]);
    let (asked, ran) = failing([busy(), busy(), busy(), Turn::says("Now.")], &[]);
    ran.is(0, "Now.\n", "");
    assert_eq!(asked.model.http().log().of("POST").len(), 4);

    let (asked, ran) = failing([busy(), busy(), busy(), busy(), Turn::says("Never.")], &[]);
    ran.is(4, "", &format!("error: The endpoint answers 429 Too Many Requests: slow down\n{ENDPOINT}"));
    assert_eq!(asked.model.left(), 1);

    let long = Turn::steps([send(reply(503).header("retry-after", "3600").body("down"))]);
    let (asked, ran) = failing([long, Turn::says("Never.")], &[]);
    let error = "error: The endpoint answers 503 Service Unavailable: down";
    ran.is(4, "", &format!("{error}\n{ENDPOINT}hint: It asks to be left alone for 3600 s\n"));
    assert_eq!(asked.model.left(), 1);
}

#[test]
fn a_broken_endpoint_is_asked_again_and_the_person_is_told() {
    let asked =
        Asked::new([Turn::status(500, json!({"error": "overload"})), Turn::steps([cut()]), Turn::says("Better.")]);
    let config = asked.bench.config([("demo", asked.bench.demo())]);
    let ran = asked.run(&["?", "--config", &config]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Better.\n"), "{ran:?}");
    let notes: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(notes[0], "note: The endpoint answers 500 Internal Server Error: overload; trying again in 500 ms");
    assert!(notes[1].starts_with("note: The endpoint ended the connection without an answer: "), "{notes:?}");
    assert!(notes[1].ends_with("; trying again in 1.0 s"), "{notes:?}");
}

#[test]
fn an_endpoint_that_is_not_there_is_told_at_once() {
    let asked = Asked::new([]);
    let ran = asked.bench.run(&asked.args("http://127.0.0.1:1/v1", &["?", "-q"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    assert!(ran.stderr.starts_with("error: Could not connect to the endpoint: Connection refused"), "{ran:?}");
    assert!(ran.stderr.ends_with("hint: Is it running? --api-base says where it is\n"), "{ran:?}");
    let ran = asked.bench.run(&asked.args("localhost:1/v1", &["?", "-q"]));
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn tls_is_spoken_with_whom_the_system_trusts() {
    let ca = TestCa::new();
    let asked = Asked { bench: Bench::new(), model: Model::playing_over_tls([Turn::says("Safe.")], Tls::of(&ca)) };
    let base = asked.model.base();
    assert!(base.starts_with("https://"));
    let file = asked.bench.write("ca.pem", ca.pem());
    let args = asked.args(&base, &["?", "-q"]);
    let trusting = asked.bench.command(&args).env("SSL_CERT_FILE", &file).output().unwrap();
    asked.bench.ran(&trusting).is(0, "Safe.\n", "");

    let other = asked.bench.write("other.pem", TestCa::new().pem());
    let ran = asked.bench.ran(&asked.bench.command(&args).env("SSL_CERT_FILE", &other).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""), "{ran:?}");
    assert!(ran.stderr.starts_with("error: Could not connect to the endpoint: invalid peer certificate"), "{ran:?}");
    assert!(ran.stderr.contains("hint: $SSL_CERT_FILE may name"), "{ran:?}");
}

#[test]
fn an_answer_that_is_cut_off_is_an_error_and_what_came_is_shown() {
    let some = || event(Event::json(chunk(json!({"content": "It is"}))));
    let asked = Asked::new([Turn::steps([sse(), some(), cut()])]);
    let config = asked.bench.config([("demo", asked.bench.demo())]);
    let ran = asked.run(&["?", "--config", &config]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, "It is\n"), "{ran:?}");
    assert!(ran.stderr.starts_with("error: The connection ended before the model was done\n"), "{ran:?}");

    // ended in order, but without the reason to stop: also cut off
    let (_, ran) = failing([Turn::steps([sse(), some()])], &[]);
    assert_eq!(ran.code, 4, "{ran:?}");
    // the reason was there, only the last line is missing: whole
    let (_, ran) = failing([Turn::steps([sse(), some(), event(Event::json(last_chunk("stop"))), cut()])], &[]);
    ran.is(0, "It is\n", "");
    let (_, ran) = failing([Turn::says("It is ...").finish("length")], &["--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["kind"]), (6, &json!("limit")));
}

#[test]
fn a_silent_model_is_given_up_on() {
    let head = reply(200).header("content-type", "text/event-stream").chunked();
    let (_, ran) = failing([Turn::steps([open(head), body(": soon\n\n"), hang()])], &["--model-timeout", "200ms"]);
    let error = "error: The model sent nothing for 0.2 s";
    ran.is(5, "", &format!("{error}\n{ENDPOINT}hint: --model-timeout allows more\n"));
}

#[test]
fn an_endpoint_that_can_not_count_is_asked_without() {
    let refusal = json!({"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]});
    let (asked, ran) = failing([Turn::status(422, refusal), Turn::says("Hi.")], &[]);
    ran.is(0, "Hi.\n", "");
    let requests = asked.model.requests();
    assert!(requests[0].get("stream_options").is_some() && requests[1].get("stream_options").is_none());
}

#[test]
fn the_key_is_sent_and_never_shown() {
    let asked = Asked::new([Turn::status(401, json!({"error": {"message": "Bad key sk-test-8151623"}}))]);
    let base = asked.model.base();
    let args =
        asked.args(&base, &["?", "-q", "-vvv", "--api-key-env", "MY_KEY"]).into_iter().filter(|arg| *arg != "-q");
    let mut command = asked.bench.command(&args.collect::<Vec<_>>());
    let ran = asked.bench.ran(&command.env("MY_KEY", "sk-test-8151623").output().unwrap());
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("error: The endpoint refuses the API key: Bad key ***"), "{ran:?}");
    assert!(ran.stderr.contains("hint: The key is that of $MY_KEY; --api-key-env names another variable"));
    assert!(!ran.stderr.contains("8151623"), "{ran:?}");
    let request = &asked.model.http().log().of("POST")[0];
    assert_eq!(request.header("authorization"), Some("Bearer sk-test-8151623"));

    let ran = asked.run(&["?", "-q", "--api-key-env", "NO_SUCH_KEY"]);
    ran.is(2, "", "error: $NO_SUCH_KEY, named by --api-key-env, is not set\n");
    let ran = asked.bench.run(&["ask", "?", "-q", "-m", "gpt-4.1"]);
    assert_eq!(
        (ran.code, ran.stderr.lines().next()),
        (3, Some("error: There is no API key: $OPENAI_API_KEY is not set"))
    );
}

#[test]
fn machines_get_the_conversation_so_far_and_the_error() {
    let turns =
        [Turn::calls([("demo_add", json!({"a": 1, "b": 2}))]), Turn::status(400, json!({"error": {"message": "no"}}))];
    let asked = Asked::new(turns);
    let ran = asked.run(&["?", "-q", "--json"]);
    let document = ran.json();
    assert_eq!((ran.code, ran.stderr.as_str()), (6, ""));
    assert_eq!(document["answer"], Value::Null);
    assert_eq!(document["stopReason"], "error");
    assert_eq!(document["error"]["message"], "The endpoint answers 400 Bad Request: no");
    assert_eq!(document["messages"].as_array().unwrap().len(), 3);
    assert_eq!(document["calls"][0]["outcome"], "ok");
}
