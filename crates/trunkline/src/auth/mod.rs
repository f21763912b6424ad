//! Where bearer tokens come from. Leaves to the transport when one is asked for, and to others how one is got.

#[cfg(feature = "http")]
#[cfg_attr(not(feature = "oauth"), allow(dead_code, reason = "only a login needs more than a token"))]
mod authorizer;
#[cfg(feature = "http")]
#[cfg_attr(not(feature = "oauth"), allow(dead_code, reason = "only a login needs more than a token"))]
mod challenge;
#[cfg(all(feature = "stdio", feature = "http"))]
mod command;
mod pause;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;

#[cfg(all(feature = "stdio", feature = "http"))]
pub use command::TokenCommand;

#[cfg(feature = "oauth")]
pub(crate) use authorizer::Authorizer;
#[cfg(feature = "http")]
pub(crate) use authorizer::{Pass, Refused, SharedAuthorizer, Target, Tries};
#[cfg(feature = "http")]
pub(crate) use challenge::Wanted;

pub(crate) use pause::Pause;

use crate::error::Result;
use crate::redact::Secret;

/// A source of bearer tokens for an HTTP server (MCP specification, Authorization: the token goes into the
/// `Authorization` header of every request).
///
/// It is asked before each request, so it should answer at once while its token is good, and once more when the server
/// answers 401, with the [`Challenge`]. A token other than the refused one is tried once.
///
/// ```
/// use trunkline::{Challenge, Client, Result, Secret, TokenSource};
///
/// struct Fixed;
///
/// impl TokenSource for Fixed {
///     async fn token(&self, _: Option<&Challenge>) -> Result<Option<Secret>> {
///         Ok(Some("from-somewhere".into()))
///     }
/// }
///
/// let client = Client::http("https://example.com/mcp").token_source(Fixed).build()?;
/// # Ok::<(), trunkline::Error>(())
/// ```
pub trait TokenSource: Send + Sync + 'static {
    /// The token to send; none where there is nothing to send.
    ///
    /// # Errors
    /// [`Auth`](crate::ErrorKind::Auth) when a token can't be got; the request is not sent then.
    fn token(&self, challenge: Option<&Challenge>) -> impl Future<Output = Result<Option<Secret>>> + Send;
}

/// The same token, always.
impl TokenSource for Secret {
    async fn token(&self, _: Option<&Challenge>) -> Result<Option<Secret>> {
        Ok(Some(self.clone()))
    }
}

/// A server's refusal of a request: status 401.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Challenge {
    /// The token that was refused, if one was sent.
    pub refused: Option<Secret>,
    /// The `WWW-Authenticate` header of the answer.
    pub header: Option<String>,
}

impl Challenge {
    #[cfg_attr(not(feature = "http"), expect(dead_code))]
    pub(crate) fn new(refused: Option<Secret>, header: Option<&str>) -> Self {
        Self { refused, header: header.map(str::to_owned) }
    }
}

/// The twin of [`TokenSource`] that can be a trait object.
trait Erased: Send + Sync {
    fn token<'a>(&'a self, challenge: Option<&'a Challenge>) -> BoxFuture<'a, Result<Option<Secret>>>;
}

impl<T: TokenSource> Erased for T {
    fn token<'a>(&'a self, challenge: Option<&'a Challenge>) -> BoxFuture<'a, Result<Option<Secret>>> {
        Box::pin(TokenSource::token(self, challenge))
    }
}

/// Any token source, shared.
#[derive(Clone)]
pub(crate) struct SharedTokenSource(Arc<dyn Erased>);

impl SharedTokenSource {
    pub(crate) fn new(source: impl TokenSource) -> Self {
        Self(Arc::new(source))
    }

    #[cfg_attr(not(feature = "http"), expect(dead_code))]
    pub(crate) async fn token(&self, challenge: Option<&Challenge>) -> Result<Option<Secret>> {
        self.0.token(challenge).await
    }
}

impl fmt::Debug for SharedTokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSource")
    }
}
