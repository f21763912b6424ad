//! What a server asks over HTTP: on the stream of a call, or on the standing one. Each answer is a POST.

use serde_json::json;
use trunkline::{EventKind, Handlers};
use trunkline_tests::http::*;

use super::at;

const OK: &str = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"ok"}]}}"#;

fn handlers() -> Handlers {
    Handlers::new()
        .roots(["file:///a"])
        .on("elicitation/create", json!({"elicitation": {}}), |_| async { Ok(json!({"action": "accept"}).into()) })
        .on("sampling/createMessage", json!({"sampling": {}}), |_| async { Ok(json!({"role": "assistant"}).into()) })
}

fn asked() -> [(&'static str, &'static str, serde_json::Value); 5] {
    [
        ("q-1", "elicitation/create", json!({"action": "accept"})),
        ("q-2", "sampling/createMessage", json!({"role": "assistant"})),
        ("q-3", "ping", json!({})),
        ("q-4", "roots/list", json!({"roots": [{"uri": "file:///a"}]})),
        ("q-5", "foo/bar", serde_json::Value::Null),
    ]
}

fn check(fake: &HttpFake) {
    let replies = fake.log().replies();
    assert_eq!(replies.len(), 5);
    for (id, method, wanted) in asked() {
        let reply = replies.iter().find(|reply| reply.json()["id"] == json!(id)).expect(id);
        assert_eq!(reply.header("mcp-session-id"), Some("A"));
        assert_eq!(reply.header("mcp-protocol-version"), Some("2025-06-18"));
        match wanted.is_null() {
            true => assert_eq!(reply.json()["error"]["code"], json!(-32601), "{method}"),
            false => assert_eq!(reply.json()["result"], wanted, "{method}"),
        }
    }
}

#[tokio::test]
async fn p26_a_call_s_stream_may_ask() {
    let ask = asked().map(|(id, method, _)| event(Event::request(json!(id), method, json!({}))));
    let all = asked().map(|(id, ..)| wait_request(post().contains(&format!("\"{id}\""))));
    let steps = [vec![sse()], ask.to_vec(), all.to_vec(), vec![event(Event::data(OK))]].concat();
    let fake = HttpScript::new().on(rpc_call("echo"), steps).start();
    let client = at(fake.url()).handler(handlers()).build().unwrap();
    assert_eq!(client.call("echo", ()).await.unwrap().text(), "ok");
    check(&fake);
    assert_eq!(fake.log().rpc("initialize")[0].params()["capabilities"].as_object().unwrap().len(), 3);
}

#[tokio::test]
async fn p26_the_standing_stream_may_ask() {
    let fake = HttpScript::new().listening().start();
    let client = at(fake.url()).handler(handlers()).build().unwrap();
    client.connect().await.unwrap();
    for (id, method, _) in asked() {
        fake.push(Event::request(json!(id), method, json!({})));
    }
    fake.log().wait_for("the answers", |log| (log.replies().len() == 5).then_some(())).await;
    check(&fake);
}

#[tokio::test]
async fn what_is_said_beside_an_answer_is_heard() {
    let log = Event::notification("notifications/message", json!({"level": "info", "data": "hello"}));
    let changed = Event::notification("notifications/tools/list_changed", json!({}));
    let fake =
        HttpScript::new().on(rpc_call("echo"), [sse(), event(log), event(Event::data(OK)), event(changed)]).start();
    let client = at(fake.url()).build().unwrap();
    let mut events = client.events();
    client.call("echo", ()).await.unwrap();
    let mut heard = 0;
    while heard < 2 {
        match events.next().await.unwrap().kind {
            EventKind::Log(message) => heard += usize::from(message.text() == "hello"),
            EventKind::ToolsChanged => heard += 1,
            _ => {}
        }
    }
}
