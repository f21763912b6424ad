//! Which rule a message meets, what actions do with it, and placeholders.

use serde_json::json;
use trunkline_tests::*;

use crate::peer::Peer;

#[test]
fn the_first_rule_that_matches_answers() {
    let script = Script::new()
        .tools([tool("a"), tool("b")])
        .on(call("a").contains("\"deep\""), [text("deep")])
        .on(call("a"), [text("first")])
        .on(call("a"), [text("never")])
        .on("ping", [respond(json!([]))])
        .on(read("x:1"), [respond_error(-32002, "gone $NAME")]);
    let mut peer = Peer::start(&script);
    peer.call(1, "a", json!({}));
    assert_eq!(peer.text(), "first");
    peer.call(2, "a", json!({"k": "deep"}));
    assert_eq!(peer.text(), "deep");
    peer.call(3, "b", json!({}));
    assert_eq!(peer.text(), "ok");
    peer.request(4, "ping", json!({}));
    assert_eq!(peer.json()["result"], json!([]));
    peer.request(5, "resources/read", json!({"uri": "x:1"}));
    assert_eq!(peer.json()["error"], json!({"code": -32002, "message": "gone x:1"}));
}

#[test]
fn nth_and_first_count_whoever_answered() {
    let script = Script::new()
        .on(call("echo").nth(3), [text("third $N")])
        .on(call("echo").first(2), [text("early $N")])
        .on(call("echo"), [text("late $N")]);
    let mut peer = Peer::start(&script);
    let texts: Vec<String> = (1..=4)
        .map(|id| {
            peer.call(id, "echo", json!({}));
            peer.text()
        })
        .collect();
    assert_eq!(texts, ["early 1", "early 2", "third 3", "late 4"]);
}

#[test]
fn variables_and_lists_change() {
    let script = Script::new()
        .on(call("echo").when("mode", ""), [set("mode", "on"), set_tools([tool("b")]), text("was $(other)off")])
        .on(call("echo").when("mode", "on"), [text("is $(mode)")]);
    let mut peer = Peer::start(&script);
    peer.call(1, "echo", json!({}));
    assert_eq!(peer.text(), "was off");
    peer.call(2, "echo", json!({}));
    assert_eq!(peer.text(), "is on");
    peer.request(3, "tools/list", json!({}));
    assert_eq!(peer.json()["result"]["tools"], json!([tool("b")]));
}

#[test]
fn a_cursor_can_go_on_for_ever() {
    let script = Script::new()
        .on(on_method("tools/list").cursor("c2"), [respond(json!({"tools": []}))])
        .on("tools/list", [respond(json!({"tools": [tool("a")], "nextCursor": "c$N"}))]);
    let mut peer = Peer::start(&script);
    for n in 1..=2 {
        peer.request(n, "tools/list", json!({}));
        assert_eq!(peer.json()["result"]["nextCursor"], json!(format!("c{n}")));
    }
    peer.request(3, "tools/list", json!({"cursor": "c2"}));
    assert_eq!(peer.json()["result"], json!({"tools": []}));
}

#[test]
fn texts_and_json_take_placeholders() {
    let script = Script::new()
        .on(call("echo").nth(1), [echo_args()])
        .on(call("echo").nth(2), [text("$ARG(s) $ARG(n) $ARG(none) $METHOD $ $X $IDs")])
        .on(call("echo").nth(3), [respond(json!({"n": "$ARG(n)", "s": "<$ARG(s)>", "all": "$ARGS", "id": "$ID"}))])
        .on(call("echo").nth(4), [line(r#"{"id":"$ID","s":$ARG(s),"t":$TOKEN}"#)])
        .on(call("echo").nth(5), [text("$REPEAT(3,ab)!")]);
    let mut peer = Peer::start(&script);
    let args = r#"{"z":1,"n":9007199254740993,"s":"a\"b"}"#;
    let mut call = |id: u64| {
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{args}}}}}"#
        ));
        peer.line()
    };
    let text = |line: String| {
        serde_json::from_str::<serde_json::Value>(&line).unwrap()["result"]["content"][0]["text"].clone()
    };
    assert_eq!(text(call(1)), json!(args));
    assert_eq!(text(call(2)), json!("a\"b 9007199254740993 null tools/call $ $X 2s"));
    let expected = format!(r#"{{"all":{args},"id":3,"n":9007199254740993,"s":"<a\"b>"}}"#);
    assert_eq!(call(3), format!(r#"{{"jsonrpc":"2.0","id":3,"result":{expected}}}"#));
    assert_eq!(call(4), r#"{"id":"4","s":"a\"b","t":null}"#);
    assert_eq!(text(call(5)), json!("ababab!"));
}

#[test]
fn raw_json_keeps_its_text() {
    let exact = r#"{"z":1.0,"a":123456789012345678901234567890,"e":1e400,"f":-0.0}"#;
    let mut peer = Peer::start(&Script::new().on(call("echo"), [respond(raw(exact))]));
    peer.call(1, "echo", json!({}));
    assert_eq!(peer.line(), format!(r#"{{"jsonrpc":"2.0","id":1,"result":{exact}}}"#));
}

#[test]
fn notifications_progress_and_answers_keep_their_order() {
    let script = Script::new().on(
        call("echo"),
        [
            progress(0.5, Some(2.0)),
            notify_with("notifications/message", json!({"level": "info", "data": "$ARGS"})),
            repeat(2, [notify("notifications/r$I"), notify_with("x", json!("$I"))]),
            default_answer(),
            notify("notifications/after"),
        ],
    );
    let mut peer = Peer::start(&script);
    let meta = json!({"progressToken": "5"});
    peer.request(7, "tools/call", json!({"name": "echo", "arguments": {"a": 1}, "_meta": meta}));
    assert_eq!(peer.json()["params"], json!({"progressToken": "5", "progress": 0.5, "total": 2.0}));
    assert_eq!(peer.json()["params"]["data"], json!({"a": 1}));
    assert_eq!(peer.json()["method"], json!("notifications/r1"));
    assert_eq!(peer.json()["params"], json!(1));
    assert_eq!(peer.json()["method"], json!("notifications/r2"));
    assert_eq!(peer.json()["params"], json!(2));
    assert_eq!(peer.text(), "ok");
    assert_eq!(peer.json(), json!({"jsonrpc": "2.0", "method": "notifications/after"}));
}

#[test]
fn asking_waits_for_all_replies_and_keeps_the_last() {
    let script = Script::new().on(
        call("echo"),
        [
            ask([request(json!(1), "roots/list"), request(json!("s-2"), "foo/bar").params(json!({"of": "$ID"}))]),
            text("$REPLY"),
        ],
    );
    let mut peer = Peer::start(&script);
    peer.call(1, "echo", json!({}));
    assert_eq!(peer.json(), json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
    assert_eq!(peer.json(), json!({"jsonrpc": "2.0", "id": "s-2", "method": "foo/bar", "params": {"of": 1}}));
    let last = r#"{"jsonrpc":"2.0","id":"s-2","error":{"code":-32601,"message":"no"}}"#;
    peer.send(last);
    peer.send(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
    assert_eq!(peer.text(), last);
}

#[test]
fn a_reply_that_stays_out_is_noted() {
    let dir = TempDir::new();
    let log = Log::at(dir.join("log"));
    let script =
        Script::new().log(log.path()).on(call("echo"), [ask_within(20, [request(json!(9), "x")]), text("$REPLY")]);
    let mut peer = Peer::start(&script);
    peer.call(1, "echo", json!({}));
    assert_eq!(peer.json()["method"], json!("x"));
    assert_eq!(peer.text(), "null");
    assert_eq!(log.notes(), ["start 1", "no reply to 9"]);
}

#[test]
fn unknown_lines_meet_their_rule() {
    let mut peer = Peer::start(&Script::new().on("@unknown", [line("unexpected: $LINE")]));
    for odd in [
        "{nonsense",
        "[1]",
        r#"{"id":5,"result":{}}"#,
        r#"{"method":"notifications/odd"}"#,
        r#"{"id":6,"method":"odd"}"#,
    ] {
        peer.send(odd);
        assert_eq!(peer.line(), format!("unexpected: {odd}"));
    }
    peer.request(1, "ping", json!({}));
    assert_eq!(peer.json()["result"], json!({}));
}

#[test]
fn background_leaves_later_messages_alone() {
    let dir = TempDir::new();
    let script = Script::new()
        .tools([tool("slow"), tool("late"), tool("fast")])
        .on(call("slow"), [background([wait_file(dir.join("go")), text("slow")])])
        .on(call("late"), [background([wait_line("\"requestId\":$ID"), text("late")])]);
    let mut peer = Peer::start(&script);
    peer.call(1, "slow", json!({}));
    peer.call(2, "late", json!({}));
    peer.call(3, "fast", json!({}));
    assert_eq!(peer.json()["id"], json!(3));
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    assert_eq!(peer.json()["id"], json!(2));
    dir.write("go", "");
    assert_eq!(peer.text(), "slow");
}

#[test]
fn gathered_calls_are_answered_in_reverse() {
    let mut peer = Peer::start(&Script::new().on(call("echo"), [gather(50, [text("$ARG(i)")])]));
    (1..=50).for_each(|id| peer.call(id, "echo", json!({"i": id})));
    for id in (1..=50).rev() {
        let answer = peer.json();
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(id), &json!(id.to_string())));
    }
}

#[test]
fn sleeping_takes_its_time_from_the_call() {
    let mut peer = Peer::start(&Script::new().on(call("echo"), [background([sleep_arg("ms"), text("$ARG(ms)")])]));
    peer.call(1, "echo", json!({"ms": 150}));
    peer.call(2, "echo", json!({"ms": 1}));
    assert_eq!((peer.text(), peer.text()), ("1".to_owned(), "150".to_owned()));
}

#[test]
fn two_calls_are_answered_in_one_array() {
    let array = r#"[{"jsonrpc":"2.0","id":$(a),"result":{}},{"jsonrpc":"2.0","id":$ID,"result":{}}]"#;
    let script = Script::new().on(call("echo").nth(1), [set("a", "$ID")]).on(call("echo").nth(2), [line(array)]);
    let mut peer = Peer::start(&script);
    peer.send(r#"{"jsonrpc":"2.0","id":"one","method":"tools/call","params":{"name":"echo"}}"#);
    peer.call(2, "echo", json!({}));
    assert_eq!(peer.line(), array.replace("$(a)", "\"one\"").replace("$ID", "2"));
}
