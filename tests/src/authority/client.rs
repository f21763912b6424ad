//! Which client is at the token endpoint, by the way it was registered with and no other.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::form_urlencoded;

use super::form::Fields;
use super::memory::Known;
use super::proof;
use super::refusal::{Checked, Refusal, ensure, refused};
use super::state::State;
use crate::http::HttpRequest;

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The client that sends this.
pub(crate) fn client(state: &State, request: &HttpRequest, fields: &Fields) -> Checked<Known> {
    let basic = basic(request)?;
    let id = match (&basic, fields.get("client_id"), fields.get("client_assertion")) {
        (Some((id, _)), inside, _) if inside.is_none_or(|inside| inside == id) => id.clone(),
        (None, Some(id), _) => id.to_owned(),
        (None, None, Some(assertion)) => proof::claim(assertion, "sub").unwrap_or_default(),
        (None, None, None) => return unknown("nothing says which client it is"),
        (Some(_), _, _) => return unknown("the header and the form name two clients"),
    };
    let Some(client) = state.memory().clients.get(&id).cloned() else {
        return unknown(format!("there is no client {id}"));
    };
    let secret = match client.method.as_str() {
        "none" => return is_public(client, basic.is_some(), fields),
        "private_key_jwt" => return signed(state, client, fields),
        "client_secret_basic" => basic.map(|(_, secret)| secret),
        _ if basic.is_some() => return unknown(format!("{id} was not registered for Basic")),
        _ => fields.get("client_secret").map(str::to_owned),
    };
    if client.method == "client_secret_basic" && fields.get("client_secret").is_some() {
        return unknown("the secret comes in the form too");
    }
    if secret.is_none() || secret != client.secret {
        return unknown(format!("the secret of {id} is not right, or didn't come by {}", client.method));
    }
    Ok(client)
}

fn unknown<T>(reason: impl Into<String>) -> Checked<T> {
    Err(Refusal::new(401, "invalid_client", reason).header("WWW-Authenticate", "Basic"))
}

fn basic(request: &HttpRequest) -> Checked<Option<(String, String)>> {
    let Some(header) = request.header("authorization") else { return Ok(None) };
    let decoded = header.strip_prefix("Basic ").and_then(|text| STANDARD.decode(text).ok());
    let text = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    let Some((id, secret)) = text.as_deref().and_then(|text| text.split_once(':')) else {
        return refused("invalid_request", "the Authorization header is no Basic");
    };
    // both are encoded as in a form (RFC 6749, section 2.3.1)
    let plain = |text: &str| {
        form_urlencoded::parse(text.as_bytes()).next().map_or_else(String::new, |(key, _)| key.into_owned())
    };
    Ok(Some((plain(id), plain(secret))))
}

fn is_public(client: Known, basic: bool, fields: &Fields) -> Checked<Known> {
    match basic || fields.get("client_secret").is_some() {
        true => unknown(format!("{} has no secret, and one came", client.id)),
        false => Ok(client),
    }
}

fn signed(state: &State, client: Known, fields: &Fields) -> Checked<Known> {
    let kind = fields.get("client_assertion_type");
    ensure(kind == Some(ASSERTION), "invalid_client", || format!("client_assertion_type is {kind:?}"))?;
    let claims = proof::verified(fields.need("client_assertion")?, &client.key)?;
    let own = |key: &str| claims[key] == client.id;
    ensure(own("iss") && own("sub"), "invalid_client", || format!("the assertion is not of {}", client.id))?;
    let issuer = state.issuer();
    let for_us = |aud: &serde_json::Value| aud == &issuer || aud == &format!("{issuer}/");
    let audience = for_us(&claims["aud"]) || claims["aud"].as_array().is_some_and(|all| all.iter().any(for_us));
    ensure(audience, "invalid_client", || format!("the assertion is for {}", claims["aud"]))?;
    let left = claims["exp"].as_u64().unwrap_or_default().saturating_sub(proof::now());
    ensure((1..=3600).contains(&left), "invalid_client", || format!("the assertion is good for {left} s"))?;
    proof::first_time(state, &claims)?;
    Ok(client)
}
