//! The keys that are signed with.

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
