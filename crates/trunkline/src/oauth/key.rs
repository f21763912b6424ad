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

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    use super::*;

    /// A key of 2048 bits, made for this test alone: what stands between the first and the last line of its PEM.
    const RSA: &str = "\
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDJxrsVL/wW1qac\n\
04krZuwZt3v84F3WkBYzA/ukAF400NwUmpbTheLf6sAkn6nWQ38CI13KfvE78kPr\n\
FHtHZ8J4PunQbi7JnSC60dFSUbJX+XNhWd0RshBp8YK+hE2whhRoUJ+Jfge/9aCY\n\
PVHJYNUp0vuEU148/SEmWiQe9CyIjF4TwCcQqoyQ6TZHYsFZ0y8TYl8CKG718dFa\n\
HWzOcj4CVNQn2w+Vm0CWIJQcS6gCJGa8eh1FBE3zvKU3Qji0XNV19si9drM2Vv7z\n\
u/pNkrs5/GfTD8X8d4yg2706ndq68V5ey9pIlA/QKpCMhLjwdpCHcbZ7yjjgyYRv\n\
WYINW86NAgMBAAECggEACqHFWVY0MQrh8BkIXQhZD/jWWGqFH0lr1gfTcl6PmDZa\n\
Jl7H7EDdhcFzmupr002uq1DsP/+E3A0FraUgYtCRk27zOIeZwQddwmJMZotF+7M5\n\
9Gr9BlHs4fw3EK1df5vtBtsasO66X0/ExMjUXqlSyhejJ6OR72JCJShyR0xD7XTq\n\
BPWhj7aWtZw2yT5cDChD0GQIQSt83SZ+P3Bt5KX9eKQ4faGdRUnXRl1GEwr0QO+Y\n\
PXr+LT/4yzWtGnJLm1q0PSSXkdASu1wz6R6EpxVx8I5TXi8Y2b+eqG/vqc84/uz+\n\
zlnwbWS01rVWVLHv2jLYaZSLnGpqKQjm/ePLkZZVQQKBgQDuCsnB7btnw8gM8cYW\n\
VJLflshlNcnAL81rb16G3+LaHNB3UIHzzWm2gPOI75Tso5xUXqULZFsAyGU0IH+M\n\
eFKzlwUuxamLrhJVAYJISMEpBczsK1g0N0hW/di332NZgn97ZEIvZWpw0uQCGbMt\n\
B09F9vSpVQKNKPQ4+py+LzoGwQKBgQDY/44R3AiFgvvOW5Zh2ZUL9WAo5RgDS0I5\n\
xpe7NPoFki1gUWHAlkZwsgm0i5VeW+R77St6kpHVyHgEwLyNiEfqUcnU8qg23T+C\n\
k4HTQouy7vsrVM1E8Vn0RAWW73wNhlwADNlXBKkrFrCxjFGp2bgaGv2e+V8edhdO\n\
6ymFeZPmzQKBgQCaBrUCHPfUbqR1a8QHEvZuYryMcL948fVzfP6nOxsokth5O8i6\n\
nsG2a74pbwzoCf3PweX9dxRDb2e80QJ3PCwXNLMPzqqkTSBjjLRmXV1PVAeDEZDj\n\
SJowX9TpNUyt0Hj4uKjyziaPloYerc54ZnBvDxrErtMVz9gnPlJJ5XkggQKBgHLT\n\
L+NFcoDrocE9d6MJlrQAQMUDDSTZEw8thia6zr5Z7ob0KWzWWCnUHAycfAq1R39I\n\
LeSrYF4muVOShXPDNILKiqmTSe3WP4Ah++XFZdTmXqQ8OG6N5BK8V9TZnuQtP8uL\n\
AQrp3XZ+iDs7TA87tQ6jT6dqv6mHxaeuCoeloNzVAoGARalFNlcdYeCzltFErWJ6\n\
Rn+3YDyD5ZK4KQQiDzdL0VwG6EpEeMmh5P9foTnav5UZabcXKtcMqg8UsKaC5vDW\n\
Dvu8NBFxIy0Nnq6UoH8hTt1BEXTNAfaevo1AC/56Mtt2GfPWV3ZSSW4rKKAhvu6+\n\
SFZtCiUjeNL8YYP8p4VgCts=";

    fn rsa() -> Secret {
        Secret::new(format!("-----BEGIN {0}-----\n{RSA}\n-----END {0}-----", "PRIVATE KEY"))
    }

    #[test]
    fn rs256_is_signed_as_anybody_can_check() {
        let key = Key::of_pem(&rsa(), SigningAlgorithm::Rs256).unwrap();
        let Key::Rs256(pair) = &key else { panic!("{key:?}") };
        let jwt = key.jwt(json!({"typ": "JWT"}), &json!({"iss": "me"})).unwrap();
        let (signed, signature) = jwt.expose().rsplit_once('.').unwrap();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public().as_ref());
        public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let header = URL_SAFE_NO_PAD.decode(signed.split('.').next().unwrap()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&header).unwrap(), json!({"typ": "JWT", "alg": "RS256"}));
    }

    #[test]
    fn a_key_of_another_kind_is_told() {
        for (pem, algorithm) in [(rsa(), SigningAlgorithm::Es256), ("no key".into(), SigningAlgorithm::Rs256)] {
            let error = Key::of_pem(&pem, algorithm).unwrap_err();
            assert!(error.message().contains(algorithm.as_str()), "{error}");
            assert!(error.hint().unwrap().contains("PKCS 8"), "{error:?}");
        }
    }
}
