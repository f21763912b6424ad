//! From what is needed to a login that has it: renewed, or got from the beginning. One of these a server; it knows who asks,
//! whom, and how far what it is told may lead.

use std::sync::{Arc, Mutex, PoisonError};

use super::authority::Authority;
use super::consent::SharedConsent;
use super::dpop::{Nonces, ProofKey};
use super::grant::Grant;
use super::grants::{Desk, taken};
use super::key::Key;
use super::login::{Login, LoginKey, Registration, TokenType};
use super::need::{Kind, Need};
use super::protected::Protected;
use super::scopes::{initial, union, with_offline};
use super::settings::OAuth;
use super::token_store::StoreGuard;
use super::tried::Tried;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::redact::Redactor;
use crate::transport::{Endpoint, Reach, Visitor};

/// Everything that is known of one server's logins but the tokens.
pub(super) struct Flow {
    pub(super) label: String,
    pub(super) settings: OAuth,
    pub(super) key: LoginKey,
    pub(super) visitor: Visitor,
    pub(super) limits: Arc<Limits>,
    pub(super) redactor: Redactor,
    pub(super) nonces: Nonces,
    signer: Option<Key>,
    /// How near the server is, once that is known.
    near: Mutex<Option<Reach>>,
}

/// What tokens are to be for.
pub(super) struct Wish {
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
}

/// What was found out before tokens are asked for.
struct Found {
    protected: Protected,
    authority: Authority,
    client: Registration,
    redirect_uri: Option<String>,
    scopes: Vec<String>,
}

impl Flow {
    pub(super) fn new(label: &str, settings: OAuth, endpoint: &Endpoint, limits: &Arc<Limits>) -> Result<Self> {
        let redactor = endpoint.redactor.clone();
        settings.client_secret.iter().for_each(|secret| redactor.learn(secret.expose()));
        let signer = settings.key.as_ref().map(|(pem, algorithm)| Key::of_pem(pem, *algorithm)).transpose()?;
        Ok(Self {
            label: label.to_owned(),
            key: LoginKey::new(endpoint.url.as_str(), settings.client_id.as_deref()),
            settings,
            visitor: Visitor::new(endpoint, limits),
            limits: limits.clone(),
            redactor,
            nonces: Nonces::default(),
            signer,
            near: Mutex::default(),
        })
    }

    /// A login that has what is needed.
    pub(super) async fn get(&self, need: &Need, current: Option<Login>) -> Result<Login> {
        let mut current = current;
        if let (Kind::Ahead | Kind::Refused, Some(login)) = (need.kind, &current) {
            match self.renewed(login, need).await? {
                Ok(login) => return Ok(login),
                Err((_, why)) if need.kind == Kind::Ahead => return Err(why),
                Err((login, why)) => {
                    tracing::debug!(server = %self.label, %why, "the login can't be renewed");
                    current = Some(login);
                }
            }
        }
        self.anew(need, current).await
    }

    /// A login from the beginning: who is to be asked, as whom, for what.
    async fn anew(&self, need: &Need, current: Option<Login>) -> Result<Login> {
        let stored = self.stored().await?;
        if let Some(stored) = stored.as_ref().filter(|login| need.is_met_by(login)) {
            return Ok(stored.clone()); // somebody else logged in meanwhile
        }
        let current = current.or(stored);
        if matches!(self.settings.grant, Grant::AuthorizationCode) && self.settings.person.is_none() {
            return Err(match need.kind {
                Kind::More => self.scopes_lack(need, current.as_ref()),
                _ => self.login_needed(&self.settings.scopes),
            });
        }
        let found = self.found(need, current.as_ref()).await?;
        let login = self.obtained(need, found, current).await?;
        self.keep(&login).await?;
        Ok(login)
    }

    async fn found(&self, need: &Need, current: Option<&Login>) -> Result<Found> {
        let mut tried = Tried::default();
        let protected = self.protected(&need.wanted, &mut tried).await?;
        let authority = match self.chosen(&protected, current) {
            Some(issuer) => self.authority(issuer, &mut tried).await?,
            None => self.own_authority(&mut tried).await?,
        };
        let redirect_uri = self.redirect_uri().await?;
        let scopes = self.wanted_scopes(need, current, &protected, &authority);
        let scopes = if redirect_uri.is_some() { with_offline(scopes, &authority) } else { scopes };
        let client = self.client(&authority, current, redirect_uri.as_deref(), &scopes, &mut tried).await?;
        Ok(Found { protected, authority, client, redirect_uri, scopes })
    }

    /// What is asked for: as before at the same authorization server, and what is wanted now.
    fn wanted_scopes(
        &self,
        need: &Need,
        current: Option<&Login>,
        protected: &Protected,
        authority: &Authority,
    ) -> Vec<String> {
        let same = current.filter(|login| login.issuer == authority.issuer);
        let asked = same.map_or(&[][..], |login| &login.requested_scopes);
        match need.kind {
            Kind::More => union(asked, &need.scopes()),
            _ => union(&initial(&self.settings.scopes, &need.wanted, protected), asked),
        }
    }

    /// Which of the server's authorization servers is asked: the one that is known already, else the first.
    fn chosen<'a>(&self, protected: &'a Protected, current: Option<&Login>) -> Option<&'a str> {
        let known = [self.settings.issuer.as_ref(), current.map(|login| &login.issuer)];
        let listed = |known: &String| protected.issuers.iter().find(|issuer| *issuer == known);
        known.into_iter().flatten().find_map(listed).or(protected.issuers.first()).map(String::as_str)
    }

    /// Asks for tokens, and makes a login of them.
    async fn obtained(&self, need: &Need, found: Found, current: Option<Login>) -> Result<Login> {
        let Found { protected, authority, client, redirect_uri, scopes } = found;
        let same = current.as_ref().filter(|login| login.issuer == authority.issuer);
        let bound = protected.dpop || need.wanted.dpop;
        let key = match same.and_then(|login| login.dpop_key.as_ref()) {
            _ if !(bound && authority.dpop) => None,
            Some(written) => Some(ProofKey::read(written)?),
            None => Some(ProofKey::generate()?),
        };
        let wish = Wish { resource: protected.resource.clone(), scopes };
        let tokens = match &redirect_uri {
            Some(uri) => self.by_person(&authority, &client, uri, &wish, key.as_ref()).await,
            None => self.by_grant(Desk::of(&authority, &client, key.as_ref()), &wish).await,
        };
        let tokens = tokens.map_err(|refusal| refusal.error)?;
        if protected.dpop && tokens.kind != TokenType::Dpop {
            let message = format!(
                "{} gave a token that isn't bound to a key, and the server wants one that is",
                authority.issuer
            );
            return Err(Error::new(ErrorKind::Auth, message).with_context("stage", "token"));
        }
        let login = Login {
            token_endpoint: authority.token_endpoint.to_string(),
            dpop_key: key.map(|key| key.written),
            requested_scopes: wish.scopes,
            earlier_clients: earlier(current, &client),
            client,
            ..Login::new(authority.issuer, protected.resource, None)
        };
        Ok(taken(login, tokens))
    }

    /// What is kept of this login.
    pub(super) async fn stored(&self) -> Result<Option<Login>> {
        let Some(store) = &self.settings.store else { return Ok(None) };
        let login = store.load(&self.key).await?;
        let fits = |login: &Login| self.settings.client_id.as_ref().is_none_or(|id| *id == login.client.client_id);
        let login = login.filter(fits);
        login.iter().flat_map(Login::secrets).for_each(|secret| self.redactor.learn(secret.expose()));
        Ok(login)
    }

    pub(super) async fn lock(&self) -> Result<StoreGuard> {
        match &self.settings.store {
            Some(store) => store.lock(&self.key).await,
            None => Ok(StoreGuard::default()),
        }
    }

    async fn keep(&self, login: &Login) -> Result<()> {
        let _guard = self.lock().await?;
        self.save(login).await
    }

    pub(super) async fn save(&self, login: &Login) -> Result<()> {
        match &self.settings.store {
            Some(store) => store.save(&self.key, login).await,
            None => Ok(()),
        }
    }

    /// How near the server is, and so what it may name.
    pub(super) async fn reach(&self) -> Reach {
        if let Some(near) = *self.near() {
            return near;
        }
        let near = self.visitor.home_reach().await;
        *self.near().get_or_insert(near)
    }

    pub(super) fn near(&self) -> std::sync::MutexGuard<'_, Option<Reach>> {
        self.near.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn person(&self) -> Option<&SharedConsent> {
        self.settings.person.as_ref()
    }

    pub(super) fn signer(&self) -> Result<&Key> {
        self.signer.as_ref().ok_or_else(|| {
            let message = "The client has to sign to show who it is, and has no private key";
            Error::new(ErrorKind::Auth, message).with_hint("Give it: \"auth\": {\"privateKeyFile\": ...} in the config")
        })
    }

    /// A text of somebody else, safe to show.
    pub(super) fn shown(&self, text: &str) -> String {
        const LONGEST: usize = 200;
        let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
        let short: String = text.chars().take(LONGEST).map(escaped).collect();
        self.redactor.redact(&short).into_owned()
    }
}

/// What the client is to other authorization servers than this one's.
fn earlier(current: Option<Login>, client: &Registration) -> Vec<Registration> {
    const MOST: usize = 8;
    let Some(login) = current else { return Vec::new() };
    let all = std::iter::once(login.client).chain(login.earlier_clients);
    let others = all.filter(|other| other.issuer != client.issuer && other.dynamic && !other.client_id.is_empty());
    others.take(MOST).collect()
}
