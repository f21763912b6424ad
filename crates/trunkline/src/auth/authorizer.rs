//! What the transport asks for before a request is sent, and again when it was refused: more than a bearer token, for those who
//! need more.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use url::Url;

use super::{Challenge, Pause, SharedTokenSource};
use crate::error::Result;
use crate::redact::Secret;

/// The request that is to be let in.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a Url,
    /// Who was reached at the other end, where that is known.
    pub(crate) peer: Option<IpAddr>,
}

/// What a request carries to be let in.
#[derive(Clone)]
pub(crate) struct Pass {
    pub(crate) token: Secret,
    /// A proof that the token is ours (RFC 9449), for this one request.
    pub(crate) proof: Option<Secret>,
}

/// A refusal, with status 401 or 403.
pub(crate) struct Refused<'a> {
    pub(crate) status: u16,
    /// The `WWW-Authenticate` headers of the answer, joined.
    pub(crate) header: Option<&'a str>,
    /// What was refused.
    pub(crate) pass: Option<&'a Pass>,
}

/// What was tried for one request already.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    pub(crate) tokens: usize,
    pub(crate) nonces: usize,
    pub(crate) scopes: usize,
}

/// Lets requests in.
pub(crate) trait Authorizer: Send + Sync {
    /// What the request is to carry, if there is anything.
    fn pass<'a>(&'a self, target: Target<'a>) -> BoxFuture<'a, Result<Option<Pass>>>;

    /// What the request is to carry instead, if making it again may help. Counts what is tried.
    fn again<'a>(
        &'a self,
        target: Target<'a>,
        refused: Refused<'a>,
        tries: &'a mut Tries,
    ) -> BoxFuture<'a, Result<Option<Pass>>>;

    /// Stands still while somebody logs in, for whoever minds how long a server takes. None where nobody is ever asked.
    fn pause(&self) -> Option<&Pause> {
        None
    }

    /// Takes the nonce that the server wants in the next proof.
    fn note_nonce(&self, _url: &Url, _nonce: &str) {}
}

/// Any authorizer, shared.
#[derive(Clone)]
pub(crate) struct SharedAuthorizer(pub(crate) Arc<dyn Authorizer>);

impl fmt::Debug for SharedAuthorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorizer")
    }
}

/// A source of tokens is asked again once, after a 401; a token other than the refused one is tried.
impl Authorizer for SharedTokenSource {
    fn pass<'a>(&'a self, _: Target<'a>) -> BoxFuture<'a, Result<Option<Pass>>> {
        Box::pin(async { Ok(self.token(None).await?.map(|token| Pass { token, proof: None })) })
    }

    fn again<'a>(
        &'a self,
        _: Target<'a>,
        refused: Refused<'a>,
        tries: &'a mut Tries,
    ) -> BoxFuture<'a, Result<Option<Pass>>> {
        Box::pin(async move {
            if refused.status != 401 || tries.tokens > 0 {
                return Ok(None);
            }
            tries.tokens += 1;
            let token = refused.pass.map(|pass| pass.token.clone());
            let challenge = Challenge::new(token.clone(), refused.header);
            let fresh = self.token(Some(&challenge)).await?.filter(|fresh| Some(fresh) != token.as_ref());
            Ok(fresh.map(|token| Pass { token, proof: None }))
        })
    }
}
