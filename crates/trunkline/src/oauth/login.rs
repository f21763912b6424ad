//! A login: tokens, and everything that is needed for the next ones; what it is kept under, and how it is written down.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::redact::Secret;

/// What a login is kept under: the URL of the server and, where one was set, the client id.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LoginKey {
    server: String,
    key: String,
}

impl LoginKey {
    /// The key of a server, and of the client id that is set for it, if one is.
    ///
    /// ```
    /// use trunkline::LoginKey;
    ///
    /// let key = LoginKey::new("https://Example.com/mcp?api_key=hunter22", None);
    /// assert_eq!(key.server(), "https://example.com/mcp");
    /// assert!(!key.as_str().contains("hunter22"));
    /// assert_ne!(key, LoginKey::new("https://example.com/mcp", None));
    /// ```
    pub fn new(server: &str, client_id: Option<&str>) -> Self {
        let (plain, query) = match Url::parse(server) {
            Ok(mut url) => {
                let query = url.query().map(str::to_owned);
                let _ = (url.set_username(""), url.set_password(None)); // an http URL can do without
                url.set_query(None);
                url.set_fragment(None);
                (url.to_string(), query)
            }
            Err(_) => (String::new(), Some(server.to_owned())),
        };
        let mut key = plain.clone();
        if let Some(query) = query {
            let hash = Sha256::digest(query.as_bytes());
            key += "?";
            key.extend(hash.iter().take(8).map(|byte| format!("{byte:02x}")));
        }
        if let Some(id) = client_id {
            key = format!("{key} {id}");
        }
        Self { server: plain, key }
    }

    /// A key as it was written down.
    pub(super) fn of_record(server: String, key: String) -> Self {
        Self { server, key }
    }

    /// The URL of the server, without login and query.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The whole key. It holds no secret, and stays the same from run to run.
    pub fn as_str(&self) -> &str {
        &self.key
    }
}

impl fmt::Debug for LoginKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoginKey").field(&self.key).finish()
    }
}

/// Tokens for one server, and everything that is needed for the next ones. `Debug` shows no secret; serialising it writes
/// them down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Login {
    /// The authorization server that gave the tokens.
    pub issuer: String,
    /// The resource that they are for, as the server names itself.
    pub resource: String,
    /// Where the next ones come from.
    pub token_endpoint: String,
    /// Who asked for them.
    pub client: Registration,
    /// How the access token is sent.
    #[serde(default)]
    pub token_type: TokenType,
    /// What goes to the server with each request; none after it was taken back.
    #[serde(default, with = "exposed", skip_serializing_if = "Option::is_none")]
    pub access_token: Option<Secret>,
    /// What gets the next access token.
    #[serde(default, with = "exposed", skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Secret>,
    /// The key that the tokens are bound to (RFC 9449): PKCS 8, base64.
    #[serde(default, with = "exposed", skip_serializing_if = "Option::is_none")]
    pub dpop_key: Option<Secret>,
    /// The scopes that were asked for.
    #[serde(default)]
    pub requested_scopes: Vec<String>,
    /// The scopes that were granted.
    #[serde(default)]
    pub granted_scopes: Vec<String>,
    /// When the access token was given, in seconds since 1970.
    #[serde(default)]
    pub issued_at: u64,
    /// When it runs out, in seconds since 1970, where that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// What this client is to other authorization servers that the server once named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_clients: Vec<Registration>,
}

impl Login {
    /// A login with a token of this issuer for this resource, and nothing else.
    pub fn new(issuer: impl Into<String>, resource: impl Into<String>, access_token: Option<Secret>) -> Self {
        let issuer = issuer.into();
        Self {
            client: Registration::new(&issuer, ""),
            issuer,
            resource: resource.into(),
            token_endpoint: String::new(),
            token_type: TokenType::Bearer,
            access_token,
            refresh_token: None,
            dpop_key: None,
            requested_scopes: Vec::new(),
            granted_scopes: Vec::new(),
            issued_at: 0,
            expires_at: None,
            earlier_clients: Vec::new(),
        }
    }

    /// What this client is to an authorization server.
    pub(super) fn client_at(&self, issuer: &str) -> Option<&Registration> {
        std::iter::once(&self.client).chain(&self.earlier_clients).find(|client| client.issuer == issuer)
    }

    /// Whether the access token is over, or nearly: a fifth of its life, at most a minute, is kept for the way.
    pub(super) fn is_over(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| {
            let margin = (end.saturating_sub(self.issued_at) / 5).min(60);
            now.saturating_add(margin) >= end
        })
    }

    /// Whether the access token has run out.
    pub(super) fn is_dead(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }

    /// Every secret in it.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let clients = std::iter::once(&self.client).chain(&self.earlier_clients);
        let own = [&self.access_token, &self.refresh_token, &self.dpop_key];
        own.into_iter().flatten().chain(clients.filter_map(|client| client.client_secret.as_ref()))
    }
}

/// What a client is to one authorization server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Registration {
    /// The authorization server that knows it.
    pub issuer: String,
    /// Its name there.
    pub client_id: String,
    /// Its secret there.
    #[serde(default, with = "exposed", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<Secret>,
    /// When the secret runs out, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_expires_at: Option<u64>,
    /// How it shows who it is.
    #[serde(default)]
    pub auth: ClientAuth,
    /// Where browsers may be sent back to; empty where that wasn't told here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect_uris: Vec<String>,
    /// The scopes that it registered itself for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Whether it registered itself (RFC 7591).
    #[serde(default)]
    pub dynamic: bool,
}

impl Registration {
    pub(super) fn new(issuer: &str, client_id: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            client_secret: None,
            secret_expires_at: None,
            auth: ClientAuth::None,
            redirect_uris: Vec::new(),
            scopes: Vec::new(),
            dynamic: false,
        }
    }
}

/// How a client shows at the token endpoint who it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ClientAuth {
    /// It says its id.
    #[default]
    #[serde(rename = "none")]
    None,
    /// Its id and its secret, in the `Authorization` header.
    #[serde(rename = "client_secret_basic")]
    Basic,
    /// Its id and its secret, in the form.
    #[serde(rename = "client_secret_post")]
    Post,
    /// A JWT that it signs (RFC 7523).
    #[serde(rename = "private_key_jwt")]
    PrivateKeyJwt,
}

impl ClientAuth {
    /// Its name in metadata.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post, Self::PrivateKeyJwt].into_iter().find(|method| method.name() == name)
    }
}

/// How an access token is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TokenType {
    /// By itself (RFC 6750).
    #[default]
    Bearer,
    /// With a proof for each request (RFC 9449).
    #[serde(rename = "DPoP")]
    Dpop,
}

/// Writes secrets down: for the store alone.
mod exposed {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use crate::redact::Secret;

    pub(super) fn serialize<S: Serializer>(secret: &Option<Secret>, to: S) -> Result<S::Ok, S::Error> {
        secret.as_ref().map(Secret::expose).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(Secret::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_written_whole_and_shown_without_its_secrets() {
        let mut login = Login::new("https://as", "https://s/mcp", Some("access-1234".into()));
        login.refresh_token = Some("refresh-1234".into());
        login.client.client_secret = Some("client-1234".into());
        login.token_type = TokenType::Dpop;
        let text = serde_json::to_string(&login).unwrap();
        for secret in ["access-1234", "refresh-1234", "client-1234"] {
            assert!(text.contains(secret) && !format!("{login:?}").contains(secret), "{text}");
        }
        assert_eq!(serde_json::from_str::<Login>(&text).unwrap(), login);
        assert_eq!(login.secrets().count(), 3);
    }

    #[test]
    fn a_token_is_over_before_it_is_dead() {
        let login = Login { issued_at: 1000, expires_at: Some(1100), ..Login::new("", "", None) };
        assert!(!login.is_over(1079) && login.is_over(1080) && !login.is_dead(1099) && login.is_dead(1100));
        let long = Login { expires_at: Some(10_000), ..login.clone() };
        assert!(!long.is_over(9939) && long.is_over(9940));
        assert!(!Login { expires_at: None, ..login }.is_over(u64::MAX));
    }

    #[test]
    fn keys_tell_servers_clients_and_queries_apart() {
        let keys = ["https://h/mcp", "https://h/mcp?a=1", "https://h/mcp?a=2", "https://h/other", "no url", "none"];
        let keys: Vec<_> = keys.iter().flat_map(|url| [None, Some("me")].map(|id| LoginKey::new(url, id))).collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(keys[..at].iter().all(|other| other.as_str() != key.as_str()), "{key:?}");
        }
        assert_eq!(LoginKey::new("https://me:pw@H/mcp#x", None), LoginKey::new("https://h:443/mcp", None));
    }
}
