//! The next token without anybody's word: by refresh token, or by the grant that gave the last one. One at a time in the world:
//! a refresh token is often good once only.

use super::flow::Flow;
use super::grant::Grant;
use super::login::Login;
use super::need::Need;
use super::token::Refusal;
use crate::error::{Error, Result};

/// The renewed login; or what is left of the old one, and why it can't be renewed.
type Renewed = Result<Login, (Login, Error)>;

impl Flow {
    /// Renews a login, while nobody else does; takes what somebody else has just renewed.
    pub(super) async fn renewed(&self, current: &Login, need: &Need) -> Result<Renewed> {
        let _guard = self.lock().await?;
        let login = self.stored().await?.unwrap_or_else(|| current.clone());
        if need.is_met_by(&login) {
            return Ok(Ok(login));
        }
        let refusal = match self.next(&login).await? {
            Ok(next) => return self.kept(next).await,
            Err(refusal) => refusal,
        };
        // whoever doesn't keep to the lock may have been faster
        let again = if refusal.is("invalid_grant") { self.stored().await? } else { None };
        match again.filter(|again| again.refresh_token != login.refresh_token) {
            Some(again) if need.is_met_by(&again) => Ok(Ok(again)),
            Some(again) => match self.next(&again).await? {
                Ok(next) => self.kept(next).await,
                Err(refusal) => Ok(Err(left_of(again, refusal))),
            },
            None => Ok(Err(left_of(login, refusal))),
        }
    }

    async fn kept(&self, next: Login) -> Result<Renewed> {
        self.save(&next).await?;
        Ok(Ok(next))
    }

    /// The next login; the refusal where only a new authorization helps. What may pass is an error, and so is whatever another
    /// grant than that of a person meets: it would meet it again.
    async fn next(&self, login: &Login) -> Result<Result<Login, Refusal>> {
        if !matches!(self.settings.grant, Grant::AuthorizationCode) {
            return self.by_grant_again(login).await.map(Ok).map_err(|refusal| refusal.error);
        }
        let Some(token) = &login.refresh_token else {
            return Ok(Err(Refusal { code: None, error: self.login_needed(&login.requested_scopes) }));
        };
        match self.by_refresh(login, token).await {
            Err(Refusal { code: None, error }) => Err(error),
            outcome => Ok(outcome),
        }
    }
}

/// A client that the server doesn't know any more has to register itself anew.
fn left_of(mut login: Login, refusal: Refusal) -> (Login, Error) {
    if login.client.dynamic && (refusal.is("invalid_client") || refusal.is("unauthorized_client")) {
        login.client.client_id.clear();
    }
    (login, refusal.error)
}
