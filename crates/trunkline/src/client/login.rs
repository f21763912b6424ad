//! Logging in and out by hand.

use super::Client;
use crate::error::Result;
use crate::oauth::{Login, LoginKey};

impl Client {
    /// Logs in to the server now, whatever token is held: finds its authorization server, asks the person (or does what the
    /// grant is), keeps the login. Connecting isn't needed for it. Calls log in by themselves where the server wants it.
    ///
    /// # Errors
    /// [`Auth`](crate::ErrorKind::Auth) where there is no login to be had, and why; what the person who is asked, or the store,
    /// says; [`Unsupported`](crate::ErrorKind::Unsupported) for a server that isn't logged in to
    /// ([`ClientBuilder::oauth`](crate::ClientBuilder::oauth)).
    pub async fn login(&self) -> Result<Login> {
        let keeper = self.managed.keeper()?;
        keeper.log_in().await.map_err(|error| self.managed.labelled(error))
    }

    /// Forgets the login of the server, here and in the store; whether there was one. Nobody is told.
    ///
    /// # Errors
    /// What the store says; [`Unsupported`](crate::ErrorKind::Unsupported) as in [`login`](Self::login).
    pub async fn logout(&self) -> Result<bool> {
        let keeper = self.managed.keeper()?;
        keeper.log_out().await.map_err(|error| self.managed.labelled(error))
    }

    /// What the login of the server is kept under.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) as in [`login`](Self::login), [`Config`](crate::ErrorKind::Config) for
    /// settings that can't be used.
    pub fn login_key(&self) -> Result<LoginKey> {
        Ok(self.managed.keeper()?.key().clone())
    }
}
