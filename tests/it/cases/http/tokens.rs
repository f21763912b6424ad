//! Who asks: headers, bearer tokens and where they come from.

use std::sync::{Arc, Mutex};

use serde_json::json;
use trunkline::{Challenge, Client, Environment, ErrorKind, Result, Secret, TokenCommand, TokenSource};
use trunkline_tests::TempDir;
use trunkline_tests::http::*;

use super::{all_of, at, echo};

/// A server that lets in who has this token.
fn guarded(token: &str) -> HttpScript {
    let challenge = r#"Bearer realm="x", resource_metadata="http://127.0.0.1/meta""#;
    let wanted = format!("Bearer {token}");
    let stranger = any().test(move |request| request.header("authorization") != Some(&wanted));
    HttpScript::new().on(stranger, [send(reply(401).header("WWW-Authenticate", challenge).body("who?"))])
}

/// Gives these tokens, the next one after each refusal; remembers what it was asked.
#[derive(Clone)]
struct Tokens {
    tokens: Vec<&'static str>,
    asked: Arc<Mutex<Vec<Challenge>>>,
}

impl TokenSource for Tokens {
    async fn token(&self, challenge: Option<&Challenge>) -> Result<Option<Secret>> {
        let mut asked = self.asked.lock().unwrap();
        asked.extend(challenge.cloned());
        let last = self.tokens.len() - 1;
        Ok(Some(self.tokens[asked.len().min(last)].into()))
    }
}

fn tokens<const N: usize>(tokens: [&'static str; N]) -> Tokens {
    Tokens { tokens: tokens.to_vec(), asked: Arc::default() }
}

#[tokio::test]
async fn a_token_goes_with_every_request() {
    let fake = guarded("T-1").listening().start();
    let client = at(fake.url()).bearer("T-1").header("X-Team", "blue").build().unwrap();
    echo(&client, "x").await.unwrap();
    fake.log().wait_of("GET", 1).await;
    client.disconnect().await;
    for request in fake.log().requests() {
        assert_eq!((request.header("authorization"), request.header("x-team")), (Some("Bearer T-1"), Some("blue")));
    }
    assert_eq!(fake.log().of("DELETE").len(), 1);
}

#[tokio::test]
async fn a_token_may_come_from_the_environment() {
    let fake = guarded("T-1").start();
    let with = |variables: &[(&str, &str)]| {
        let environment = Environment::from_pairs(variables.iter().copied());
        Client::http(fake.url()).label("fake").environment(environment).bearer_env("MY_TOKEN").build().unwrap()
    };
    assert_eq!(echo(&with(&[("MY_TOKEN", "T-1")]), "x").await.unwrap(), json!("x"));
    let error = with(&[("OTHER", "T-1")]).connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("MY_TOKEN"), "{error}");
    assert!(fake.log().requests().iter().all(|request| request.header("authorization") == Some("Bearer T-1")));
}

#[tokio::test]
async fn without_a_token_the_error_says_how_to_give_one() {
    let fake = guarded("T-1").start();
    let error = at(fake.url()).build().unwrap().connect().await.unwrap_err();
    assert_eq!((error.kind(), error.get("status")), (ErrorKind::Auth, Some("401")));
    assert!(error.message().contains("401") && error.message().contains("who?"), "{error}");
    assert!(error.hint().unwrap().contains("--bearer-env"), "{error:?}");
    assert!(error.get("www-authenticate").unwrap().contains("resource_metadata"));
    let error = at(fake.url()).bearer("T-2").build().unwrap().connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(error.hint().unwrap().contains("refused the token"), "{error:?}");
    assert!(!all_of(&error).contains("T-2"));
}

#[tokio::test]
async fn a_token_that_is_not_enough_is_told_with_what_lacks() {
    let scope = reply(403).header("WWW-Authenticate", r#"Bearer error="insufficient_scope", scope="files:write""#);
    let fake = HttpScript::new().on(rpc_call("echo"), [send(scope)]).start();
    let error = echo(&at(fake.url()).bearer("T-1").build().unwrap(), "x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(error.hint().unwrap().contains("files:write"), "{error:?}");
    assert!(!error.may_have_run());
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let fake = guarded("T-2").start();
    let source = tokens(["T-1", "T-2"]);
    let client = at(fake.url()).token_source(source.clone()).build().unwrap();
    assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    let asked = source.asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].refused, Some("T-1".into()));
    assert!(asked[0].header.as_deref().unwrap().contains("resource_metadata"));
    assert_eq!(fake.log().rpc("server/discover").len(), 2);
}

#[tokio::test]
async fn the_same_token_again_or_another_wrong_one_is_an_error() {
    for (source, tries) in [(tokens(["T-1"]), 1), (tokens(["T-1", "T-3", "T-2"]), 2)] {
        let fake = guarded("T-2").start();
        let error = at(fake.url()).token_source(source).build().unwrap().connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth, "{error:?}");
        assert_eq!(fake.log().rpc("server/discover").len(), tries);
        assert!(!all_of(&error).contains("T-1") && !all_of(&error).contains("T-3"), "{error:?}");
    }
}

#[tokio::test]
async fn a_token_that_no_header_can_hold_is_told() {
    let fake = HttpScript::new().start();
    for token in ["T\n1", "T\u{e9}\r\nX: y"] {
        let error = at(fake.url()).token_source(tokens([token])).build().unwrap().connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth, "{error:?}");
        let error = at(fake.url()).bearer(token).build().unwrap().connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error:?}");
    }
    assert!(fake.log().requests().is_empty());
}

#[tokio::test]
async fn a_command_gives_the_token_and_is_asked_again_when_it_is_refused() {
    let dir = TempDir::new();
    let count = dir.join("count");
    let script = format!("echo x >> '{0}'; echo T-$(wc -l < '{0}' | tr -d ' ')", count.display());
    let fake = guarded("T-2").start();
    let client = at(fake.url()).token_source(TokenCommand::new("/bin/sh", ["-c", &script])).build().unwrap();
    for n in 0..5 {
        assert_eq!(echo(&client, &n.to_string()).await.unwrap(), json!(n));
    }
    assert_eq!(std::fs::read_to_string(count).unwrap().lines().count(), 2);
}

#[tokio::test]
async fn a_command_that_gives_no_token_is_told() {
    let fake = guarded("T-1").start();
    for (script, told) in [("echo why >&2; exit 3", "exit status: 3"), ("true", "no token"), ("echo a b", "no token")] {
        let source = TokenCommand::new("/bin/sh", ["-c", script]);
        let error = at(fake.url()).token_source(source).build().unwrap().connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert!(error.message().contains(told), "{error}");
        assert!(error.hint().unwrap().contains("by hand"));
    }
    let error = at(fake.url()).token_source(TokenCommand::new("/no/such/program", [""; 0])).build().unwrap();
    let error = error.connect().await.unwrap_err();
    assert!(error.message().contains("No such file"), "{error}");
    assert!(fake.log().requests().is_empty());
}
