//! Tokens without a person at a browser.

use serde_json::json;
use trunkline::{ErrorKind, Grant, IdentityProvider, OAuth, Secret, SigningAlgorithm};
use trunkline_tests::authority::{Authority, Known, TestKey};

use super::{Stage, echo};

fn known(stage: &Stage, method: &str, secret: Option<&str>) {
    stage.authority.know(Known {
        id: "service 1".to_owned(),
        secret: secret.map(str::to_owned),
        method: method.to_owned(),
        ..Known::default()
    });
}

#[tokio::test]
async fn a_service_logs_in_with_its_secret() {
    for method in ["client_secret_basic", "client_secret_post"] {
        let stage = Stage::new();
        stage.authority.set(|it| (it.methods, it.registration) = (vec![method], false));
        known(&stage, method, Some("s:cr%t/1234"));
        stage.server.set(|it| it.scope = Some("a b".to_owned()));
        let oauth = OAuth::new().client("service 1", Some("s:cr%t/1234".into())).grant(Grant::ClientCredentials);
        let client = stage.headless(oauth);
        echo(&client, "x").await.unwrap_or_else(|error| panic!("{method}: {error:?}"));
        stage.authority.expire();
        echo(&client, "y").await.unwrap();
        assert_eq!(stage.authority.grants("client_credentials"), 2);
        stage.assert_orderly();
    }
}

#[tokio::test]
async fn a_service_signs_with_its_key() {
    let (stage, key) = (Stage::new(), TestKey::new());
    stage.authority.set(|it| it.methods = vec!["private_key_jwt"]);
    let id = "signer".to_owned();
    stage.authority.know(Known { id, method: "private_key_jwt".to_owned(), key: key.public(), ..Known::default() });
    let oauth = OAuth::new().client("signer", None).private_key(key.pem(), SigningAlgorithm::Es256);
    echo(&stage.headless(oauth.grant(Grant::ClientCredentials)), "x").await.unwrap();
    stage.assert_orderly();
}

#[tokio::test]
async fn a_key_that_can_t_be_used_is_told_and_not_shown() {
    let stage = Stage::new();
    for pem in ["s3cr3t-key", "-----BEGIN PRIVATE KEY-----\nczNjcjN0LWtleQ==\n-----END PRIVATE KEY-----\n"] {
        let oauth = OAuth::new().client("signer", None).private_key(pem, SigningAlgorithm::Es256);
        let error = stage.refused(&stage.headless(oauth.grant(Grant::ClientCredentials))).await;
        assert_eq!(error.kind(), ErrorKind::Config, "{error:?}");
        assert!(
            !super::all_of(&error).contains("czNjcjN0LWtleQ") && !super::all_of(&error).contains("s3cr3t"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_service_gets_more_scopes_by_asking() {
    let stage = Stage::new();
    known(&stage, "client_secret_basic", Some("s3cr3t-1234"));
    stage.authority.set(|it| it.methods = vec!["client_secret_basic"]);
    stage.server.set(|it| (it.scope, it.scopes) = (Some("r".to_owned()), vec![("tools/call", "w")]));
    let oauth = OAuth::new().client("service 1", Some("s3cr3t-1234".into())).grant(Grant::ClientCredentials);
    let client = stage.headless(oauth);
    client.list_tools().await.unwrap();
    echo(&client, "x").await.unwrap();
    assert_eq!(stage.authority.grants("client_credentials"), 2);
    stage.assert_orderly();
}

#[tokio::test]
async fn a_workload_shows_its_assertion() {
    let stage = Stage::new();
    known(&stage, "none", None);
    stage.authority.take_assertion("workload-jwt-1234");
    let grant = Grant::jwt_bearer(Secret::new("workload-jwt-1234"));
    let client = stage.headless(OAuth::new().client("service 1", None).grant(grant));
    echo(&client, "x").await.unwrap();
    stage.assert_orderly();
}

#[tokio::test]
async fn an_assertion_that_is_refused_is_shown_once_and_nothing_else_is_tried() {
    let stage = Stage::new();
    known(&stage, "none", None);
    let grant = Grant::jwt_bearer(Secret::new("expired-jwt-1234"));
    let client = stage.client_with(OAuth::new().client("service 1", None).grant(grant));
    let error = stage.refused(&client).await;
    assert_eq!((error.kind(), error.get("error")), (ErrorKind::Auth, Some("invalid_grant")));
    assert!(!super::all_of(&error).contains("expired-jwt-1234"), "{error:?}");
    assert_eq!(stage.authority.requests("/token"), 1);
    assert!(stage.person.asked().is_empty());
}

#[tokio::test]
async fn an_identity_provider_speaks_for_an_employee() {
    let (stage, provider) = (Stage::new(), Authority::start());
    stage.authority.set(|it| it.methods = vec!["client_secret_basic"]);
    known(&stage, "client_secret_basic", Some("s3cr3t-1234"));
    stage.authority.trust(&provider);
    provider.know_identity("identity-token-1234");
    provider.know(Known { id: "app-at-idp".to_owned(), method: "none".to_owned(), ..Known::default() });
    provider.know_resource(&stage.server.url());
    let identity = IdentityProvider::new(format!("{}/token", provider.issuer()), Secret::new("identity-token-1234"));
    let oauth = OAuth::new().client("service 1", Some("s3cr3t-1234".into()));
    let client = stage.headless(oauth.grant(Grant::Enterprise(identity.client("app-at-idp", None))));
    assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    assert_eq!(provider.refusals(), [""; 0]);
    stage.assert_orderly();
    let unknown = IdentityProvider::new(format!("{}/token", provider.issuer()), Secret::new("nobody-1234"));
    let oauth = OAuth::new().client("service 1", Some("s3cr3t-1234".into()));
    let error =
        stage.refused(&stage.headless(oauth.grant(Grant::Enterprise(unknown.client("app-at-idp", None))))).await;
    assert!(error.message().contains("invalid_grant") && !super::all_of(&error).contains("nobody-1234"), "{error:?}");
}
