//! Keys that are signed with, and the JWTs that come of it.

use std::fmt;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use super::random::base64;
use crate::error::{Error, ErrorKind, Result};
use crate::redact::Secret;

/// How a client signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SigningAlgorithm {
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// RSA (PKCS 1, version 1.5) with SHA-256.
    Rs256,
}

impl SigningAlgorithm {
    /// Its name in a JWT.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }

    /// The one with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Es256, Self::Rs256].into_iter().find(|algorithm| algorithm.as_str() == name)
    }
}

/// A private key.
pub(super) enum Key {
    Es256(EcdsaKeyPair),
    Rs256(RsaKeyPair),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Reads a key in PEM.
    pub(super) fn of_pem(pem: &Secret, algorithm: SigningAlgorithm) -> Result<Self> {
        let unfit = |why: String| {
            let message = format!("The private key can't be used for {}: {why}", algorithm.as_str());
            let hint = "It has to be PEM, PKCS 8 (-----BEGIN PRIVATE KEY-----): openssl pkcs8 -topk8 -nocrypt makes it of others";
            Error::new(ErrorKind::Config, message).with_hint(hint)
        };
        let der = PrivateKeyDer::from_pem_slice(pem.expose().as_bytes()).map_err(|error| unfit(error.to_string()))?;
        let read = match (algorithm, &der) {
            (SigningAlgorithm::Es256, PrivateKeyDer::Pkcs8(der)) => {
                EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.secret_pkcs8_der(), &SystemRandom::new())
                    .map(Self::Es256)
            }
            (SigningAlgorithm::Rs256, PrivateKeyDer::Pkcs8(der)) => {
                RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).map(Self::Rs256)
            }
            (SigningAlgorithm::Rs256, PrivateKeyDer::Pkcs1(der)) => {
                RsaKeyPair::from_der(der.secret_pkcs1_der()).map(Self::Rs256)
            }
            _ => return Err(unfit("it is of another format".to_owned())),
        };
        read.map_err(|error| unfit(error.to_string()))
    }

    fn algorithm(&self) -> SigningAlgorithm {
        match self {
            Self::Es256(_) => SigningAlgorithm::Es256,
            Self::Rs256(_) => SigningAlgorithm::Rs256,
        }
    }

    /// A JWT with these claims. `alg` is added to the header.
    pub(super) fn jwt(&self, mut header: Value, claims: &Value) -> Result<Secret> {
        header["alg"] = json!(self.algorithm().as_str());
        let signed = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
        let failed = |_| Error::new(ErrorKind::Auth, "The private key doesn't sign");
        let signature = match self {
            Self::Es256(key) => key.sign(&SystemRandom::new(), signed.as_bytes()).map_err(failed)?.as_ref().to_vec(),
            Self::Rs256(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).map_err(failed)?;
                signature
            }
        };
        Ok(Secret::new(format!("{signed}.{}", base64(signature))))
    }

    /// The public key, for the header of a proof.
    pub(super) fn public(&self) -> Option<Value> {
        let Self::Es256(key) = self else { return None };
        let point = key.public_key().as_ref(); // 4, x, y
        Some(json!({"kty": "EC", "crv": "P-256", "x": base64(&point[1..33]), "y": base64(&point[33..])}))
    }
}
