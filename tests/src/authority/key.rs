//! `TestKey`: a P-256 key, as a client signs with.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::Value;

/// A new key for ES256.
pub struct TestKey {
    pkcs8: Vec<u8>,
    pair: EcdsaKeyPair,
}

impl fmt::Debug for TestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestKey")
    }
}

impl TestKey {
    #[expect(clippy::new_without_default, reason = "every key is another one")]
    pub fn new() -> TestKey {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).expect("a key");
        TestKey { pkcs8: pkcs8.as_ref().to_owned(), pair }
    }

    /// The private key in PEM (PKCS 8).
    pub fn pem(&self) -> String {
        let text = STANDARD.encode(&self.pkcs8);
        let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"))
    }

    /// The public key: an uncompressed point.
    pub fn public(&self) -> Vec<u8> {
        self.pair.public_key().as_ref().to_owned()
    }

    /// A JWT with these claims.
    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
