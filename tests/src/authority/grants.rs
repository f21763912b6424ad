//! The token endpoint: the grants without a user at a browser.

use serde_json::{Value, json};

use super::authorize;
use super::form::Fields;
use super::memory::{Agreed, Assertion, Known};
use super::refusal::{Checked, ensure, refused};
use super::state::State;
use super::token::given;

pub(crate) const BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
pub(crate) const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// `client_credentials`: no refresh token (RFC 6749, section 4.4.3).
pub(crate) fn by_itself(state: &State, fields: &Fields, client: &Known, key: Option<String>) -> Checked<Value> {
    ensure(client.method != "none", "unauthorized_client", || format!("{} is a public client", client.id))?;
    let resource = authorize::resource(state, fields)?;
    let scope = fields.get("scope").unwrap_or_default().to_owned();
    issue(state, Agreed { client: client.id.clone(), scope, resource, key, login: 0 })
}

/// JWT bearer (RFC 7523): an assertion that a test made known, or one of an identity provider that is trusted.
pub(crate) fn by_assertion(state: &State, fields: &Fields, client: &Known, key: Option<String>) -> Checked<Value> {
    let assertion = fields.need("assertion")?;
    let trusted = state.trusted.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    let own = state.memory().assertions.get(assertion).cloned();
    let known = own.or_else(|| trusted.iter().find_map(|idp| idp.memory().assertions.get(assertion).cloned()));
    let Some(known) = known else { return refused("invalid_grant", "the assertion is not known") };
    ensure(known.audience.is_empty() || known.audience == state.issuer(), "invalid_grant", || {
        format!("the assertion is for {}", known.audience)
    })?;
    let resource = match fields.get("resource") {
        None if !known.resource.is_empty() => known.resource.clone(), // the assertion says it
        _ => authorize::resource(state, fields)?,
    };
    ensure(known.resource.is_empty() || known.resource == resource, "invalid_target", || {
        format!("the assertion is for {}, not for {resource}", known.resource)
    })?;
    let scope = fields.get("scope").map_or(known.scope, str::to_owned);
    issue(state, Agreed { client: client.id.clone(), scope, resource, key, login: 0 })
}

fn issue(state: &State, agreed: Agreed) -> Checked<Value> {
    let settings = state.settings();
    Ok(given(&mut state.memory(), &settings, &agreed, false))
}

/// Token exchange (RFC 8693) at an identity provider: an identity for an assertion that another server takes.
pub(crate) fn exchange(state: &State, fields: &Fields) -> Checked<Value> {
    let client = fields.need("client_id")?;
    ensure(state.memory().clients.contains_key(client), "invalid_client", || format!("there is no client {client}"))?;
    let wanted = fields.need("requested_token_type")?;
    ensure(wanted == ID_JAG, "invalid_request", || format!("requested_token_type is {wanted}"))?;
    let kind = fields.need("subject_token_type")?;
    ensure(kind == ID_TOKEN, "invalid_request", || format!("subject_token_type is {kind}"))?;
    let subject = fields.need("subject_token")?;
    let known = state.memory().identities.contains(subject);
    ensure(known, "invalid_grant", || "the identity is not known".to_owned())?;
    let (audience, resource) = (fields.need("audience")?.to_owned(), fields.need("resource")?.to_owned());
    let scope = fields.get("scope").unwrap_or_default().to_owned();
    let mut memory = state.memory();
    let assertion = memory.secret("jag");
    memory.assertions.insert(assertion.clone(), Assertion { audience, resource, scope });
    Ok(json!({"access_token": assertion, "issued_token_type": ID_JAG, "token_type": "N_A", "expires_in": 300}))
}
