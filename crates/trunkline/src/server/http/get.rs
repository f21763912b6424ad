//! GET: the standing stream, and the rest of a stream that broke (MCP specification, Transports, Listening for
//! Messages from the Server, and Resumability and Redelivery).

use std::sync::Arc;

use hyper::HeaderMap;

use super::endpoint::{Endpoint, Outcome, accepts, check_version, last_event};
use super::events::{self, Manner, Resuming};
use super::mailbox::STANDING;
use super::reply::Refusal;
use super::session::Session;

pub(super) fn answer(endpoint: &Endpoint, headers: &HeaderMap) -> Outcome {
    if !accepts(headers).1 {
        return Err(Refusal::not_acceptable("text/event-stream"));
    }
    check_version(headers)?;
    let session = endpoint.session(headers)?;
    let (stream, after) = match last_event(headers)? {
        Some((stream, event)) => (stream, Some(event)),
        None => (STANDING, None),
    };
    let reader = session.mailbox.read(stream, after);
    let reader = reader.ok_or_else(|| Refusal::bad_request("What came after this event is no longer known"))?;
    let manner = Manner::of_get(resuming(&session), &endpoint.limits);
    Ok(events::answer(reader, manner, session.in_use(), &endpoint.limits))
}

/// How the streams of a session are resumed.
pub(super) fn resuming(session: &Arc<Session>) -> Resuming {
    // revisions sort by their date
    match session.desk.revision() {
        Some(revision) if *revision >= *"2025-11-25" => Resuming::Primed,
        _ => Resuming::Ids,
    }
}
