//! The authorization server and the guarded MCP server, by plain requests: what is right passes, and each wrong thing is
//! refused with its reason.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use trunkline_tests::authority::*;
use url::form_urlencoded::Serializer;

use crate::http::{echo, message};

const CALLBACK: &str = "http://127.0.0.1:4711/callback";
const VERIFIER: &str = "a-verifier-of-at-least-forty-three-characters";
/// Its SHA-256.
const CHALLENGE: &str = "mg3QoZgnRJxQy_jYdfW7D8wJkoziCuM8Yhos7PwVvsI";

fn query(fields: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(fields).finish()
}

fn post(origin: &str, path: &str, headers: &str, body: &str) -> browser::Page {
    let host = origin.trim_start_matches("http://");
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}");
    browser::raw(host, &format!("{head}Content-Length: {length}\r\n\r\n{body}"))
}

fn register(authority: &Authority, method: &str) -> Value {
    let body = json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": method, "application_type": "native"});
    let page = post(&authority.origin(), "/register", "Content-Type: application/json\r\n", &body.to_string());
    serde_json::from_str(&page.body).unwrap()
}

/// The fields with some of them replaced; those that are empty then are left out.
fn with<'a>(fields: &[(&'a str, &'a str)], changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let changed = |name: &str| changes.iter().any(|(other, _)| *other == name);
    let kept = fields.iter().filter(|(name, _)| !changed(name)).chain(changes);
    kept.filter(|(_, value)| !value.is_empty()).copied().collect()
}

/// Where the browser is sent, after `/authorize` with these changes; else the status.
fn authorize(authority: &Authority, resource: &str, changes: &[(&str, &str)]) -> Result<String, u16> {
    let fields = [
        ("response_type", "code"),
        ("client_id", "client-1"),
        ("redirect_uri", CALLBACK),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "a-state-that-nobody-guesses"),
        ("resource", resource),
        ("scope", "r w"),
    ];
    let page = browser::get(&format!("{}/authorize?{}", authority.origin(), query(&with(&fields, changes))));
    page.header("location").map(str::to_owned).ok_or(page.status)
}

fn value(location: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(location).unwrap();
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn token(authority: &Authority, headers: &str, fields: &[(&str, &str)]) -> Value {
    let headers = format!("Content-Type: application/x-www-form-urlencoded\r\n{headers}");
    let page = post(&authority.origin(), "/token", &headers, &query(fields));
    serde_json::from_str(&page.body).unwrap()
}

fn call(server: &Protected, token: &Value) -> browser::Page {
    let headers = format!("Content-Type: application/json\r\nAuthorization: Bearer {}\r\n", token.as_str().unwrap());
    let initialize = message(0, "initialize", json!({})).to_string();
    let page = post(&server.origin(), "/mcp", &headers, &initialize);
    let session = page.header("mcp-session-id").unwrap_or_default().to_owned();
    let headers = format!("{headers}Mcp-Session-Id: {session}\r\n");
    post(&server.origin(), "/mcp", &headers, &echo(1).to_string())
}

#[test]
fn a_client_that_does_all_right_is_let_in() {
    let authority = Authority::start();
    let server = Protected::start(&authority);
    let resource = server.url();
    let page = post(&server.origin(), "/mcp", "", &echo(1).to_string());
    let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", server.origin());
    assert_eq!(page.status, 401);
    assert_eq!(page.header("www-authenticate"), Some(&*format!("Bearer resource_metadata=\"{metadata}\"")));
    let told: Value = serde_json::from_str(&browser::get(&metadata).body).unwrap();
    assert_eq!(told, json!({"resource": resource, "authorization_servers": [authority.issuer()]}));
    let issuer = format!("{}/.well-known/oauth-authorization-server", authority.issuer());
    let told: Value = serde_json::from_str(&browser::get(&issuer).body).unwrap();
    assert_eq!(told["issuer"], authority.issuer());

    assert_eq!(register(&authority, "none")["client_id"], "client-1");
    let location = authorize(&authority, &resource, &[]).unwrap();
    assert_eq!(value(&location, "iss"), Some(authority.issuer()));
    assert_eq!(value(&location, "state").unwrap(), "a-state-that-nobody-guesses");
    let code = value(&location, "code").unwrap();
    let fields = [("client_id", "client-1"), ("resource", &resource)];
    let by_code = [("grant_type", "authorization_code"), ("code", &code), ("redirect_uri", CALLBACK)];
    let by_code = [&by_code[..], &[("code_verifier", VERIFIER)], &fields].concat();
    let given = token(&authority, "", &by_code);
    assert_eq!(
        (&given["scope"], &given["expires_in"], &given["token_type"]),
        (&json!("r w"), &json!(3600), &json!("Bearer"))
    );
    assert_eq!(call(&server, &given["access_token"]).status, 200);

    authority.expire();
    assert_eq!(call(&server, &given["access_token"]).status, 401);
    let old = given["refresh_token"].as_str().unwrap();
    let by_refresh = [&[("grant_type", "refresh_token"), ("refresh_token", old)], &fields[..]].concat();
    let new = token(&authority, "", &by_refresh);
    assert_eq!(call(&server, &new["access_token"]).status, 200);
    assert_eq!((authority.refusals(), server.refusals()), (vec![], vec![]));
    assert_eq!(authority.good_refresh_tokens(), [new["refresh_token"].as_str().unwrap()]);

    // whoever uses it again has stolen it, or was stolen from: all is taken back
    assert_eq!(token(&authority, "", &by_refresh)["error"], "invalid_grant");
    assert_eq!(call(&server, &new["access_token"]).status, 401);
    assert!(authority.good_refresh_tokens().is_empty());
    assert_eq!(token(&authority, "", &by_code)["error_description"], "the code was used before");
    assert_eq!((authority.grants("refresh_token"), authority.grants("authorization_code")), (2, 2));
    assert_eq!(authority.refusals().len(), 2);
}

#[test]
fn what_is_wrong_on_the_way_to_a_code_is_refused() {
    let authority = Authority::start();
    let server = Protected::start(&authority);
    register(&authority, "none");
    for (changes, error) in [
        (&[("client_id", "client-9")][..], Err(401)),
        (&[("redirect_uri", "http://127.0.0.1:4712/callback")], Err(400)),
        (&[("redirect_uri", "http://127.0.0.1:4711/callback/")], Err(400)),
        (&[("response_type", "token")], Ok("unsupported_response_type")),
        (&[("code_challenge_method", "plain")], Ok("invalid_request")),
        (&[("code_challenge_method", "")], Ok("invalid_request")),
        (&[("code_challenge", "")], Ok("invalid_request")),
        (&[("state", "1")], Ok("invalid_request")),
        (&[("resource", "")], Ok("invalid_target")),
        (&[("resource", "http://127.0.0.1:1/mcp")], Ok("invalid_target")),
    ] {
        match (authorize(&authority, &server.url(), changes), error) {
            (Ok(location), Ok(error)) => assert_eq!(value(&location, "error").as_deref(), Some(error), "{changes:?}"),
            (Err(_), Err(_)) => {}
            (got, _) => panic!("{changes:?}: {got:?}"),
        }
    }
    assert_eq!(authority.refusals().len(), 10, "{:?}", authority.refusals());
    authority.set(|it| (it.denies, it.iss) = (Some("access_denied"), Iss::Wrong("http://evil".to_owned())));
    let location = authorize(&authority, &server.url(), &[]).unwrap();
    assert_eq!(value(&location, "error").as_deref(), Some("access_denied"));
    assert_eq!(value(&location, "iss").as_deref(), Some("http://evil"));
}

#[test]
fn what_is_wrong_on_the_way_to_a_token_is_refused() {
    let authority = Authority::start();
    let server = Protected::start(&authority);
    let (resource, other) = (server.url(), Protected::start(&authority));
    authority.set(|it| it.methods = vec!["none", "client_secret_basic", "client_secret_post"]);
    register(&authority, "none");
    let wrong = [
        (&[("code_verifier", "another-verifier-of-at-least-forty-three-chars")][..], "invalid_grant"),
        (&[("code_verifier", "short")], "invalid_request"),
        (&[("code_verifier", "")], "invalid_request"),
        (&[("redirect_uri", "http://127.0.0.1:4711/")], "invalid_grant"),
        (&[("redirect_uri", "")], "invalid_request"),
        (&[("resource", "")], "invalid_target"),
        (&[("resource", &other.url())], "invalid_target"),
        (&[("client_id", "client-9")], "invalid_client"),
        (&[("client_secret", "x")], "invalid_client"),
        (&[("code", "x")], "invalid_grant"),
        (&[("grant_type", "password")], "unsupported_grant_type"),
    ];
    for (changes, error) in wrong {
        let code = value(&authorize(&authority, &resource, &[]).unwrap(), "code").unwrap();
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
            ("client_id", "client-1"),
            ("resource", &resource),
        ];
        assert_eq!(token(&authority, "", &with(&fields, changes))["error"], error, "{changes:?}");
    }
    assert_eq!(authority.refusals().len(), wrong.len(), "{:?}", authority.refusals());
}

#[test]
fn a_client_shows_who_it_is_as_it_was_registered() {
    let authority = Authority::start();
    let server = Protected::start(&authority);
    authority.set(|it| it.methods = vec!["client_secret_basic", "client_secret_post"]);
    let basic = register(&authority, "client_secret_basic");
    let post = register(&authority, "client_secret_post");
    let secret = |client: &Value| client["client_secret"].as_str().unwrap().to_owned();
    let header =
        |id: &str, secret: &str| format!("Authorization: Basic {}\r\n", STANDARD.encode(format!("{id}:{secret}")));
    let url = server.url();
    let grant = [("grant_type", "client_credentials"), ("resource", url.as_str()), ("scope", "r")];
    let (basic, post) = (secret(&basic), secret(&post));
    let in_form = |id: &'static str, secret: &str| {
        let fields = [&grant[..], &[("client_id", id), ("client_secret", secret)]].concat();
        token(&authority, "", &fields)["error"].clone()
    };
    let in_header = |id: &str, secret: &str| token(&authority, &header(id, secret), &grant)["error"].clone();
    assert_eq!((in_header("client-1", &basic), in_form("client-2", &post)), (Value::Null, Value::Null));
    assert_eq!(in_form("client-1", &basic), "invalid_client");
    assert_eq!(in_header("client-2", &post), "invalid_client");
    assert_eq!(in_header("client-1", "wrong"), "invalid_client");
    assert_eq!(in_form("client-2", "wrong"), "invalid_client");
}

#[test]
fn a_signed_client_is_known_by_its_key() {
    let (authority, key) = (Authority::start(), TestKey::new());
    let server = Protected::start(&authority);
    let method = "private_key_jwt".to_owned();
    authority.know(Known { id: "robot".to_owned(), method, key: key.public(), ..Known::default() });
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let tried = |key: &TestKey, changes: Value| {
        let mut claims =
            json!({"iss": "robot", "sub": "robot", "aud": authority.issuer(), "exp": now + 60, "jti": now});
        claims["jti"] = json!(format!("{changes}"));
        claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let jwt = key.sign(&json!({"alg": "ES256", "typ": "JWT"}), &claims);
        let (url, kind) = (server.url(), "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
        let fields = [
            ("grant_type", "client_credentials"),
            ("resource", &url),
            ("client_assertion_type", kind),
            ("client_assertion", &jwt),
        ];
        token(&authority, "", &fields)["error"].clone()
    };
    assert_eq!(tried(&key, json!({})), Value::Null);
    assert_eq!(tried(&key, json!({})), "invalid_client", "the same jti again");
    assert_eq!(tried(&TestKey::new(), json!({"jti": "1"})), "invalid_client");
    for wrong in [json!({"aud": "x"}), json!({"iss": "x"}), json!({"exp": now - 1}), json!({"exp": now + 4000})] {
        assert_eq!(tried(&key, wrong.clone()), "invalid_client", "{wrong}");
    }
}

#[test]
fn tokens_are_bound_to_a_key_with_dpop() {
    let (authority, key) = (Authority::start(), TestKey::new());
    let server = Protected::start(&authority);
    authority.set(|it| it.dpop = Dpop::Nonces);
    let (method, secret) = ("client_secret_post".to_owned(), Some("s".to_owned()));
    authority.know(Known { id: "robot".to_owned(), method, secret, ..Known::default() });
    let public = key.public();
    let jwk = json!({"kty": "EC", "crv": "P-256",
        "x": URL_SAFE_NO_PAD.encode(&public[1..33]), "y": URL_SAFE_NO_PAD.encode(&public[33..])});
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let proof = |claims: Value| {
        let mut all = json!({"htm": "POST", "htu": format!("{}/token", authority.origin()), "iat": now});
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        format!("DPoP: {}\r\n", key.sign(&json!({"alg": "ES256", "typ": "dpop+jwt", "jwk": jwk}), &all))
    };
    let url = server.url();
    let fields =
        [("grant_type", "client_credentials"), ("resource", &url), ("client_id", "robot"), ("client_secret", "s")];
    let tried = |headers: &str| token(&authority, headers, &fields);
    assert_eq!(tried("")["error"], "invalid_dpop_proof");
    assert_eq!(tried(&proof(json!({"jti": "1"})))["error"], "use_dpop_nonce");
    for wrong in [json!({"jti": "2", "htm": "GET"}), json!({"jti": "3", "htu": "x"}), json!({"jti": "4", "iat": 0})] {
        assert_eq!(tried(&proof(wrong.clone()))["error"], "invalid_dpop_proof", "{wrong}");
    }
    let given = tried(&proof(json!({"jti": "5", "nonce": "nonce-0"})));
    assert_eq!(given["token_type"], "DPoP");
    authority.change_nonce();
    assert_eq!(tried(&proof(json!({"jti": "6", "nonce": "nonce-0"})))["error"], "use_dpop_nonce");
    assert_eq!(call(&server, &given["access_token"]).status, 401, "not as a bearer token");
}
