//! How the person who has to agree is asked: what they are shown, and where their browser was sent back to.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::error::Result;
use crate::redact::Secret;

/// Asks the person to log in and to agree: shows them an address, in a browser as a rule, and waits for where the browser
/// is sent back to (MCP specification, Authorization Flow Steps).
///
/// ```
/// use trunkline::{Consent, ConsentRequest, OAuth, Redirect, Result};
///
/// struct Paste;
///
/// impl Consent for Paste {
///     async fn redirect_uri(&self) -> Result<String> {
///         Ok("http://localhost:33418/".to_owned())
///     }
///     async fn authorize(&self, request: &ConsentRequest) -> Result<Redirect> {
///         eprintln!("Open {} and paste where you end up:", request.url());
///         let mut line = String::new();
///         std::io::stdin().read_line(&mut line).unwrap_or_default();
///         Ok(Redirect::new(line.trim()))
///     }
/// }
///
/// let oauth = OAuth::new().person(Paste);
/// ```
pub trait Consent: Send + Sync + 'static {
    /// Where the browser is to be sent back to: `https`, or `http` on the loopback interface. It is asked for before each
    /// login, and before a client is registered.
    ///
    /// # Errors
    /// Any that says why nobody can be asked.
    fn redirect_uri(&self) -> impl Future<Output = Result<String>> + Send;

    /// Shows the address to the person; gives the whole address that the browser was sent back to. What is in it is
    /// checked by the caller.
    ///
    /// # Errors
    /// Any that says why there is no answer, [`Cancelled`](crate::ErrorKind::Cancelled) where the person gave up.
    fn authorize(&self, request: &ConsentRequest) -> impl Future<Output = Result<Redirect>> + Send;
}

/// What a person is asked to agree to.
#[derive(Debug, Clone)]
pub struct ConsentRequest {
    pub(super) server: String,
    pub(super) url: String,
    pub(super) issuer: String,
    pub(super) redirect_uri: String,
    pub(super) state: String,
    pub(super) scopes: Vec<String>,
}

impl ConsentRequest {
    /// The label of the server that wants the login.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The address to open. It holds no secret, but is good for one login only.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The authorization server that asks.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Where the browser will be sent back to: what [`Consent::redirect_uri`] gave.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// What the address that the browser is sent back to has to hold as `state`; it tells this login from others.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// The scopes that are asked for.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }
}

/// The whole address that the browser was sent back to. It holds a code and is not shown.
#[derive(Debug, Clone)]
pub struct Redirect(pub(super) Secret);

impl Redirect {
    /// Takes the address as it came, with its query.
    pub fn new(url: impl Into<String>) -> Self {
        Self(Secret::new(url))
    }
}

/// The twin of [`Consent`] that can be a trait object.
trait Erased: Send + Sync {
    fn redirect_uri(&self) -> BoxFuture<'_, Result<String>>;
    fn authorize<'a>(&'a self, request: &'a ConsentRequest) -> BoxFuture<'a, Result<Redirect>>;
}

impl<T: Consent> Erased for T {
    fn redirect_uri(&self) -> BoxFuture<'_, Result<String>> {
        Box::pin(Consent::redirect_uri(self))
    }

    fn authorize<'a>(&'a self, request: &'a ConsentRequest) -> BoxFuture<'a, Result<Redirect>> {
        Box::pin(Consent::authorize(self, request))
    }
}

/// Any way to ask, shared.
#[derive(Clone)]
pub(crate) struct SharedConsent(Arc<dyn Erased>);

impl SharedConsent {
    pub(super) fn new(consent: impl Consent) -> Self {
        Self(Arc::new(consent))
    }

    pub(super) async fn redirect_uri(&self) -> Result<String> {
        self.0.redirect_uri().await
    }

    pub(super) async fn authorize(&self, request: &ConsentRequest) -> Result<Redirect> {
        self.0.authorize(request).await
    }
}

impl fmt::Debug for SharedConsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Consent")
    }
}
