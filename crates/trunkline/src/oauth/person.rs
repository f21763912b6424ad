//! The authorization code: the person is asked, the answer is checked, the code is turned in (OAuth 2.1, section 4.1; MCP
//! specification, Authorization Response Validation).

use std::time::Duration;

use url::Url;

use super::authority::Authority;
use super::consent::{ConsentRequest, Redirect};
use super::dpop::ProofKey;
use super::flow::{Flow, Wish};
use super::login::Registration;
use super::random::{hash, random};
use super::scopes::OFFLINE;
use super::token::{Refusal, TokenRequest, Tokens};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::Secret;

const WHOLE: &str = "It has to be the whole address that the browser ended at";

/// What is remembered of a request until its answer is there.
struct Pending {
    state: String,
    verifier: Secret,
}

impl Flow {
    /// Tokens by the word of a person.
    pub(super) async fn by_person(
        &self,
        authority: &Authority,
        client: &Registration,
        redirect_uri: &str,
        wish: &Wish,
        key: Option<&ProofKey>,
    ) -> Result<Tokens, Refusal> {
        let pending = Pending { state: random()?, verifier: Secret::new(random()?) };
        self.redactor.learn(pending.verifier.expose());
        let url = self.address(authority, client, redirect_uri, wish, &pending)?;
        let request = ConsentRequest {
            server: self.label.clone(),
            url: url.into(),
            issuer: authority.issuer.clone(),
            redirect_uri: redirect_uri.to_owned(),
            state: pending.state.clone(),
            scopes: wish.scopes.clone(),
        };
        let redirect = self.asked_person(&request).await?;
        let code = self.code(&redirect, authority, &pending.state)?;
        let form = vec![
            ("grant_type", "authorization_code".into()),
            ("code", code),
            ("redirect_uri", redirect_uri.into()),
            ("code_verifier", pending.verifier),
            ("resource", wish.resource.as_str().into()),
        ];
        self.tokens(TokenRequest { endpoint: &authority.token_endpoint, client, form, key, own: false }).await
    }

    fn address(
        &self,
        authority: &Authority,
        client: &Registration,
        redirect_uri: &str,
        wish: &Wish,
        pending: &Pending,
    ) -> Result<Url> {
        let lacks = |what: &str, hint: &str| {
            let message = format!("The authorization server {} {what}", authority.issuer);
            Error::new(ErrorKind::Auth, message).with_hint(hint).with_context("stage", "authorize")
        };
        let Some(endpoint) = &authority.authorization_endpoint else {
            return Err(lacks(
                "has no page to log in at",
                "It may be for programs only: see \"grant\" in docs/auth.md",
            ));
        };
        if !authority.s256 {
            let hint =
                "Its metadata has to list S256 in code_challenge_methods_supported; without it, a code could be stolen";
            return Err(lacks("offers no PKCE by SHA-256", hint));
        }
        let mut url = endpoint.clone();
        let challenge = hash(pending.verifier.expose());
        let mut query = url.query_pairs_mut();
        query.append_pair("response_type", "code").append_pair("client_id", &client.client_id);
        query.append_pair("redirect_uri", redirect_uri).append_pair("state", &pending.state);
        query.append_pair("code_challenge", &challenge).append_pair("code_challenge_method", "S256");
        query.append_pair("resource", &wish.resource);
        if !wish.scopes.is_empty() {
            query.append_pair("scope", &wish.scopes.join(" "));
        }
        if wish.scopes.iter().any(|scope| scope == OFFLINE) {
            query.append_pair("prompt", "consent"); // OpenID Connect Core, section 11
        }
        drop(query);
        Ok(url)
    }

    async fn asked_person(&self, request: &ConsentRequest) -> Result<Redirect> {
        let Some(person) = self.person() else { return Err(self.login_needed(&request.scopes)) };
        tracing::debug!(issuer = %request.issuer, scopes = ?request.scopes, "a person is asked to log in");
        let limit = self.limits.consent_timeout;
        let answer = person.authorize(request);
        if limit == Duration::ZERO {
            return answer.await;
        }
        tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| {
            let message = format!("Nobody logged in to {} within {} s", self.label, limit.as_secs_f64());
            Err(Error::new(ErrorKind::Deadline, message).with_context("limit", "consent_timeout"))
        })
    }

    /// The code in the address that the browser was sent back to, if the answer is one to this request, by this server.
    fn code(&self, redirect: &Redirect, authority: &Authority, state: &str) -> Result<Secret> {
        let wrong = |why: String, hint: &str| {
            let error = Error::new(ErrorKind::Auth, format!("The answer to the login can't be used: {why}"));
            Err(error.with_hint(hint).with_context("stage", "redirect"))
        };
        let Ok(url) = Url::parse(redirect.0.expose()) else {
            return wrong("it is no address".to_owned(), WHOLE);
        };
        let only = |name: &str| {
            let mut found = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
            found.next().filter(|_| found.next().is_none())
        };
        if only("state").as_deref() != Some(state) {
            return wrong("it belongs to no login that was begun here".to_owned(), "Log in again");
        }
        let foreign = "Another server may have answered in its place, so nothing of the answer was used";
        match only("iss") {
            Some(iss) if iss != authority.issuer => {
                return wrong(format!("it comes from {:?}, not from {}", self.shown(&iss), authority.issuer), foreign);
            }
            None if authority.tells_iss || url.query_pairs().any(|(key, _)| key == "iss") => {
                return wrong(
                    format!("it doesn't say that it comes from {}, as that server does", authority.issuer),
                    foreign,
                );
            }
            _ => {}
        }
        if let Some(error) = only("error") {
            let said = only("error_description").map(|said| format!(" ({})", self.shown(&said))).unwrap_or_default();
            let message = format!("The login was refused: {}{said}", self.shown(&error));
            let kind =
                if error == "access_denied" { "Somebody said no: log in again to say yes" } else { "Log in again" };
            return Err(Error::new(ErrorKind::Auth, message).with_hint(kind).with_context("error", self.shown(&error)));
        }
        match only("code").filter(|code| !code.is_empty()) {
            Some(code) => {
                self.redactor.learn(&code);
                Ok(Secret::new(code))
            }
            None => wrong("it holds no code".to_owned(), WHOLE),
        }
    }
}
