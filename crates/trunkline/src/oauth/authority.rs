//! The metadata of an authorization server (RFC 8414, OpenID Connect Discovery; MCP specification, Authorization Server
//! Metadata Discovery).

use serde_json::{Map, Value};
use url::Url;

use super::address::{self, checked};
use super::flow::Flow;
use super::tried::{Tried, is_true, text, texts};
use crate::error::{Error, ErrorKind, Result};

const OAUTH: &str = "oauth-authorization-server";
const OIDC: &str = "openid-configuration";

/// An authorization server.
#[derive(Debug)]
pub(super) struct Authority {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) token_endpoint: Url,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) scopes: Vec<String>,
    /// How clients may show who they are; nothing where it isn't told.
    pub(super) auth_methods: Option<Vec<String>>,
    /// Whether PKCE by SHA-256 is offered.
    pub(super) s256: bool,
    /// Whether a client id may be the URL of a document.
    pub(super) documents: bool,
    /// Whether every response names the issuer.
    pub(super) tells_iss: bool,
    /// Whether tokens can be bound to a key for ES256.
    pub(super) dpop: bool,
    /// It has no metadata: its endpoints are where they were in revision 2025-03-26.
    pub(super) guessed: bool,
}

impl Flow {
    /// The metadata of the server that calls itself `issuer`.
    pub(super) async fn authority(&self, issuer: &str, tried: &mut Tried) -> Result<Authority> {
        let url = checked(issuer, "authorization server")?;
        match self.authority_at(&places(&url), &[issuer], tried).await? {
            Some(authority) => Ok(authority),
            None => Err(nowhere(&format!("The authorization server {issuer} has no metadata"), tried)),
        }
    }

    /// For a server that says nothing of its authorization: it is its own authorization server, with or without metadata
    /// (MCP specification 2025-03-26, Authorization).
    pub(super) async fn own_authority(&self, tried: &mut Tried) -> Result<Authority> {
        let origin = address::origin(self.visitor.home());
        let url = checked(&origin, "authorization server")?;
        // the metadata of an origin may call it with or without a slash
        if let Some(found) = self.authority_at(&places(&url), &[&origin, &format!("{origin}/")], tried).await? {
            return Ok(found);
        }
        let at = |path: &str| checked(&format!("{origin}{path}"), "endpoint");
        Ok(Authority {
            authorization_endpoint: Some(at("/authorize")?),
            token_endpoint: at("/token")?,
            registration_endpoint: Some(at("/register")?),
            scopes: Vec::new(),
            auth_methods: None,
            s256: true,
            documents: false,
            tells_iss: false,
            dpop: false,
            guessed: true,
            issuer: origin,
        })
    }

    async fn authority_at(&self, places: &[String], issuers: &[&str], tried: &mut Tried) -> Result<Option<Authority>> {
        let mut other: Option<String> = None;
        for place in places {
            let url = checked(place, "address of the authorization server's metadata")?;
            let Some(document) = self.document(&url, tried).await? else { continue };
            let told = text(&document, "issuer").unwrap_or_default();
            if issuers.contains(&told.as_str()) {
                return read(told, &document).map(Some);
            }
            tried.note(place, &format!("issuer {told:?}"));
            other.get_or_insert(told);
        }
        let Some(other) = other else { return Ok(None) };
        let message = format!("The authorization server {} calls itself {other:?} in its metadata", issuers[0]);
        let error = Error::new(ErrorKind::Auth, message).with_context("stage", "issuer");
        let hint = "Both have to be the same text, or one server could speak for another; nothing of it was used";
        Err(tried.in_error(error.with_hint(hint)))
    }
}

/// That no place had what was looked for.
pub(super) fn nowhere(message: &str, tried: &Tried) -> Error {
    let error = Error::new(ErrorKind::Auth, format!("{message}. Tried: {}", tried.told()));
    let hint = "If the server wants a token that you have, give it: --bearer-env NAME, or \"headers\" in the config";
    tried.in_error(error.with_hint(hint)).with_context("stage", "metadata")
}

fn places(issuer: &Url) -> Vec<String> {
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![address::inserted(issuer, OAUTH), address::inserted(issuer, OIDC)];
    if !path.is_empty() {
        places.push(format!("{}{path}/.well-known/{OIDC}", address::origin(issuer)));
    }
    places
}

fn read(issuer: String, document: &Map<String, Value>) -> Result<Authority> {
    let endpoint = |key: &str| text(document, key).map(|url| checked(&url, key)).transpose();
    let Some(token_endpoint) = endpoint("token_endpoint")? else {
        let message = format!("The metadata of the authorization server {issuer} has no token_endpoint");
        return Err(Error::new(ErrorKind::Auth, message).with_context("stage", "metadata"));
    };
    let lists = |key: &str, value: &str| texts(document, key).is_some_and(|list| list.iter().any(|one| one == value));
    Ok(Authority {
        authorization_endpoint: endpoint("authorization_endpoint")?,
        token_endpoint,
        registration_endpoint: endpoint("registration_endpoint")?,
        scopes: texts(document, "scopes_supported").unwrap_or_default(),
        auth_methods: texts(document, "token_endpoint_auth_methods_supported"),
        s256: lists("code_challenge_methods_supported", "S256"),
        documents: is_true(document, "client_id_metadata_document_supported"),
        tells_iss: is_true(document, "authorization_response_iss_parameter_supported"),
        dpop: lists("dpop_signing_alg_values_supported", "ES256"),
        guessed: false,
        issuer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_are_those_of_the_specification() {
        let at = |issuer: &str| places(&Url::parse(issuer).unwrap());
        let root = "https://a/.well-known";
        assert_eq!(
            at("https://a/"),
            [format!("{root}/oauth-authorization-server"), format!("{root}/openid-configuration")]
        );
        assert_eq!(
            at("https://a/t1"),
            [
                format!("{root}/oauth-authorization-server/t1"),
                format!("{root}/openid-configuration/t1"),
                "https://a/t1/.well-known/openid-configuration".to_owned()
            ]
        );
    }

    #[test]
    fn endpoints_must_be_safe_and_a_token_endpoint_must_be() {
        let read = |document: Value| read("https://a".to_owned(), document.as_object().unwrap());
        let good =
            serde_json::json!({"token_endpoint": "https://a/token", "code_challenge_methods_supported": ["plain"]});
        assert!(!read(good).unwrap().s256);
        for bad in ["http://a/token", "file:///token"] {
            assert!(read(serde_json::json!({"token_endpoint": bad})).is_err());
        }
        assert!(read(serde_json::json!({})).unwrap_err().message().contains("token_endpoint"));
    }
}
