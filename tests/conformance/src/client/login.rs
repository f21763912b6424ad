//! What is known beforehand of logins, and a browser whose person agrees to everything at once.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trunkline::{
    Consent, ConsentRequest, Error, ErrorKind, Grant, IdentityProvider, OAuth, Redirect, Result, Secret,
    SigningAlgorithm,
};

use super::Told;

/// A document that describes the client: its id where an authorization server takes such ones. The suite knows this address.
const DESCRIPTION: &str = "https://conformance-test.local/client-metadata.json";

/// Where the browser is sent back to. Nobody listens there: the address alone is looked at.
const BACK: &str = "http://127.0.0.1:33418/callback";

/// What a client has to be told: the credentials of the context, and what they are for.
pub(super) fn settings(told: &Told) -> OAuth {
    let context = |name: &str| told.context[name].as_str().unwrap_or_default().to_owned();
    let known = |oauth: OAuth| match told.context["client_id"].as_str() {
        Some(id) => oauth.client(id, secret(&told.context["client_secret"])),
        None => oauth.client_metadata_url(DESCRIPTION),
    };
    let oauth = known(OAuth::new().person(Browser));
    match told.scenario.as_str() {
        "auth/client-credentials-basic" => oauth.grant(Grant::ClientCredentials),
        "auth/client-credentials-jwt" => {
            let key = Secret::new(context("private_key_pem"));
            oauth.grant(Grant::ClientCredentials).private_key(key, SigningAlgorithm::Es256)
        }
        "auth/wif-jwt-bearer" => oauth.grant(Grant::jwt_bearer(Secret::new(context("valid_jwt")))),
        "auth/enterprise-managed-authorization" => {
            let provider = IdentityProvider::new(context("idp_token_endpoint"), Secret::new(context("idp_id_token")));
            oauth.grant(Grant::Enterprise(provider.client(context("idp_client_id"), None)))
        }
        _ => oauth,
    }
}

fn secret(value: &Value) -> Option<Secret> {
    value.as_str().map(Secret::new)
}

/// Opens the address and goes where it is sent, but no further.
struct Browser;

impl Consent for Browser {
    async fn redirect_uri(&self) -> Result<String> {
        Ok(BACK.to_owned())
    }

    async fn authorize(&self, request: &ConsentRequest) -> Result<Redirect> {
        let answer = open(request.url()).await.map_err(|error| lost(&error.to_string()))?;
        let location = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("location").then(|| value.trim())
        });
        location.map(Redirect::new).ok_or_else(|| lost(answer.lines().next().unwrap_or_default()))
    }
}

/// The head and body of what a plain HTTP address answers.
async fn open(url: &str) -> std::io::Result<String> {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut stream = TcpStream::connect(host).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn lost(why: &str) -> Error {
    Error::new(ErrorKind::Auth, format!("The browser was sent nowhere: {why}"))
}
