//! What is served where: finds the part of the endpoint that answers a request, after the guard let it in.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use hyper::{HeaderMap, Method, Request, StatusCode};

use super::guard::Guard;
use super::limits::HttpServerLimits;
use super::reply::{self, Answer, LAST_EVENT_ID, PROTOCOL_VERSION, Refusal, SESSION_ID};
use super::session::Session;
use super::sessions::Sessions;
use super::{HttpAnswers, events, get, legacy, post};
use crate::protocol::era::speaks;

/// What every connection of a server shares.
pub(super) struct Endpoint {
    pub(super) path: String,
    pub(super) answers: HttpAnswers,
    pub(super) sessionless: bool,
    pub(super) legacy: bool,
    pub(super) guard: Guard,
    pub(super) limits: Arc<HttpServerLimits>,
    pub(super) sessions: Sessions,
}

pub(super) type Outcome = Result<Answer, Refusal>;

impl Endpoint {
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        if let Some(why) = self.guard.refuses(request.uri(), request.headers()) {
            return Refusal::new(StatusCode::FORBIDDEN, why).into_answer();
        }
        let path = request.uri().path();
        let path = path.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(path);
        let (own, method) = (path == self.path, request.method());
        let outcome = match *method {
            Method::POST if own => post::answer(&self, request).await,
            Method::GET if own && !self.sessionless => get::answer(&self, request.headers()),
            Method::DELETE if own && !self.sessionless => self.delete(request.headers()),
            _ if own && self.sessionless => Err(Refusal::not_allowed("POST")),
            _ if own => Err(Refusal::not_allowed("GET, POST, DELETE")),
            Method::GET if self.legacy && path == legacy::EVENTS => legacy::open(&self, request.headers()),
            Method::POST if self.legacy && path == legacy::MESSAGES => legacy::take(&self, request).await,
            _ if self.legacy && path == legacy::EVENTS => Err(Refusal::not_allowed("GET")),
            _ if self.legacy && path == legacy::MESSAGES => Err(Refusal::not_allowed("POST")),
            _ => Err(Refusal::new(StatusCode::NOT_FOUND, "Nothing is served under this path")),
        };
        outcome.unwrap_or_else(Refusal::into_answer)
    }

    fn delete(&self, headers: &HeaderMap) -> Outcome {
        check_version(headers)?;
        let session = self.session(headers)?;
        self.sessions.end(&session.id);
        Ok(reply::empty(StatusCode::OK))
    }

    /// The session that the headers name.
    pub(super) fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, Refusal> {
        let id = single(headers, &SESSION_ID)?;
        let id = id.ok_or_else(|| Refusal::bad_request("The header Mcp-Session-Id is missing"))?;
        self.sessions.find(id, false).ok_or_else(Refusal::no_session)
    }
}

/// The header's text, where it is there once; it is refused where that is unclear.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(|value| value.to_str());
    match (value.transpose(), values.next()) {
        (Ok(value), None) => Ok(value),
        _ => Err(Refusal::bad_request(format!("The header {name} is unclear"))),
    }
}

/// The revision that the headers name, one that is spoken here.
pub(super) fn check_version(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let version = single(headers, &PROTOCOL_VERSION)?;
    match version.filter(|version| !speaks(version)) {
        Some(version) => Err(Refusal::bad_request(format!("The protocol version {version:?} is not spoken here"))),
        None => Ok(version),
    }
}

/// From which event a stream is to be resumed.
pub(super) fn last_event(headers: &HeaderMap) -> Result<Option<(u64, u64)>, Refusal> {
    let Some(id) = single(headers, &LAST_EVENT_ID)? else { return Ok(None) };
    events::parse_id(id)
        .map(Some)
        .ok_or_else(|| Refusal::bad_request("The header Last-Event-ID holds no id of this server"))
}

/// Whether the body is said to be JSON. A page of another site can't say so without being asked first.
pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = single(headers, &CONTENT_TYPE)?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = "The header Content-Type has to be application/json";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}

/// Which forms of an answer the client takes: JSON, an event stream. A client that doesn't say takes both.
pub(super) fn accepts(headers: &HeaderMap) -> (bool, bool) {
    let mut ranges = Vec::new();
    for value in headers.get_all(ACCEPT) {
        let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        ranges.extend(text.split(',').filter(|range| !refused(range)).map(|range| {
            let range = range.split(';').next().unwrap_or_default();
            range.trim().to_owned()
        }));
    }
    let any = !headers.contains_key(ACCEPT);
    let takes =
        |kind: &str, group: &str| any || ranges.iter().any(|range| *range == kind || range == group || range == "*/*");
    (takes("application/json", "application/*"), takes("text/event-stream", "text/*"))
}

/// Whether a media range has the weight zero.
fn refused(range: &str) -> bool {
    let weight = range.split(';').skip(1).find_map(|part| part.trim().strip_prefix("q="));
    weight.is_some_and(|weight| weight.trim().parse().is_ok_and(|weight: f32| weight <= 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn accept_is_read_as_http_says() {
        for (accept, json, sse) in [
            ("application/json, text/event-stream", true, true),
            ("text/event-stream;q=0.9,application/json;charset=utf-8", true, true),
            ("Application/JSON", true, false),
            ("text/event-stream", false, true),
            ("*/*", true, true),
            ("application/*", true, false),
            ("text/html", false, false),
            ("application/json, text/event-stream;q=0", true, false),
            ("", false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(accepts(&headers), (json, sse), "{accept}");
        }
        assert_eq!(accepts(&HeaderMap::new()), (true, true));
    }
}
