//! Lines on the standard streams: what servers put around, between and into them, and how much.

use std::time::Instant;

use serde_json::json;
use trunkline::{ErrorKind, Limits, Protocol};
use trunkline_tests::*;

use crate::rig::{Over, Rig, SOON, assert_took, everywhere, limits, ms, rig};

const NOISE: &str = "====\n\u{1F600}\n\n[INFO] listening\n\u{1b}[32mgreen\u{1b}[0m\n{not json\n[1, 2\n42\n\"text\"\n";

/// Banners and log lines are skipped and counted, wherever they come.
#[tokio::test]
async fn p11_text_between_messages_is_skipped_counted_and_told() {
    let script = Script::new()
        .tools([tool("echo"), tool("quit")])
        .on("@start", [repeat(10, [write(NOISE)])])
        .on("tools/list", [line("debug: x"), default_answer(), line("debug: y")])
        .on(call("echo"), [line("{not json"), text("ok")])
        .on(call("quit"), [exit(1)]);
    for rig in everywhere(script) {
        assert_eq!(rig.client.list_tools().await.unwrap().len(), 2);
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        let warning = match rig.over {
            Over::Stdio => "writes text on its standard output that is no message; it was skipped",
            _ => "sent something that is no JSON-RPC message; it was ignored",
        };
        assert_eq!(rig.client.warnings(), [warning], "{:?}", rig.over);
        let stray = rig.client.stray_output();
        let error = rig.call("quit").await.unwrap_err();
        if rig.over == Over::Stdio {
            assert!(stray.unwrap().starts_with("It wrote 83 lines on its standard output"));
            let told = "It wrote 83 lines on its standard output that are no messages (first: ====)";
            assert_eq!(error.get("stdout"), Some(told));
        }
    }
}

/// What is shown of such a line can't do anything to whoever sees it.
#[tokio::test]
async fn p11_a_skipped_line_is_shown_cut_and_escaped() {
    let noise = format!("\u{1b}[2J\u{7}{}", "x".repeat(5000));
    let rig = rig(Script::new().on("@start", [line(&noise)]).on(call("echo"), [exit(1)]));
    let error = rig.call("echo").await.unwrap_err();
    let shown = format!("\\u{{1b}}[2J\\u{{7}}{}", "x".repeat(200 - 5));
    assert_eq!(
        error.get("stdout").unwrap(),
        format!("It wrote 1 line on its standard output that is no message (first: {shown})")
    );
}

/// Nothing is answered to garbage: a server that logs what it can't read would log the answer, and so on.
#[tokio::test]
async fn p12_nothing_is_answered_to_garbage() {
    let garbage = [
        "[]",
        "[[]]",
        "[1]",
        r#"{"type":"heartbeat"}"#,
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":99,"method":"#,
        r#"{"jsonrpc":"2.0","id":99,"method":7}"#,
    ];
    let script = Script::new()
        .on("@unknown", [line("unexpected: $LINE")])
        .on("initialize", [default_answer(), write(NOISE), line(r#"{"jsonrpc":"2.0","id":99,"result"#)])
        .on("notifications/initialized", garbage.map(line))
        .on(call("echo"), [write(NOISE), text("ok"), write(NOISE)]);
    for rig in Rig::each(|_| script.clone(), |builder| builder.protocol(Protocol::Legacy)) {
        for _ in 0..3 {
            assert_eq!(rig.call("echo").await.unwrap(), "ok");
        }
        rig.client.disconnect().await; // all that was to be written is
        let expected = ["initialize", "notifications/initialized", "tools/call", "tools/call", "tools/call"];
        assert_eq!(rig.log.methods(), expected);
        assert_eq!(rig.log.lines().len(), expected.len());
    }
}

#[tokio::test]
async fn p13_p14_lines_may_end_in_crlf_and_start_with_a_byte_order_mark() {
    let lone = "{\"jsonrpc\":\"2.0\",\r\"id\":$ID,\r\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"lone\"}]}}";
    for script in [Script::new().crlf(), Script::new().bom(), Script::new().bom().crlf()] {
        let rig = rig(script
            .tools([tool("echo"), tool("lone")])
            .on("@start", [write("\r\n\n \r\n")])
            .on(call("lone"), [line(lone)]));
        assert_eq!(rig.client.list_tools().await.unwrap().len(), 2);
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!(rig.call("lone").await.unwrap(), "lone", "a lone CR is white space");
        rig.client.disconnect().await;
        assert!(rig.log.lines().iter().all(|line| !line.contains('\r')));
        assert_eq!(rig.client.warnings(), Vec::<String>::new());
    }
}

/// The same in a body and in events, where no line is framed.
#[tokio::test]
async fn p13_p14_bodies_and_events_may_too() {
    let answer = "\u{feff}{\"jsonrpc\":\"2.0\",\r\n\"id\":$ID,\r\n\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}}\r\n";
    let body = http::send(http::reply(200).content("application/json", answer));
    let event =
        http::body("data: \u{feff}{\"jsonrpc\":\"2.0\",\r\ndata: \"id\":$ID,\"result\":{\"content\":[]}}\r\n\r\n");
    for (steps, told) in [(vec![body], "ok"), (vec![http::sse(), event], "")] {
        let fake = http::HttpScript::new().on(http::rpc_call("echo"), steps).start();
        let client = super::http::client(&fake);
        assert_eq!(client.call("echo", ()).await.unwrap().text(), told);
        assert_eq!(client.warnings(), Vec::<String>::new());
    }
}

/// A message in arguments that spans lines still leaves as one.
#[tokio::test]
async fn p13_what_is_sent_is_one_line_a_message() {
    let script = Script::new().on(call("echo"), [echo_args()]);
    let rig = Rig::with(|_| script, |builder| builder.protocol(Protocol::Legacy));
    let pretty = trunkline::RawJson::parse("{\n  \"text\": \"a\\nb\",\r\n  \"n\": 1.0\n}").unwrap();
    let echoed = rig.client.call("echo", pretty).await.unwrap().text();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&echoed).unwrap(), json!({"text": "a\nb", "n": 1.0}));
    assert_eq!(rig.log.lines().len(), 3);
    assert!(!std::fs::read_to_string(rig.log.path()).unwrap().contains('\r'));
}

/// No small buffer anywhere, and no cost but that of the size.
#[tokio::test]
async fn p15_long_lines_arrive_whole() {
    for (count, unit, length) in [(70_000, "x", 1), (1_000_000, "x", 1), (20_000_000, "x", 1), (10_000_000, "é", 2)] {
        let answer = text(&format!("$REPEAT({count},{unit})"));
        for rig in everywhere(Script::new().on(call("echo"), [in_pieces(4096, 0, [answer])])) {
            rig.client.connect().await.unwrap();
            let begun = Instant::now();
            let text = rig.call("echo").await.unwrap();
            assert_took(begun, ms(0));
            assert_eq!(text.len(), count * length);
            assert!(text.chars().all(|c| unit.starts_with(c)));
        }
    }
}

/// Requests too: more than a pipe holds, several at once, none mixed up with another.
#[tokio::test]
async fn p15_long_requests_arrive_whole_and_apart() {
    for rig in everywhere(Script::new().on(call("echo"), [echo_args()])) {
        let sizes = [10, 70_000, 300_000, 5, 1_000_000, 65_536, 200_000, 1];
        let calls = sizes.map(|size| {
            let arguments = json!({"text": "ü".repeat(size)});
            let call = rig.client.call("echo", arguments.clone());
            async move {
                let echoed: serde_json::Value = serde_json::from_str(&call.await.unwrap().text()).unwrap();
                assert!(echoed == arguments, "{size}");
            }
        });
        futures_util::future::join_all(calls).await;
        assert_eq!(rig.sent("tools/call"), sizes.len());
    }
}

/// Above the limit, which can be set, the connection ends with a typed error; everybody who waits hears it.
#[tokio::test]
async fn p16_a_line_over_the_limit_ends_the_connection() {
    for (size, fits) in [(900_000, true), (2_000_000, false)] {
        let rig = Rig::with(
            |_| {
                let script = Script::new().tools([tool("echo"), tool("slow")]).on(call("slow"), []);
                script.on(call("echo"), [text(&format!("$REPEAT({size},x)"))])
            },
            |builder| builder.limits(Limits { max_message: 1 << 20, ..limits() }),
        );
        rig.client.connect().await.unwrap();
        if fits {
            assert_eq!(rig.call("echo").await.unwrap().len(), size);
            continue;
        }
        let (waiting, outcome) = tokio::join!(rig.call("slow"), rig.call("echo"));
        for error in [waiting.unwrap_err(), outcome.unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Limit);
            assert!(error.message().contains("over 1048576 bytes"), "{error}");
            assert!(error.hint().unwrap().contains("max_message") && error.may_have_run(), "{error:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p16_bytes_without_end_end_the_server() {
    let flooding = || Script::new().on(call("echo"), [flood("a")]);
    for (script, inits) in [(flooding(), true), (Script::new().on("initialize", [flood("a")]), false)] {
        let rig = Rig::with(|_| script, |builder| builder.limits(Limits { max_message: 1 << 20, ..limits() }));
        let begun = Instant::now();
        let error = rig.call("echo").await.unwrap_err();
        assert_took(begun, ms(0));
        assert_eq!(error.kind(), ErrorKind::Limit, "{error:?}");
        assert_eq!(error.may_have_run(), inits);
        let pid = rig.pid();
        offload(move || wait_gone(pid)).await;
    }
}

/// A body or an event without end is given up at the limit; the session goes on.
#[tokio::test]
async fn p16_a_body_without_end_fails_its_call_alone() {
    let block = "a".repeat(64 << 10);
    let json = http::open(http::reply(200).content("application/json", "{").chunked());
    for begun in [vec![json], vec![http::sse(), http::body("data: {")], vec![http::sse(), http::body("event: ")]] {
        let steps = [begun, vec![http::forever([http::body(&block)])]].concat();
        let fake = http::HttpScript::new().on(http::rpc_call("echo").nth(1), steps).start();
        let limits = Limits { max_message: 1 << 20, ..limits() };
        let client = super::http::at(fake.url()).limits(limits).build().unwrap();
        let error = client.call("echo", ()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error:?}");
        assert!(error.message().contains("over 1048576 bytes (max_message)") && error.may_have_run(), "{error:?}");
        assert_eq!(client.call("echo", ()).await.unwrap().text(), "{}");
        assert_eq!(fake.log().rpc("initialize").len(), 1);
    }
}

/// Characters are decoded when the line is whole, never when a read ends in the middle of one.
#[tokio::test]
async fn p17_characters_survive_any_cut() {
    let word = "日本語🎉é";
    for (times, pieces, pause) in [(20, 1, 20), (1000, 7, 0), (1000, 4093, 0)] {
        let answer = text(&word.repeat(times));
        let rig =
            Rig::with(|_| Script::new().on(call("echo"), [in_pieces(pieces, pause, [answer])]), |builder| builder);
        assert!(rig.call("echo").await.unwrap() == word.repeat(times), "{times} × {word} in pieces of {pieces}");
    }
}

/// One bad byte costs one character.
#[tokio::test]
async fn p18_bytes_that_are_no_text_cost_only_themselves() {
    let start = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"caf"#;
    let script = Script::new()
        .on("@start", [bytes(b"\xff\xfe garbage\n")])
        .on(call("echo").nth(1), [write(start), bytes([0xE9]), line(r#"!"}]}}"#)]);
    for rig in everywhere(script) {
        assert_eq!(rig.call("echo").await.unwrap(), "caf\u{FFFD}!");
        assert!(rig.over == Over::Sse || rig.warned("broken characters"), "{:?}", rig.client.warnings());
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
    }
}

/// Half a surrogate pair is legal to write and impossible to read as text.
#[tokio::test]
async fn p18_half_a_surrogate_pair_costs_only_itself() {
    let broken = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"a\ud83d b"}]}}"#;
    for rig in everywhere(Script::new().on(call("echo").nth(1), [line(broken)])) {
        assert_eq!(rig.call("echo").await.unwrap(), "a\u{FFFD} b");
        assert!(rig.warned("broken characters"), "{:?}", rig.client.warnings());
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
    }
}

/// A server that stops reading: what waits for it is bounded, the rest is refused, and it can be closed.
#[tokio::test]
async fn a_server_that_does_not_read_is_a_typed_error() {
    let rig = Rig::with(
        |_| Script::new().reads(2),
        |builder| builder.timeout(ms(400)).limits(Limits { max_unsent: 1 << 20, ..limits() }),
    );
    rig.client.connect().await.unwrap();
    let arguments = json!({"text": "x".repeat(256 << 10)});
    let begun = Instant::now();
    let calls = (0..10).map(|_| rig.client.call("echo", arguments.clone()));
    let outcomes = futures_util::future::join_all(calls.map(IntoFuture::into_future)).await;
    let errors: Vec<_> = outcomes.into_iter().map(Result::unwrap_err).collect();
    let of_kind = |kind| errors.iter().filter(|error| error.kind() == kind).collect::<Vec<_>>();
    let (refused, late) = (of_kind(ErrorKind::Limit), of_kind(ErrorKind::Deadline));
    assert!(refused.len() >= 5 && late.len() >= 3 && refused.len() + late.len() == 10, "{errors:?}");
    assert!(refused.iter().all(|error| !error.may_have_run() && error.message().contains("doesn't read")));
    assert!(late.iter().all(|error| error.may_have_run()));
    rig.client.disconnect().await;
    assert!(begun.elapsed() < SOON && !alive(rig.pid()));
}

/// The bound is for what piles up: one message alone may be larger.
#[tokio::test]
async fn a_request_larger_than_what_may_wait_is_sent() {
    let rig = Rig::with(
        |_| Script::new().on(call("echo"), [echo_args()]),
        |builder| builder.limits(Limits { max_unsent: 100_000, ..limits() }),
    );
    let big = json!({"text": "x".repeat(1 << 20)});
    let echoed = rig.client.call("echo", big.clone()).await.unwrap().text();
    assert!(serde_json::from_str::<serde_json::Value>(&echoed).unwrap() == big);
    assert_eq!(rig.client.call("echo", ()).await.unwrap().text(), "{}");
}
