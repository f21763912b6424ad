//! `"auth"` in an entry of a configuration.

use serde_json::json;
use trunkline::{ClientBuilder, Config, Environment, ErrorKind, OAuth};
use trunkline_tests::TempDir;
use trunkline_tests::authority::{Known, TestKey};

use super::{Stage, echo};

fn config(entry: &serde_json::Value) -> Config {
    Config::parse(&json!({"mcpServers": {"fake": entry}}).to_string()).unwrap()
}

fn builder(variables: &[(&str, &str)]) -> ClientBuilder {
    ClientBuilder::new().environment(Environment::from_pairs(variables.iter().copied()))
}

#[tokio::test]
async fn an_entry_says_how_a_service_logs_in() {
    let stage = Stage::new();
    stage.authority.set(|it| it.methods = vec!["client_secret_basic"]);
    let (id, secret) = ("service".to_owned(), Some("s3cr3t-1234".to_owned()));
    stage.authority.know(Known { id, secret, method: "client_secret_basic".to_owned(), ..Known::default() });
    let entry = json!({"url": stage.server.url(), "auth": {
        "clientId": "service", "clientSecret": "${SECRET}", "grant": "clientCredentials", "scopes": ["a", "b"]
    }});
    let config = config(&entry);
    assert!(config.problems().is_empty(), "{:?}", config.problems());
    let client = &builder(&[("SECRET", "s3cr3t-1234")]).each(&config).unwrap()[0];
    assert_eq!(echo(client, "x").await.unwrap(), json!("x"));
    stage.assert_orderly();
    let error = echo(&builder(&[]).each(&config).unwrap()[0], "x").await.unwrap_err();
    assert_eq!((error.kind(), error.get("field")), (ErrorKind::Config, Some("auth.clientSecret")));
}

#[tokio::test]
async fn an_entry_names_the_files_of_keys_and_assertions() {
    let (stage, key, dir) = (Stage::new(), TestKey::new(), TempDir::new());
    std::fs::write(dir.join("key.pem"), key.pem()).unwrap();
    std::fs::write(dir.join("jwt"), "workload-jwt-1234\n").unwrap();
    let known = |id: &str, method: &str| {
        let (id, method) = (id.to_owned(), method.to_owned());
        stage.authority.know(Known { id, method, key: key.public(), ..Known::default() });
    };
    known("signer", "private_key_jwt");
    known("workload", "none");
    stage.authority.take_assertion("workload-jwt-1234");
    for auth in [
        json!({"clientId": "signer", "grant": "clientCredentials", "privateKeyFile": dir.join("key.pem"), "algorithm": "ES256"}),
        json!({"clientId": "workload", "grant": "jwtBearer", "assertionFile": dir.join("jwt")}),
    ] {
        let config = config(&json!({"url": stage.server.url(), "auth": auth}));
        let client = &builder(&[]).each(&config).unwrap()[0];
        echo(client, "x").await.unwrap_or_else(|error| panic!("{auth}: {error:?}"));
    }
    stage.assert_orderly();
}

#[tokio::test]
async fn what_a_builder_says_holds_for_every_entry_that_isn_t_let_in_otherwise() {
    let stage = Stage::new();
    let all = builder(&[]).oauth(OAuth::new().person(stage.person.clone()));
    for auth in [json!(null), json!("oauth"), json!({"scopes": "a b"})] {
        let config = config(&json!({"url": stage.server.url(), "auth": auth}));
        echo(&all.each(&config).unwrap()[0], "x").await.unwrap();
    }
    assert_eq!(stage.person.scopes(), ["", "", "a b"]);
    let headers = json!({"Authorization": "Bearer T-1"});
    let own = config(&json!({"url": stage.server.url(), "headers": headers}));
    let error = echo(&all.each(&own).unwrap()[0], "x").await.unwrap_err();
    assert_eq!((error.kind(), stage.person.asked().len()), (ErrorKind::Auth, 3));
    let process = config(&json!({"command": "x"}));
    assert!(all.each(&process).is_ok(), "it is let in without");
}

#[test]
fn what_makes_no_sense_is_told() {
    let problem = |auth: serde_json::Value| {
        let config = config(&json!({"url": "https://h/mcp", "auth": auth}));
        config.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    for (auth, why) in [
        (json!("basic"), "has to be \"oauth\""),
        (json!(7), "not a number"),
        (json!({"grant": "password"}), "none of \"authorizationCode\""),
        (json!({"grant": "clientCredentials"}), "lacks \"clientId\""),
        (json!({"grant": "jwtBearer"}), "lacks \"assertion\""),
        (json!({"grant": "enterprise", "assertion": "x"}), "identityProvider.tokenEndpoint"),
        (json!({"clientSecret": "x"}), "no \"clientId\""),
        (json!({"clientId": 7}), "has to be text"),
        (json!({"scopes": [7]}), "list of texts"),
        (json!({"assertion": "a", "assertionFile": "b"}), "keep one"),
    ] {
        let told = problem(auth.clone());
        assert!(told.contains(why), "{auth}: {told:?}");
    }
    assert_eq!(problem(json!({"clientId": "a"})), "");
    let odd = config(&json!({"url": "https://h/mcp", "auth": {"client_id": "a"}}));
    let told: String = odd.warnings().iter().map(ToString::to_string).collect();
    assert!(told.contains("\"auth.client_id\" is no known key") && told.contains("clientId"), "{told}");
}

#[test]
fn an_entry_is_shown_without_its_secrets() {
    let auth = json!({"clientId": "a", "clientSecret": "s3cr3t-1234", "grant": "clientCredentials"});
    let config = config(&json!({"url": "https://h/mcp", "auth": auth}));
    let entry = config.entry("fake").unwrap();
    for shown in [entry.masked(), entry.in_full()] {
        assert_eq!(shown["auth"], json!({"clientId": "a", "clientSecret": "***", "grant": "clientCredentials"}));
    }
}
