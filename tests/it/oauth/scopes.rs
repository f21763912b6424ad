//! Which scopes are asked for, at first and when they aren't enough.

use serde_json::json;
use trunkline::{ErrorKind, MemoryStore, OAuth};

use super::{Stage, echo};

#[tokio::test]
async fn scopes_come_from_the_refusal_else_from_the_metadata_else_from_nobody() {
    for (demanded, recommended, asked) in
        [(Some("a b"), Some(vec!["c"]), Some("a b")), (None, Some(vec!["c", "d"]), Some("c d")), (None, None, None)]
    {
        let stage = Stage::new();
        stage.server.set(|it| (it.scope, it.scopes_supported) = (demanded.map(str::to_owned), recommended));
        echo(&stage.client(), "x").await.unwrap();
        assert_eq!(stage.person.opened("scope"), [asked.map(str::to_owned)]);
        stage.assert_orderly();
    }
}

#[tokio::test]
async fn a_refresh_token_is_asked_for_only_where_that_is_offered() {
    let stage = Stage::new();
    stage.server.set(|it| it.scopes_supported = Some(vec!["c", "offline_access"]));
    echo(&stage.client(), "x").await.unwrap();
    assert_eq!((stage.person.scopes(), stage.person.opened("prompt")), (vec!["c".to_owned()], vec![None]));

    let stage = Stage::new();
    stage.server.set(|it| it.scope = Some("c".to_owned()));
    stage.authority.set(|it| it.patch = json!({"scopes_supported": ["c", "offline_access"]}));
    echo(&stage.client(), "x").await.unwrap();
    assert_eq!(stage.person.scopes(), ["c offline_access"]);
    assert_eq!(stage.person.opened("prompt"), [Some("consent".to_owned())]);
}

/// A server whose tools want the scope `w`, and everything else `r`.
fn stepping() -> Stage {
    let stage = Stage::new();
    stage.server.set(|it| {
        it.scope = Some("r".to_owned());
        it.scopes_supported = Some(vec!["profile"]);
        it.scopes = vec![("tools/call", "w")];
    });
    stage
}

#[tokio::test]
async fn p70_a_scope_that_lacks_is_asked_for_beside_those_before() {
    let stage = stepping();
    let client = stage.client();
    client.list_tools().await.unwrap();
    for _ in 0..2 {
        assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    }
    assert_eq!(stage.person.scopes(), ["r", "r w"]);
    assert_eq!(stage.authority.grants("refresh_token"), 0, "only a new authorization adds scopes");
    stage.assert_orderly();
}

#[tokio::test]
async fn p70_a_scope_that_is_never_enough_is_asked_for_twice() {
    let stage = stepping();
    stage.server.set(|it| it.hopeless = true);
    let client = stage.client();
    client.list_tools().await.unwrap();
    let error = stage.refused(&client).await;
    assert_eq!((error.kind(), error.get("error")), (ErrorKind::Auth, Some("insufficient_scope")));
    assert_eq!(stage.person.scopes(), ["r", "r w", "r w"]);
    assert_eq!(stage.server.log().rpc("tools/call").len(), 3);
    assert!(!error.may_have_run());
}

#[tokio::test]
async fn p70_without_a_person_the_error_names_the_scopes_and_the_command() {
    let stage = stepping();
    let store = MemoryStore::default();
    stage.client_with(OAuth::new().store(store.clone())).list_tools().await.unwrap();
    let error = stage.refused(&stage.headless(OAuth::new().store(store))).await;
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert_eq!((error.get("error"), error.get("scopes")), (Some("insufficient_scope"), Some("w")));
    assert!(error.message().contains("\"w\""), "{error}");
    assert!(error.hint().unwrap().contains("trunkline login fake --scope r --scope w"), "{error:?}");
    assert_eq!(stage.authority.grants("refresh_token"), 0);
    assert_eq!(stage.person.asked().len(), 1);
}

#[tokio::test]
async fn a_refusal_for_another_reason_asks_nobody() {
    let stage = Stage::new();
    let client = stage.client();
    client.list_tools().await.unwrap();
    stage.server.set(|it| it.statuses = vec![("/mcp".to_owned(), 403)]);
    let error = stage.refused(&client).await;
    assert_eq!((error.kind(), error.get("status")), (ErrorKind::Auth, Some("403")));
    assert_eq!(stage.person.asked().len(), 1);
}

#[tokio::test]
async fn a_login_that_nobody_can_be_asked_for_says_how() {
    let stage = Stage::new();
    let error = stage.refused(&stage.headless(OAuth::new())).await;
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(error.message().contains("wants a login"), "{error}");
    assert!(error.hint().unwrap().contains("trunkline login fake"), "{error:?}");
    assert!(stage.authority.log().requests().is_empty());
}
