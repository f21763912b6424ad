//! `OAuth`: what is known beforehand of how tokens are to be got. Does no I/O.

use super::consent::{Consent, SharedConsent};
use super::grant::Grant;
use super::key::SigningAlgorithm;
use super::token_store::{SharedTokenStore, TokenStore};
use crate::redact::Secret;

/// How a client gets its tokens. Everything is found out from the server and its
/// authorization server; what is set here is what they can't know (MCP specification, Authorization).
///
/// Cheap to clone; the clones share the store and the person.
///
/// ```
/// use trunkline::OAuth;
///
/// let oauth = OAuth::new().client("my-client-id", None).scopes(["files:read"]);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "settings do nothing until a client has them"]
pub struct OAuth {
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<Secret>,
    pub(super) issuer: Option<String>,
    pub(super) metadata_url: Option<String>,
    pub(super) client_name: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) grant: Grant,
    pub(super) key: Option<(Secret, SigningAlgorithm)>,
    pub(super) login_command: Option<String>,
    pub(super) person: Option<SharedConsent>,
    pub(super) store: Option<SharedTokenStore>,
}

impl OAuth {
    /// Nothing is known beforehand.
    pub fn new() -> Self {
        Self::default()
    }

    /// The client is registered already under this id, and has this secret if one was given to it. It is shown to one
    /// authorization server only: to [`issuer`](Self::issuer), or to the first one that is met.
    pub fn client(mut self, id: impl Into<String>, secret: Option<Secret>) -> Self {
        self.client_id = Some(id.into());
        self.client_secret = secret;
        self
    }

    /// The authorization server that [`client`](Self::client) is registered at. Where the server has others only, that is an
    /// error.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// The `https` address of a document that describes the client (Client ID Metadata Document). It is the client's id at
    /// every authorization server that takes such ones.
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.metadata_url = Some(url.into());
        self
    }

    /// What a client that registers itself calls itself, and a person reads when they are asked. `Trunkline` by default.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = Some(name.into());
        self
    }

    /// The scopes to ask for, whatever the server recommends; what it demands is asked for besides.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Asks for these scopes besides.
    pub(crate) fn more_scopes(mut self, scopes: &[String]) -> Self {
        self.scopes = super::scopes::union(scopes, &self.scopes);
        self
    }

    /// What a token is got for; a person's word by default.
    pub fn grant(mut self, grant: Grant) -> Self {
        self.grant = grant;
        self
    }

    /// The private key (PEM, PKCS 8) that the client signs with to show who it is (`private_key_jwt`).
    pub fn private_key(mut self, pem: impl Into<Secret>, algorithm: SigningAlgorithm) -> Self {
        self.key = Some((pem.into(), algorithm));
        self
    }

    /// What a person runs to log in, for the hint of an error that wants it; `trunkline login` and the label by default. The
    /// scopes that lack are added as `--scope` each.
    pub fn login_command(mut self, command: impl Into<String>) -> Self {
        self.login_command = Some(command.into());
        self
    }

    /// Who asks the person. Without it, a login that needs a person is an error that says so.
    pub fn person(mut self, consent: impl Consent) -> Self {
        self.person = Some(SharedConsent::new(consent));
        self
    }

    /// Where logins are kept.
    pub fn store(mut self, store: impl TokenStore) -> Self {
        self.store = Some(SharedTokenStore::new(store));
        self
    }
}
