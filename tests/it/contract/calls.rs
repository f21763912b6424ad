//! Checks of calls and of what travels with them.

use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use serde_json::{Value, json};
use trunkline::{CallContext, Connection, ErrorKind, EventKind, IntoArguments, RawJson};
use trunkline_tests::contract::MEETING;

use super::kinds::Kind;

pub(super) async fn a_call_gives_a_plain_value(kind: Kind) {
    for (tool, arguments, value) in [
        ("echo", json!({"text": "hi"}), json!("hi")),
        ("add", json!({"a": 2, "b": -5}), json!({"sum": -3})),
        ("count", json!({"steps": 0}), json!(0)),
        ("chat", json!({}), Value::Null),
        ("picture", json!({}), json!({"type": "image", "data": "iVBORw==", "mimeType": "image/png"})),
    ] {
        assert_eq!(kind.client.call_tool(&kind.name(tool), arguments).await.unwrap(), value, "{tool}");
    }
    let sum = kind.client.call(&kind.name("add"), json!({"a": 1, "b": 1})).await.unwrap();
    assert_eq!(sum.raw().to_value()["structuredContent"], json!({"sum": 2}));
    let tools = kind.client.list_tools().await.unwrap();
    assert_eq!(tools[0].invoke(json!({"text": "by proxy"})).await.unwrap(), json!("by proxy"));
}

pub(super) async fn any_text_arrives_whole(kind: Kind) {
    let long = "x".repeat(1 << 20);
    for text in ["", " ", "a\nb\r\n\tc\0", "\"quoted\" \\ {json}", "日本語 🎉 \u{2028}\u{fffd}", "\u{feff}bom", &long]
    {
        let result = kind.client.call(&kind.name("echo"), json!({"text": text})).await.unwrap();
        assert!(result.text() == text, "{text:.40?} came back as {:.40?}", result.text());
    }
}

pub(super) async fn numbers_keep_every_digit(kind: Kind) {
    let numbers = r#"{"z":9007199254740993,"b":18446744073709551615,"c":123456789012345678901234567890,"d":1.0,"e":1e400,"f":-0.0,"g":0.1,"a":[1E2]}"#;
    let arguments = RawJson::parse(numbers).unwrap();
    let result = kind.client.call(&kind.name("mirror"), arguments).await.unwrap();
    assert_eq!(result.structured().unwrap().to_string(), numbers);
    assert_eq!(result.raw().get("future").unwrap().to_string(), "1");
}

pub(super) async fn an_error_result_is_a_result_until_it_is_unwrapped(kind: Kind) {
    let result = kind.client.call(&kind.name("fail"), ()).await.unwrap();
    assert!(result.is_error());
    assert_eq!(result.text(), "out of luck");
    let error = kind.client.call_tool(&kind.name("fail"), ()).await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Tool, "out of luck"));
    assert!(error.may_have_run() && error.tool_result().unwrap().is_error());
    assert_eq!(error.get("server"), Some(kind.client.label()));
}

pub(super) async fn an_unknown_tool_is_an_error_that_names_it(kind: Kind) {
    for tool in ["ecko", ""] {
        let error = kind.client.call_tool(&kind.name(tool), ()).await.unwrap_err();
        assert!(matches!((error.kind(), error.code()), (ErrorKind::NotFound, None) | (_, Some(-32602))), "{error:?}");
        assert!(error.message().contains(&format!("\"{}\"", kind.name(tool))), "{error:?}");
        assert!(!error.may_have_run() || error.code().is_some());
    }
}

pub(super) async fn wrong_arguments_are_an_error(kind: Kind) {
    for arguments in [json!({"a": "two", "b": 3}), json!({"a": 1}), json!({"a": 1.5, "b": 1})] {
        let error = kind.client.call_tool(&kind.name("add"), arguments.clone()).await.unwrap_err();
        let by_kind = (error.kind(), error.code());
        assert!(matches!(by_kind, (ErrorKind::InvalidArguments, None) | (_, Some(-32602))), "{arguments} {error:?}");
    }
    for arguments in [json!([1]), json!("text"), json!(7)] {
        let error = kind.client.call_tool(&kind.name("add"), arguments).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    }
}

pub(super) async fn calls_run_at_the_same_time(kind: Kind) {
    let meet = kind.name("meet");
    let met = join_all((0..MEETING).map(|_| kind.client.call_tool(&meet, ()))).await;
    let leaders = met.into_iter().filter(|met| *met.as_ref().unwrap() == json!(true)).count();
    assert_eq!(leaders, 1);
}

pub(super) async fn progress_reaches_the_sink_in_order(kind: Kind) {
    let (seen, sink) = collector();
    let call = kind.client.call(&kind.name("count"), json!({"steps": 20}));
    let result = call.on_progress(move |progress| sink(progress.clone())).await.unwrap();
    assert_eq!(result.text(), "20");
    let seen = seen.lock().unwrap();
    let steps: Vec<_> = seen.iter().map(|p| (p.progress, p.total, p.message.clone().unwrap())).collect();
    let all: Vec<_> = (1..=20).map(|n| (f64::from(n), Some(20.0), format!("step {n}"))).collect();
    let expected = if kind.in_order { &all } else { &all[..steps.len()] };
    assert_eq!(steps, expected);
}

pub(super) async fn a_log_message_arrives(kind: Kind) {
    let mut events = kind.client.events();
    let (seen, sink) = collector();
    let cx = CallContext::new().on_log(move |message| sink(message.clone()));
    kind.client.connection().call_tool(&kind.name("chat"), ().into_arguments().unwrap(), &cx).await.unwrap();
    let message = match kind.over_the_wire {
        false => seen.lock().unwrap().pop().expect("a message for the call's own sink"),
        true => loop {
            if let EventKind::Log(message) = events.next().await.unwrap().kind {
                break message;
            }
        },
    };
    assert_eq!((message.level.as_str(), message.text().as_str()), ("warning", "it is late"));
}

pub(super) async fn meta_reaches_the_tool(kind: Kind) {
    let meta = json!({"trace": {"id": "ü-1"}});
    let result = kind.client.call(&kind.name("meta"), ()).meta(meta).await.unwrap();
    assert_eq!(result.into_value("meta").unwrap(), json!({"id": "ü-1"}));
    assert_eq!(kind.client.call_tool(&kind.name("meta"), ()).await.unwrap(), Value::Null);
}

pub(super) async fn a_raw_request_gets_a_raw_answer(kind: Kind) {
    let request =
        async |method: &str, params: Value| kind.client.request(method, Some(params.into())).await.unwrap().to_value();
    assert_eq!(request("ping", json!({})).await, json!({}));
    let params = json!({"name": kind.name("mirror"), "arguments": {"k": 1}, "_meta": {"m": 1}});
    assert_eq!(request("tools/call", params).await["structuredContent"], json!({"k": 1}));
    let tools = request("tools/list", json!({})).await["tools"].clone();
    assert_eq!(tools[0]["name"], json!(kind.name("echo")));
    let read = request("resources/read", json!({"uri": "square://3"})).await;
    assert_eq!(read["contents"][0]["text"], "9");
    let prompt = request("prompts/get", json!({"name": kind.name("talk"), "arguments": {"about": "tea"}})).await;
    assert_eq!(prompt["messages"][0]["content"]["text"], "Talk about tea.");
    let forged = kind.client.request("tools/list", Some(json!({"cursor": "forged"}).into())).await.unwrap_err();
    assert!(forged.message().contains("Unknown cursor"), "{forged:?}");
}

pub(super) async fn an_unknown_method_is_refused(kind: Kind) {
    let error = kind.client.request("vendor/thing", Some(json!({"x": 1}).into())).await.unwrap_err();
    assert!(matches!((error.kind(), error.code()), (ErrorKind::Unsupported, _) | (_, Some(-32601))), "{error:?}");
    assert!(error.message().contains("vendor/thing"), "{error:?}");
}

/// A list, and what puts things into it.
fn collector<T: Send + 'static>() -> (Arc<Mutex<Vec<T>>>, impl Fn(T) + Send + Sync + 'static) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    (seen, move |item| sink.lock().unwrap().push(item))
}
