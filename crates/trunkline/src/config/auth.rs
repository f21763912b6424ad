//! `"auth"` of an entry: how a token is to be got for an HTTP server.

use std::path::PathBuf;

use indexmap::IndexMap;
use jsonc_parser::ast::{Object, Value};
use serde_json::json;

use super::expand::Template;
use super::fields::template;
use super::jsonc::{kind, member};
use super::lookup::Lookup;
use crate::auth::{Challenge, TokenSource};
use crate::error::{Error, Result};
use crate::redact::{MASK, Secret};
use crate::suggest;

/// The keys whose values are text.
#[rustfmt::skip]
const TEXTS: &[&str] = &[
    "clientId", "clientSecret", "clientMetadataUrl", "issuer", "privateKey", "privateKeyFile", "algorithm", "assertion",
    "assertionFile",
];
const SECRETS: &[&str] = &["clientSecret", "privateKey", "assertion"];
const PROVIDER: &str = "identityProvider";
const PROVIDER_TEXTS: &[&str] = &["tokenEndpoint", "clientId", "clientSecret"];

/// How a token is to be got, as written.
#[derive(Debug, Clone, Default)]
pub(crate) struct WrittenAuth {
    texts: IndexMap<&'static str, Template>,
    scopes: Vec<String>,
    grant: AuthGrant,
    provider: IndexMap<&'static str, Template>,
}

/// What it is got for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum AuthGrant {
    #[default]
    AuthorizationCode,
    ClientCredentials,
    JwtBearer,
    Enterprise,
}

impl AuthGrant {
    const ALL: [Self; 4] = [Self::AuthorizationCode, Self::ClientCredentials, Self::JwtBearer, Self::Enterprise];

    fn name(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorizationCode",
            Self::ClientCredentials => "clientCredentials",
            Self::JwtBearer => "jwtBearer",
            Self::Enterprise => "enterprise",
        }
    }
}

/// How a token is to be got, with everything looked up.
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(feature = "oauth"), expect(dead_code, reason = "nothing logs in"))]
pub(crate) struct AuthSpec {
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) client_metadata_url: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) grant: AuthGrant,
    pub(crate) private_key: Option<Written>,
    pub(crate) algorithm: Option<String>,
    pub(crate) assertion: Option<Written>,
    pub(crate) identity_provider: Option<ProviderSpec>,
}

/// The identity provider of a company.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "oauth"), expect(dead_code, reason = "nothing logs in"))]
pub(crate) struct ProviderSpec {
    pub(crate) token_endpoint: String,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
}

/// A secret: itself, or a file that holds it and is read each time.
#[derive(Debug, Clone)]
pub(crate) enum Written {
    Here(Secret),
    File(PathBuf),
}

impl Written {
    /// # Errors
    /// Kind `Config` for a file that can't be read.
    pub(crate) fn read(&self) -> Result<Secret> {
        match self {
            Self::Here(secret) => Ok(secret.clone()),
            Self::File(path) => match std::fs::read_to_string(path) {
                Ok(text) => Ok(Secret::new(text.trim())),
                Err(error) => Err(Error::config(format!("Can't read {}: {error}", path.display())).with_source(error)),
            },
        }
    }
}

impl TokenSource for Written {
    async fn token(&self, _: Option<&Challenge>) -> Result<Option<Secret>> {
        self.read().map(Some)
    }
}

impl WrittenAuth {
    /// Reads `"oauth"`, or an object.
    pub(super) fn read(value: &Value<'_>, odd: &mut Vec<String>) -> std::result::Result<Self, String> {
        match value {
            Value::StringLit(text) if text.value == "oauth" => Ok(Self::default()),
            Value::Object(object) => Self::of_object(object, odd),
            Value::StringLit(_) => {
                Err("\"auth\" has to be \"oauth\", or an object with what is known of the client".to_owned())
            }
            other => Err(format!("\"auth\" has to be \"oauth\" or an object, not {}", kind(other))),
        }
    }

    fn of_object(object: &Object<'_>, odd: &mut Vec<String>) -> std::result::Result<Self, String> {
        let find = |key: &str| {
            member(object, key).map(|found| &found.value).filter(|value| !matches!(value, Value::NullKeyword(_)))
        };
        let known: Vec<&str> = TEXTS.iter().copied().chain(["scopes", "grant", PROVIDER]).collect();
        unknown("auth", object, &known, odd);
        let provider = match find(PROVIDER) {
            None => IndexMap::new(),
            Some(Value::Object(provider)) => {
                unknown("auth.identityProvider", provider, PROVIDER_TEXTS, odd);
                texts("auth.identityProvider", provider, PROVIDER_TEXTS)?
            }
            Some(other) => return Err(format!("\"auth.{PROVIDER}\" has to be an object, not {}", kind(other))),
        };
        let auth = Self {
            texts: texts("auth", object, TEXTS)?,
            scopes: scopes(find("scopes"))?,
            grant: grant(find("grant"))?,
            provider,
        };
        auth.check()?;
        Ok(auth)
    }

    fn check(&self) -> std::result::Result<(), String> {
        let has = |key: &str| self.texts.contains_key(key);
        for (one, other) in [("privateKey", "privateKeyFile"), ("assertion", "assertionFile")] {
            if has(one) && has(other) {
                return Err(format!("\"auth\" has both \"{one}\" and \"{other}\"; keep one"));
            }
        }
        let lacks =
            |what: &str| Err(format!("\"auth\" lacks \"{what}\", which the grant \"{}\" needs", self.grant.name()));
        let assertion = has("assertion") || has("assertionFile");
        match self.grant {
            AuthGrant::ClientCredentials if !has("clientId") => lacks("clientId"),
            AuthGrant::JwtBearer | AuthGrant::Enterprise if !assertion => lacks("assertion"),
            AuthGrant::Enterprise if !self.provider.contains_key("tokenEndpoint") => {
                lacks("identityProvider.tokenEndpoint")
            }
            _ if has("clientSecret") && !has("clientId") => {
                Err("\"auth\" has a \"clientSecret\" and no \"clientId\"".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Looks up what it refers to.
    pub(super) fn resolve(&self, lookup: &Lookup<'_>) -> Result<AuthSpec> {
        let text = |key: &str| self.texts.get(key).map(|text| lookup.text(&format!("auth.{key}"), text)).transpose();
        let file = |key: &str| self.texts.get(key).map(|text| lookup.file(&format!("auth.{key}"), text)).transpose();
        let secret = |here: &str, there: &str| -> Result<Option<Written>> {
            let here = text(here)?.map(|value| {
                lookup.learn(&value);
                Written::Here(Secret::new(value))
            });
            Ok(here.or(file(there)?.map(Written::File)))
        };
        let client_secret = text("clientSecret")?;
        client_secret.iter().for_each(|secret| lookup.learn(secret));
        Ok(AuthSpec {
            client_id: text("clientId")?,
            client_secret: client_secret.map(Secret::new),
            client_metadata_url: text("clientMetadataUrl")?,
            issuer: text("issuer")?,
            scopes: self.scopes.clone(),
            grant: self.grant,
            private_key: secret("privateKey", "privateKeyFile")?,
            algorithm: text("algorithm")?,
            assertion: secret("assertion", "assertionFile")?,
            identity_provider: self.provider(lookup)?,
        })
    }

    fn provider(&self, lookup: &Lookup<'_>) -> Result<Option<ProviderSpec>> {
        let text = |key: &str| {
            self.provider.get(key).map(|text| lookup.text(&format!("auth.identityProvider.{key}"), text)).transpose()
        };
        let (Some(token_endpoint), client_secret) = (text("tokenEndpoint")?, text("clientSecret")?) else {
            return Ok(None);
        };
        client_secret.iter().for_each(|secret| lookup.learn(secret));
        Ok(Some(ProviderSpec {
            token_endpoint,
            client_id: text("clientId")?,
            client_secret: client_secret.map(Secret::new),
        }))
    }

    /// As it is written, without its secrets.
    pub(super) fn shown(&self) -> serde_json::Value {
        if self.texts.is_empty()
            && self.scopes.is_empty()
            && self.provider.is_empty()
            && self.grant == AuthGrant::default()
        {
            return json!("oauth");
        }
        let shown = |texts: &IndexMap<&'static str, Template>| -> serde_json::Map<String, serde_json::Value> {
            let one = |(key, text): (&&'static str, &Template)| {
                let value = if SECRETS.contains(key) { text.masked(MASK) } else { text.written().to_owned() };
                ((*key).to_owned(), json!(value))
            };
            texts.iter().map(one).collect()
        };
        let mut out = shown(&self.texts);
        if !self.scopes.is_empty() {
            out.insert("scopes".to_owned(), json!(self.scopes));
        }
        if self.grant != AuthGrant::default() {
            out.insert("grant".to_owned(), json!(self.grant.name()));
        }
        if !self.provider.is_empty() {
            out.insert(PROVIDER.to_owned(), shown(&self.provider).into());
        }
        out.into()
    }
}

fn unknown(field: &str, object: &Object<'_>, known: &[&str], odd: &mut Vec<String>) {
    for found in &object.properties {
        let key = found.name.as_str();
        if !known.contains(&key) {
            let meant = suggest::nearest(key, known.iter().copied());
            let meant = meant.map(|known| format!("; did you mean \"{known}\"?")).unwrap_or_default();
            odd.push(format!("\"{field}.{key}\" is no known key{meant}"));
        }
    }
}

fn texts(
    field: &str,
    object: &Object<'_>,
    keys: &[&'static str],
) -> std::result::Result<IndexMap<&'static str, Template>, String> {
    let mut texts = IndexMap::new();
    for key in keys {
        match member(object, key).map(|found| &found.value) {
            None | Some(Value::NullKeyword(_)) => {}
            Some(value @ Value::StringLit(_)) => drop(texts.insert(*key, template(&format!("{field}.{key}"), value)?)),
            Some(other) => return Err(format!("\"{field}.{key}\" has to be text, not {}", kind(other))),
        }
    }
    Ok(texts)
}

/// A list of scopes, or one text with blanks between them.
fn scopes(value: Option<&Value<'_>>) -> std::result::Result<Vec<String>, String> {
    let one = |value: &Value<'_>| match value {
        Value::StringLit(text) => Ok(text.value.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
        other => Err(format!("\"auth.scopes\" has to be a list of texts, but holds {}", kind(other))),
    };
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => {
            Ok(list.elements.iter().map(one).collect::<std::result::Result<Vec<_>, _>>()?.concat())
        }
        Some(value) => one(value),
    }
}

fn grant(value: Option<&Value<'_>>) -> std::result::Result<AuthGrant, String> {
    let known = || AuthGrant::ALL.map(|grant| format!("\"{}\"", grant.name())).join(", ");
    match value {
        None => Ok(AuthGrant::default()),
        Some(Value::StringLit(text)) => {
            AuthGrant::ALL.into_iter().find(|grant| grant.name() == text.value).ok_or_else(|| {
                format!(
                    "\"auth.grant\" is {:?}, which is none of {}",
                    text.value.chars().take(40).collect::<String>(),
                    known()
                )
            })
        }
        Some(other) => Err(format!("\"auth.grant\" has to be one of {}, not {}", known(), kind(other))),
    }
}
