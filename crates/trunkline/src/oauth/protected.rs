//! What a server says of its own authorization: protected-resource metadata (RFC 9728; MCP specification, Authorization
//! Server Location).

use serde_json::{Map, Value};
use url::Url;

use super::address::{self, checked};
use super::flow::Flow;
use super::tried::{Tried, is_true, text, texts};
use crate::auth::Wanted;
use crate::error::{Error, ErrorKind, Result};

const NAME: &str = "oauth-protected-resource";

/// What a server says of its own authorization.
#[derive(Debug)]
pub(super) struct Protected {
    /// What tokens have to be for, exactly as the server writes it.
    pub(super) resource: String,
    /// Its authorization servers; none where it says nothing, as servers of revision 2025-03-26 do.
    pub(super) issuers: Vec<String>,
    pub(super) scopes: Option<Vec<String>>,
    /// Tokens have to be bound to a key (RFC 9449).
    pub(super) dpop: bool,
}

impl Flow {
    /// Finds the metadata of the server: where its refusal says, else in the well-known places.
    pub(super) async fn protected(&self, wanted: &Wanted, tried: &mut Tried) -> Result<Protected> {
        let server = self.visitor.home().clone();
        for place in places(&server, wanted) {
            let url = checked(&place, "address of the server's metadata")?;
            if let Some(document) = self.document(&url, tried).await? {
                return read(&server, &url, &document);
            }
        }
        Ok(Protected { resource: canonical(&server), issuers: Vec::new(), scopes: None, dpop: false })
    }
}

fn places(server: &Url, wanted: &Wanted) -> Vec<String> {
    let mut places: Vec<String> = wanted.resource_metadata.clone().into_iter().collect();
    for place in [address::inserted(server, NAME), format!("{}/.well-known/{NAME}", address::origin(server))] {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

fn read(server: &Url, from: &Url, document: &Map<String, Value>) -> Result<Protected> {
    let resource = text(document, "resource").unwrap_or_else(|| canonical(server));
    if !covers(&resource, server) {
        let message = format!("The metadata at {from} is for {resource:?}, not for {}", canonical(server));
        let error = Error::new(ErrorKind::Auth, message).with_context("stage", "resource");
        return Err(error.with_hint("A token for it could be used elsewhere, so none is asked for. Is the URL right?"));
    }
    let dpop = is_true(document, "dpop_bound_access_tokens_required");
    let issuers = texts(document, "authorization_servers").unwrap_or_default();
    Ok(Protected { resource, issuers, scopes: texts(document, "scopes_supported"), dpop })
}

/// Whether a token for this resource is one for the server: the same origin, and the path or one above it.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (above, path) = (resource.path().trim_end_matches('/'), server.path().trim_end_matches('/'));
    let inside = path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && inside && resource.fragment().is_none()
}

/// The name of a server that doesn't name itself.
fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_query(None);
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn the_places_are_asked_in_order() {
        let told = Wanted { resource_metadata: Some("https://h/custom.json".to_owned()), ..Wanted::default() };
        let root = "https://h/.well-known/oauth-protected-resource";
        let inserted = format!("{root}/a/mcp");
        assert_eq!(places(&url("https://h/a/mcp?x"), &told), ["https://h/custom.json", &inserted, root]);
        assert_eq!(places(&url("https://h/"), &Wanted::default()), [root]);
    }

    #[test]
    fn a_resource_is_the_server_or_above_it() {
        let server = url("https://h/a/mcp?tenant=1");
        for good in ["https://h/a/mcp", "https://H:443/a/mcp/", "https://h/a", "https://h", "https://h/"] {
            assert!(covers(good, &server), "{good}");
        }
        for bad in
            ["https://h/a/mcp/x", "https://h/a/mc", "http://h/a/mcp", "https://h:1/a", "https://evil/a/mcp", "h", ""]
        {
            assert!(!covers(bad, &server), "{bad}");
        }
        assert!(covers("http://localhost:8080", &url("http://localhost:8080")));
    }

    #[test]
    fn what_a_resource_is_called_is_kept_to_the_byte() {
        let document =
            serde_json::json!({"resource": "http://localhost:80", "authorization_servers": ["http://localhost"]});
        let (at, document) = (url("http://localhost/x"), document.as_object().unwrap());
        assert_eq!(read(&url("http://localhost/mcp"), &at, document).unwrap().resource, "http://localhost:80");
        assert_eq!(canonical(&url("https://h/?x#y")), "https://h");
        assert_eq!(canonical(&url("https://h/mcp/")), "https://h/mcp/");
    }
}
