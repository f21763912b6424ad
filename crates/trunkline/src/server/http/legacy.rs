//! HTTP+SSE of revision 2024-11-05: one stream for everything the server says, opened by a GET, and a POST for each
//! message of the client (MCP specification 2024-11-05, Transports, HTTP with SSE).

use hyper::body::Incoming;
use hyper::{HeaderMap, Request, StatusCode};

use super::endpoint::{Endpoint, Outcome, accepts, check_content_type};
use super::events::{self, Manner, Resuming};
use super::mailbox::{STANDING, Shape};
use super::post;
use super::reply::{self, Refusal};

/// Where the stream is.
pub(super) const EVENTS: &str = "/sse";
/// Where messages go.
pub(super) const MESSAGES: &str = "/messages";

/// Opens a session with its stream; the session ends with it.
pub(super) fn open(endpoint: &Endpoint, headers: &HeaderMap) -> Outcome {
    if !accepts(headers).1 {
        return Err(Refusal::not_acceptable("text/event-stream"));
    }
    let session = endpoint.sessions.start(Shape::Single).ok_or_else(Refusal::too_many_sessions)?;
    let reader = session.mailbox.read(STANDING, None).ok_or_else(Refusal::no_session)?;
    let opening = format!("event: endpoint\ndata: {MESSAGES}?sessionId={}\n\n", session.id).into();
    let manner = Manner { resuming: Resuming::No, opening, named: true, until: None };
    Ok(events::answer(reader, manner, session.in_use_to_the_end(), &endpoint.limits))
}

/// Takes a message; what there is to say to it comes on the stream.
pub(super) async fn take(endpoint: &Endpoint, request: Request<Incoming>) -> Outcome {
    let (head, body) = request.into_parts();
    check_content_type(&head.headers)?;
    let query = head.uri.query().unwrap_or_default();
    let id = query.split('&').find_map(|pair| pair.strip_prefix("sessionId="));
    let id = id.ok_or_else(|| Refusal::bad_request("The address has no sessionId"))?;
    let session = endpoint.sessions.find(id, true).ok_or_else(Refusal::no_session)?;
    let parcel = post::read(endpoint, body).await?;
    session.mailbox.expect(&parcel.ids)?;
    let _in_use = session.in_use();
    parcel.messages.into_iter().for_each(|message| session.desk.take(Ok(message)));
    Ok(reply::empty(StatusCode::ACCEPTED))
}
