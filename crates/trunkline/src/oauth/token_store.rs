//! Where logins are kept between two runs, as a trait.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::login::{Login, LoginKey};
use crate::error::Result;

/// Keeps logins. Without one, a login lasts as long as its client.
///
/// Several processes may share a store: while one renews a token it holds the [`lock`](Self::lock) of that login, and
/// whoever gets the lock after it reads what was saved, so that a refresh token that is good once only is used once.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
/// use trunkline::{Login, LoginKey, Result, StoreGuard, TokenStore};
///
/// /// Within one process, for one client.
/// #[derive(Default)]
/// struct Memory(Mutex<HashMap<LoginKey, Login>>);
///
/// impl TokenStore for Memory {
///     async fn load(&self, key: &LoginKey) -> Result<Option<Login>> {
///         Ok(self.0.lock().unwrap().get(key).cloned())
///     }
///     async fn save(&self, key: &LoginKey, login: &Login) -> Result<()> {
///         self.0.lock().unwrap().insert(key.clone(), login.clone());
///         Ok(())
///     }
///     async fn remove(&self, key: &LoginKey) -> Result<()> {
///         self.0.lock().unwrap().remove(key);
///         Ok(())
///     }
///     async fn lock(&self, _: &LoginKey) -> Result<StoreGuard> {
///         Ok(StoreGuard::default())
///     }
/// }
/// ```
pub trait TokenStore: Send + Sync + 'static {
    /// The login that is kept under this key.
    ///
    /// # Errors
    /// Any that says why the store can't be read.
    fn load(&self, key: &LoginKey) -> impl Future<Output = Result<Option<Login>>> + Send;

    /// Keeps a login, in place of the one before: at once or not at all.
    ///
    /// # Errors
    /// Any that says why it can't be kept.
    fn save(&self, key: &LoginKey, login: &Login) -> impl Future<Output = Result<()>> + Send;

    /// Forgets a login; that there is none is no error.
    ///
    /// # Errors
    /// Any that says why it can't be forgotten.
    fn remove(&self, key: &LoginKey) -> impl Future<Output = Result<()>> + Send;

    /// Waits until nobody else, in whichever process, holds this login; holds it until the guard is dropped. Loading and
    /// saving need no lock.
    ///
    /// # Errors
    /// Any that says why it can't be had.
    fn lock(&self, key: &LoginKey) -> impl Future<Output = Result<StoreGuard>> + Send;
}

/// Holds a login until it is dropped.
#[derive(Default)]
pub struct StoreGuard(#[expect(dead_code, reason = "it is held, not used")] Option<Box<dyn Any + Send + Sync>>);

impl StoreGuard {
    /// Drops `held` when it is dropped itself.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self(Some(Box::new(held)))
    }
}

impl fmt::Debug for StoreGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreGuard")
    }
}

/// The twin of [`TokenStore`] that can be a trait object.
trait Erased: Send + Sync {
    fn load<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<Option<Login>>>;
    fn save<'a>(&'a self, key: &'a LoginKey, login: &'a Login) -> BoxFuture<'a, Result<()>>;
    fn remove<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<()>>;
    fn lock<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<StoreGuard>>;
}

impl<T: TokenStore> Erased for T {
    fn load<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<Option<Login>>> {
        Box::pin(TokenStore::load(self, key))
    }

    fn save<'a>(&'a self, key: &'a LoginKey, login: &'a Login) -> BoxFuture<'a, Result<()>> {
        Box::pin(TokenStore::save(self, key, login))
    }

    fn remove<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<()>> {
        Box::pin(TokenStore::remove(self, key))
    }

    fn lock<'a>(&'a self, key: &'a LoginKey) -> BoxFuture<'a, Result<StoreGuard>> {
        Box::pin(TokenStore::lock(self, key))
    }
}

/// Any store, shared.
#[derive(Clone)]
pub(crate) struct SharedTokenStore(Arc<dyn Erased>);

impl SharedTokenStore {
    pub(super) fn new(store: impl TokenStore) -> Self {
        Self(Arc::new(store))
    }

    pub(super) async fn load(&self, key: &LoginKey) -> Result<Option<Login>> {
        self.0.load(key).await
    }

    pub(super) async fn save(&self, key: &LoginKey, login: &Login) -> Result<()> {
        self.0.save(key, login).await
    }

    pub(super) async fn remove(&self, key: &LoginKey) -> Result<()> {
        self.0.remove(key).await
    }

    pub(super) async fn lock(&self, key: &LoginKey) -> Result<StoreGuard> {
        self.0.lock(key).await
    }
}

impl fmt::Debug for SharedTokenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenStore")
    }
}
