//! Tokens that are bound to a key: a proof with every request.

use std::collections::HashSet;

use serde_json::json;
use trunkline::{MemoryStore, OAuth};
use trunkline_tests::authority::Dpop;

use super::{Stage, echo};

fn bound(dpop: Dpop) -> Stage {
    let stage = Stage::new();
    stage.authority.set(|it| it.dpop = dpop);
    stage
}

#[tokio::test]
async fn every_request_has_a_proof_of_its_own() {
    let stage = bound(Dpop::On);
    let client = stage.client();
    for n in 0..3 {
        assert_eq!(echo(&client, &n.to_string()).await.unwrap(), json!(n));
    }
    stage.assert_orderly();
    let sent = stage.server.log().requests();
    let with_token: Vec<_> = sent.iter().filter(|request| request.header("authorization").is_some()).collect();
    let proofs: HashSet<_> = with_token.iter().filter_map(|request| request.header("dpop")).collect();
    assert!(with_token.len() >= 4 && proofs.len() == with_token.len(), "{with_token:?}");
    assert!(with_token.iter().all(|request| request.header("authorization").unwrap().starts_with("DPoP ")));
}

#[tokio::test]
async fn the_nonce_of_each_server_is_taken() {
    let stage = bound(Dpop::Nonces);
    stage.server.set(|it| it.nonces = true);
    let client = stage.client();
    echo(&client, "x").await.unwrap();
    stage.server.change_nonce();
    echo(&client, "y").await.unwrap();
    stage.authority.change_nonce();
    stage.authority.expire();
    echo(&client, "z").await.unwrap();
    assert_eq!(
        (stage.person.asked().len(), stage.authority.grants("refresh_token")),
        (1, 2),
        "one of them in vain, for its nonce"
    );
    stage.assert_orderly();
}

#[tokio::test]
async fn a_kept_login_keeps_its_key() {
    let stage = bound(Dpop::On);
    let store = MemoryStore::default();
    let oauth = OAuth::new().store(store);
    echo(&stage.client_with(oauth.clone()), "x").await.unwrap();
    stage.authority.expire();
    assert_eq!(echo(&stage.headless(oauth), "y").await.unwrap(), json!("y"));
    assert_eq!(stage.authority.grants("refresh_token"), 1);
    stage.assert_orderly();
}
