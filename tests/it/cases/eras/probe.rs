//! Which era a server speaks, and what finding out costs.

use std::time::Instant;

use serde_json::{Value, json};
use trunkline::{ErrorKind, Limits, Protocol};
use trunkline_tests::http::{HttpScript, error, hang, reply, rpc, send};
use trunkline_tests::*;

use super::{client, meta};
use crate::rig::{Over, Rig, SOON, ms, rig};

const HANDSHAKE: [&str; 3] = ["server/discover", "initialize", "notifications/initialized"];

fn impatient() -> Limits {
    Limits { probe_wait: ms(150), ..crate::rig::limits() }
}

/// Whatever a legacy server answers to the question, it gets its handshake, on the same pipe.
#[tokio::test]
async fn p66_any_answer_that_is_not_modern_leads_to_the_handshake() {
    for answer in [
        respond_error(-32601, "Method not found"),
        respond_error(-32602, "Invalid params"),
        respond_error(-32000, "Server not initialized"),
        line(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#),
        line(r#"{"jsonrpc":"2.0","id":$ID,"error":"#),
        respond(json!({})),
        respond(json!({"protocolVersion": "2025-06-18", "capabilities": {}})),
        respond(json!({"supportedVersions": ["2025-06-18", "1999-01-01"]})),
        respond_error_data(-32022, "Unsupported", json!({"supported": ["2025-06-18"]})),
    ] {
        let rig = rig(Script::new().on("server/discover", [answer]));
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!(rig.starts(), 1);
        assert_eq!(rig.log.methods()[..3], HANDSHAKE);
        rig.client.disconnect().await;
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!(rig.sent("server/discover"), 1, "a remembered server isn't asked again");
    }
}

/// The revision that a server names is the one that it is offered.
#[tokio::test]
async fn p66_a_server_that_names_its_revisions_gets_the_newest_of_them() {
    let answer = respond_error_data(-32022, "Unsupported", json!({"supported": ["2024-11-05", "2025-03-26"]}));
    let rig = rig(Script::new().echo_version().on("server/discover", [answer]));
    assert_eq!(rig.client.info().await.unwrap().protocol_version().as_deref(), Some("2025-03-26"));
}

/// It took the question and the handshake, and would hold to the one or the other: it is started anew, and told one thing.
#[tokio::test]
async fn p66_a_server_of_both_eras_that_starts_slowly_is_told_which_one() {
    let slow = on_method("server/discover").first_starts(1);
    let script = |_: &TempDir| Script::new().echo_version().both_eras().on(slow, [sleep(600), default_answer()]);
    let rig = Rig::over(Over::Stdio, script, |builder| builder.limits(impatient()));
    assert_eq!(rig.call("echo").await.unwrap(), "ok");
    assert_eq!(rig.client.info().await.unwrap().protocol_version().as_deref(), Some("2026-07-28"));
    assert_eq!((rig.starts(), rig.sent("initialize")), (2, 1));
}

/// A server that was found to be modern isn't tried with a handshake again, however slowly it starts.
#[tokio::test]
async fn p66_a_slow_server_that_was_modern_gets_no_handshake_again() {
    let script = |_: &TempDir| Script::new().both_eras().on("server/discover", [sleep(600), default_answer()]);
    let rig = Rig::over(Over::Stdio, script, |builder| builder.limits(impatient()));
    rig.client.connect().await.unwrap();
    let before = rig.sent("initialize");
    rig.client.disconnect().await;
    rig.client.connect().await.unwrap();
    assert_eq!((rig.sent("initialize"), rig.starts()), (before, 3));
}

#[tokio::test]
async fn p66_a_silent_server_costs_a_moment() {
    for over in [Over::Stdio, Over::Http] {
        let silent = |_: &TempDir| Script::new().on("server/discover", []);
        let rig = Rig::over(over, silent, |builder| builder.limits(impatient()));
        let begun = Instant::now();
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert!(begun.elapsed() >= ms(150) && begun.elapsed() < SOON, "{:?}", begun.elapsed());
        assert_eq!(rig.starts(), 1);
        assert_eq!(rig.sent("notifications/cancelled"), 0, "it never knew the request");
    }
}

/// A server that is only slow to start may answer both questions: the first counts.
#[tokio::test]
async fn p66_a_modern_server_that_is_slow_to_start_is_modern() {
    for rig in super::set_up(Script::new().on("server/discover", [sleep(600), default_answer()]), |builder| {
        builder.limits(impatient())
    }) {
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        let info = rig.client.info().await.unwrap();
        assert_eq!(info.protocol_version().as_deref(), Some("2026-07-28"));
    }
}

/// A server that ends on the question is started again, and never asked it again.
#[tokio::test]
async fn p66_a_server_that_dies_on_the_question_is_started_again() {
    let dying = [stderr("unknown method\n"), exit(1)];
    for script in [
        Script::new().on("server/discover", dying.clone()),
        Script::new().on("server/discover", []).on(on_method("initialize").start(1), dying), // by the next message
    ] {
        let rig = Rig::with(|_| script, |builder| builder.limits(impatient()));
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!(rig.starts(), 2);
        rig.client.disconnect().await;
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!((rig.starts(), rig.sent("server/discover")), (3, 1));
    }
}

#[tokio::test]
async fn p66_over_http_the_answer_decides_whatever_its_status() {
    let not_initialized = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}"#;
    for answer in [
        send(reply(400).content("application/json", not_initialized)),
        send(reply(400).content("text/html", "<h1>Bad Request</h1>")),
        send(reply(400)),
        send(reply(404)),
        send(reply(405)),
        send(reply(500).body("oops")),
        send(reply(200).content("text/html", "<p>hi</p>")),
        error(-32601, "Method not found"),
        error(-32602, "Unsupported protocol version: 2026-07-28"),
        send(reply(202)),
    ] {
        let fake = HttpScript::new().on(rpc("server/discover"), [answer]).start();
        let client = client(&fake);
        assert_eq!(client.call_tool("echo", json!({"text": "x"})).await.unwrap(), json!("x"));
        client.disconnect().await;
        assert_eq!(client.call_tool("echo", json!({"text": "y"})).await.unwrap(), json!("y"));
        assert_eq!(fake.log().rpc("server/discover").len(), 1);
        assert!(fake.log().rpc("initialize").iter().all(|request| request.header("mcp-protocol-version").is_none()));
        assert!(fake.log().rpc("tools/call").iter().all(|request| request.header("mcp-method").is_none()));
    }
}

/// One that hangs on the question isn't left hanging.
#[tokio::test]
async fn p66_over_http_a_silent_answer_is_given_up() {
    let fake = HttpScript::new().on(rpc("server/discover"), [hang()]).start();
    let client = super::super::http::at(fake.url()).limits(impatient()).build().unwrap();
    assert_eq!(client.call_tool("echo", json!({"text": "x"})).await.unwrap(), json!("x"));
    fake.log().wait_for("the request to be given up", |log| (log.given_up().len() == 1).then_some(())).await;
}

/// A refusal of whoever asks, or nobody there at all, is no answer to fall back on.
#[tokio::test]
async fn a_login_that_is_wanted_is_told_at_once() {
    for status in [401, 403, 429] {
        let fake = HttpScript::new().on(rpc("server/discover"), [send(reply(status))]).start();
        client(&fake).connect().await.unwrap_err();
        assert_eq!(fake.log().methods(), ["server/discover"]);
    }
}

#[tokio::test]
async fn p66_a_modern_server_gets_no_handshake() {
    for rig in super::both(Script::new()) {
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!(rig.log.methods(), ["server/discover", "tools/call"], "{:?}", rig.over);
        let info = rig.client.info().await.unwrap();
        assert_eq!((info.name().as_str(), info.protocol_version().as_deref()), ("fake", Some("2026-07-28")));
    }
}

/// One server refuses the very version that it then names.
#[tokio::test]
async fn p66_a_version_that_is_refused_and_named_is_asked_for_once_more() {
    let refuse = respond_error_data(-32022, "Unsupported", json!({"supported": ["2026-07-28"]}));
    for rig in super::both(Script::new().on(on_method("server/discover").nth(1), [refuse])) {
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!(rig.log.methods(), ["server/discover", "server/discover", "tools/call"]);
    }
    let never = respond_error_data(-32022, "Unsupported", json!({"supported": ["2031-01-01"]}));
    for rig in super::both(Script::new().on("server/discover", [never])) {
        let error = rig.client.connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.message().contains("2031-01-01"), "{error}");
        assert!(error.hint().unwrap().contains("2026-07-28, 2025-11-25"), "{error:?}");
        assert_eq!(rig.sent("initialize"), 0);
    }
}

/// Both eras at once: the modern one is taken, unless the user says otherwise.
#[tokio::test]
async fn a_server_of_both_eras_is_spoken_to_as_the_user_says() {
    for (protocol, opens, revision) in [
        (Protocol::Auto, "server/discover", "2026-07-28"),
        (Protocol::Modern, "server/discover", "2026-07-28"),
        (Protocol::Legacy, "initialize", "2025-11-25"),
        ("2025-03-26".parse().unwrap(), "initialize", "2025-03-26"),
    ] {
        for over in [Over::Stdio, Over::Http] {
            let script = |_: &TempDir| Script::new().echo_version().both_eras();
            let rig = Rig::over(over, script, |builder| builder.protocol(protocol));
            assert_eq!(rig.call("echo").await.unwrap(), "ok");
            assert_eq!(rig.log.methods()[0], opens);
            let spoken = rig.client.info().await.unwrap().protocol_version();
            assert_eq!(spoken.as_deref(), Some(revision), "{protocol} {over:?}");
        }
    }
}

/// A server that was to be modern and isn't, or the other way round: the user hears which, and what to do.
#[tokio::test]
async fn the_wrong_era_is_told() {
    for over in [Over::Stdio, Over::Http] {
        let rig = Rig::over(over, |_| Script::new(), |builder| builder.protocol(Protocol::Modern));
        let error = rig.client.connect().await.unwrap_err();
        assert!(error.message().contains("doesn't speak the modern era"), "{error}");
        assert!(error.hint().unwrap().contains("\"auto\""), "{error:?}");
        assert_eq!(rig.sent("initialize"), 0);
        let rig = Rig::over(over, |_| Script::new().modern(), |builder| builder.protocol(Protocol::Legacy));
        let error = rig.client.connect().await.unwrap_err();
        assert_eq!(error.code(), Some(-32022));
        assert_eq!(rig.sent("server/discover"), 0);
    }
}

/// What is remembered stops being true when the server is another one.
#[tokio::test]
async fn p66_a_server_that_changed_its_era_is_asked_again() {
    let fake = HttpScript::new()
        .on(rpc("initialize").when("era", "modern"), [send(unsupported())])
        .on(rpc("server/discover").when("era", "modern"), [trunkline_tests::http::result(discovered())])
        .start();
    let client = client(&fake);
    client.connect().await.unwrap();
    client.disconnect().await;
    fake.set("era", "modern");
    client.connect().await.unwrap();
    let spoken = client.info().await.unwrap().protocol_version();
    assert_eq!(spoken.as_deref(), Some("2026-07-28"));
    let asked: Vec<_> = fake.log().methods().into_iter().filter(|method| method != "DELETE").collect();
    let modern_at = asked.iter().rposition(|method| method == "server/discover").unwrap();
    assert_eq!(asked[modern_at - 1], "initialize", "what worked before is tried first: {asked:?}");
}

fn unsupported() -> trunkline_tests::http::Reply {
    let error = json!({"code": -32022, "message": "Unsupported", "data": {"supported": ["2026-07-28"]}});
    let body = format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#);
    reply(400).content("application/json", body)
}

fn discovered() -> Value {
    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
}

/// The question itself is a modern request, whole.
#[tokio::test]
async fn the_question_says_who_asks() {
    for rig in super::both(Script::new()) {
        rig.client.connect().await.unwrap();
        let asked = rig.log.sent("server/discover")[0].params();
        assert_eq!(meta(&asked, "protocolVersion"), "2026-07-28");
        assert_eq!(meta(&asked, "clientInfo")["name"], "trunkline");
        assert_eq!(meta(&asked, "clientCapabilities"), json!({}));
    }
}

/// What one run found out, the next one knows: for just this command. The files can only save the question.
#[tokio::test]
async fn p66_a_later_run_does_not_ask_again() {
    let dir = TempDir::new();
    let memory = dir.join("eras");
    let log = Log::at(dir.join("log"));
    let script = Script::new().log(log.path()).write_to(&dir);
    let connect = async |args: &[&str]| {
        let builder = trunkline::Client::stdio(crate::smoke::FAKE, args.iter().copied()).memory_dir(&memory);
        let client = builder.limits(crate::rig::limits()).build().unwrap();
        client.connect().await.unwrap();
        client.disconnect().await;
        log.sent("server/discover").len()
    };
    let path = script.to_str().unwrap();
    assert_eq!(connect(&[path]).await, 1);
    assert_eq!(connect(&[path]).await, 1, "a second run knows");
    assert_eq!(connect(&[path, "--other"]).await, 2, "another command is another server");
    for file in std::fs::read_dir(&memory).unwrap() {
        std::fs::write(file.unwrap().path(), [0xff, 0]).unwrap();
    }
    assert_eq!(connect(&[path]).await, 3, "what can't be read is asked again");
    assert_eq!(connect(&[path]).await, 3);
    std::fs::remove_dir_all(&memory).unwrap();
    std::fs::write(&memory, "in the way").unwrap();
    assert_eq!(connect(&[path]).await, 4);
}
