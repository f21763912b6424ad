//! Dynamic registration (RFC 7591).

use serde_json::json;
use url::Url;

use super::memory::Known;
use super::refusal::{Checked, ensure, refused};
use super::settings::Settings;
use super::state::State;
use crate::http::{HttpRequest, Reply, reply};

pub(crate) fn register(state: &State, request: &HttpRequest) -> Checked<Reply> {
    let settings = state.settings();
    let body = request.json();
    let is_json = request.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    ensure(is_json && body.is_object(), "invalid_client_metadata", || "the body is no JSON object".to_owned())?;
    let listed = |key: &str| {
        let list = body[key].as_array()?.iter().map(|item| item.as_str().map(str::to_owned));
        list.collect::<Option<Vec<_>>>()
    };
    let redirect_uris = listed("redirect_uris").unwrap_or_default();
    ensure(!redirect_uris.is_empty(), "invalid_redirect_uri", || "there are no redirect_uris".to_owned())?;
    for uri in &redirect_uris {
        ensure(is_safe(uri), "invalid_redirect_uri", || {
            format!("{uri} is neither https nor on the loopback interface")
        })?;
    }
    check_types(&settings, body["application_type"].as_str())?;
    let grants = listed("grant_types").unwrap_or_else(|| vec!["authorization_code".to_owned()]);
    ensure(grants.iter().any(|grant| grant == "authorization_code"), "invalid_client_metadata", || {
        format!("it wants no codes: {grants:?}")
    })?;
    let method = body["token_endpoint_auth_method"].as_str().unwrap_or("client_secret_basic").to_owned();
    if !settings.methods.contains(&method.as_str()) {
        return refused("invalid_client_metadata", format!("clients can't show who they are by {method}"));
    }
    let scope = body["scope"].as_str().unwrap_or_default().to_owned();
    let mut memory = state.memory();
    let id = format!("client-{}", memory.clients.len() + 1);
    let secret = (method != "none").then(|| memory.secret("secret"));
    let mut answer = body.clone();
    answer["client_id"] = json!(id);
    answer["token_endpoint_auth_method"] = json!(method);
    answer["client_id_issued_at"] = json!(1);
    if let Some(secret) = &secret {
        answer["client_secret"] = json!(secret);
        answer["client_secret_expires_at"] = json!(0);
    }
    memory.clients.insert(id.clone(), Known { id, secret, method, redirect_uris, scope, key: Vec::new() });
    Ok(reply(201).header("Cache-Control", "no-store").json(answer))
}

fn check_types(settings: &Settings, kind: Option<&str>) -> Checked {
    let known = matches!(kind, Some("native" | "web"));
    ensure(known || (kind.is_none() && !settings.wants_application_type), "invalid_client_metadata", || {
        format!("application_type is {kind:?}")
    })
}

/// Whether a code may be sent there.
fn is_safe(uri: &str) -> bool {
    Url::parse(uri).is_ok_and(|url| {
        let loopback = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
        url.fragment().is_none() && (url.scheme() == "https" || (url.scheme() == "http" && loopback))
    })
}
