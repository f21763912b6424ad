//! Finding out how to log in: every place is asked in its turn, what is found there is held against who was asked.

use serde_json::json;
use trunkline::{ErrorKind, OAuth};
use trunkline_tests::authority::Form;

use super::{Stage, echo};

const PRM: &str = "/.well-known/oauth-protected-resource";
const AS: &str = "/.well-known/oauth-authorization-server";
const OIDC: &str = "/.well-known/openid-configuration";

#[tokio::test]
async fn p68_any_4xx_leads_to_the_next_place() {
    for status in [400, 401, 403, 404, 405, 410, 429] {
        let stage = Stage::new();
        stage.server.set(|it| {
            it.challenges = false;
            it.metadata_at = Some(PRM.to_owned());
            it.statuses = vec![(format!("{PRM}/mcp"), status)];
            it.patch = json!({"resource": null});
        });
        stage.authority.set(|it| {
            it.form = Form::OidcInserted;
            it.statuses = vec![(AS.to_owned(), status)];
        });
        assert_eq!(echo(&stage.client(), "x").await.unwrap(), json!("x"), "{status}");
        stage.assert_orderly();
    }
}

#[tokio::test]
async fn p68_where_nothing_is_found_every_place_is_told_with_its_status() {
    let stage = Stage::new();
    stage.server.set(|it| {
        it.tells_metadata = false;
        it.metadata_at = None;
        it.statuses = vec![(format!("{PRM}/mcp"), 401), (AS.to_owned(), 403)];
    });
    let error = stage.refused(&stage.client()).await;
    assert_eq!(error.kind(), ErrorKind::Auth);
    let origin = stage.server.origin();
    for (path, status) in
        [(format!("{PRM}/mcp"), 401), (PRM.to_owned(), 404), (AS.to_owned(), 403), (OIDC.to_owned(), 404)]
    {
        let told = format!("{origin}{path} ({status})");
        assert!(error.message().contains(&told) && error.get("tried").unwrap().contains(&told), "{error:?}");
    }
    assert!(stage.person.asked().is_empty());

    let stage = Stage::new();
    stage.authority.set(|it| it.form = Form::Absent);
    let error = stage.refused(&stage.client()).await;
    assert!(error.message().contains(&format!("{}{AS} (404)", stage.authority.origin())), "{error}");
    assert!(stage.person.asked().is_empty());
}

#[tokio::test]
async fn p68_a_server_that_fails_is_an_error_and_not_the_next_place() {
    let stage = Stage::new();
    stage.server.set(|it| it.statuses = vec![(format!("{PRM}/mcp"), 503)]);
    let error = stage.refused(&stage.client()).await;
    assert!(error.message().contains("503") && error.message().contains(PRM), "{error}");
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(stage.authority.log().requests().is_empty());

    let stage = Stage::new();
    stage.authority.set(|it| it.statuses = vec![(AS.to_owned(), 500)]);
    let error = stage.refused(&stage.client()).await;
    assert!(error.message().contains("500") && error.message().contains(AS), "{error}");
    assert_eq!(stage.authority.requests(OIDC), 0);
}

#[tokio::test]
async fn the_place_that_the_refusal_names_is_asked_first_and_alone() {
    let stage = Stage::new();
    stage.server.set(|it| it.metadata_at = Some("/custom/metadata.json".to_owned()));
    echo(&stage.client(), "x").await.unwrap();
    let asked: Vec<_> = stage.server.log().requests();
    assert!(asked.iter().all(|request| !request.path().starts_with(PRM)), "{asked:?}");
    stage.assert_orderly();
}

#[tokio::test]
async fn the_name_of_the_resource_is_sent_to_the_byte() {
    for resource in ["", "/", "/mcp"] {
        let stage = Stage::new();
        let name = format!("{}{resource}", stage.server.origin());
        stage.server.set(|it| it.resource = Some(name.clone()));
        echo(&stage.client(), "x").await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(stage.person.opened("resource"), [Some(name)]);
        stage.assert_orderly();
    }
}

#[tokio::test]
async fn metadata_for_another_resource_stops_the_login() {
    for resource in ["https://evil.example.com/mcp", "http://127.0.0.1:1/mcp", "/mcp/other", "not a URL"] {
        let stage = Stage::new();
        let name = if resource.starts_with('/') {
            format!("{}{resource}", stage.server.origin())
        } else {
            resource.to_owned()
        };
        stage.server.set(|it| it.patch = json!({"resource": name}));
        let error = stage.refused(&stage.client()).await;
        assert_eq!((error.kind(), error.get("stage")), (ErrorKind::Auth, Some("resource")), "{error:?}");
        assert!(stage.person.asked().is_empty() && stage.authority.log().requests().is_empty(), "{resource}");
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_is_not_used() {
    for told in ["https://evil.example.com", "SLASH"] {
        let stage = Stage::new();
        let told = if told == "SLASH" { format!("{}/", stage.authority.issuer()) } else { told.to_owned() };
        stage.authority.set(|it| it.told_issuer = Some(told.clone()));
        let error = stage.refused(&stage.client()).await;
        assert_eq!((error.kind(), error.get("stage")), (ErrorKind::Auth, Some("issuer")), "{error:?}");
        assert!(error.message().contains(&told), "{error}");
        assert!(stage.person.asked().is_empty() && stage.authority.requests("/register") == 0);
    }
}

#[tokio::test]
async fn a_page_where_metadata_should_be_is_none() {
    let stage = Stage::new();
    stage.server.set(|it| it.statuses = vec![(format!("{PRM}/mcp"), 200)]); // a web application answers everything
    let error = stage.refused(&stage.client()).await;
    assert!(error.message().contains("200, but no JSON object"), "{error}");
}

#[tokio::test]
async fn no_login_begins_where_codes_can_be_stolen() {
    for methods in [json!(["plain"]), json!([]), json!(null)] {
        let stage = Stage::new();
        stage.authority.set(|it| it.patch = json!({"code_challenge_methods_supported": methods}));
        let error = stage.refused(&stage.client()).await;
        assert!(error.message().contains("PKCE"), "{error}");
        assert!(stage.person.asked().is_empty());
    }
}

#[tokio::test]
async fn a_client_of_one_authorization_server_is_not_shown_to_others() {
    let stage = Stage::new();
    let oauth = || OAuth::new().client("mine", Some("hunter22".into())).issuer("https://as.example.com");
    let error = stage.refused(&stage.client_with(oauth())).await;
    assert!(
        error.message().contains("https://as.example.com") && error.message().contains(&stage.authority.issuer()),
        "{error}"
    );
    assert!(stage.person.asked().is_empty() && stage.authority.requests("/token") == 0);
}
