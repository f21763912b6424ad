//! What servers answer with: every digit, every block and every byte arrives, and what is odd costs itself alone.

use serde_json::{Value, json};
use trunkline::{ErrorKind, RawJson};
use trunkline_tests::*;

use crate::rig::{Rig, everywhere, rig};

const NUMBERS: &str = r#"{"a":9007199254740993,"b":18446744073709551615,"c":123456789012345678901234567890,"d":1.0,"e":1e400,"f":-0.0,"g":0.1,"h":1E+2}"#;

/// Servers that answer each call with this, over each transport.
fn answering(answer: impl Into<Json>) -> impl Iterator<Item = Rig> {
    everywhere(Script::new().on(call("echo"), [respond(answer)]))
}

#[tokio::test]
async fn p36_numbers_keep_their_text_both_ways() {
    for rig in answering(raw(&format!(r#"{{"content":[],"structuredContent":{NUMBERS}}}"#))) {
        let result = rig.client.call("echo", RawJson::parse(NUMBERS).unwrap()).await.unwrap();
        assert_eq!(result.structured().unwrap().to_string(), NUMBERS);
        assert_eq!(rig.log.sent("tools/call")[0].raw_arguments(), NUMBERS);
    }
}

/// A `Value` holds what 64 bits hold, exactly; the nearest number it knows otherwise.
#[tokio::test]
async fn p36_values_are_exact_as_far_as_they_reach() {
    let texts = json!({"content": [{"type": "text", "text": NUMBERS}]}).to_string();
    for answer in [format!(r#"{{"content":[],"structuredContent":{NUMBERS}}}"#), texts] {
        for rig in answering(raw(&answer)) {
            let value = rig.client.call_tool("echo", ()).await.unwrap();
            assert_eq!((&value["a"], &value["b"]), (&json!(9_007_199_254_740_993_u64), &json!(u64::MAX)));
            assert_eq!((value["c"].as_f64(), &value["e"]), (Some(1.2345678901234568e29), &json!("1e400")));
            assert!(value["d"].is_f64() && value["d"] == json!(1.0), "1.0 is no 1: {value}");
            assert!(value["f"].as_f64().unwrap().is_sign_negative() && value["f"].is_f64(), "{value}");
            assert_eq!((&value["g"], &value["h"]), (&json!(0.1), &json!(100.0)));
            let sent = json!({"a": 9_007_199_254_740_993_u64, "b": u64::MAX, "d": 1.0, "i": i64::MIN, "g": 0.1});
            rig.client.call("echo", sent.clone()).await.unwrap();
            assert_eq!(rig.log.sent("tools/call")[1].raw_arguments(), sent.to_string());
        }
    }
}

#[tokio::test]
async fn p36_arguments_go_out_in_their_order_and_on_one_line() {
    let rig = rig(Script::new());
    let pretty = "{\n  \"z\": \"line\\nbreak\",\r\n  \"a\": [ 1,\n 2 ], \"\\u00e9\": \"\\/\"\n}";
    rig.client.call("echo", RawJson::parse(pretty).unwrap()).await.unwrap();
    assert_eq!(rig.log.sent("tools/call")[0].raw_arguments(), pretty.replace(['\n', '\r'], " "));
}

#[tokio::test]
async fn p36_what_is_no_number_is_an_error_at_once_and_the_session_lives_on() {
    for token in ["NaN", "Infinity", "-Infinity", "01", "1.", ".5", "0x1"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"structuredContent":{{"a":{token}}}}}}}"#);
        for rig in everywhere(Script::new().on(call("echo").nth(1), [trunkline_tests::line(&line)])) {
            let error = rig.call("echo").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{token}");
            assert!(error.message().contains("not valid JSON") && error.may_have_run(), "{error:?}");
            assert_eq!(rig.call("echo").await.unwrap(), "ok");
            assert_eq!(rig.starts(), 1);
        }
    }
}

#[tokio::test]
async fn p32_a_result_without_content_is_an_empty_one() {
    for answer in [json!({}), json!({"content": null}), json!({"content": []}), json!({"_meta": {"a": 1}})] {
        for rig in answering(answer.clone()) {
            let result = rig.client.call("echo", ()).await.unwrap();
            assert!(result.content().is_empty() && !result.is_error(), "{answer}");
            assert_eq!((result.text().as_str(), result.into_value("echo").unwrap()), ("", Value::Null), "{answer}");
        }
    }
    for answer in [json!(null), json!([]), json!("done")] {
        for rig in answering(answer.clone()) {
            let error = rig.client.call("echo", ()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{answer}");
        }
    }
}

#[tokio::test]
async fn p32_blocks_of_unknown_kinds_stand_beside_known_ones() {
    let blocks = json!([
        {"type": "text", "text": "A", "annotations": {"priority": 1.0}},
        {"type": "json", "json": {"k": 1}},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/ogg"},
        {"type": "resource", "resource": {"uri": "f:1", "text": "inside"}},
        {"type": "resource_link", "uri": "f:2", "name": "n", "size": 5},
        {"type": "hologram_v9", "x": 1},
        {"type": "text"},
        {"no": "type"},
        7,
    ]);
    for rig in answering(json!({"content": blocks})) {
        let result = rig.client.call("echo", ()).await.unwrap();
        let content = result.content();
        let kinds: Vec<_> = content.iter().map(|block| block.kind()).collect();
        assert_eq!(kinds, ["text", "json", "audio", "resource", "resource_link", "hologram_v9", "text", "", ""]);
        assert_eq!(result.text(), "A\ninside");
        assert_eq!(content[2].bytes().unwrap().unwrap(), [0, 0, 0]);
        assert_eq!((content[2].mime_type(), content[4].uri()), (Some("audio/ogg".into()), Some("f:2".into())));
        assert_eq!(content[6].text(), None);
        assert_eq!(content[5].raw().to_value(), json!({"type": "hologram_v9", "x": 1}));
        assert_eq!(result.into_value("echo").unwrap(), blocks);
    }
}

#[tokio::test]
async fn p32_content_that_is_no_list_is_read_as_its_one_block() {
    for content in [json!({"type": "text", "text": "hi"}), json!("hi")] {
        for rig in answering(json!({"content": content})) {
            let result = rig.client.call("echo", ()).await.unwrap();
            assert_eq!(result.text(), "hi", "{content}");
            assert_eq!(result.into_value("echo").unwrap(), json!("hi"), "{content}");
        }
    }
}

#[tokio::test]
async fn p33_structured_content_alone_is_the_result_whatever_its_type() {
    for structured in [json!({"status": "available", "n": 1}), json!([1, 2]), json!("x"), json!(7), json!(false)] {
        for answer in
            [json!({"content": [], "structuredContent": structured}), json!({"structuredContent": structured})]
        {
            for rig in answering(answer) {
                let result = rig.client.call("echo", ()).await.unwrap();
                assert_eq!(result.structured().unwrap().to_value(), structured);
                assert_eq!(result.text(), structured.to_string());
                assert_eq!(result.parse::<Value>("echo").unwrap(), structured);
                assert_eq!(result.into_value("echo").unwrap(), structured);
                let odd = "tool \"echo\" gave structured content that is no object".to_owned();
                assert_eq!(rig.client.warnings(), if structured.is_object() { vec![] } else { vec![odd] });
            }
        }
    }
}

#[tokio::test]
async fn p37_bytes_arrive_in_every_spelling() {
    let big = "AAECAwT/".repeat(1 << 20);
    let contents = json!([
        {"uri": "x:a", "blob": "AAECAwT/"},
        {"uri": "x:b", "mimeType": "application/gzip", "blob": big},
        {"uri": "x:c", "blob": "_-8"},
        {"uri": "x:c", "blob": "/+8="},
        {"uri": "x:d", "blob": "!!"},
        {"uri": "x:e", "text": "t", "blob": "AAAA"},
        {"uri": "x:f", "blob": "AAEC\r\nAwT/"},
        {"uri": "x:g", "blob": ""},
        {"uri": "x:h"},
    ]);
    let answer = [respond(json!({"contents": contents}))];
    for rig in everywhere(Script::new().resources([resource("x:a")]).on(read("x:a"), answer)) {
        assert_bytes(&rig, &contents).await;
    }
}

async fn assert_bytes(rig: &Rig, contents: &Value) {
    let read = rig.client.read_resource_contents("x:a").await.unwrap();
    assert_eq!(&read.raw().to_value()["contents"], contents, "fields stay what they are");
    let contents = read.contents();
    let blob = |at: usize| contents[at].blob().unwrap().unwrap();
    assert_eq!(blob(0), [0, 1, 2, 3, 4, 255]);
    assert_eq!((blob(1).len(), contents[1].mime_type().as_deref()), (6 << 20, Some("application/gzip")));
    assert!(blob(1).chunks(6).all(|chunk| chunk == [0, 1, 2, 3, 4, 255]));
    assert_eq!((blob(2), blob(3)), (vec![255, 239], vec![255, 239]));
    assert_eq!(contents[4].blob().unwrap_err().kind(), ErrorKind::Protocol, "an error of this item alone");
    assert_eq!((contents[5].text().as_deref(), blob(5)), (Some("t"), vec![0; 3]));
    assert_eq!((blob(6), blob(7)), (vec![0, 1, 2, 3, 4, 255], vec![]));
    assert_eq!((contents[8].text(), contents[8].blob().unwrap()), (None, None));
    assert_eq!(rig.client.read_resource("x:a").await.unwrap(), "t");
}

#[tokio::test]
async fn p37_bytes_alone_are_no_text_and_say_how_to_get_them() {
    for (contents, kind) in [
        (json!({"uri": "x:a", "blob": "AAAA"}), "application/octet-stream"),
        (json!({"uri": "x:a", "blob": "AAAA", "mimeType": "image/png"}), "image/png"),
    ] {
        let answer = json!({"contents": [contents]});
        let rig = rig(Script::new().resources([resource("x:a")]).on(read("x:a"), [respond(answer)]));
        let error = rig.client.read_resource("x:a").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(kind), "{error}");
        assert!(error.hint().unwrap().contains("read_resource_contents"), "{error:?}");
    }
}

#[tokio::test]
async fn p38_prompt_messages_keep_every_block_of_every_shape() {
    let messages = json!([
        {"role": "user", "content": {"type": "image", "data": "iVBORw0=", "mimeType": "image/png"}},
        {"role": "assistant", "content": [
            {"type": "resource", "resource": {"uri": "f:1", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "f:2", "name": "n", "size": 5}
        ]},
        {"role": "system", "content": {"type": "text", "text": "s"}},
        {"role": "user", "content": "plain"},
        {"role": 7, "content": null},
        {"content": {"type": "text", "text": "roleless"}},
    ]);
    let script =
        Script::new().prompts([prompt("p")]).on("prompts/get", [respond(json!({"messages": messages, "x": 1}))]);
    for rig in everywhere(script) {
        assert_messages(&rig, &messages).await;
    }
}

async fn assert_messages(rig: &Rig, messages: &Value) {
    let prompt = rig.client.get_prompt_messages("p", ()).await.unwrap();
    let odd = "prompt \"p\" has messages of roles that are neither \"user\" nor \"assistant\": \"system\", 7, none";
    assert_eq!(rig.client.warnings(), [odd]);
    assert_eq!(prompt.raw().to_value(), json!({"messages": messages, "x": 1}));
    let read = prompt.messages();
    let roles: Vec<_> = read.iter().map(|message| message.role()).collect();
    assert_eq!(roles, ["user", "assistant", "system", "user", "", ""]);
    let counts: Vec<_> = read.iter().map(|message| message.content().len()).collect();
    assert_eq!(counts, [1, 2, 1, 1, 0, 1]);
    assert_eq!(read[0].content()[0].bytes().unwrap().unwrap(), b"\x89PNG\r");
    assert_eq!(read[1].content()[0].embedded().unwrap().blob().unwrap().unwrap(), [0; 3]);
    assert_eq!(read[1].content()[1].uri().as_deref(), Some("f:2"));
    assert_eq!(read[3].content()[0].text().as_deref(), Some("plain"));
    assert!(prompt.text().ends_with("s\n\nplain\n\nroleless"), "{}", prompt.text());
}

#[tokio::test]
async fn p36_prompt_arguments_are_sent_as_text() {
    let rig = rig(Script::new().prompts([prompt("p")]));
    let arguments = RawJson::parse(r#"{"z":"text","n":9007199254740993,"o":{"a":1.0},"b":true,"none":null}"#).unwrap();
    rig.client.get_prompt("p", arguments).await.unwrap();
    let sent = r#"{"z":"text","n":"9007199254740993","o":"{\"a\":1.0}","b":"true"}"#;
    assert_eq!(rig.log.sent("prompts/get")[0].raw_arguments(), sent);
}

#[tokio::test]
async fn an_error_keeps_its_code_its_words_and_its_data() {
    let data = raw(r#"{"id":9007199254740993,"why":[1.0]}"#);
    let rig = rig(Script::new()
        .resources([resource("a:1")])
        .on(call("echo"), [respond_error_data(-32050, "quota \u{1F600}", data)])
        .on("resources/read", [respond_error(-32002, "gone")]));
    let error = rig.client.call("echo", ()).await.unwrap_err();
    assert_eq!((error.kind(), error.code(), error.message()), (ErrorKind::Protocol, Some(-32050), "quota \u{1F600}"));
    assert_eq!(error.data().unwrap().to_string(), r#"{"id":9007199254740993,"why":[1.0]}"#);
    let error = rig.client.read_resource("a:1").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, Some(-32002)));
}

#[tokio::test]
async fn raw_requests_pass_whatever_they_hold_both_ways() {
    let answer = raw(r#"{"future": 1.0, "z":null,"a":[ ]}"#);
    let rig = rig(Script::new().on("vendor/thing", [respond(answer)]));
    let params = RawJson::parse(r#"{"z": 1e2,"_meta":{"own":true},"a":null}"#).unwrap();
    let result = rig.client.request("vendor/thing", Some(params)).await.unwrap();
    assert_eq!(result.to_string(), r#"{"future": 1.0, "z":null,"a":[ ]}"#);
    let sent = rig.log.sent("vendor/thing")[0].params();
    assert_eq!((&sent["z"], &sent["_meta"]["own"], &sent["a"]), (&json!(100.0), &json!(true), &Value::Null));
    rig.client.request("vendor/thing", Some(RawJson::parse("[1]").unwrap())).await.unwrap();
    assert_eq!(rig.log.sent("vendor/thing")[1].raw_params(), "[1]");
}
