//! Tokens that are bound to a key of ours: the key, a proof for each request, and the nonces that servers want in it (RFC 9449).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::json;
use url::Url;

use super::address;
use super::key::Key;
use super::random::{hash, now, random};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::Secret;

/// A key that tokens are bound to, and how it is written down.
#[derive(Debug)]
pub(super) struct ProofKey {
    key: Key,
    pub(super) written: Secret,
}

impl ProofKey {
    pub(super) fn generate() -> Result<Self> {
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let made = made.map_err(|_| Error::new(ErrorKind::Auth, "No key could be made"))?;
        Self::read(&Secret::new(STANDARD.encode(made)))
    }

    pub(super) fn read(written: &Secret) -> Result<Self> {
        let unfit = || Error::new(ErrorKind::Auth, "The key of the login that is kept can't be read");
        let der = STANDARD.decode(written.expose()).map_err(|_| unfit())?;
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &SystemRandom::new());
        Ok(Self { key: Key::Es256(key.map_err(|_| unfit())?), written: written.clone() })
    }

    /// A proof for one request, with the token that goes along.
    pub(super) fn proof(&self, method: &str, url: &Url, nonce: Option<&str>, token: Option<&Secret>) -> Result<Secret> {
        let mut target = url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let mut claims = json!({"jti": random()?, "htm": method, "htu": target.as_str(), "iat": now()});
        if let Some(token) = token {
            claims["ath"] = json!(hash(token.expose()));
        }
        if let Some(nonce) = nonce {
            claims["nonce"] = json!(nonce);
        }
        self.key.jwt(json!({"typ": "dpop+jwt", "jwk": self.key.public()}), &claims)
    }
}

/// The last nonce of each server.
#[derive(Debug, Default)]
pub(super) struct Nonces(Mutex<HashMap<String, String>>);

impl Nonces {
    pub(super) fn note(&self, url: &Url, nonce: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(address::origin(url), nonce.to_owned());
    }

    pub(super) fn of(&self, url: &Url) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&address::origin(url)).cloned()
    }
}
