//! What a login has to have that isn't there yet.

use super::login::Login;
use super::random::now;
use crate::auth::Wanted;
use crate::redact::Secret;

/// Why another token is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The one there is will be over soon: nobody is to be bothered yet.
    Ahead,
    /// It was refused, and may be renewed.
    Refused,
    /// There is none, or renewing it didn't help.
    Anew,
    /// It lacks scopes: only a new authorization adds some.
    More,
}

/// What is needed.
#[derive(Debug, Clone)]
pub(super) struct Need {
    pub(super) kind: Kind,
    /// What the server said.
    pub(super) wanted: Wanted,
    /// The token that won't do any more.
    pub(super) refused: Option<Secret>,
}

impl Need {
    /// The scopes that the server demands.
    pub(super) fn scopes(&self) -> Vec<String> {
        self.wanted.scopes().map(str::to_owned).collect()
    }

    /// Whether this login has it.
    pub(super) fn is_met_by(&self, login: &Login) -> bool {
        let has = |scope: &String| login.requested_scopes.contains(scope) || login.granted_scopes.contains(scope);
        login.access_token.is_some()
            && login.access_token != self.refused
            && !login.is_over(now())
            && (self.kind != Kind::More || self.scopes().iter().all(has))
    }
}
