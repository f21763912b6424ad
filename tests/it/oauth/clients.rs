//! Who the client is to an authorization server.

use serde_json::json;
use trunkline::{MemoryStore, OAuth};
use trunkline_tests::authority::{Authority, Known, TestKey};

use super::{BACK, Stage, echo};

const DOCUMENT: &str = "https://app.example.com/client.json";

fn document(stage: &Stage) {
    stage.authority.know(Known {
        id: DOCUMENT.to_owned(),
        method: "none".to_owned(),
        redirect_uris: vec![BACK.to_owned()],
        ..Known::default()
    });
}

#[tokio::test]
async fn a_client_with_a_document_needs_no_registration_where_that_is_taken() {
    for taken in [true, false] {
        let stage = Stage::new();
        document(&stage);
        stage.authority.set(|it| it.documents = taken);
        echo(&stage.client_with(OAuth::new().client_metadata_url(DOCUMENT)), "x").await.unwrap();
        assert_eq!(stage.authority.requests("/register"), usize::from(!taken));
        assert_eq!(stage.person.opened("client_id")[0].as_deref() == Some(DOCUMENT), taken);
        stage.assert_orderly();
    }
}

#[tokio::test]
async fn what_is_registered_before_goes_before_a_document() {
    let stage = Stage::new();
    document(&stage);
    stage.authority.set(|it| it.documents = true);
    let known = Known {
        id: "mine".to_owned(),
        method: "none".to_owned(),
        redirect_uris: vec![BACK.to_owned()],
        ..Known::default()
    };
    stage.authority.know(known);
    echo(&stage.client_with(OAuth::new().client_metadata_url(DOCUMENT).client("mine", None)), "x").await.unwrap();
    assert_eq!(stage.person.opened("client_id"), [Some("mine".to_owned())]);
}

#[tokio::test]
async fn a_client_registers_as_what_it_is() {
    for methods in
        [vec!["none"], vec!["client_secret_basic"], vec!["client_secret_post"], vec!["client_secret_post", "none"]]
    {
        let stage = Stage::new();
        stage.authority.set(|it| (it.methods, it.wants_application_type) = (methods.clone(), true));
        echo(&stage.client_with(OAuth::new().client_name("An agent")), "x")
            .await
            .unwrap_or_else(|error| panic!("{methods:?}: {error:?}"));
        let log = stage.authority.log().requests();
        let sent = log.iter().find(|request| request.path() == "/register").unwrap().json();
        assert_eq!(sent["client_name"], "An agent");
        assert_eq!(sent["application_type"], "native");
        assert_eq!(sent["grant_types"], json!(["authorization_code", "refresh_token"]));
        assert_eq!(sent["redirect_uris"], json!([BACK]));
        stage.assert_orderly();
    }
}

#[tokio::test]
async fn a_client_may_sign_to_show_who_it_is() {
    let (stage, key) = (Stage::new(), TestKey::new());
    stage.authority.set(|it| it.methods = vec!["private_key_jwt"]);
    stage.authority.know(Known {
        id: "signer".to_owned(),
        method: "private_key_jwt".to_owned(),
        redirect_uris: vec![BACK.to_owned()],
        key: key.public(),
        ..Known::default()
    });
    let oauth = OAuth::new().client("signer", None).private_key(key.pem(), trunkline::SigningAlgorithm::Es256);
    echo(&stage.client_with(oauth), "x").await.unwrap();
    stage.assert_orderly();
}

#[tokio::test]
async fn a_refusal_to_register_is_told() {
    let stage = Stage::new();
    stage.authority.set(|it| it.methods = vec!["tls_client_auth"]);
    let error = stage.refused(&stage.client()).await;
    assert!(error.message().contains("invalid_client_metadata"), "{error}");
    assert!(error.hint().unwrap().contains("clientId"), "{error:?}");
    let stage = Stage::new();
    stage.authority.set(|it| it.registration = false);
    let error = stage.refused(&stage.client()).await;
    assert!(error.hint().unwrap().contains("clientId") && stage.person.asked().is_empty(), "{error:?}");
}

#[tokio::test]
async fn another_authorization_server_gets_to_know_the_client_anew() {
    let stage = Stage::new();
    let client = stage.client_with(OAuth::new().store(MemoryStore::default()));
    echo(&client, "x").await.unwrap();
    let other = Authority::start();
    for _ in 0..3 {
        other.know(Known::default()); // so that the ids differ
        other.know(Known { id: format!("other-{}", other.secrets().len()), ..Known::default() });
    }
    stage.server.turn_to(&other);
    echo(&client, "x").await.unwrap();
    assert_eq!((stage.authority.requests("/register"), other.requests("/register")), (1, 1));
    assert_eq!(other.refusals(), [""; 0]);
    let first = stage.person.opened("client_id")[0].clone().unwrap();
    let shown = other.log().requests().iter().any(|request| {
        request.target.contains(&format!("client_id={first}&"))
            || request.text().contains(&format!("client_id={first}&"))
    });
    assert!(!shown, "{first} was shown to the other one");
    for token in stage.authority.secrets() {
        assert!(other.log().requests().iter().all(|request| !request.text().contains(&token)), "{token}");
    }
    // and back again: the first one still knows it
    stage.server.turn_to(&stage.authority);
    echo(&client, "x").await.unwrap();
    assert_eq!(stage.authority.requests("/register"), 1);
}

#[tokio::test]
async fn what_is_registered_at_one_server_by_hand_is_an_error_at_another() {
    let stage = Stage::new();
    stage.authority.know(Known {
        id: "mine".to_owned(),
        method: "none".to_owned(),
        redirect_uris: vec![BACK.to_owned()],
        ..Known::default()
    });
    let client = stage.client_with(OAuth::new().client("mine", None));
    echo(&client, "x").await.unwrap();
    let other = Authority::start();
    stage.server.turn_to(&other);
    let error = stage.refused(&client).await;
    assert!(error.message().contains("registered at") && error.message().contains(&other.issuer()), "{error}");
    assert!(other.requests("/authorize") == 0 && other.requests("/token") == 0);
}
