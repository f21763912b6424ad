//! A person logs in: from the first refusal to the answer.

use std::time::Duration;

use serde_json::json;
use trunkline::{Consent, ConsentRequest, Limits, OAuth, Redirect, Result};
use trunkline_tests::authority::{Authority, Form, Known, Protected};
use trunkline_tests::http::HttpScript;

use super::{BACK, Person, Stage, at, echo};

#[tokio::test]
async fn a_login_needs_no_settings() {
    let stage = Stage::new();
    let client = stage.client();
    for text in ["a", "b"] {
        assert_eq!(echo(&client, text).await.unwrap(), json!(text));
    }
    stage.assert_orderly();
    assert_eq!(stage.person.asked().len(), 1);
    assert_eq!(stage.authority.grants("authorization_code"), 1);
    assert_eq!(stage.person.opened("resource"), [Some(stage.server.url())]);
    assert_eq!(stage.person.asked()[0].issuer(), stage.authority.issuer());
    assert_eq!(stage.person.asked()[0].server(), "fake");
}

/// Agrees after a while.
struct Slow(Person, Duration);

impl Consent for Slow {
    async fn redirect_uri(&self) -> Result<String> {
        self.0.redirect_uri().await
    }

    async fn authorize(&self, request: &ConsentRequest) -> Result<Redirect> {
        tokio::time::sleep(self.1).await;
        self.0.authorize(request).await
    }
}

/// Neither for silent, when it is asked which era it speaks, nor for too slow to start.
#[tokio::test]
async fn a_server_is_not_taken_for_slow_while_a_person_logs_in() {
    let (silent, start) = (Duration::from_millis(300), Duration::from_secs(1));
    for (modern, script) in [(true, HttpScript::new().modern()), (false, HttpScript::new())] {
        let authority = Authority::start();
        let server = Protected::of(&authority, script);
        let slow = Slow(Person::default(), start + silent);
        let limits = Limits { probe_wait: silent, ..Limits::default() };
        let client = at(&server).oauth(OAuth::new().person(slow)).limits(limits).start_timeout(start).build().unwrap();
        assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
        assert_eq!(server.log().rpc("initialize").is_empty(), modern);
        assert_eq!(server.log().rpc("server/discover").len(), 2, "refused, then answered");
    }
}

#[tokio::test]
async fn metadata_is_found_in_every_form() {
    for (form, path) in [
        (Form::OAuth, ""),
        (Form::OidcInserted, ""),
        (Form::OAuth, "/tenant1"),
        (Form::OidcInserted, "/tenant1"),
        (Form::OidcAppended, "/tenant1"),
    ] {
        let stage = Stage::new();
        stage.authority.set(|it| {
            it.form = form;
            it.issuer_path = path.to_owned();
        });
        echo(&stage.client(), "x").await.unwrap_or_else(|error| panic!("{form:?} {path}: {error:?}"));
        stage.assert_orderly();
    }
}

#[tokio::test]
async fn a_server_of_2025_03_26_is_its_own_authorization_server() {
    for form in [Form::OAuth, Form::Absent] {
        let stage = Stage::together();
        stage.authority.set(|it| it.form = form);
        assert_eq!(echo(&stage.client(), "x").await.unwrap(), json!("x"), "{form:?}");
        assert_eq!(stage.authority.refusals(), [""; 0]);
        assert_eq!(stage.person.asked()[0].issuer(), stage.authority.origin());
    }
}

#[tokio::test]
async fn a_client_may_be_registered_beforehand() {
    for (method, secret) in
        [("none", None), ("client_secret_basic", Some("s+e:c r%e/t")), ("client_secret_post", Some("s+e:c r%e/t"))]
    {
        let stage = Stage::new();
        stage.authority.set(|it| (it.registration, it.methods) = (false, vec![method]));
        stage.authority.know(Known {
            id: "my client:1".to_owned(),
            secret: secret.map(str::to_owned),
            method: method.to_owned(),
            redirect_uris: vec![BACK.to_owned()],
            ..Known::default()
        });
        let client = stage.client_with(OAuth::new().client("my client:1", secret.map(Into::into)));
        echo(&client, "x").await.unwrap_or_else(|error| panic!("{method}: {error:?}"));
        stage.assert_orderly();
    }
}
