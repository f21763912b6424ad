use bytes::Bytes;

use super::*;
use crate::protocol::RawJson;
use proptest::prelude::*;

fn all(line: &'static str) -> Vec<Result<Message, Unreadable>> {
    let mut out = Vec::new();
    split(Bytes::from_static(line.as_bytes()), &mut |message| out.push(message));
    out
}

fn one(line: &'static str) -> Result<Message, Unreadable> {
    let mut all = all(line);
    assert_eq!(all.len(), 1, "{line}");
    all.remove(0)
}

#[test]
fn an_answer_keeps_its_result_verbatim() {
    let Ok(Message::Response { id: 7, outcome: Outcome::Result(result), no_version: false, .. }) =
        one(r#"{"result":{"a": 1.0},"id":7,"jsonrpc":"2.0"}"#)
    else {
        panic!()
    };
    assert_eq!(result.to_string(), r#"{"a": 1.0}"#);
}

#[test]
fn ids_in_quotes_match_only_when_canonical() {
    assert!(matches!(one(r#"{"id":"7","result":1}"#), Ok(Message::Response { id: 7, id_was_text: true, .. })));
    for line in [
        r#"{"id":"07","result":1}"#,
        r#"{"id":"1.0","result":1}"#,
        r#"{"id":" 1","result":1}"#,
        r#"{"id":1.0,"result":1}"#,
    ] {
        assert!(matches!(one(line), Ok(Message::Stray { id: Some(_), .. })), "{line}");
    }
}

#[test]
fn malformed_answers_still_name_their_request() {
    for line in [r#"{"jsonrpc":"2.0","id":3}"#, r#"{"jsonrpc":"2.0","id":3,"result":{},"error":{}}"#] {
        assert!(matches!(one(line), Ok(Message::Response { id: 3, outcome: Outcome::Malformed(_), .. })), "{line}");
    }
    let Ok(Message::Response { outcome: Outcome::Error(error), .. }) = one(r#"{"id":3,"error":"oops"}"#) else {
        panic!()
    };
    assert_eq!(error.message, "oops");
    let Ok(Message::Response { outcome: Outcome::Error(error), .. }) =
        one(r#"{"id":3,"error":{"code":"E1","message":5}}"#)
    else {
        panic!()
    };
    assert_eq!((error.code, error.message.as_str()), (INTERNAL_ERROR, "5"));
    assert!(matches!(
        one(r#"{"id":3,"result":{},"error":null}"#),
        Ok(Message::Response { outcome: Outcome::Result(_), .. })
    ));
}

#[test]
fn a_broken_line_gives_up_its_id() {
    for line in [
        r#"{"jsonrpc":"2.0","id":3,"result":{"a":NaN}}"#,
        r#"{"jsonrpc":"2.0","result":{"a":NaN,"id":9},"id":3}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"a":"#,
    ] {
        assert!(matches!(one(line), Err(Unreadable::Broken { id: Some(3), .. })), "{line}");
    }
    assert!(matches!(one("{not json"), Err(Unreadable::Noise)));
    assert!(matches!(one("listening on 80"), Err(Unreadable::Noise)));
    assert!(matches!(one(r#"{"type":"heartbeat"}"#), Err(Unreadable::NotRpc)));
}

#[test]
fn batches_come_apart() {
    let messages = all(r#"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","method":"m"}, 5]"#);
    assert!(matches!(
        messages.as_slice(),
        [Ok(Message::Response { id: 1, .. }), Ok(Message::Notification { .. }), Err(Unreadable::NotRpc)]
    ));
    assert!(all("[]").is_empty());
    assert!(matches!(one("[INFO] listening"), Err(Unreadable::Noise)));
}

#[test]
fn a_broken_member_of_a_batch_costs_itself() {
    let messages = all(r#"[{"jsonrpc":"2.0","id":1,"result":NaN},{"jsonrpc":"2.0","id":2,"result":2}"#);
    assert!(matches!(
        messages.as_slice(),
        [Err(Unreadable::Broken { id: Some(1), .. }), Ok(Message::Response { id: 2, .. })]
    ));
    assert!(matches!(
        all(r#"[{"jsonrpc":"2.0","id":1,"result":"\ud83d"}]"#).as_slice(),
        [Ok(Message::Response { id: 1, outcome: Outcome::Result(_), .. })]
    ));
}

#[test]
fn null_is_as_good_as_absent() {
    for (line, error) in [
        (r#"{"id":3,"method":null,"params":null,"result":{}}"#, false),
        (r#"{"id":3,"result":null,"error":{"code":-1,"message":"no"}}"#, true),
        (r#"{"id":3,"result":{},"error":null}"#, false),
    ] {
        let Ok(Message::Response { id: 3, outcome, .. }) = one(line) else { panic!("{line}") };
        assert_eq!(matches!(outcome, Outcome::Error(_)), error, "{line}");
        assert_eq!(matches!(outcome, Outcome::Result(_)), !error, "{line}");
    }
}

#[test]
fn one_bad_character_costs_one_character() {
    let mut out = Vec::new();
    let repaired = split(Bytes::from_static(b"{\"id\":1,\"result\":\"caf\xE9 \\ud83d\"}"), &mut |m| out.push(m));
    assert!(repaired);
    let Ok(Message::Response { outcome: Outcome::Result(result), .. }) = &out[0] else { panic!() };
    assert_eq!(result.as_text().unwrap(), "caf\u{fffd} \u{fffd}");
}

#[test]
fn what_is_written_is_one_line() {
    let pretty = RawJson::parse("{\n  \"a\": \"x\\ny\"\r\n}").unwrap();
    let line = request(1, "tools/call", Params::Raw(&pretty), Meta::default());
    assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
    assert!(matches!(one(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#), Ok(Message::Request { .. })));
}

#[test]
fn meta_is_added_whatever_the_parameters_are() {
    let mine = RawJson::parse(r#"{"k":1}"#).unwrap();
    let stamp = RawJson::parse(r#"{"k":9,"v":"1"}"#).unwrap();
    let (plain, full) =
        (Meta { progress: true, ..Meta::default() }, Meta { members: Some(&mine), progress: true, stamp: None });
    let stamped = Meta { stamp: Some(&stamp), ..Meta::default() };
    let theirs = RawJson::parse(r#"{"a":1,"_meta":{"k":0,"x":2}}"#).unwrap();
    let list = RawJson::parse("[1]").unwrap();
    let line = |params, meta| String::from_utf8(request(7, "m", params, meta).to_vec()).unwrap();
    let start = r#"{"jsonrpc":"2.0","id":7,"method":"m""#;
    for (params, meta, rest) in [
        (Params::None, Meta::default(), "}\n"),
        (Params::None, plain, ",\"params\":{\"_meta\":{\"progressToken\":7}}}\n"),
        (Params::Fields(&[("t", Field::Text("a\"b"))]), Meta::default(), ",\"params\":{\"t\":\"a\\\"b\"}}\n"),
        (
            Params::Fields(&[("t", Field::Json(&mine))]),
            full,
            ",\"params\":{\"t\":{\"k\":1},\"_meta\":{\"k\":1,\"progressToken\":7}}}\n",
        ),
        (Params::Raw(&list), plain, ",\"params\":[1]}\n"), // no place for `_meta`
        (Params::None, stamped, ",\"params\":{\"_meta\":{\"k\":9,\"v\":\"1\"}}}\n"),
        (
            Params::None,
            Meta { progress: true, ..stamped },
            ",\"params\":{\"_meta\":{\"k\":9,\"v\":\"1\",\"progressToken\":7}}}\n",
        ),
        (
            Params::Raw(&theirs),
            Meta { members: Some(&mine), ..stamped },
            ",\"params\":{\"a\":1,\"_meta\":{\"k\":9,\"x\":2,\"v\":\"1\"}}}\n",
        ),
        (Params::Raw(&theirs), full, ",\"params\":{\"a\":1,\"_meta\":{\"k\":1,\"x\":2,\"progressToken\":7}}}\n"),
    ] {
        assert_eq!(line(params, meta), format!("{start}{rest}"));
    }
}

/// Pieces of messages, so that what is thrown at the reader is nearly right.
fn nearly_messages() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\"jsonrpc\":\"2.0\"",
        "\"id\":1",
        "\"id\":\"1\"",
        "\"id\":null",
        "\"result\":{}",
        "\"error\":{\"code\":-1}",
        "\"error\":\"x\"",
        "\"method\":\"m\"",
        "\"params\":[1]",
        "NaN",
        "\\ud83d",
        "é",
        "\u{0}",
        "\n",
        " ",
    ];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_comes_is_split_into_what_another_parser_sees(text in prop_oneof![nearly_messages(), ".*"]) {
        laws::envelope(text.as_bytes());
    }
}
