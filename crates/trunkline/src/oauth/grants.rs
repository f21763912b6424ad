//! Tokens without a person at hand: by refresh token, by the client's own name, by an assertion.

use url::Url;

use super::address::checked;
use super::authority::Authority;
use super::dpop::ProofKey;
use super::flow::{Flow, Wish};
use super::grant::{Assertion, Grant, IdentityProvider};
use super::login::{ClientAuth, Login, Registration};
use super::random::now;
use super::token::{Refusal, TokenRequest, Tokens};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::Secret;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// Where tokens are asked for, and by whom.
pub(super) struct Desk<'a> {
    pub(super) issuer: &'a str,
    pub(super) endpoint: &'a Url,
    pub(super) client: &'a Registration,
    pub(super) key: Option<&'a ProofKey>,
}

impl<'a> Desk<'a> {
    pub(super) fn of(authority: &'a Authority, client: &'a Registration, key: Option<&'a ProofKey>) -> Self {
        Self { issuer: &authority.issuer, endpoint: &authority.token_endpoint, client, key }
    }

    fn request(&self, form: Vec<(&'static str, Secret)>) -> TokenRequest<'a> {
        TokenRequest { endpoint: self.endpoint, client: self.client, form, key: self.key, own: false }
    }
}

impl Flow {
    /// Tokens by a grant that needs nobody.
    pub(super) async fn by_grant(&self, desk: Desk<'_>, wish: &Wish) -> Result<Tokens, Refusal> {
        let mut form: Vec<(&'static str, Secret)> = match &self.settings.grant {
            Grant::AuthorizationCode => return Err(self.login_needed(&wish.scopes).into()),
            Grant::ClientCredentials => vec![("grant_type", "client_credentials".into())],
            Grant::JwtBearer(source) => {
                vec![("grant_type", JWT_BEARER.into()), ("assertion", self.assertion(source).await?)]
            }
            Grant::Enterprise(provider) => {
                let assertion = self.exchanged(provider, desk.issuer, wish).await?;
                vec![("grant_type", JWT_BEARER.into()), ("assertion", assertion)]
            }
        };
        form.push(("resource", wish.resource.as_str().into()));
        if !wish.scopes.is_empty() {
            form.push(("scope", wish.scopes.join(" ").into()));
        }
        self.tokens(desk.request(form)).await
    }

    /// Tokens by refresh token.
    pub(super) async fn by_refresh(&self, login: &Login, token: &Secret) -> Result<Login, Refusal> {
        let endpoint = checked(&login.token_endpoint, "token endpoint")?;
        let key = login.dpop_key.as_ref().map(ProofKey::read).transpose()?;
        let form = vec![
            ("grant_type", "refresh_token".into()),
            ("refresh_token", token.clone()),
            ("resource", login.resource.as_str().into()),
        ];
        let desk = Desk { issuer: &login.issuer, endpoint: &endpoint, client: &login.client, key: key.as_ref() };
        let tokens = self.tokens(desk.request(form)).await?;
        let mut next = taken(login.clone(), tokens);
        next.refresh_token = next.refresh_token.or_else(|| login.refresh_token.clone());
        Ok(next)
    }

    /// The same grant once more, where the last token was got.
    pub(super) async fn by_grant_again(&self, login: &Login) -> Result<Login, Refusal> {
        let endpoint = checked(&login.token_endpoint, "token endpoint")?;
        let key = login.dpop_key.as_ref().map(ProofKey::read).transpose()?;
        let wish = Wish { resource: login.resource.clone(), scopes: login.requested_scopes.clone() };
        let desk = Desk { issuer: &login.issuer, endpoint: &endpoint, client: &login.client, key: key.as_ref() };
        let tokens = self.by_grant(desk, &wish).await?;
        Ok(taken(login.clone(), tokens))
    }

    async fn assertion(&self, Assertion(source): &Assertion) -> Result<Secret> {
        let assertion = source.token(None).await?;
        let assertion = assertion.ok_or_else(|| Error::new(ErrorKind::Auth, "There is no assertion to show"))?;
        self.redactor.learn(assertion.expose());
        Ok(assertion)
    }

    /// What the identity provider says of the person, for this authorization server and resource (extension
    /// Enterprise-Managed Authorization, section 4).
    async fn exchanged(&self, provider: &IdentityProvider, audience: &str, wish: &Wish) -> Result<Secret, Refusal> {
        let identity = self.assertion(&Assertion(provider.identity.clone())).await?;
        let endpoint = checked(&provider.token_endpoint, "token endpoint of the identity provider")?;
        let client = Registration {
            client_secret: provider.client_secret.clone(),
            auth: if provider.client_secret.is_some() { ClientAuth::Post } else { ClientAuth::None },
            ..Registration::new("", provider.client_id.as_deref().unwrap_or_default())
        };
        let mut form = vec![
            ("grant_type", TOKEN_EXCHANGE.into()),
            ("requested_token_type", ID_JAG.into()),
            ("audience", audience.into()),
            ("resource", wish.resource.as_str().into()),
            ("subject_token", identity),
            ("subject_token_type", ID_TOKEN.into()),
        ];
        if !wish.scopes.is_empty() {
            form.push(("scope", wish.scopes.join(" ").into()));
        }
        let request = TokenRequest { endpoint: &endpoint, client: &client, form, key: None, own: true };
        let tokens = self.tokens(request).await?;
        Ok(tokens.access)
    }
}

/// A login with the tokens that were just given.
pub(super) fn taken(login: Login, tokens: Tokens) -> Login {
    let issued_at = now();
    let granted = tokens.scopes.unwrap_or_else(|| login.requested_scopes.clone());
    Login {
        token_type: tokens.kind,
        access_token: Some(tokens.access),
        refresh_token: tokens.refresh,
        granted_scopes: granted,
        issued_at,
        expires_at: tokens.expires_in.map(|life| issued_at.saturating_add(life)),
        ..login
    }
}
