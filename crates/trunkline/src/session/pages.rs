//! Calls that a server refuses until a person has been to a page of its own (MCP specification 2025-11-25, URL Elicitation
//! Required Error): the handler is asked for each page, once, and the call is made again when the server says that they are
//! done, and from time to time.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Session, calls};
use crate::connection::{CallContext, Connection, EventKind, Events, answer_all};
use crate::error::{Error, Result};
use crate::protocol::RawJson;
use crate::protocol::jsonrpc::Params;

/// The code of such a refusal.
const URL_REQUIRED: i64 = -32042;
/// How long to wait for the server's word before asking it again: twice as long each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Whether a call is refused until somebody has been to a page.
pub(super) fn are_needed(error: &Error) -> bool {
    error.code() == Some(URL_REQUIRED)
}

/// Has the pages shown that a refusal names, and makes the call again.
pub(super) async fn by_way_of(
    session: &Session,
    method: &str,
    params: Params<'_>,
    cx: &CallContext,
    refusal: Error,
) -> Result<RawJson> {
    let mut error = refusal;
    let Some(handler) = cx.handler().or_else(|| session.desk.handler()) else { return Err(error.with_hint(NOBODY)) };
    let (begun, most) = (Instant::now(), session.limits.consent_timeout);
    let (mut shown, mut wait) = (HashSet::new(), FIRST_WAIT);
    loop {
        let pages = pages(&error);
        if pages.is_empty() || (!most.is_zero() && begun.elapsed() > most) {
            return Err(error);
        }
        {
            let _patience = cx.hold();
            let events = session.events();
            let new: Vec<_> = pages.iter().filter(|(id, _)| shown.insert(id.clone())).cloned().collect();
            let answers = answer_all(handler, &new).await?;
            if answers.members().any(|(_, answer)| answer.text("action").as_deref() != Some("accept")) {
                return Err(error.with_hint("The page was not agreed to"));
            }
            let ids = pages.iter().map(|(id, _)| id.clone()).collect();
            let _ = tokio::time::timeout(wait, done(events, ids)).await; // some servers never say so
        }
        wait = (2 * wait).min(LONGEST_WAIT);
        error = match calls::request(session, method, params, cx).await {
            Err(error) if are_needed(&error) => error,
            outcome => return outcome,
        };
    }
}

const NOBODY: &str = "The server wants a person to open a page: give the client or the call a handler that answers elicitations \
                      by URL";

/// The pages that a refusal names, as questions under their ids.
fn pages(error: &Error) -> Vec<(String, RawJson)> {
    let pages = error.data().and_then(|data| data.field("elicitations"));
    let pages = pages.iter().flat_map(RawJson::items);
    pages
        .filter_map(|page| {
            let method = RawJson::from(Value::from("elicitation/create"));
            let question = RawJson::empty_object().with_member("method", &method);
            Some((page.text("elicitationId")?, question.with_member("params", &page)))
        })
        .collect()
}

/// Ends when the server has said of all these that they are done.
async fn done(mut events: Events, mut left: HashSet<String>) {
    while !left.is_empty() {
        match events.next().await {
            Some(event) => {
                if let EventKind::ElicitationComplete { id } = event.kind {
                    left.remove(&id);
                }
            }
            None => return,
        }
    }
}
