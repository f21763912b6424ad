//! Records that only the holder of a key can read (AES-256-GCM), each bound to its own name.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};

#[derive(Debug)]
pub(super) struct Seal(LessSafeKey);

impl Seal {
    /// By the text of a key; none where it isn't one.
    pub(super) fn by(key: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(key.trim()).ok()?;
        UnboundKey::new(&AES_256_GCM, &bytes).ok().map(|key| Self(LessSafeKey::new(key)))
    }

    /// A new key as text: letters, digits, `-` and `_`. None where the system has no random numbers.
    pub(super) fn new_key() -> Option<String> {
        let mut key = [0; 32];
        SystemRandom::new().fill(&mut key).ok()?;
        Some(URL_SAFE_NO_PAD.encode(key))
    }

    pub(super) fn close(&self, name: &str, text: &str) -> Option<String> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let mut bytes = text.as_bytes().to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(unique, Aad::from(name.as_bytes()), &mut bytes).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &bytes].concat()))
    }

    /// The text; none where it was closed by another key, for another name, or changed since.
    pub(super) fn open(&self, name: &str, sealed: &str) -> Option<String> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, bytes) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut bytes = bytes.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let text = self.0.open_in_place(nonce, Aad::from(name.as_bytes()), &mut bytes).ok()?;
        String::from_utf8(text.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_by_its_key_and_name_alone() {
        let key = Seal::new_key().unwrap();
        let seal = Seal::by(&key).unwrap();
        let sealed = seal.close("a", "secret").unwrap();
        assert!(!sealed.contains("secret") && sealed != seal.close("a", "secret").unwrap());
        assert_eq!(seal.open("a", &sealed).as_deref(), Some("secret"));
        assert_eq!(seal.open("b", &sealed), None);
        let other = if sealed.ends_with('A') { "B" } else { "A" };
        assert_eq!(seal.open("a", &format!("{other}{}", &sealed[1..])).filter(|_| !sealed.starts_with(other)), None);
        assert_eq!(Seal::by(&Seal::new_key().unwrap()).unwrap().open("a", &sealed), None);
        assert!(Seal::by("too-short").is_none() && seal.open("a", "x").is_none());
    }
}
