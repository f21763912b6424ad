//! From what is configured for an HTTP server to the ways it is tried.

#[cfg(feature = "http")]
use std::sync::Arc;

use super::Setup;
#[cfg(feature = "http")]
use crate::auth::SharedAuthorizer;
use crate::config::HttpSpec;
#[cfg(not(all(feature = "http", feature = "sse")))]
use crate::error::Error;
use crate::error::Result;
use crate::redact::Redactor;
use crate::session::Recipe;
#[cfg(feature = "http")]
use crate::session::{Endpoint, Proxies};

/// Streamable HTTP, then HTTP with SSE; or the other way round, where that was right the last time.
pub(super) fn guessed(spec: &HttpSpec, redactor: &Redactor, setup: &Setup) -> Result<Vec<Recipe>> {
    let mut ways = vec![streamable(spec, redactor, setup)?];
    if cfg!(feature = "sse") {
        ways.push(sse(spec, redactor, setup)?);
    }
    if setup.spoken.was_sse() {
        ways.reverse();
    }
    Ok(ways)
}

#[cfg(feature = "http")]
pub(super) fn streamable(spec: &HttpSpec, redactor: &Redactor, setup: &Setup) -> Result<Recipe> {
    endpoint(spec, redactor, setup).map(Recipe::Http)
}

#[cfg(feature = "sse")]
pub(super) fn sse(spec: &HttpSpec, redactor: &Redactor, setup: &Setup) -> Result<Recipe> {
    endpoint(spec, redactor, setup).map(Recipe::Sse)
}

#[cfg(feature = "http")]
pub(super) fn endpoint(spec: &HttpSpec, redactor: &Redactor, setup: &Setup) -> Result<Endpoint> {
    let mut endpoint = Endpoint::new(&spec.url, &spec.headers)?;
    let proxies = spec.proxies.clone();
    endpoint.proxies = Proxies { http: proxies.http, https: proxies.https, none: proxies.none };
    endpoint.ca_file = spec.ca_file.clone();
    endpoint.redactor = redactor.clone();
    endpoint.authorizer = match tokens(spec)? {
        Some(tokens) => Some(SharedAuthorizer(Arc::new(tokens))),
        None => setup.login.authorizer(spec, &endpoint, setup)?,
    };
    Ok(endpoint)
}

#[cfg(feature = "http")]
fn tokens(spec: &HttpSpec) -> Result<Option<crate::auth::SharedTokenSource>> {
    let Some((command, args)) = spec.bearer_command.split_first() else { return Ok(spec.tokens.clone()) };
    #[cfg(feature = "stdio")]
    return Ok(Some(crate::auth::SharedTokenSource::new(crate::auth::TokenCommand::new(command, args))));
    #[cfg(not(feature = "stdio"))]
    {
        let _ = (command, args);
        let error = crate::error::Error::config("This build can't run a command for a token");
        Err(error.with_hint("Build trunkline with the feature \"stdio\""))
    }
}

#[cfg(not(feature = "http"))]
pub(super) fn streamable(spec: &HttpSpec, _: &Redactor, _: &Setup) -> Result<Recipe> {
    Err(left_out(spec, "http"))
}

#[cfg(not(feature = "sse"))]
pub(super) fn sse(spec: &HttpSpec, _: &Redactor, _: &Setup) -> Result<Recipe> {
    Err(left_out(spec, "sse"))
}

/// What to say of a URL in a build without its transport.
#[cfg(not(all(feature = "http", feature = "sse")))]
fn left_out(spec: &HttpSpec, feature: &str) -> Error {
    let url = crate::redact::mask_url(&spec.url);
    Error::config(format!("Can't connect to {url}: this build has no such transport"))
        .with_hint(format!("Build trunkline with the feature {feature:?}"))
}
