//! The metadata of an authorization server (RFC 8414).

use serde_json::{Value, json};

use super::settings::{Dpop, Form, Settings, patched};
use super::state::State;

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OIDC: &str = "/.well-known/openid-configuration";

pub(crate) fn is_at(settings: &Settings, path: &str) -> bool {
    let issuer = &settings.issuer_path;
    match settings.form {
        Form::OAuth => path == format!("{OAUTH}{issuer}"),
        Form::OidcInserted => path == format!("{OIDC}{issuer}"),
        Form::OidcAppended => path == format!("{issuer}{OIDC}"),
        Form::Absent => false,
    }
}

pub(crate) fn document(state: &State) -> Value {
    let settings = state.settings();
    let origin = state.origin();
    let issuer = settings.told_issuer.clone().unwrap_or_else(|| state.issuer());
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": settings.methods,
    });
    if settings.registration {
        document["registration_endpoint"] = json!(format!("{origin}/register"));
    }
    if settings.documents {
        document["client_id_metadata_document_supported"] = json!(true);
    }
    if settings.tells_iss {
        document["authorization_response_iss_parameter_supported"] = json!(true);
    }
    if settings.dpop != Dpop::Off {
        document["dpop_signing_alg_values_supported"] = json!(["ES256"]);
    }
    patched(document, &settings.patch)
}
