//! The token endpoint: how the client shows who it is there, what comes back, and what is wrong with it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::dpop::ProofKey;
use super::flow::Flow;
use super::login::{ClientAuth, Registration, TokenType};
use super::random::{now, random};
use super::tried::text;
use crate::error::{Error, ErrorKind, Result};
use crate::redact::{Secret, mask_url};
use crate::transport::{Reach, Visit, VisitBody, Visited};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// How long an assertion of ours is good, in seconds.
const ASSERTION_LIFE: u64 = 120;
/// How often a server may want another nonce in a row.
const MOST_NONCES: usize = 2;

/// What a token endpoint is asked.
pub(super) struct TokenRequest<'a> {
    pub(super) endpoint: &'a Url,
    pub(super) client: &'a Registration,
    pub(super) form: Vec<(&'static str, Secret)>,
    /// The key that the tokens are to be bound to.
    pub(super) key: Option<&'a ProofKey>,
    /// Whether the endpoint comes from the settings, and not from what a server says.
    pub(super) own: bool,
}

/// What it gives.
#[derive(Debug)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) kind: TokenType,
    pub(super) refresh: Option<Secret>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) expires_in: Option<u64>,
}

/// Why it gives nothing.
#[derive(Debug)]
pub(super) struct Refusal {
    /// Its own word for it; nothing where it was not understood, or not reached.
    pub(super) code: Option<String>,
    pub(super) error: Error,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { code: None, error }
    }
}

impl Refusal {
    pub(super) fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }
}

impl Flow {
    /// Asks a token endpoint, once more where it wants a nonce.
    pub(super) async fn tokens(&self, request: TokenRequest<'_>) -> Result<Tokens, Refusal> {
        let mut nonces = 0;
        loop {
            let visited = self.asked(&request).await?;
            if let Some(nonce) = visited.header("dpop-nonce") {
                self.nonces.note(request.endpoint, nonce);
            }
            if (200..300).contains(&visited.status) {
                return Ok(self.given(&visited.body, request.endpoint)?);
            }
            let refusal = self.refused(request.endpoint, &visited);
            if !refusal.is("use_dpop_nonce") || request.key.is_none() || nonces == MOST_NONCES {
                return Err(refusal);
            }
            nonces += 1;
        }
    }

    async fn asked(&self, request: &TokenRequest<'_>) -> Result<Visited> {
        let (body, headers) = self.written(request)?;
        let reach = if request.own { Reach::Link } else { self.reach().await };
        self.visitor.visit(Visit { url: request.endpoint, body, headers, reach }).await
    }

    fn written(&self, request: &TokenRequest<'_>) -> Result<(VisitBody, Vec<(&'static str, Secret)>)> {
        let endpoint = request.endpoint;
        let mut form = Serializer::new(String::new());
        form.extend_pairs(request.form.iter().map(|(key, value)| (*key, value.expose())));
        let mut headers = Vec::new();
        self.authenticate(request.client, &mut form, &mut headers)?;
        if let Some(key) = request.key {
            headers.push(("dpop", key.proof("POST", endpoint, self.nonces.of(endpoint).as_deref(), None)?));
        }
        Ok((VisitBody::Form(form.finish()), headers))
    }

    /// Shows who the client is.
    fn authenticate(
        &self,
        client: &Registration,
        form: &mut Serializer<'_, String>,
        headers: &mut Vec<(&'static str, Secret)>,
    ) -> Result<()> {
        let id = &client.client_id;
        match (client.auth, &client.client_secret) {
            (ClientAuth::Basic, Some(secret)) => {
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let login = STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret.expose())));
                self.redactor.learn(&login);
                headers.push(("authorization", Secret::new(format!("Basic {login}"))));
                form.append_pair("client_id", id); // the servers of the Python SDK look for it there alone
            }
            (ClientAuth::Post, Some(secret)) => {
                form.append_pair("client_id", id).append_pair("client_secret", secret.expose());
            }
            (ClientAuth::PrivateKeyJwt, _) => {
                let key = self.signer()?;
                let (issued, issuer) = (now(), &client.issuer);
                let claims = json!({
                    "iss": id, "sub": id, "aud": issuer, "jti": random()?, "iat": issued, "exp": issued + ASSERTION_LIFE,
                });
                let assertion = key.jwt(json!({"typ": "JWT"}), &claims)?;
                form.append_pair("client_id", id).append_pair("client_assertion_type", ASSERTION);
                form.append_pair("client_assertion", assertion.expose());
            }
            _ => {
                if !id.is_empty() {
                    form.append_pair("client_id", id);
                }
            }
        }
        Ok(())
    }

    fn given(&self, body: &[u8], endpoint: &Url) -> Result<Tokens> {
        let wrong = |why: String| {
            let message =
                format!("The answer of the token endpoint {} can't be used: {why}", mask_url(endpoint.as_str()));
            Error::new(ErrorKind::Auth, message).with_context("stage", "token")
        };
        let document = match serde_json::from_slice(body) {
            Ok(Value::Object(document)) => document,
            _ => return Err(wrong("it is no JSON object".to_owned())),
        };
        let secret = |key: &str| {
            let secret = text(&document, key).filter(|text| !text.is_empty()).map(Secret::new);
            secret.iter().for_each(|secret: &Secret| self.redactor.learn(secret.expose()));
            secret
        };
        let kind = text(&document, "token_type").unwrap_or_else(|| "Bearer".to_owned());
        let kind = match kind.to_ascii_lowercase().as_str() {
            "bearer" => TokenType::Bearer,
            "dpop" => TokenType::Dpop,
            "n_a" => TokenType::Bearer, // an assertion, which isn't sent to a server (RFC 8693, section 2.2.1)
            _ => return Err(wrong(format!("its token_type is {:?}", self.shown(&kind)))),
        };
        let access = secret("access_token").ok_or_else(|| wrong("it holds no access_token".to_owned()))?;
        let scopes = text(&document, "scope").map(|scopes| scopes.split_whitespace().map(str::to_owned).collect());
        Ok(Tokens { access, kind, refresh: secret("refresh_token"), scopes, expires_in: seconds(&document) })
    }

    fn refused(&self, endpoint: &Url, visited: &Visited) -> Refusal {
        let document: Map<String, Value> = serde_json::from_slice(&visited.body).unwrap_or_default();
        let code = text(&document, "error").map(|code| self.shown(&code));
        let mut message = format!("The token endpoint {} answered {}", mask_url(endpoint.as_str()), visited.status);
        if let Some(code) = &code {
            message = format!("{message}: {code}");
        }
        if let Some(said) = text(&document, "error_description").filter(|said| !said.is_empty()) {
            message = format!("{message} ({})", self.shown(&said));
        }
        let kind = if visited.status >= 500 { ErrorKind::Unreachable } else { ErrorKind::Auth };
        let mut error = Error::new(kind, message).with_context("stage", "token");
        if let Some(code) = &code {
            error = error.with_context("error", code.clone());
        }
        Refusal { code, error }
    }
}

/// How long a token is good; some servers write the number as text.
fn seconds(document: &Map<String, Value>) -> Option<u64> {
    let told = document.get("expires_in")?;
    let number = told.as_f64().or_else(|| told.as_str()?.trim().parse().ok())?;
    (number >= 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_life_of_a_token_is_read_however_it_is_written() {
        let of = |value: Value| seconds(json!({"expires_in": value}).as_object().unwrap());
        assert_eq!((of(json!(3600)), of(json!("3600")), of(json!(59.9))), (Some(3600), Some(3600), Some(59)));
        assert_eq!((of(json!(-1)), of(json!("soon")), of(json!(null))), (None, None, None));
        assert_eq!(seconds(&Map::new()), None);
    }
}
