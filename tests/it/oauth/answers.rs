//! What the browser brings back is held against what was asked.

use trunkline::{Consent, ConsentRequest, ErrorKind, OAuth, Redirect, Result};
use trunkline_tests::authority::Iss;

use super::{BACK, Stage, echo};

/// Each refusal: what the authorization server does, and what the error says.
async fn refused(change: impl FnOnce(&Stage), says: &str) {
    let stage = Stage::new();
    change(&stage);
    let error = stage.refused(&stage.client()).await;
    assert_eq!(error.kind(), ErrorKind::Auth, "{error:?}");
    assert!(error.message().contains(says), "{says:?} isn't in {error}");
    assert_eq!(stage.person.asked().len(), 1);
    assert_eq!(stage.authority.requests("/token"), 0, "{says}");
}

#[tokio::test]
async fn an_answer_of_another_server_is_not_used() {
    let wrong = |iss: String| move |stage: &Stage| stage.authority.set(|it| it.iss = Iss::Wrong(iss));
    refused(wrong("https://evil.example.com".to_owned()), "https://evil.example.com").await;
    refused(
        |stage| {
            let iss = format!("{}/", stage.authority.issuer()); // the same to whoever normalises
            stage.authority.set(|it| it.iss = Iss::Wrong(iss));
        },
        "comes from",
    )
    .await;
    refused(|stage| stage.authority.set(|it| it.iss = Iss::Missing), "doesn't say that it comes from").await;
    refused(
        |stage| {
            stage
                .authority
                .set(|it| (it.iss, it.tells_iss) = (Iss::Wrong("https://evil.example.com".to_owned()), false))
        },
        "https://evil.example.com",
    )
    .await;
}

#[tokio::test]
async fn a_server_that_never_names_itself_need_not_in_its_answer() {
    for (iss, tells_iss) in [(Iss::Missing, false), (Iss::Right, false), (Iss::Right, true)] {
        let stage = Stage::new();
        stage.authority.set(|it| (it.iss, it.tells_iss) = (iss, tells_iss));
        echo(&stage.client(), "x").await.unwrap();
        stage.assert_orderly();
    }
}

#[tokio::test]
async fn an_answer_to_another_question_is_not_used() {
    refused(|stage| stage.authority.set(|it| it.state = Some("other".to_owned())), "begun here").await;
}

#[tokio::test]
async fn a_no_is_told_with_its_reason() {
    refused(|stage| stage.authority.set(|it| it.denies = Some("access_denied")), "access_denied").await;
    // of a stranger's answer nothing is told
    let stage = Stage::new();
    stage.authority.set(|it| {
        it.denies = Some("access_denied");
        it.iss = Iss::Wrong("https://evil.example.com".to_owned());
    });
    let error = stage.refused(&stage.client()).await;
    assert!(!error.message().contains("access_denied"), "{error}");
}

/// A person whose browser ends at this address.
struct EndsAt(&'static str);

impl Consent for EndsAt {
    async fn redirect_uri(&self) -> Result<String> {
        Ok(BACK.to_owned())
    }

    async fn authorize(&self, _: &ConsentRequest) -> Result<Redirect> {
        Ok(Redirect::new(self.0))
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_told_and_not_shown() {
    for end in ["", "no address", "http://127.0.0.1:1/callback", "http://127.0.0.1:1/?code=c0de-1234&state=x&state=y"] {
        let stage = Stage::new();
        let error = stage.refused(&stage.headless(OAuth::new().person(EndsAt(end)))).await;
        assert_eq!(error.kind(), ErrorKind::Auth, "{end}: {error:?}");
        assert!(!super::all_of(&error).contains("c0de-1234"), "{error:?}");
        assert_eq!(stage.authority.requests("/token"), 0);
    }
}

/// A person whose browser would be sent back over a network.
struct Far;

impl Consent for Far {
    async fn redirect_uri(&self) -> Result<String> {
        Ok("http://example.com/callback".to_owned())
    }

    async fn authorize(&self, _: &ConsentRequest) -> Result<Redirect> {
        panic!("nobody is to be asked")
    }
}

#[tokio::test]
async fn a_browser_is_sent_back_safely_or_not_at_all() {
    let stage = Stage::new();
    let error = stage.refused(&stage.headless(OAuth::new().person(Far))).await;
    assert!(error.message().contains("redirect URI"), "{error}");
    assert_eq!(stage.authority.requests("/register"), 0);
}
