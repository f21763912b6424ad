//! How a server's requests are let in by OAuth: what its client says, what its entry says, and the login that all its connections
//! share.

#[cfg(not(feature = "oauth"))]
pub(crate) use without::Logins;

#[cfg(feature = "oauth")]
use std::sync::{Arc, OnceLock};

#[cfg(feature = "oauth")]
use super::{Managed, Planned, Setup, over};
#[cfg(feature = "oauth")]
use crate::auth::{Authorizer as _, SharedAuthorizer};
#[cfg(feature = "oauth")]
use crate::config::{AuthGrant, AuthSpec, HttpSpec, TransportSpec};
#[cfg(feature = "oauth")]
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "oauth")]
use crate::oauth::{Grant, IdentityProvider, Keeper, OAuth, SigningAlgorithm};
#[cfg(feature = "oauth")]
use crate::session::Endpoint;

/// The login of one server.
#[cfg(feature = "oauth")]
#[derive(Clone, Default)]
pub(crate) struct Logins {
    base: Option<OAuth>,
    keeper: Arc<OnceLock<Arc<Keeper>>>,
}

#[cfg(feature = "oauth")]
impl Logins {
    pub(crate) fn new(base: Option<OAuth>) -> Self {
        Self { base, keeper: Arc::default() }
    }

    /// Who lets the requests in, where that is done by OAuth: where the entry says so, or the client does and nothing else
    /// lets them in.
    pub(super) fn authorizer(
        &self,
        spec: &HttpSpec,
        endpoint: &Endpoint,
        setup: &Setup,
    ) -> Result<Option<SharedAuthorizer>> {
        if spec.auth.is_none() && (self.base.is_none() || endpoint.has_login()) {
            return Ok(None);
        }
        Ok(Some(SharedAuthorizer(self.keeper(spec, endpoint, setup)?)))
    }

    /// Waits until no login is under way any more; whether one was.
    pub(super) async fn over(&self) -> bool {
        match self.keeper.get().and_then(|keeper| keeper.pause()) {
            Some(pause) => pause.over().await,
            None => false,
        }
    }

    fn keeper(&self, spec: &HttpSpec, endpoint: &Endpoint, setup: &Setup) -> Result<Arc<Keeper>> {
        if let Some(keeper) = self.keeper.get() {
            return Ok(keeper.clone());
        }
        let base = self.base.clone().unwrap_or_default();
        let settings = match &spec.auth {
            Some(auth) => with_entry(base, auth)?,
            None => base,
        };
        let keeper = Arc::new(Keeper::new(&setup.label, settings, endpoint, &setup.limits)?);
        Ok(self.keeper.get_or_init(|| keeper).clone())
    }
}

/// What the client says, and in its place what the entry says; the scopes of both.
#[cfg(feature = "oauth")]
fn with_entry(mut oauth: OAuth, auth: &AuthSpec) -> Result<OAuth> {
    if let Some(id) = &auth.client_id {
        oauth = oauth.client(id, auth.client_secret.clone());
    }
    if let Some(issuer) = &auth.issuer {
        oauth = oauth.issuer(issuer);
    }
    if let Some(url) = &auth.client_metadata_url {
        oauth = oauth.client_metadata_url(url);
    }
    if !auth.scopes.is_empty() {
        oauth = oauth.more_scopes(&auth.scopes);
    }
    if let Some(key) = &auth.private_key {
        let algorithm = auth.algorithm.as_deref().unwrap_or("ES256");
        let algorithm = SigningAlgorithm::of_name(algorithm).ok_or_else(|| {
            Error::config(format!("\"auth.algorithm\" is {algorithm:?}, which is none of \"ES256\", \"RS256\""))
        })?;
        oauth = oauth.private_key(key.read()?, algorithm);
    }
    let needs = |what: &str| Error::config(format!("\"auth\" lacks \"{what}\", which its grant needs"));
    Ok(match auth.grant {
        AuthGrant::AuthorizationCode => oauth,
        AuthGrant::ClientCredentials => oauth.grant(Grant::ClientCredentials),
        AuthGrant::JwtBearer => {
            let assertion = auth.assertion.clone().ok_or_else(|| needs("assertion"))?;
            oauth.grant(Grant::jwt_bearer(assertion))
        }
        AuthGrant::Enterprise => {
            let told = auth.identity_provider.as_ref().ok_or_else(|| needs("identityProvider"))?;
            let identity = auth.assertion.clone().ok_or_else(|| needs("assertion"))?;
            let mut provider = IdentityProvider::new(&told.token_endpoint, identity);
            if let Some(id) = &told.client_id {
                provider = provider.client(id, told.client_secret.clone());
            }
            oauth.grant(Grant::Enterprise(provider))
        }
    })
}

#[cfg(feature = "oauth")]
impl Managed {
    /// The login of this server, if it has one.
    ///
    /// # Errors
    /// Kind `Config` where its settings can't be used, `Unsupported` where nothing lets it in by OAuth.
    pub(crate) fn keeper(&self) -> Result<Arc<Keeper>> {
        let setup = &*self.setup;
        let none = |why: &str| {
            let error = Error::new(ErrorKind::Unsupported, format!("Server \"{}\" has no login: {why}", setup.label));
            Err(self.labelled(error))
        };
        let Planned::Server(server) = (setup.plan)().map_err(|error| self.labelled(error))? else {
            return none("it is in this process");
        };
        let (TransportSpec::Http(spec) | TransportSpec::Sse(spec)) = &server.transport else {
            return none("it is a process, and takes what it needs from its environment");
        };
        let endpoint = over::endpoint(spec, &server.redactor, setup)?;
        match setup.login.authorizer(spec, &endpoint, setup)? {
            Some(_) => setup.login.keeper(spec, &endpoint, setup),
            None => none("it is let in by what is configured for it"),
        }
    }
}

#[cfg(not(feature = "oauth"))]
mod without {
    #[cfg(feature = "http")]
    use crate::{auth::SharedAuthorizer, config::HttpSpec, error::Error, error::Result, session::Endpoint};

    /// The login of one server, in a build that can't log in.
    #[derive(Clone, Default)]
    pub(crate) struct Logins {}

    impl Logins {
        #[expect(clippy::unused_async, reason = "its twin waits")]
        pub(in super::super) async fn over(&self) -> bool {
            false
        }
    }

    #[cfg(feature = "http")]
    impl Logins {
        #[expect(clippy::unused_self, reason = "its twin needs it")]
        pub(in super::super) fn authorizer(
            &self,
            spec: &HttpSpec,
            _: &Endpoint,
            _: &super::super::Setup,
        ) -> Result<Option<SharedAuthorizer>> {
            match spec.auth {
                None => Ok(None),
                Some(_) => Err(Error::config("\"auth\" can't be used: this build can't log in")
                    .with_hint("Build trunkline with the feature \"oauth\"")),
            }
        }
    }
}
