//! How an authorization server behaves.

use serde_json::{Value, json};

/// Where the metadata lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `/.well-known/oauth-authorization-server` and the issuer's path.
    OAuth,
    /// `/.well-known/openid-configuration` and the issuer's path.
    OidcInserted,
    /// The issuer's path and `/.well-known/openid-configuration`.
    OidcAppended,
    /// Nowhere.
    Absent,
}

/// The `iss` of an authorization response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Iss {
    Right,
    Missing,
    Wrong(String),
}

/// Whether tokens are bound to a key of the client (RFC 9449).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dpop {
    Off,
    On,
    /// A proof has to hold the server's nonce.
    Nonces,
}

/// How an authorization server behaves. The default does everything right, for public clients.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The path of the issuer, such as `/tenant1`.
    pub issuer_path: String,
    /// The issuer that the metadata names, where it isn't the true one.
    pub told_issuer: Option<String>,
    pub form: Form,
    /// Fields of the metadata that are other than usual; null takes one away.
    pub patch: Value,
    /// Paths that are answered with a status and nothing else.
    pub statuses: Vec<(String, u16)>,
    /// Whether clients can register themselves.
    pub registration: bool,
    /// Whether a client id may be the URL of a document.
    pub documents: bool,
    /// Registration has to say the application's type (SEP-837).
    pub wants_application_type: bool,
    /// The ways for clients to show who they are.
    pub methods: Vec<&'static str>,
    /// Scopes that a client didn't register for are refused.
    pub registered_scopes: bool,
    /// A redirect URI on the loopback interface fits whatever its port (RFC 8252, section 7.3).
    pub any_loopback_port: bool,
    pub iss: Iss,
    /// Whether the metadata says that responses hold an `iss`.
    pub tells_iss: bool,
    /// The error that is sent back instead of a code, such as `access_denied`.
    pub denies: Option<&'static str>,
    /// The `state` that is sent back, where it isn't the one that came.
    pub state: Option<String>,
    /// Requests without `resource` are let pass, as before revision 2025-06-18.
    pub resource_optional: bool,
    /// The scope that is granted, where it isn't the one that was asked for.
    pub granted: Option<String>,
    /// How many seconds an access token is good for.
    pub life: u64,
    /// Whether `expires_in` is told.
    pub tells_life: bool,
    /// Whether refresh tokens are given out.
    pub refresh: bool,
    /// Whether a refresh token is good once only.
    pub rotation: bool,
    /// How long the token endpoint takes, in ms.
    pub delay: u64,
    pub dpop: Dpop,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            issuer_path: String::new(),
            told_issuer: None,
            form: Form::OAuth,
            patch: json!({}),
            statuses: Vec::new(),
            registration: true,
            documents: false,
            wants_application_type: false,
            methods: vec!["none"],
            registered_scopes: false,
            any_loopback_port: false,
            iss: Iss::Right,
            tells_iss: true,
            denies: None,
            state: None,
            resource_optional: false,
            granted: None,
            life: 3600,
            tells_life: true,
            refresh: true,
            rotation: true,
            delay: 0,
            dpop: Dpop::Off,
        }
    }
}

/// Changes the fields of an object; null takes one away.
pub(crate) fn patched(mut object: Value, patch: &Value) -> Value {
    let fields = object.as_object_mut().expect("an object");
    for (key, value) in patch.as_object().expect("a patch is an object") {
        match value {
            Value::Null => fields.remove(key),
            value => fields.insert(key.clone(), value.clone()),
        };
    }
    object
}

/// The status of this path, where it has one of its own.
pub(crate) fn status_of(statuses: &[(String, u16)], path: &str) -> Option<u16> {
    statuses.iter().find(|(known, _)| known == path).map(|(_, status)| *status)
}
