//! What an MCP server asks of a request before it looks at it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use super::memory::Agreed;
use super::proof;
use super::refusal::Refusal;
use super::settings::{Dpop, patched, status_of};
use super::state::State;
use crate::http::{HttpRequest, Reply, Step, reply, send};

/// How an MCP server guards itself.
#[derive(Debug, Clone)]
pub struct Guard {
    /// Where its metadata lies; nowhere where there is no path.
    pub metadata_at: Option<String>,
    /// Whether a refusal names that place.
    pub tells_metadata: bool,
    /// Fields of the metadata that are other than usual; null takes one away.
    pub patch: Value,
    /// The name that tokens have to be for, where it isn't the server's URL.
    pub resource: Option<String>,
    /// Paths that are answered with a status and nothing else.
    pub statuses: Vec<(String, u16)>,
    /// Whether a refusal has a `WWW-Authenticate` header at all.
    pub challenges: bool,
    /// The scope that a refusal asks for.
    pub scope: Option<String>,
    pub scopes_supported: Option<Vec<&'static str>>,
    /// JSON-RPC methods, or names of tools, that need a scope of their own.
    pub scopes: Vec<(&'static str, &'static str)>,
    /// No scope is ever enough for these.
    pub hopeless: bool,
    /// JSON-RPC methods that need no token.
    pub open: Vec<&'static str>,
    /// A proof has to hold the server's nonce.
    pub nonces: bool,
}

impl Default for Guard {
    fn default() -> Guard {
        Guard {
            metadata_at: Some("/.well-known/oauth-protected-resource/mcp".to_owned()),
            tells_metadata: true,
            patch: json!({}),
            resource: None,
            statuses: Vec::new(),
            challenges: true,
            scope: None,
            scopes_supported: None,
            scopes: Vec::new(),
            hopeless: false,
            open: Vec::new(),
            nonces: false,
        }
    }
}

pub(crate) struct Gate {
    pub(crate) guard: Mutex<Guard>,
    pub(crate) authority: Mutex<Arc<State>>,
    /// Its own nonces, the JWTs that came, and what it refused.
    pub(crate) own: State,
}

impl Gate {
    pub(crate) fn authority(&self) -> Arc<State> {
        self.authority.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn guard(&self) -> Guard {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn resource(&self) -> String {
        self.guard().resource.unwrap_or_else(|| format!("{}/mcp", self.own.origin()))
    }

    /// What is done with a request that the server doesn't see.
    pub(crate) fn steps(&self, request: &HttpRequest) -> Option<Vec<Step>> {
        let guard = self.guard();
        let path = request.path();
        if let Some(status) = status_of(&guard.statuses, path) {
            return Some(vec![send(reply(status).content("text/html", "<h1>no</h1>"))]);
        }
        if guard.metadata_at.as_deref() == Some(path) {
            return Some(vec![send(reply(200).json(self.metadata(&guard)))]);
        }
        if path.starts_with("/.well-known/") {
            return Some(vec![send(reply(404))]);
        }
        let refusal = self.checked(&guard, request).err()?;
        self.own.note(request.rpc_method().as_deref().unwrap_or(&request.method), &refusal);
        Some(vec![send(self.refusing(&guard, &refusal))])
    }

    fn metadata(&self, guard: &Guard) -> Value {
        let authority = self.authority().issuer();
        let mut document = json!({"resource": self.resource(), "authorization_servers": [authority]});
        if let Some(scopes) = &guard.scopes_supported {
            document["scopes_supported"] = json!(scopes);
        }
        patched(document, &guard.patch)
    }

    fn checked(&self, guard: &Guard, request: &HttpRequest) -> Result<(), Refusal> {
        let method = request.rpc_method().unwrap_or_default();
        if guard.open.contains(&method.as_str()) {
            return Ok(());
        }
        let agreed = self.token(guard, request)?;
        let tool = request.name().unwrap_or_default();
        for (_, scope) in guard.scopes.iter().filter(|(what, _)| *what == method || *what == tool) {
            if guard.hopeless || !agreed.scope.split(' ').any(|has| has == *scope) {
                return Err(Refusal { expected: true, ..Refusal::new(403, "insufficient_scope", *scope) });
            }
        }
        Ok(())
    }

    /// What the request's token stands for.
    fn token(&self, guard: &Guard, request: &HttpRequest) -> Result<Agreed, Refusal> {
        let authority = self.authority();
        let Some(header) = request.header("authorization") else {
            return Err(Refusal { expected: true, ..Refusal::new(401, "", "there is no token") });
        };
        let wrong = |reason: String| Refusal::new(401, "invalid_token", reason);
        let dpop = authority.settings().dpop != Dpop::Off;
        let scheme = if dpop { "DPoP " } else { "Bearer " };
        let token = header.strip_prefix(scheme).ok_or_else(|| wrong(format!("the scheme isn't {scheme}")))?;
        let known = authority.memory().access.get(token).cloned();
        let known = known.ok_or_else(|| wrong("the token is not known".to_owned()))?;
        if known.until <= Instant::now() {
            return Err(Refusal { expected: true, ..wrong("the token is over".to_owned()) });
        }
        let resource = self.resource();
        if known.agreed.resource != resource && !authority.settings().resource_optional {
            return Err(wrong(format!("the token is for {}", known.agreed.resource)));
        }
        if dpop {
            let nonce = guard.nonces.then(|| self.own.nonce());
            let key = proof::of_key(&self.own, request, self.own.origin(), Some(token), nonce.as_deref());
            let key = key.map_err(|refusal| Refusal { status: 401, ..refusal })?;
            if known.agreed.key != Some(key) {
                return Err(wrong("the token is bound to another key".to_owned()));
            }
        }
        Ok(known.agreed)
    }

    fn refusing(&self, guard: &Guard, refusal: &Refusal) -> Reply {
        let plain = reply(refusal.status).content("text/plain", &refusal.reason);
        let plain = refusal.headers.iter().fold(plain, |reply, (name, value)| reply.header(name, value));
        if !guard.challenges {
            return plain;
        }
        let scheme = if self.authority().settings().dpop == Dpop::Off { "Bearer" } else { "DPoP" };
        let mut parts = Vec::new();
        if !refusal.error.is_empty() {
            parts.push(format!("error=\"{}\"", refusal.error));
        }
        let scope = if refusal.status == 403 { Some(&refusal.reason) } else { guard.scope.as_ref() };
        parts.extend(scope.map(|scope| format!("scope=\"{scope}\"")));
        if let Some(path) = guard.metadata_at.as_ref().filter(|_| guard.tells_metadata) {
            parts.push(format!("resource_metadata=\"{}{path}\"", self.own.origin()));
        }
        plain.header("WWW-Authenticate", format!("{scheme} {}", parts.join(", ")).trim_end())
    }
}
