//! Answers as servers really give them: in any order, in arrays, with odd ids, broken, too deep.

use std::time::Instant;

use futures_util::future::join_all;
use serde_json::{Value, json};
use trunkline::{ErrorKind, EventKind};
use trunkline_tests::*;

use crate::rig::{Over, Rig, assert_took, everywhere, limits, ms, rig};

/// Every answer finds its call, whatever the order, with other requests between.
#[tokio::test]
async fn p86_fifty_answers_in_reverse_find_their_calls() {
    for rig in everywhere(Script::new().on(call("echo"), [gather(50, [echo_args()])])) {
        let calls = join_all((0..50).map(|n| {
            let call = rig.client.call("echo", json!({"n": n}));
            async move { (n, call.await.unwrap().text()) }
        }));
        let lists = join_all((0..5).map(|_| rig.client.list_tools()));
        let (answers, lists) = tokio::join!(calls, lists);
        assert!(answers.into_iter().all(|(n, text)| text == format!("{{\"n\":{n}}}")));
        assert!(lists.into_iter().all(|list| list.unwrap().len() == 1));
    }
}

/// A slow call keeps nobody waiting.
#[tokio::test]
async fn p86_a_slow_call_blocks_nobody() {
    for rig in Rig::each(
        |dir| {
            let held = background([wait_file(dir.join("go")), text("slow")]);
            Script::new().tools([tool("echo"), tool("slow")]).on(call("slow"), [held])
        },
        |builder| builder,
    ) {
        let slow = tokio::spawn(rig.client.call("slow", ()).into_future());
        rig.wait_sent("tools/call", 1).await;
        for _ in 0..20 {
            assert_eq!(rig.call("echo").await.unwrap(), "ok");
        }
        assert!(!slow.is_finished());
        rig.dir.write("go", "");
        assert_eq!(slow.await.unwrap().unwrap().text(), "slow");
    }
}

/// Where a bound was set, so many calls are under way and the others wait, each within its time.
#[tokio::test]
async fn p86_calls_under_way_can_be_bounded() {
    let bounded = |builder: trunkline::ClientBuilder| builder.limits(trunkline::Limits { max_calls: 2, ..limits() });
    for rig in Rig::each(|_| Script::new().on(call("echo"), [gather(2, [echo_args()])]), bounded) {
        let calls = (0..6).map(|n| rig.client.call("echo", json!({"n": n})).into_future());
        for (n, answer) in join_all(calls).await.into_iter().enumerate() {
            assert_eq!(answer.unwrap().text(), format!("{{\"n\":{n}}}"));
        }
    }
    for rig in Rig::each(|_| Script::new().on(call("echo"), [gather(3, [echo_args()])]), bounded) {
        let under_way: Vec<_> = (0..2).map(|_| tokio::spawn(rig.client.call("echo", ()).into_future())).collect();
        rig.wait_sent("tools/call", 2).await;
        let waiting = rig.client.call("echo", ()).timeout(ms(100)).await.unwrap_err();
        assert_eq!(waiting.kind(), ErrorKind::Deadline);
        rig.client.list_tools().await.unwrap(); // what was sent before has come by then
        assert_eq!(rig.sent("tools/call"), 2);
        under_way.iter().for_each(|call| call.abort());
    }
}

/// Arrays of messages belong to one revision; what they hold settles in all.
#[tokio::test]
async fn p20_answers_in_one_array_settle_each() {
    let one = r#"{"jsonrpc":"2.0","id":$(a),"result":{"content":[{"type":"text","text":"a"}]}}"#;
    let two = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"b"}]}}"#;
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    for version in ["2025-03-26", "2025-06-18"] {
        let script = Script::new()
            .version(version)
            .on(call("echo").nth(1), [set("a", "$ID")])
            .on(call("echo").nth(2), [line(&format!("[{one},{two},{log}]"))]);
        for rig in everywhere(script) {
            let mut events = rig.client.events();
            let (first, second) = tokio::join!(rig.call("echo"), rig.call("echo"));
            assert_ne!(first.unwrap(), second.unwrap(), "each has its own");
            assert_eq!(rig.call("echo").await.unwrap(), "ok");
            while !matches!(events.next().await.unwrap().kind, EventKind::Log(_)) {}
            let told = "sends several messages in one array, which its protocol version 2025-06-18 doesn't know";
            assert_eq!(rig.client.warnings(), if version == "2025-06-18" { vec![told] } else { vec![] });
            assert!(rig.log.lines().iter().all(|line| line.starts_with('{')), "never sent");
        }
    }
}

/// What no array of messages holds is told, and costs nothing.
#[tokio::test]
async fn p20_odd_arrays_change_nothing() {
    for (array, told) in [
        ("[]", "that is no JSON-RPC message; it was ignored"),
        ("[[]]", "that is no JSON-RPC message; it was ignored"),
        ("[5, null]", "that is no JSON-RPC message; it was ignored"),
    ] {
        let script = Script::new().version("2025-03-26").on(call("echo"), [line(array), text("ok")]);
        for rig in everywhere(script) {
            assert_eq!(rig.call("echo").await.unwrap(), "ok");
            assert!(rig.warned(told), "{array}: {:?}", rig.client.warnings());
        }
    }
}

/// An error as an answer doesn't tell what was done before it, but for the codes of requests that were refused.
#[tokio::test]
async fn p24_an_error_says_whether_the_call_may_have_been_carried_out() {
    let codes =
        [(-32000, true), (-32603, true), (1, true), (-32700, false), (-32600, false), (-32601, false), (-32602, false)];
    for (code, may_have_run) in codes {
        let error = rig(Script::new().on(call("echo"), [respond_error(code, "no")])).call("echo").await.unwrap_err();
        assert_eq!((error.code(), error.may_have_run()), (Some(code), may_have_run), "{error:?}");
    }
    let stray = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
    let error = rig(Script::new().on(call("echo"), [line(stray)])).call("echo").await.unwrap_err();
    assert_eq!((error.code(), error.may_have_run()), (Some(-32700), true), "it may be about another message");
}

fn answer(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"ok"}}]}}}}"#)
}

/// The digits of an id in quotes are understood and told once; anything else is another id.
#[tokio::test]
async fn p22_an_id_as_text_is_understood_only_as_the_same_digits() {
    for rig in everywhere(Script::new().on(call("echo"), [line(&answer("\"$ID\""))])) {
        for _ in 0..3 {
            assert_eq!(rig.call("echo").await.unwrap(), "ok");
        }
        assert_eq!(rig.client.warnings(), ["answers with ids as text instead of numbers"]);
    }
    for id in ["\"0$ID\"", "\"$ID.0\"", "\" $ID\"", "$ID.0", "[$ID]", "true", "-$ID", "1$IDe0"] {
        let rig =
            Rig::with(|_| Script::new().on(call("echo"), [line(&answer(id))]), |builder| builder.timeout(ms(300)));
        let error = rig.call("echo").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Deadline, "{id}");
        assert!(rig.warned("belongs to no request"), "{id}: {:?}", rig.client.warnings());
    }
}

/// An error without an id is that of the only call there is; with two, it's nobody's.
#[tokio::test]
async fn p23_an_error_without_an_id_goes_to_the_only_call() {
    for error in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"bad","data":null}}"#,
    ] {
        for only in everywhere(Script::new().on(call("echo").nth(1), [line(error)])) {
            let begun = Instant::now();
            let failed = only.call("echo").await.unwrap_err();
            assert_took(begun, ms(0));
            assert_eq!((failed.code(), failed.message()), (Some(-32600), "bad"));
            assert_eq!(only.call("echo").await.unwrap(), "ok");
        }
        let script = Script::new()
            .on(call("echo").nth(1), [set("a", "$ID")])
            .on(call("echo").nth(2), [line(error), line(&answer("$(a)")), text("ok")]);
        for two in everywhere(script).filter(|rig| rig.over != Over::Http) {
            // over Streamable HTTP it comes as the answer to one of them
            let (first, second) = tokio::join!(two.call("echo"), two.call("echo"));
            assert_eq!((first.unwrap(), second.unwrap()), ("ok".to_owned(), "ok".to_owned()));
            assert!(two.warned("an error that belongs to no request: bad"), "{:?}", two.client.warnings());
        }
    }
}

/// Whatever is wrong with an answer, its call fails at once and says how, unless what is meant is clear.
#[tokio::test]
async fn p24_a_malformed_answer_fails_its_call_at_once() {
    for (answer, said) in [
        (r#"{"jsonrpc":"2.0","id":$ID}"#, "neither a result nor an error"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":{},"error":{}}"#, "\"result\":{},\"error\":{}"),
        (r#"{"jsonrpc":"2.0","id":$ID,"error":"oops"}"#, "oops"),
        (r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":"E1","message":5}}"#, "5"),
        (r#"{"jsonrpc":"2.0","id":$ID,"error":{"message":"no code"}}"#, "no code"),
        (r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":1e99,"message":"huge code"}}"#, "huge code"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":{"n":NaN}}"#, "not valid JSON"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":["#, "not valid JSON"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":"text"}"#, "no result"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":null}"#, "no result"),
        (r#"{"result":{"n":Infinity},"id":$ID,"jsonrpc":"2.0"}"#, "not valid JSON"),
    ] {
        for rig in everywhere(Script::new().on(call("echo").nth(1), [line(answer)])) {
            rig.client.connect().await.unwrap();
            let begun = Instant::now();
            let error = rig.call("echo").await.unwrap_err();
            assert_took(begun, ms(0));
            assert_eq!(error.kind(), ErrorKind::Protocol, "{answer} over {:?}: {error:?}", rig.over);
            assert!(error.message().contains(said), "{answer}: {error}");
            assert_eq!(rig.call("echo").await.unwrap(), "ok", "{answer}");
        }
    }
}

#[tokio::test]
async fn p24_a_missing_version_is_put_up_with() {
    for rig in everywhere(Script::new().on(call("echo"), [line(r#"{"id":$ID,"result":{"content":[]}}"#)])) {
        assert_eq!(rig.call("echo").await.unwrap(), "");
        assert!(rig.warned("leaves out \"jsonrpc\""), "{:?}", rig.client.warnings());
    }
}

/// Errors keep code and data, and a missing resource is what its code says.
#[tokio::test]
async fn p23_an_error_keeps_its_code_and_data() {
    for rig in everywhere(Script::new().on(call("echo"), [respond_error_data(-32099, "why", raw(r#"{"n":1.0}"#))])) {
        let error = rig.call("echo").await.unwrap_err();
        assert_eq!((error.kind(), error.code(), error.message()), (ErrorKind::Protocol, Some(-32099), "why"));
        assert_eq!(error.data().unwrap().to_string(), r#"{"n":1.0}"#);
        assert_eq!((error.get("server"), error.get("tool")), (Some("fake"), Some("echo")));
    }
}

/// Answers that nobody asked for change nothing.
#[tokio::test]
async fn p25_stray_answers_change_nothing() {
    let strays = [
        line(r#"{"jsonrpc":"2.0","result":{}}"#),
        line(r#"{"jsonrpc":"2.0","id":null,"result":{}}"#),
        line(r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#),
        line(r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}"#),
        line(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#),
    ];
    let twice = [text("first"), text("second")];
    for rig in everywhere(Script::new().on("notifications/initialized", strays).on(call("echo").nth(1), twice)) {
        assert_eq!(rig.client.list_tools().await.unwrap().len(), 1);
        assert_eq!(rig.call("echo").await.unwrap(), "first");
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!(rig.starts(), 1);
    }
}

fn nested(depth: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
}

/// Text nested too deep for any parser fails its call, not the process; ordinary depth is read.
#[tokio::test]
async fn p21_deep_nesting_is_refused_but_never_fatal() {
    let result = |deep: &str| format!(r#""result":{{"content":[],"structuredContent":{deep}}}"#);
    let deep = result(&nested(200_000));
    let arrays = result(&format!("{}{}", "[".repeat(200_000), "]".repeat(200_000)));
    for members in [format!(r#""id":$ID,{deep}"#), format!(r#"{deep},"id":$ID"#), format!(r#""id":$ID,{arrays}"#)] {
        let answer = [line(&format!(r#"{{"jsonrpc":"2.0",{members}}}"#))];
        for rig in everywhere(Script::new().on(call("echo").nth(1), answer)) {
            let begun = Instant::now();
            let error = rig.call("echo").await.unwrap_err();
            assert_took(begun, ms(0));
            assert_eq!((error.kind(), error.get("limit")), (ErrorKind::Limit, Some("max_depth")));
            assert!(error.message().contains("nests deeper than 512"), "{error}");
            assert_eq!(rig.call("echo").await.unwrap(), "ok");
        }
    }
}

/// A depth that ordinary parsers refuse, but that real data has.
#[tokio::test]
async fn p21_a_hundred_and_thirty_levels_are_read() {
    let deep = nested(130);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"content":[],"structuredContent":{deep}}}}}"#);
    for rig in everywhere(Script::new().on(call("echo"), [line(&answer)])) {
        let result = rig.client.call("echo", ()).await.unwrap();
        assert_eq!(result.structured().unwrap().to_string(), deep);
        let mut value = &rig.client.call_tool("echo", ()).await.unwrap();
        for _ in 0..130 {
            value = &value["a"];
        }
        assert_eq!(value, &Value::from(1));
    }
}
