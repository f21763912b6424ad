//! What a token is got for: a person's word, the client's own name, or somebody's assertion.

use std::fmt;

use crate::auth::{SharedTokenSource, TokenSource};
use crate::redact::Secret;

/// What a token is got for.
///
/// ```
/// use trunkline::{Grant, IdentityProvider, OAuth};
///
/// // a service: its own id and secret
/// let service = OAuth::new().client("service-1", Some("s3cr3t".into())).grant(Grant::ClientCredentials);
/// // a workload: what its platform says of it
/// let workload = OAuth::new().client("workload", None).grant(Grant::jwt_bearer(trunkline::Secret::new("eyJ...")));
/// // an employee: what the company's identity provider says of them
/// let provider = IdentityProvider::new("https://idp.example.com/token", trunkline::Secret::new("eyJ..."));
/// let employee = OAuth::new().client("app", None).grant(Grant::Enterprise(provider.client("app-at-idp", None)));
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Grant {
    /// A person agrees ([`Consent`](crate::Consent)).
    #[default]
    AuthorizationCode,
    /// The client acts for itself (extension OAuth Client Credentials).
    ClientCredentials,
    /// An assertion, such as the JWT of a workload (RFC 7523). It is presented once; an error is never answered with
    /// another try, nor with another grant.
    JwtBearer(Assertion),
    /// An identity provider says who it is (extension Enterprise-Managed Authorization).
    Enterprise(IdentityProvider),
}

impl Grant {
    /// An assertion from this source, which is asked each time a token is needed. A [`Secret`] is one that stays the same.
    pub fn jwt_bearer(source: impl TokenSource) -> Self {
        Self::JwtBearer(Assertion(SharedTokenSource::new(source)))
    }
}

/// Where an assertion comes from.
#[derive(Debug, Clone)]
pub struct Assertion(pub(super) SharedTokenSource);

/// The identity provider of a company, which decides by itself who may use which server.
#[derive(Clone)]
pub struct IdentityProvider {
    pub(super) token_endpoint: String,
    pub(super) identity: SharedTokenSource,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<Secret>,
}

impl IdentityProvider {
    /// The provider with this token endpoint, and where the identity token of the person comes from.
    pub fn new(token_endpoint: impl Into<String>, identity: impl TokenSource) -> Self {
        let identity = SharedTokenSource::new(identity);
        Self { token_endpoint: token_endpoint.into(), identity, client_id: None, client_secret: None }
    }

    /// What this client is to the provider.
    #[must_use]
    pub fn client(mut self, id: impl Into<String>, secret: Option<Secret>) -> Self {
        self.client_id = Some(id.into());
        self.client_secret = secret;
        self
    }
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("IdentityProvider");
        out.field("token_endpoint", &self.token_endpoint).field("client_id", &self.client_id).finish_non_exhaustive()
    }
}
