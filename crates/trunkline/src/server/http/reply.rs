//! Answers that carry no event stream: a status, and a JSON-RPC error where something is to be said.

use bytes::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

use super::body::Body;
use crate::protocol::RawJson;
use crate::protocol::jsonrpc;

pub(super) type Answer = Response<Body>;

/// The code for what the transport refuses (JSON-RPC leaves -32000 … -32099 to implementations).
const REFUSED: i64 = -32000;
/// The code for a session that isn't there (as the official SDKs use it).
const NO_SESSION: i64 = -32001;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(super) fn empty(status: StatusCode) -> Answer {
    with(status, Body::Empty)
}

pub(super) fn with(status: StatusCode, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}

/// JSON as it is, without its line end.
pub(super) fn json(status: StatusCode, line: &Bytes) -> Answer {
    let text = line.slice(..line.trim_ascii_end().len());
    let mut answer = with(status, Body::Whole(text));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// Why a request is not taken: a status, an error that belongs to no request, and perhaps a header.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    code: i64,
    message: String,
    header: Option<(HeaderName, &'static str)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, code: REFUSED, message: message.into(), header: None }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn not_allowed(allowed: &'static str) -> Self {
        Self { header: Some((ALLOW, allowed)), ..Self::new(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed") }
    }

    pub(super) fn no_session() -> Self {
        Self { code: NO_SESSION, ..Self::new(StatusCode::NOT_FOUND, "Session not found") }
    }

    pub(super) fn too_many_sessions() -> Self {
        let header = Some((RETRY_AFTER, "10"));
        Self { header, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "Too many sessions") }
    }

    pub(super) fn too_many_requests() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests of this session run")
    }

    pub(super) fn not_acceptable(kind: &str) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, format!("The header Accept has to list {kind}"))
    }

    /// With JSON-RPC's own code for this fault.
    pub(super) fn with_code(self, code: i64) -> Self {
        Self { code, ..self }
    }

    pub(super) fn into_answer(self) -> Answer {
        let null = RawJson::from(serde_json::Value::Null);
        let mut answer = json(self.status, &jsonrpc::error(&null, self.code, &self.message, None).into());
        if let Some((name, value)) = self.header {
            answer.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        answer
    }
}
