//! Which scopes are asked for (MCP specification, Scope Selection Strategy and Step-Up Authorization Flow).

use super::authority::Authority;
use super::protected::Protected;
use crate::auth::Wanted;

/// A scope by which a refresh token is asked for (OpenID Connect Core, section 11).
pub(super) const OFFLINE: &str = "offline_access";

/// The first list and what the second has beside it.
pub(super) fn union(first: &[String], second: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::with_capacity(first.len() + second.len());
    for scope in first.iter().chain(second) {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}

/// The scopes for a first token: what is set, or what the server recommends; and what it demands.
pub(super) fn initial(set: &[String], wanted: &Wanted, protected: &Protected) -> Vec<String> {
    let demanded: Vec<String> = wanted.scopes().map(str::to_owned).collect();
    let recommended = || {
        let all = protected.scopes.clone().unwrap_or_default();
        all.into_iter().filter(|scope| scope != OFFLINE).collect()
    };
    let base = match (set.is_empty(), demanded.is_empty()) {
        (false, _) => set.to_vec(),
        (true, false) => Vec::new(),
        (true, true) => recommended(),
    };
    union(&base, &demanded)
}

/// The same, and the one for a refresh token where the authorization server lists it.
pub(super) fn with_offline(mut scopes: Vec<String>, authority: &Authority) -> Vec<String> {
    if authority.scopes.iter().any(|scope| scope == OFFLINE) && !scopes.iter().any(|scope| scope == OFFLINE) {
        scopes.push(OFFLINE.to_owned());
    }
    scopes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_demanded_goes_before_what_is_recommended() {
        let of = |set: &str, demanded: Option<&str>, recommended: Option<&str>| {
            let wanted = Wanted { scope: demanded.map(str::to_owned), ..Wanted::default() };
            let scopes = recommended.map(list);
            let protected = Protected { resource: String::new(), issuers: Vec::new(), scopes, dpop: false };
            initial(&list(set), &wanted, &protected).join(" ")
        };
        assert_eq!(of("", Some("a b a"), Some("c")), "a b");
        assert_eq!(of("", None, Some("c d offline_access")), "c d");
        assert_eq!(of("", None, None), "");
        assert_eq!(of("x a", Some("a b"), Some("c")), "x a b");
        assert_eq!(of("x", None, Some("c")), "x");
    }
}
