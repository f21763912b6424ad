//! The token endpoint: the grants of a user.

use serde_json::{Value, json};

use super::form::Fields;
use super::memory::{Agreed, Known, Memory};
use super::refusal::{Checked, ensure, refused};
use super::settings::{Dpop, Settings};
use super::state::State;
use super::{authorize, client, grants, proof};
use crate::http::{HttpRequest, Reply, reply};

pub(crate) fn token(state: &State, request: &HttpRequest) -> Checked<Reply> {
    let kind = request.header("content-type").unwrap_or_default();
    ensure(kind.starts_with("application/x-www-form-urlencoded"), "invalid_request", || {
        format!("the body is {kind:?}, not a form")
    })?;
    ensure(!request.target.contains('?'), "invalid_request", || "there is a query".to_owned())?;
    let fields = Fields::parse(&request.body);
    fields.once()?;
    let grant = fields.need("grant_type")?;
    *state.memory().grants.entry(grant.to_owned()).or_default() += 1;
    let answer = match grant {
        grants::EXCHANGE => grants::exchange(state, &fields)?,
        grant => {
            let client = client::client(state, request, &fields)?;
            let key = key(state, request)?;
            match grant {
                "authorization_code" => by_code(state, &fields, &client, key)?,
                "refresh_token" => by_refresh(state, &fields, &client, key.as_ref())?,
                "client_credentials" => grants::by_itself(state, &fields, &client, key)?,
                grants::BEARER => grants::by_assertion(state, &fields, &client, key)?,
                other => return refused("unsupported_grant_type", other),
            }
        }
    };
    Ok(reply(200).header("Cache-Control", "no-store").json(answer))
}

fn key(state: &State, request: &HttpRequest) -> Checked<Option<String>> {
    let nonce = state.nonce();
    match state.settings().dpop {
        Dpop::Off => Ok(None),
        dpop => {
            let nonce = (dpop == Dpop::Nonces).then_some(nonce.as_str());
            proof::of_key(state, request, state.origin(), None, nonce).map(Some)
        }
    }
}

fn by_code(state: &State, fields: &Fields, client: &Known, key: Option<String>) -> Checked<Value> {
    let settings = state.settings();
    let resource = authorize::resource(state, fields)?;
    let mut memory = state.memory();
    let Some(code) = memory.codes.get_mut(fields.need("code")?) else {
        return refused("invalid_grant", "there is no such code");
    };
    let seen = std::mem::replace(&mut code.used, true);
    let code = code.clone();
    if seen {
        memory.revoke(code.agreed.login);
        return refused("invalid_grant", "the code was used before");
    }
    ensure(code.agreed.client == client.id, "invalid_grant", || format!("the code is not for {}", client.id))?;
    let uri = fields.need("redirect_uri")?;
    ensure(uri == code.redirect_uri, "invalid_grant", || format!("{uri} is not where the code went"))?;
    let verifier = fields.need("code_verifier")?;
    ensure((43..=128).contains(&verifier.len()), "invalid_request", || "code_verifier has a wrong length".to_owned())?;
    ensure(proof::hash(verifier) == code.challenge, "invalid_grant", || "code_verifier is wrong".to_owned())?;
    ensure(resource == code.agreed.resource, "invalid_target", || {
        format!("the code is for {}, not for {resource}", code.agreed.resource)
    })?;
    let agreed = Agreed { key, ..code.agreed };
    Ok(given(&mut memory, &settings, &agreed, settings.refresh))
}

fn by_refresh(state: &State, fields: &Fields, client: &Known, key: Option<&String>) -> Checked<Value> {
    let settings = state.settings();
    let resource = authorize::resource(state, fields)?;
    let mut memory = state.memory();
    let Some(refresh) = memory.refresh.get_mut(fields.need("refresh_token")?) else {
        return refused("invalid_grant", "there is no such refresh token");
    };
    let agreed = refresh.agreed.clone();
    let seen = std::mem::replace(&mut refresh.used, settings.rotation);
    if seen {
        memory.revoke(agreed.login);
        return refused("invalid_grant", "the refresh token was used before");
    }
    ensure(agreed.client == client.id, "invalid_grant", || format!("the token is not of {}", client.id))?;
    ensure(agreed.key.as_ref() == key, "invalid_grant", || "the token is bound to another key".to_owned())?;
    ensure(resource == agreed.resource, "invalid_target", || {
        format!("the token is for {}, not for {resource}", agreed.resource)
    })?;
    let mut wanted = fields.get("scope").unwrap_or_default().split(' ').filter(|scope| !scope.is_empty());
    ensure(wanted.all(|scope| agreed.scope.split(' ').any(|has| has == scope)), "invalid_scope", || {
        format!("{:?} is more than {:?}", fields.get("scope"), agreed.scope)
    })?;
    Ok(given(&mut memory, &settings, &agreed, settings.rotation))
}

/// New tokens.
pub(crate) fn given(memory: &mut Memory, settings: &Settings, agreed: &Agreed, refresh: bool) -> Value {
    let access = memory.give_access(agreed, settings.life);
    let kind = if agreed.key.is_some() { "DPoP" } else { "Bearer" };
    let mut answer = json!({"access_token": access, "token_type": kind});
    if settings.tells_life {
        answer["expires_in"] = json!(settings.life);
    }
    if !agreed.scope.is_empty() {
        answer["scope"] = json!(agreed.scope);
    }
    if refresh {
        answer["refresh_token"] = json!(memory.give_refresh(agreed));
    }
    answer
}
