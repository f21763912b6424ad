//! What this client is to an authorization server: registered beforehand, described by a document, or by registering itself
//! (MCP specification, Client Registration).

use serde_json::{Map, Value, json};
use url::Url;

use super::address::{self, checked};
use super::authority::{Authority, nowhere};
use super::flow::Flow;
use super::grant::Grant;
use super::login::{ClientAuth, Login, Registration};
use super::random::now;
use super::tried::{Tried, text};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::{Secret, mask_url};
use crate::transport::{Visit, VisitBody};

impl Flow {
    /// The client for a login at this server; `redirect_uri` is where the browser will be sent back to, if there is one.
    /// Some servers grant only scopes that were registered, so one that registers itself names those that it wants, and
    /// registers again where it wants others.
    pub(super) async fn client(
        &self,
        authority: &Authority,
        known: Option<&Login>,
        redirect_uri: Option<&str>,
        scopes: &[String],
        tried: &mut Tried,
    ) -> Result<Registration> {
        if let Some(id) = &self.settings.client_id {
            return self.registered_before(id, authority, known);
        }
        if let Some(url) = self.settings.metadata_url.as_ref().filter(|_| authority.documents) {
            return self.described(url, authority);
        }
        let fits = |client: &&Registration| {
            let alive = client.secret_expires_at.is_none_or(|end| end > now());
            let knows = |uri: &str| client.redirect_uris.iter().any(|known| known == uri);
            let may = scopes.iter().all(|scope| client.scopes.contains(scope));
            client.dynamic && alive && may && !client.client_id.is_empty() && redirect_uri.is_none_or(knows)
        };
        if let Some(client) = known.and_then(|login| login.client_at(&authority.issuer)).filter(fits) {
            return Ok(client.clone());
        }
        match (&authority.registration_endpoint, redirect_uri) {
            (Some(endpoint), Some(uri)) => {
                let client = self.register(authority, endpoint, (uri, scopes), tried).await?;
                Ok(Registration { scopes: scopes.to_vec(), ..client })
            }
            _ => {
                let message = format!("The authorization server {} knows no client of this program", authority.issuer);
                let hint = "It doesn't let clients register themselves: register one there by hand and give its id \
                            (\"auth\": {\"clientId\": ...} in the config, OAuth::client in code)";
                Err(Error::new(ErrorKind::Auth, message).with_hint(hint).with_context("stage", "registration"))
            }
        }
    }

    fn registered_before(&self, id: &str, authority: &Authority, known: Option<&Login>) -> Result<Registration> {
        let shown_to = known.map(|login| &login.client).filter(|client| client.client_id == id);
        let bound = self.settings.issuer.as_ref().or_else(|| shown_to.map(|client| &client.issuer));
        if let Some(bound) = bound.filter(|bound| **bound != authority.issuer) {
            let message =
                format!("The client {id:?} is registered at {bound}, but the server wants {}", authority.issuer);
            let hint = "What is registered at one authorization server is not shown to another. If the server has moved, \
                        register a client at the new one";
            return Err(Error::new(ErrorKind::Auth, message).with_hint(hint).with_context("stage", "registration"));
        }
        let auth = self.method(authority, self.settings.client_secret.is_some());
        let client_secret = self.settings.client_secret.clone();
        Ok(Registration { client_secret, auth, ..Registration::new(&authority.issuer, id) })
    }

    fn described(&self, url: &str, authority: &Authority) -> Result<Registration> {
        let parsed = Url::parse(url).ok().filter(|url| url.scheme() == "https" && url.path() != "/");
        if parsed.is_none() {
            let message = format!("The document of the client can't be at {}", mask_url(url));
            let hint = "Its address is https and has a path: https://example.com/client.json";
            return Err(Error::new(ErrorKind::Config, message).with_hint(hint));
        }
        Ok(Registration { auth: self.method(authority, false), ..Registration::new(&authority.issuer, url) })
    }

    /// How a client that is known there shows who it is.
    fn method(&self, authority: &Authority, secret: bool) -> ClientAuth {
        let listed = |method: ClientAuth| match &authority.auth_methods {
            Some(methods) => methods.iter().any(|one| one == method.name()),
            None => method == ClientAuth::Basic, // what it is where nothing is told (RFC 8414, section 2)
        };
        let signs = self.settings.key.is_some();
        match secret {
            _ if signs && (!secret || listed(ClientAuth::PrivateKeyJwt)) => ClientAuth::PrivateKeyJwt,
            true if listed(ClientAuth::Post) && !listed(ClientAuth::Basic) => ClientAuth::Post,
            true => ClientAuth::Basic,
            false => ClientAuth::None,
        }
    }

    /// Registers (RFC 7591).
    async fn register(
        &self,
        authority: &Authority,
        endpoint: &Url,
        (redirect_uri, scopes): (&str, &[String]),
        tried: &mut Tried,
    ) -> Result<Registration> {
        let wish = wished(authority.auth_methods.as_deref());
        let mut request = json!({
            "client_name": self.settings.client_name.as_deref().unwrap_or("Trunkline"),
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": wish.name(),
            "application_type": application_type(redirect_uri),
        });
        if !scopes.is_empty() {
            request["scope"] = json!(scopes.join(" "));
        }
        let body = VisitBody::Json(request.to_string());
        let visit = Visit { url: endpoint, body, headers: Vec::new(), reach: self.reach().await };
        let visited = self.visitor.visit(visit).await?;
        let document: Map<String, Value> = serde_json::from_slice(&visited.body).unwrap_or_default();
        if !(200..300).contains(&visited.status) {
            tried.note(endpoint.as_str(), &visited.status.to_string());
            return Err(self.not_registered(authority, visited.status, &document, tried));
        }
        let Some(id) = text(&document, "client_id").filter(|id| !id.is_empty()) else {
            let message = format!("The authorization server {} registered a client without an id", authority.issuer);
            return Err(Error::new(ErrorKind::Auth, message).with_context("stage", "registration"));
        };
        let secret = text(&document, "client_secret").filter(|secret| !secret.is_empty());
        secret.iter().for_each(|secret| self.redactor.learn(secret));
        let told = text(&document, "token_endpoint_auth_method").and_then(|name| ClientAuth::of_name(&name));
        let auth = told.unwrap_or(match (&authority.auth_methods, &secret) {
            (None, Some(_)) => ClientAuth::Basic,
            _ => wish,
        });
        Ok(Registration {
            client_secret: secret.map(Secret::new),
            secret_expires_at: document.get("client_secret_expires_at").and_then(Value::as_u64).filter(|end| *end > 0),
            auth,
            redirect_uris: vec![redirect_uri.to_owned()],
            dynamic: true,
            ..Registration::new(&authority.issuer, &id)
        })
    }

    fn not_registered(&self, authority: &Authority, status: u16, said: &Map<String, Value>, tried: &Tried) -> Error {
        let issuer = &authority.issuer;
        if authority.guessed && status < 500 {
            let error = nowhere(&format!("{issuer} tells nothing of how to log in"), tried);
            return error.with_context("stage", "registration");
        }
        let mut message = format!("The authorization server {issuer} refuses to register this program ({status})");
        for key in ["error", "error_description"] {
            if let Some(said) = text(said, key).filter(|said| !said.is_empty()) {
                message = format!("{message}: {}", self.shown(&said));
            }
        }
        let kind = if status >= 500 { ErrorKind::Unreachable } else { ErrorKind::Auth };
        Error::new(kind, message).with_context("stage", "registration").with_hint(
            "Register a client there by hand and give its id (\"auth\": {\"clientId\": ...} in the config, OAuth::client \
             in code)",
        )
    }

    /// The redirect URI of a login, if a person is to be asked.
    pub(super) async fn redirect_uri(&self) -> Result<Option<String>> {
        let (Grant::AuthorizationCode, Some(person)) = (&self.settings.grant, &self.settings.person) else {
            return Ok(None);
        };
        let uri = person.redirect_uri().await?;
        checked(&uri, "redirect URI")?;
        Ok(Some(uri))
    }
}

/// How a client that registers itself would like to show who it is: by nothing that it had to keep, if it can be.
fn wished(listed: Option<&[String]>) -> ClientAuth {
    let order = [ClientAuth::None, ClientAuth::Basic, ClientAuth::Post];
    let is_listed = |method: &ClientAuth| listed.is_none_or(|all| all.iter().any(|one| one == method.name()));
    order.into_iter().find(is_listed).unwrap_or(ClientAuth::None)
}

/// What a client is whose browser is sent back there (OpenID Connect Dynamic Client Registration).
fn application_type(redirect_uri: &str) -> &'static str {
    match Url::parse(redirect_uri) {
        Ok(url) if url.scheme() == "https" && !address::is_loopback(&url) => "web",
        _ => "native",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_as_public_as_it_may_be() {
        let of = |methods: &[&str]| {
            let methods: Vec<_> = methods.iter().map(ToString::to_string).collect();
            wished(Some(&methods)).name()
        };
        assert_eq!(of(&["client_secret_basic", "none"]), "none");
        assert_eq!(of(&["client_secret_post", "client_secret_basic"]), "client_secret_basic");
        assert_eq!(of(&["private_key_jwt", "client_secret_post"]), "client_secret_post");
        assert_eq!(wished(None).name(), "none");
        let types =
            ["http://127.0.0.1:1/", "http://localhost/cb", "https://localhost/cb", "https://app.example.com/cb"];
        assert_eq!(types.map(application_type), ["native", "native", "native", "web"]);
    }
}
