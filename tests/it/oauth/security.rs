//! What a server says must not lead where it has no business, nor be believed without end; and nothing secret is shown.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use trunkline::{Client, Consent, ConsentRequest, Environment, ErrorKind, Limits, OAuth, Redirect, Result};
use trunkline_tests::authority::browser;
use trunkline_tests::http::*;

use super::{BACK, Person, Stage, all_of, echo};

/// A server whose refusal names this place for its metadata.
fn naming(place: &str) -> HttpFake {
    let challenge = format!("Bearer resource_metadata=\"{place}\"");
    HttpScript::new().on(post(), [send(reply(401).header("WWW-Authenticate", &challenge))]).start()
}

fn client(url: String, person: &Person) -> Client {
    let environment = Environment::from_pairs::<&str, &str>([]);
    Client::http(url).label("fake").environment(environment).oauth(OAuth::new().person(person.clone())).build().unwrap()
}

#[tokio::test]
async fn only_https_and_this_machine_are_asked() {
    for place in
        ["http://example.com/meta", "ftp://127.0.0.1/meta", "file:///etc/passwd", "http://169.254.169.254/latest"]
    {
        let fake = naming(place);
        let error = client(fake.url(), &Person::default()).connect().await.unwrap_err();
        assert_eq!((error.kind(), error.get("stage")), (ErrorKind::Auth, Some("address")), "{place}: {error:?}");
    }
    for endpoint in ["token_endpoint", "authorization_endpoint", "registration_endpoint"] {
        let stage = Stage::new();
        stage.authority.set(|it| it.patch = json!({endpoint: "http://10.0.0.1/x"}));
        let error = stage.refused(&stage.client()).await;
        assert!(error.message().contains(endpoint) && error.message().contains("10.0.0.1"), "{error}");
        assert!(stage.person.asked().is_empty());
    }
}

#[tokio::test]
async fn the_address_of_a_cloud_s_secrets_is_asked_for_nobody() {
    for place in
        ["https://169.254.169.254/latest/meta-data", "https://[fe80::1]/x", "https://[::ffff:169.254.169.254]/"]
    {
        let fake = naming(place);
        let error = client(fake.url(), &Person::default()).connect().await.unwrap_err();
        assert_eq!(error.get("stage"), Some("address"), "{place}: {error:?}");
        assert!(error.message().contains("nearer"), "{error}");
    }
}

#[tokio::test]
async fn metadata_is_followed_within_its_origin_only() {
    let stage = Stage::new();
    let other = HttpScript::new().start();
    for (location, follows) in [("/moved.json".to_owned(), true), (format!("{}/moved.json", other.origin()), false)] {
        let meta = json!({"resource": "RESOURCE", "authorization_servers": [stage.authority.issuer()]});
        let fake = HttpScript::new()
            .on(
                get().path("/moved.json"),
                [act(move |request| {
                    let resource = format!("http://{}/mcp", request.header("host").unwrap());
                    let mut meta = meta.clone();
                    meta["resource"] = json!(resource);
                    vec![send(reply(200).json(meta))]
                })],
            )
            .on(get().path("/.well-known/oauth-protected-resource/mcp"), [send(redirect(302, &location))])
            .on(post().lacks_header("authorization"), [send(reply(401))])
            .start();
        stage.authority.know_resource(&fake.url());
        let outcome = client(fake.url(), &stage.person).connect().await;
        assert_eq!(outcome.is_ok(), follows, "{location}: {outcome:?}");
    }
    assert!(other.log().requests().is_empty());
}

#[tokio::test]
async fn an_answer_without_end_and_one_that_never_comes_are_given_up() {
    let place = "/.well-known/oauth-protected-resource/mcp";
    for (steps, limit) in [
        (vec![open(reply(200).chunked()), forever([body(vec![b' '; 8192])])], "max_auth_answer"),
        (vec![hang()], "auth_timeout"),
    ] {
        let fake = HttpScript::new().on(get().path(place), steps).on(post(), [send(reply(401))]).start();
        let limits =
            Limits { max_auth_answer: 64 << 10, auth_timeout: Duration::from_millis(300), ..Limits::default() };
        let oauth = OAuth::new().person(Person::default());
        let client = Client::http(fake.url()).label("fake").oauth(oauth).limits(limits).build().unwrap();
        let error = client.connect().await.unwrap_err();
        assert_eq!(error.get("limit"), Some(limit), "{error:?}");
    }
}

/// A person who takes their time.
#[derive(Clone)]
struct Slow(Duration, Arc<Mutex<usize>>);

impl Consent for Slow {
    async fn redirect_uri(&self) -> Result<String> {
        Ok(BACK.to_owned())
    }

    async fn authorize(&self, request: &ConsentRequest) -> Result<Redirect> {
        *self.1.lock().unwrap() += 1;
        tokio::time::sleep(self.0).await;
        Ok(Redirect::new(browser::location(request.url())))
    }
}

#[tokio::test]
async fn the_time_of_a_call_stands_still_while_a_person_is_asked() {
    let stage = Stage::new();
    stage.server.set(|it| (it.scope, it.scopes) = (Some("r".to_owned()), vec![("tools/call", "w")]));
    let person = Slow(Duration::from_millis(700), Arc::default());
    let short = Duration::from_millis(300);
    let builder = super::at(&stage.server).oauth(OAuth::new().person(person.clone()));
    let client = builder.start_timeout(short).timeout(short).max_timeout(short).build().unwrap();
    assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    assert_eq!(*person.1.lock().unwrap(), 2);
    stage.assert_orderly();
}

#[tokio::test]
async fn a_person_who_never_answers_is_given_up() {
    let stage = Stage::new();
    let person = Slow(Duration::from_secs(3600), Arc::default());
    let limits = Limits { consent_timeout: Duration::from_millis(200), ..Limits::default() };
    let client = super::at(&stage.server).oauth(OAuth::new().person(person)).limits(limits).build().unwrap();
    let error = stage.refused(&client).await;
    assert_eq!((error.kind(), error.get("limit")), (ErrorKind::Deadline, Some("consent_timeout")), "{error:?}");
}

#[tokio::test]
async fn a_token_goes_to_the_server_s_own_origin_only() {
    let stage = Stage::new();
    let thief = HttpScript::new().start();
    let client = stage.client();
    echo(&client, "x").await.unwrap();
    stage.server.set(|it| it.statuses = vec![("/mcp".to_owned(), 307)]);
    assert!(echo(&client, "y").await.is_err());
    assert!(thief.log().requests().is_empty());
    for request in stage.authority.log().requests() {
        assert!(!request.header("authorization").is_some_and(|it| it.starts_with("Bearer ")), "{request:?}");
    }
}

#[tokio::test]
async fn p72_no_secret_of_a_login_is_shown() {
    let stage = Stage::new();
    stage.authority.set(|it| it.methods = vec!["client_secret_basic"]);
    let client = stage.client();
    echo(&client, "x").await.unwrap();
    // the server says what it was sent, in an error
    stage.authority.revoke();
    stage.authority.set(|it| it.statuses = vec![("/authorize".to_owned(), 500)]);
    let login = stage.authority.secrets();
    let told = format!("{:?} {:?}", client, OAuth::new().client("me", Some("hunter22-1234".into())));
    assert!(login.iter().all(|secret| !told.contains(secret)) && !told.contains("hunter22-1234"), "{told}");
    let everything = login.join(" ");
    let echoing = HttpScript::new()
        .on(post().has_header("authorization"), [send(reply(500).body(&everything))])
        .on(post(), [send(reply(401))])
        .on(
            get().path("/.well-known/oauth-protected-resource"),
            [send(reply(200).json(json!({"authorization_servers": [stage.authority.issuer()]})))],
        )
        .start();
    stage.authority.know_resource(&echoing.url());
    stage.authority.set(|it| it.statuses = Vec::new());
    let second = self::client(echoing.url(), &stage.person);
    let error = second.connect().await.unwrap_err();
    let sent: Vec<_> = stage.authority.secrets().into_iter().filter(|secret| !login.contains(secret)).collect();
    assert!(sent.iter().any(|secret| secret.starts_with("access-")), "{sent:?}");
    for secret in sent {
        assert!(!all_of(&error).contains(&secret), "{error:?}");
    }
}
