//! Ids belong to one client's session: the same number from another client, or on the way to a server, is another.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use serde_json::{Value, json};
use trunkline::{Client, HttpAnswers};
use trunkline_tests::*;

use super::{Gateway, serve};

/// Answers with the arguments, after a while that the caller says.
fn dawdling() -> Script {
    Script::new().on(call("echo"), [background([sleep_arg("ms"), echo_args()])])
}

#[tokio::test]
async fn p92_clients_with_equal_ids_get_their_own_answers() {
    for answers in [HttpAnswers::Json, HttpAnswers::Sse] {
        let gateway = Gateway::of([("s", dawdling())]).await;
        let serving = serve(gateway.servers.multi.clone(), |http| http.answers(answers)).await;
        let clients = ["A", "B", "C"].map(|name| (name, Client::http(serving.url()).label(name).build().unwrap()));
        let calls = clients.iter().flat_map(|(name, client)| {
            (0..100).map(move |n| async move {
                let asked = json!({"who": format!("{name}-{n}"), "ms": (n * 7) % 50});
                assert_eq!(client.call_tool("s_echo", asked.clone()).await.unwrap(), asked);
            })
        });
        join_all(calls).await;
        let ids: BTreeSet<_> =
            gateway.servers.log("s").sent("tools/call").iter().map(|sent| sent.id().to_string()).collect();
        assert_eq!(ids.len(), 300, "the server sees each id once");
    }
}

#[tokio::test]
async fn p92_progress_and_cancellation_reach_their_own_call() {
    let dir = TempDir::new();
    let told = json!({"progressToken": "$TOKEN", "progress": 1, "message": "$ARG(who)"});
    let script = Script::new().on(
        call("echo"),
        [background([notify_with("notifications/progress", told), wait_file(dir.join("go")), echo_args()])],
    );
    let gateway = Gateway::of([("s", script)]).await;
    let heard: Arc<Mutex<Vec<(&str, String)>>> = Arc::default();
    let calling = ["A", "B"].map(|name| {
        let (client, heard) = (gateway.client(name).build().unwrap(), heard.clone());
        tokio::spawn(async move {
            let call = client.call("s_echo", json!({"who": name})).on_progress(move |progress| {
                heard.lock().unwrap().push((name, progress.message.clone().unwrap_or_default()));
            });
            call.await.map(|result| result.text())
        })
    });
    while heard.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    let mut told = heard.lock().unwrap().clone();
    told.sort();
    assert_eq!(told, [("A", "A".to_owned()), ("B", "B".to_owned())]);
    let log = gateway.servers.log("s");
    let [first, second] = calling;
    first.abort();
    let cancelled = offload({
        let log = log.clone();
        move || log.wait_sent("notifications/cancelled", 1)
    });
    let cancelled = cancelled.await[0].params()["requestId"].clone();
    let calls = log.sent("tools/call");
    let of_a = calls.iter().find(|sent| sent.params()["arguments"]["who"] == "A").unwrap();
    assert_eq!(cancelled, of_a.id());
    dir.write("go", "");
    assert_eq!(second.await.unwrap().unwrap(), r#"{"who":"B"}"#);
    assert_eq!(log.sent("notifications/cancelled").len(), 1);
}

/// The numbers that clients gave never leave the gateway as they are; texts, odd numbers and large ones come back.
#[tokio::test]
async fn p92_a_client_s_own_kind_of_id_comes_back() {
    use crate::serving_http::{Peer, call};

    let gateway = Gateway::of([("s", dawdling())]).await;
    let peer = Peer::begin(&gateway.serving, "2025-11-25").await;
    for id in [json!("abc"), json!(7), json!("7"), json!(9_007_199_254_740_993_u64)] {
        let mut message = call(0, "s_echo", json!({"ms": 0, "id": id}));
        message["id"] = id.clone();
        let answer = peer.post(message).await.answer().await;
        assert_eq!(answer["id"], id);
        let text: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text["id"], id);
    }
}
