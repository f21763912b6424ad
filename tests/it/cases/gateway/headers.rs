//! What a client sends for the gateway stays there.

use serde_json::json;
use trunkline::{Client, MultiServer};
use trunkline_tests::http::*;

use super::serve;
use crate::serving_http::Peer;

#[tokio::test]
async fn p71_no_header_of_a_client_reaches_a_server_and_no_cookie_another() {
    let first = HttpScript::new().on(
        rpc_call("echo"),
        [act(|request| {
            let body = json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": {"content": []}});
            vec![send(reply(200).header("Set-Cookie", "u1=COOKIE-1; Path=/").json(body))]
        })],
    );
    let (first, second) = (first.start(), HttpScript::new().start());
    let mut multi = MultiServer::new();
    for (label, fake) in [("u1", &first), ("u2", &second)] {
        multi.add(Client::http(fake.url()).label(label).bearer(format!("own-{label}")).build().unwrap()).unwrap();
    }
    let serving = serve(multi, |http| http).await;
    let mut peer = Peer::of(&serving);
    let mine = [
        ("authorization", "Bearer SECRET-1"),
        ("cookie", "c=SECRET-2"),
        ("x-forwarded-for", "SECRET-3"),
        ("x-api-key", "SECRET-4"),
        ("proxy-authorization", "SECRET-5"),
    ];
    for (name, value) in mine {
        peer = peer.with(name, value);
    }
    let peer = peer.begun("2025-11-25").await;
    for (id, tool) in [(1, "u1_echo"), (2, "u2_echo"), (3, "u1_echo"), (4, "u2_echo")] {
        let answer = peer.call(id, tool, json!({"text": "x"})).await;
        assert!(answer.get("result").is_some(), "{answer}");
    }
    for (label, fake) in [("u1", &first), ("u2", &second)] {
        for request in fake.log().requests() {
            let all = format!("{request:?}");
            assert!(!all.contains("SECRET") && !all.contains("COOKIE-1"), "{label}: {all}");
            let own = format!("Bearer own-{label}");
            assert_eq!(request.header("authorization"), Some(own.as_str()));
        }
    }
}
