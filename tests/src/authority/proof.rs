//! JWTs and proofs that a client holds a key (RFC 9449), checked.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::Value;

use super::refusal::{Checked, Refusal, ensure, refused};
use super::state::State;
use crate::http::HttpRequest;

const DPOP: &str = "invalid_dpop_proof";

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

pub(crate) fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

fn part(jwt: &str, n: usize) -> Option<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(jwt.split('.').nth(n)?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// A text among the claims, unchecked.
pub(crate) fn claim(jwt: &str, name: &str) -> Option<String> {
    part(jwt, 1)?[name].as_str().map(str::to_owned)
}

/// The claims of a JWT that this key signed.
pub(crate) fn verified(jwt: &str, key: &[u8]) -> Checked<Value> {
    let (Some(header), Some(claims)) = (part(jwt, 0), part(jwt, 1)) else {
        return refused("invalid_client", "the assertion is no JWT");
    };
    ensure(header["alg"] == "ES256", "invalid_client", || format!("the assertion is signed by {}", header["alg"]))?;
    ensure(is_signed(jwt, key), "invalid_client", || "the assertion is not signed by the client's key".to_owned())?;
    Ok(claims)
}

fn is_signed(jwt: &str, key: &[u8]) -> bool {
    let Some((signed, signature)) = jwt.rsplit_once('.') else { return false };
    let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return false };
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(signed.as_bytes(), &signature).is_ok()
}

/// Every JWT is good once.
pub(crate) fn first_time(state: &State, claims: &Value) -> Checked {
    let Some(id) = claims["jti"].as_str() else { return refused("invalid_client", "the JWT has no jti") };
    ensure(state.memory().seen.insert(id.to_owned()), "invalid_client", || format!("the JWT {id} came before"))
}

/// The thumbprint of the key that the request proves to hold. `token` is the token that goes with it; `nonce` is what
/// the proof has to hold, where it has to.
pub(crate) fn of_key(
    state: &State,
    request: &HttpRequest,
    origin: &str,
    token: Option<&str>,
    nonce: Option<&str>,
) -> Checked<String> {
    let Some(proof) = request.header("dpop") else { return refused(DPOP, "there is no DPoP proof") };
    let (Some(header), Some(claims)) = (part(proof, 0), part(proof, 1)) else {
        return refused(DPOP, "the proof is no JWT");
    };
    let key = &header["jwk"];
    let form = header["typ"] == "dpop+jwt" && header["alg"] == "ES256" && key["kty"] == "EC" && key["crv"] == "P-256";
    ensure(form && key["d"].is_null(), DPOP, || format!("the proof's header is {header}"))?;
    let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap_or_default()).unwrap_or_default();
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    ensure(is_signed(proof, &point), DPOP, || "the proof's signature is wrong".to_owned())?;
    let htu = format!("{origin}{}", request.path());
    ensure(claims["htm"] == request.method && claims["htu"] == htu, DPOP, || {
        format!("the proof is for {} {}", claims["htm"], claims["htu"])
    })?;
    let age = now().abs_diff(claims["iat"].as_u64().unwrap_or_default());
    ensure(age < 60, DPOP, || format!("the proof is {age} s off"))?;
    let bound = token.map(hash);
    ensure(claims["ath"].as_str() == bound.as_deref(), DPOP, || format!("ath is {}", claims["ath"]))?;
    first_time(state, &claims)?;
    if let Some(nonce) = nonce
        && claims["nonce"] != nonce
    {
        let asked = Refusal { expected: true, ..Refusal::new(400, "use_dpop_nonce", "a nonce has to be in the proof") };
        return Err(asked.header("DPoP-Nonce", nonce));
    }
    let text = |name: &str| key[name].as_str().unwrap_or_default().to_owned();
    Ok(hash(&format!(r#"{{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}}"#, text("x"), text("y"))))
}
