//! What a server was asked to keep in mind: the level of its log, and what to tell changes of. A new session knows
//! nothing of that, so it is asked again before anybody uses it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use indexmap::IndexSet;
use serde_json::json;
use tokio::time::timeout;

use super::live::Live;
use crate::connection::{CallContext, Connection, EventKind, Hub};
use crate::protocol::RawJson;

/// What the server agreed to, and nobody has taken back.
#[derive(Default)]
pub(super) struct Wishes(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    level: Option<String>,
    /// Subscribed resources, the oldest first.
    subscribed: IndexSet<String>,
}

impl Wishes {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server did what was asked.
    pub(super) fn note(&self, method: &str, params: Option<&RawJson>) {
        let text = |field: &str| params.and_then(|params| params.text(field));
        match method {
            "logging/setLevel" => self.kept().level = text("level"),
            "resources/subscribe" => drop(text("uri").map(|uri| self.kept().subscribed.insert(uri))),
            "resources/unsubscribe" => drop(text("uri").map(|uri| self.kept().subscribed.shift_remove(&uri))),
            _ => {}
        }
    }

    /// The connection was ended on purpose.
    pub(super) fn forget(&self) {
        *self.kept() = Kept::default();
    }

    fn requests(&self) -> Vec<(&'static str, String, RawJson)> {
        let kept = self.kept();
        let level = kept
            .level
            .iter()
            .map(|level| ("logging/setLevel", format!("the log level {level}"), json!({"level": level}).into()));
        let subscribed = kept
            .subscribed
            .iter()
            .map(|uri| ("resources/subscribe", format!("the subscription to {uri}"), json!({"uri": uri}).into()));
        level.chain(subscribed).collect()
    }

    /// Asks a new session for all of it, and tells what it didn't do within `patience`.
    pub(super) async fn renew(&self, live: &Live, hub: &Hub, patience: Duration) {
        let renewing = self.requests().into_iter().map(async |(method, what, params)| {
            let cx = CallContext::new();
            let why = match timeout(patience, live.connection.request(method, Some(params), &cx)).await {
                Ok(Ok(_)) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer within {} s", patience.as_secs_f64()),
            };
            hub.emit(EventKind::Warning(format!("could not renew {what} on a new session: {why}")));
        });
        join_all(renewing).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_back_is_not_asked_for_again() {
        let wishes = Wishes::default();
        let uri = |uri: &str| Some(RawJson::from(json!({"uri": uri, "x": 1})));
        for (method, params) in [
            ("resources/subscribe", uri("a:1")),
            ("resources/subscribe", uri("a:2")),
            ("resources/subscribe", uri("a:2")),
            ("resources/unsubscribe", uri("a:1")),
            ("resources/unsubscribe", uri("a:3")),
            ("logging/setLevel", Some(json!({"level": "error"}).into())),
            ("logging/setLevel", Some(json!({"level": "debug"}).into())),
            ("tools/call", uri("a:4")),
            ("resources/subscribe", None),
        ] {
            wishes.note(method, params.as_ref());
        }
        let requests: Vec<_> =
            wishes.requests().into_iter().map(|(method, _, params)| (method, params.to_string())).collect();
        let expected = [("logging/setLevel", r#"{"level":"debug"}"#), ("resources/subscribe", r#"{"uri":"a:2"}"#)];
        assert_eq!(requests, expected.map(|(method, params)| (method, params.to_owned())));
        wishes.forget();
        assert!(wishes.requests().is_empty());
    }
}
