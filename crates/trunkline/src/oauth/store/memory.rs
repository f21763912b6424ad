//! Logins in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::oauth::{Login, LoginKey, StoreGuard, TokenStore};

/// Keeps logins as long as it lives, for all clients that have a clone of it.
///
/// ```
/// use trunkline::{Client, MemoryStore, OAuth};
///
/// let logins = MemoryStore::default();
/// let a = Client::http("https://example.com/mcp").oauth(OAuth::new().store(logins.clone())).build()?;
/// let b = Client::http("https://example.com/mcp").oauth(OAuth::new().store(logins)).build()?; // logs in once, both use it
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    logins: HashMap<LoginKey, Login>,
    locks: HashMap<LoginKey, Arc<tokio::sync::Mutex<()>>>,
}

impl MemoryStore {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenStore for MemoryStore {
    async fn load(&self, key: &LoginKey) -> Result<Option<Login>> {
        Ok(self.kept().logins.get(key).cloned())
    }

    async fn save(&self, key: &LoginKey, login: &Login) -> Result<()> {
        self.kept().logins.insert(key.clone(), login.clone());
        Ok(())
    }

    async fn remove(&self, key: &LoginKey) -> Result<()> {
        self.kept().logins.remove(key);
        Ok(())
    }

    async fn lock(&self, key: &LoginKey) -> Result<StoreGuard> {
        let lock = self.kept().locks.entry(key.clone()).or_default().clone();
        Ok(StoreGuard::new(lock.lock_owned().await))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn clones_keep_the_same_and_lock_each_other_out() {
        let store = MemoryStore::default();
        let (key, other) = (LoginKey::new("https://a/mcp", None), LoginKey::new("https://b/mcp", None));
        let login = Login::new("https://as", "https://a/mcp", Some("access-1".into()));
        store.clone().save(&key, &login).await.unwrap();
        assert_eq!(store.load(&key).await.unwrap(), Some(login));
        assert_eq!(store.load(&other).await.unwrap(), None);
        let held = store.lock(&key).await.unwrap();
        let copy = store.clone();
        let mut waiting = Box::pin(copy.lock(&key));
        assert!(tokio::time::timeout(std::time::Duration::ZERO, &mut waiting).await.is_err());
        store.lock(&other).await.unwrap();
        drop(held);
        waiting.await.unwrap();
        store.remove(&key).await.unwrap();
        assert_eq!(store.load(&key).await.unwrap(), None);
    }
}
