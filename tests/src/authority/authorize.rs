//! The authorization endpoint: who may have a code, and where it goes.

use url::Url;

use super::form::Fields;
use super::memory::{Agreed, Code, Known};
use super::refusal::{Checked, Refusal, ensure, refused};
use super::settings::{Iss, Settings};
use super::state::State;
use crate::http::{HttpRequest, Reply, redirect};

pub(crate) fn authorize(state: &State, request: &HttpRequest) -> Checked<Reply> {
    let settings = state.settings();
    let query = request.target.split_once('?').map_or("", |(_, query)| query);
    let fields = Fields::parse(query.as_bytes());
    fields.once()?;
    // whoever isn't known is sent nowhere (RFC 6749, section 4.1.2.1)
    let client = client(state, &settings, fields.need("client_id")?)?;
    let uri = fields.need("redirect_uri")?;
    let fits = client.redirect_uris.iter().any(|known| same(known, uri, settings.any_loopback_port));
    ensure(fits, "invalid_request", || format!("{uri} is not a redirect URI of {}", client.id))?;

    let outcome = match settings.denies {
        Some(error) => Err(Refusal { expected: true, ..Refusal::new(400, error, "the user says no") }),
        None => code(state, &fields, &client, uri),
    };
    let mut answer = match outcome {
        Ok(code) => vec![("code", code)],
        Err(refusal) => {
            state.note("/authorize", &refusal);
            vec![("error", refusal.error.to_owned()), ("error_description", refusal.reason)]
        }
    };
    let given = settings.state.or_else(|| fields.get("state").map(str::to_owned));
    answer.extend(given.map(|given| ("state", given)));
    match settings.iss {
        Iss::Right => answer.push(("iss", state.issuer())),
        Iss::Wrong(iss) => answer.push(("iss", iss)),
        Iss::Missing => {}
    }
    let mut target = Url::parse(uri).map_err(|_| Refusal::new(400, "invalid_request", format!("{uri} is no URI")))?;
    target.query_pairs_mut().extend_pairs(answer);
    Ok(redirect(302, target.as_str()))
}

fn client(state: &State, settings: &Settings, id: &str) -> Checked<Known> {
    match state.memory().clients.get(id) {
        Some(client) if settings.documents || !id.starts_with("https://") => Ok(client.clone()),
        _ => refused("invalid_client", format!("there is no client {id}")),
    }
}

fn code(state: &State, fields: &Fields, client: &Known, uri: &str) -> Checked<String> {
    let kind = fields.need("response_type")?;
    ensure(kind == "code", "unsupported_response_type", || format!("response_type is {kind}"))?;
    let method = fields.get("code_challenge_method");
    ensure(method == Some("S256"), "invalid_request", || format!("code_challenge_method is {method:?}"))?;
    let challenge = fields.need("code_challenge")?;
    ensure(challenge.len() == 43, "invalid_request", || "code_challenge is no SHA-256".to_owned())?;
    let given = fields.need("state")?;
    ensure(given.len() >= 16, "invalid_request", || format!("state can be guessed: {given}"))?;
    let resource = resource(state, fields)?;
    let may = |scope: &str| scope.is_empty() || client.scope.split(' ').any(|known| known == scope);
    let registered = fields.get("scope").unwrap_or_default().split(' ').all(may);
    ensure(registered || !state.settings().registered_scopes, "invalid_scope", || {
        format!("{} is registered for {:?}", client.id, client.scope)
    })?;
    let scope = state.settings().granted.unwrap_or_else(|| fields.get("scope").unwrap_or_default().to_owned());
    let mut memory = state.memory();
    memory.logins += 1;
    let login = memory.logins;
    let agreed = Agreed { client: client.id.clone(), scope, resource, key: None, login };
    let code = memory.secret("code");
    let (redirect_uri, challenge) = (uri.to_owned(), challenge.to_owned());
    memory.codes.insert(code.clone(), Code { agreed, redirect_uri, challenge, used: false });
    Ok(code)
}

/// The resource that a token is for (RFC 8707).
pub(crate) fn resource(state: &State, fields: &Fields) -> Checked<String> {
    match fields.get("resource") {
        None if state.settings().resource_optional => Ok(String::new()),
        None => refused("invalid_target", "there is no resource"),
        Some(resource) if state.memory().resources.contains(resource) => Ok(resource.to_owned()),
        Some(resource) => refused("invalid_target", format!("{resource} is not known")),
    }
}

fn same(known: &str, given: &str, any_port: bool) -> bool {
    let without_port = |uri: &str| {
        let mut url = Url::parse(uri).ok()?;
        let loopback = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
        loopback.then(|| url.set_port(None).ok()).flatten()?;
        Some(url)
    };
    known == given || (any_port && without_port(known).is_some_and(|url| Some(url) == without_port(given)))
}
