//! POST: takes what a client sends, and answers its requests as JSON or as an event stream (MCP specification,
//! Transports, Sending Messages to the Server).

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::{HeaderMap, Request, StatusCode};

use super::HttpAnswers;
use super::body;
use super::endpoint::{Endpoint, Outcome, accepts, check_content_type, check_version, single};
use super::events::{self, Manner, Resuming};
use super::get::resuming;
use super::mailbox::{Denied, Reader, Shape};
use super::parcel::Parcel;
use super::reply::{self, Answer, Refusal, SESSION_ID};
use super::session::{InUse, Session};
use crate::protocol::jsonrpc::INVALID_REQUEST;

/// The last revision that has batches.
const BATCHES: &str = "2025-03-26";

pub(super) async fn answer(endpoint: &Endpoint, request: Request<Incoming>) -> Outcome {
    let (head, body) = request.into_parts();
    let headers = &head.headers;
    check_content_type(headers)?;
    let form = form(endpoint.answers, headers)?;
    let parcel = read(endpoint, body).await?;
    let version = check_version(headers)?;
    let (session, is_new) = session(endpoint, headers, &parcel)?;
    if parcel.batch && *session.desk.revision().as_deref().or(version).unwrap_or(BATCHES) > *BATCHES {
        return Err(Refusal::bad_request("This revision has no batches").with_code(INVALID_REQUEST));
    }
    let in_use = session.in_use();
    if parcel.ids.is_empty() {
        parcel.messages.into_iter().for_each(|message| session.desk.take(Ok(message)));
        return Ok(reply::empty(StatusCode::ACCEPTED));
    }
    let opened = session.mailbox.open(&parcel.ids, form == HttpAnswers::Json);
    let exchange = Exchange { reader: opened?, endpoint, in_use, batch: parcel.batch };
    parcel.messages.into_iter().for_each(|message| session.desk.take(Ok(message)));
    let mut answer = exchange.run(form).await;
    if is_new {
        introduce(endpoint, &session, &mut answer);
    }
    Ok(answer)
}

/// The whole body, as the messages in it.
pub(super) async fn read(endpoint: &Endpoint, body: Incoming) -> Result<Parcel, Refusal> {
    let body = body::read(body, &endpoint.limits).await;
    let body = body.map_err(|status| Refusal::new(status, "The body can't be taken"))?;
    Parcel::open(body)
}

/// In which form to answer, of those that both sides know.
fn form(answers: HttpAnswers, headers: &HeaderMap) -> Result<HttpAnswers, Refusal> {
    match (answers, accepts(headers)) {
        (_, (false, false)) => Err(Refusal::not_acceptable("application/json and text/event-stream")),
        (HttpAnswers::Sse, (_, false)) => Err(Refusal::not_acceptable("text/event-stream")),
        (HttpAnswers::Json, (false, _)) => Err(Refusal::not_acceptable("application/json")),
        (HttpAnswers::Auto, (false, true)) => Ok(HttpAnswers::Sse),
        (HttpAnswers::Auto, (true, false)) => Ok(HttpAnswers::Json),
        (answers, _) => Ok(answers),
    }
}

/// The session that the messages belong to; `initialize` begins one.
fn session(endpoint: &Endpoint, headers: &HeaderMap, parcel: &Parcel) -> Result<(Arc<Session>, bool), Refusal> {
    if endpoint.sessionless {
        return Ok((endpoint.sessions.alone(), false));
    }
    match (parcel.initialize, single(headers, &SESSION_ID)?) {
        (true, None) => {
            endpoint.sessions.start(Shape::Streams).map(|new| (new, true)).ok_or_else(Refusal::too_many_sessions)
        }
        (true, Some(id)) => Err(match endpoint.sessions.find(id, false) {
            Some(_) => {
                Refusal::bad_request("This session has begun; begin another one without the header Mcp-Session-Id")
            }
            None => Refusal::no_session(),
        }),
        (false, _) => endpoint.session(headers).map(|session| (session, false)),
    }
}

impl From<Denied> for Refusal {
    fn from(why: Denied) -> Self {
        match why {
            Denied::Duplicate(id) => {
                Self::bad_request(format!("The id {id} is in use by a request that runs")).with_code(INVALID_REQUEST)
            }
            Denied::TooMany => Self::too_many_requests(),
            Denied::Over => Self::no_session(),
        }
    }
}

/// Tells the client its session, unless that failed to begin.
fn introduce(endpoint: &Endpoint, session: &Session, answer: &mut Answer) {
    let streams = matches!(answer.body(), body::Body::Events(_)); // how it ends is still open
    match HeaderValue::from_str(&session.id) {
        Ok(id) if streams || session.desk.revision().is_some() => drop(answer.headers_mut().insert(SESSION_ID, id)),
        _ => endpoint.sessions.end(&session.id),
    }
}

/// The requests of one POST, until they are answered.
struct Exchange<'a> {
    reader: Reader,
    endpoint: &'a Endpoint,
    in_use: InUse,
    batch: bool,
}

impl Exchange<'_> {
    async fn run(self, form: HttpAnswers) -> Answer {
        let json = match form {
            HttpAnswers::Json => true,
            HttpAnswers::Sse => false,
            HttpAnswers::Auto => {
                let patience = self.endpoint.limits.patience;
                let clear = tokio::time::timeout(patience, self.reader.nothing_but_answers()).await;
                matches!(clear, Ok(None | Some(true)))
            }
        };
        if !json {
            return self.stream();
        }
        match self.reader.answers().await {
            Some(lines) => whole(&lines, self.batch),
            None => Refusal::no_session().into_answer(),
        }
    }

    fn stream(self) -> Answer {
        let Self { reader, endpoint, in_use, .. } = self;
        let resuming = if endpoint.sessionless { Resuming::No } else { resuming(in_use.session()) };
        let manner = Manner::of_post(resuming, reader.stream(), &endpoint.limits);
        events::answer(reader, manner, in_use, &endpoint.limits)
    }
}

/// The answers as one JSON body. A request that was cancelled has none.
fn whole(lines: &[Bytes], batch: bool) -> Answer {
    match lines {
        [] => reply::empty(StatusCode::ACCEPTED),
        [line] if !batch => reply::json(StatusCode::OK, line),
        lines => {
            let mut array = BytesMut::with_capacity(lines.iter().map(|line| line.len() + 1).sum::<usize>() + 1);
            for (index, line) in lines.iter().enumerate() {
                array.put_u8(if index == 0 { b'[' } else { b',' });
                array.put_slice(line.trim_ascii_end());
            }
            array.put_u8(b']');
            reply::json(StatusCode::OK, &array.freeze())
        }
    }
}
