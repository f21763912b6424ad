//! Answers that the server says hold for a while (MCP specification 2026-07-28, Caching: `ttlMs`), used again until then, or
//! until it says that they changed. Never longer, and never in place of an error.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indexmap::IndexMap;

use crate::protocol::RawJson;
use crate::protocol::jsonrpc::Params;

/// What is asked for, and which page or resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key(String, String);

/// What still holds, the oldest first.
#[derive(Default)]
pub(super) struct Cache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    answers: IndexMap<Key, (RawJson, Instant)>,
    bytes: usize,
    /// Counts what was forgotten: an answer that was on its way then may be the older one.
    changes: u64,
}

impl Key {
    /// Of a request whose answer may hold for a while, where it asks for nothing special.
    pub(super) fn of(method: &str, params: &Params<'_>) -> Option<Self> {
        let which = match method {
            "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => "cursor",
            "resources/read" => "uri",
            _ => return None,
        };
        if let Params::Raw(raw) = params
            && raw.members().any(|(key, _)| key != which)
        {
            return None;
        }
        Some(Self(method.to_owned(), params.text(which).unwrap_or_default()))
    }
}

impl Cache {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: &Key) -> Option<RawJson> {
        let mut kept = self.kept();
        let (answer, until) = kept.answers.get(key)?;
        if Instant::now() < *until {
            return Some(answer.clone());
        }
        kept.remove(key);
        None
    }

    /// What an answer that is asked for now has to be put with.
    pub(super) fn changes(&self) -> u64 {
        self.kept().changes
    }

    /// Keeps an answer for as long as it says, within so many bytes for all.
    pub(super) fn put(&self, key: Key, answer: &RawJson, changes: u64, most: usize) {
        let ttl = answer.field("ttlMs").and_then(|ttl| ttl.decode::<f64>().ok()).filter(|ttl| *ttl > 0.0);
        let ttl = ttl.and_then(|ttl| Duration::try_from_secs_f64(ttl / 1000.0).ok());
        let Some(until) = ttl.and_then(|ttl| Instant::now().checked_add(ttl)) else { return };
        let mut kept = self.kept();
        let size = answer.as_bytes().len();
        if kept.changes != changes || size > most {
            return;
        }
        kept.remove(&key);
        kept.bytes += size;
        kept.answers.insert(key, (answer.clone(), until));
        while kept.bytes > most {
            let Some((_, (oldest, _))) = kept.answers.shift_remove_index(0) else { return };
            kept.bytes -= oldest.as_bytes().len();
        }
    }

    /// The server said that these changed.
    pub(super) fn forget(&self, changed: impl Fn(&str, &str) -> bool) {
        let mut kept = self.kept();
        kept.changes += 1;
        let gone: Vec<_> = kept.answers.keys().filter(|Key(method, which)| changed(method, which)).cloned().collect();
        gone.iter().for_each(|key| kept.remove(key));
    }
}

impl Kept {
    fn remove(&mut self, key: &Key) {
        if let Some((answer, _)) = self.answers.shift_remove(key) {
            self.bytes -= answer.as_bytes().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(method: &str, params: serde_json::Value) -> Option<Key> {
        Key::of(method, &Params::Raw(&params.into()))
    }

    #[test]
    fn only_plain_requests_for_what_can_be_kept_have_a_key() {
        assert_eq!(Key::of("tools/list", &Params::None), key("tools/list", json!({})));
        assert_ne!(key("tools/list", json!({"cursor": "2"})), key("tools/list", json!({})));
        assert_ne!(key("resources/read", json!({"uri": "a"})), key("resources/read", json!({"uri": "b"})));
        for (method, params) in [
            ("tools/call", json!({"name": "t"})),
            ("resources/read", json!({"uri": "a", "requestState": "s"})),
            ("tools/list", json!({"_meta": {"x": 1}})),
        ] {
            assert_eq!(key(method, params), None, "{method}");
        }
    }

    #[test]
    fn answers_are_kept_within_their_time_and_the_bytes_there_are() {
        let cache = Cache::default();
        let answer = |ttl: serde_json::Value| RawJson::from(json!({"ttlMs": ttl, "tools": []}));
        let page = |page: &str| Key("tools/list".to_owned(), page.to_owned());
        for worthless in [json!(0), json!(-5), json!(null), json!("60000"), json!(1e300)] {
            cache.put(page("w"), &answer(worthless), 0, 1000);
            assert!(cache.get(&page("w")).is_none());
        }
        cache.put(page("short"), &answer(json!(1)), 0, 1000);
        std::thread::sleep(Duration::from_millis(3));
        assert!(cache.get(&page("short")).is_none());
        let long = answer(json!(60_000));
        let most = 2 * long.as_bytes().len();
        for name in ["1", "2", "3"] {
            cache.put(page(name), &long, 0, most);
        }
        assert_eq!([page("1"), page("2"), page("3")].map(|page| cache.get(&page).is_some()), [false, true, true]);
        cache.put(page("4"), &long, 0, long.as_bytes().len() - 1);
        assert!(cache.get(&page("4")).is_none());
    }

    #[test]
    fn what_changed_is_forgotten_even_while_it_is_on_its_way() {
        let cache = Cache::default();
        let long = RawJson::from(json!({"ttlMs": 60_000}));
        let key = |method: &str, which: &str| Key(method.to_owned(), which.to_owned());
        cache.put(key("tools/list", ""), &long, 0, 1000);
        cache.put(key("resources/read", "a"), &long, 0, 1000);
        let asked = cache.changes();
        cache.forget(|method, which| method == "resources/read" && which == "a");
        assert!(cache.get(&key("resources/read", "a")).is_none() && cache.get(&key("tools/list", "")).is_some());
        cache.put(key("resources/read", "a"), &long, asked, 1000);
        assert!(cache.get(&key("resources/read", "a")).is_none());
    }
}
