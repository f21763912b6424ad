//! What is said where a person is needed and nobody can be asked.

use super::flow::Flow;
use super::login::Login;
use super::need::Need;
use super::scopes::union;
use crate::error::{Error, ErrorKind};

impl Flow {
    /// That somebody has to log in.
    pub(super) fn login_needed(&self, scopes: &[String]) -> Error {
        let message = format!("Server \"{}\" wants a login", self.label);
        let token = "or give it a token: --bearer-env NAME, or \"headers\" in the config";
        let error =
            Error::new(ErrorKind::Auth, message).with_hint(format!("Log in with: {} ({token})", self.command(&[])));
        let error = error.with_context("stage", "login");
        if scopes.is_empty() { error } else { error.with_context("scopes", scopes.join(" ")) }
    }

    /// That the token lacks scopes.
    pub(super) fn scopes_lack(&self, need: &Need, current: Option<&Login>) -> Error {
        let lacking = need.scopes();
        let all = union(current.map_or(&[], |login| &login.requested_scopes), &lacking);
        let message = match lacking.is_empty() {
            true => format!("The token for server \"{}\" lacks a scope, and the server doesn't say which", self.label),
            false => format!("The token for server \"{}\" lacks the scope {:?}", self.label, lacking.join(" ")),
        };
        Error::new(ErrorKind::Auth, message)
            .with_hint(format!("Log in again to get it: {}", self.command(&all)))
            .with_context("error", "insufficient_scope")
            .with_context("scopes", lacking.join(" "))
            .with_context("stage", "login")
            .with_context("status", "403")
    }

    fn command(&self, scopes: &[String]) -> String {
        let quoted = |word: &str| {
            let plain = word.chars().all(|c| c.is_alphanumeric() || "-_./:".contains(c)) && !word.is_empty();
            if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
        };
        let scopes = scopes.iter().map(|scope| format!(" --scope {}", quoted(scope))).collect::<String>();
        let own = self.settings.login_command.clone();
        own.unwrap_or_else(|| format!("trunkline login {}", quoted(&self.label))) + &scopes
    }
}
