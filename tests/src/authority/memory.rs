//! What an authorization server remembers: clients, codes, tokens.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};

/// A client that is known.
#[derive(Debug, Clone, Default)]
pub struct Known {
    pub id: String,
    pub secret: Option<String>,
    /// How it shows who it is: `none`, `client_secret_basic`, `client_secret_post`, `private_key_jwt`.
    pub method: String,
    pub redirect_uris: Vec<String>,
    /// The scopes that it registered for.
    pub scope: String,
    /// For `private_key_jwt`: the public key, an uncompressed point.
    pub key: Vec<u8>,
}

/// What was agreed to, and what stays the same over every refresh.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agreed {
    pub(crate) client: String,
    pub(crate) scope: String,
    pub(crate) resource: String,
    /// The thumbprint of the key that tokens are bound to.
    pub(crate) key: Option<String>,
    /// The login that this goes back to.
    pub(crate) login: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Code {
    pub(crate) agreed: Agreed,
    pub(crate) redirect_uri: String,
    pub(crate) challenge: String,
    pub(crate) used: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) agreed: Agreed,
    pub(crate) until: Instant,
}

#[derive(Debug, Clone)]
pub(crate) struct Refresh {
    pub(crate) agreed: Agreed,
    pub(crate) used: bool,
}

/// What an assertion is good for. What is empty isn't looked at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assertion {
    pub(crate) audience: String,
    pub(crate) resource: String,
    pub(crate) scope: String,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) clients: HashMap<String, Known>,
    pub(crate) codes: HashMap<String, Code>,
    pub(crate) access: HashMap<String, Access>,
    pub(crate) refresh: HashMap<String, Refresh>,
    /// Resources that tokens may be for.
    pub(crate) resources: HashSet<String>,
    /// Assertions that are taken.
    pub(crate) assertions: HashMap<String, Assertion>,
    /// Identity tokens that can be exchanged.
    pub(crate) identities: HashSet<String>,
    /// The ids of the JWTs that came.
    pub(crate) seen: HashSet<String>,
    pub(crate) nonce: usize,
    pub(crate) logins: usize,
    pub(crate) grants: HashMap<String, usize>,
    pub(crate) refusals: Vec<String>,
    /// Every secret that was ever given out.
    pub(crate) secrets: Vec<String>,
}

impl Memory {
    /// A new secret that nobody guesses and everybody recognises.
    pub(crate) fn secret(&mut self, kind: &str) -> String {
        let mut bytes = [0; 18];
        SystemRandom::new().fill(&mut bytes).expect("random bytes");
        let secret = format!("{kind}-{}", URL_SAFE_NO_PAD.encode(bytes));
        self.secrets.push(secret.clone());
        secret
    }

    pub(crate) fn give_access(&mut self, agreed: &Agreed, life: u64) -> String {
        let token = self.secret("access");
        let until = Instant::now() + Duration::from_secs(life);
        self.access.insert(token.clone(), Access { agreed: agreed.clone(), until });
        token
    }

    pub(crate) fn give_refresh(&mut self, agreed: &Agreed) -> String {
        let token = self.secret("refresh");
        self.refresh.insert(token.clone(), Refresh { agreed: agreed.clone(), used: false });
        token
    }

    /// Takes back all that goes back to a login.
    pub(crate) fn revoke(&mut self, login: usize) {
        self.access.retain(|_, access| access.agreed.login != login);
        self.refresh.retain(|_, refresh| refresh.agreed.login != login);
    }
}
