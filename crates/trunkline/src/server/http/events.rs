//! Writing an event stream: what a reader has, comments while there is nothing, and how a client is told to come
//! back (WHATWG HTML, Server-sent events).

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream::unfold;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use tokio::time::{Instant, timeout};

use super::body::Body;
use super::limits::HttpServerLimits;
use super::mailbox::{Event, Reader};
use super::reply::{self, Answer};
use super::session::InUse;

/// About how many bytes go out in one piece.
const PIECE: usize = 64 << 10;

const COMMENT: Bytes = Bytes::from_static(b": \n\n");

/// Whether and how a stream can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resuming {
    /// Its events have no ids.
    No,
    /// Its events have ids.
    Ids,
    /// And it begins with one, so that it can be resumed from its very beginning (since revision 2025-11-25).
    Primed,
}

/// How a stream is written.
pub(super) struct Manner {
    pub(super) resuming: Resuming,
    /// What is said before all else.
    pub(super) opening: Bytes,
    /// Whether each event says that it is a `message`, as HTTP+SSE has it.
    pub(super) named: bool,
    /// When the connection is closed, for the client to resume the stream.
    pub(super) until: Option<Duration>,
}

impl Manner {
    /// The stream of a POST.
    pub(super) fn of_post(resuming: Resuming, stream: u64, limits: &HttpServerLimits) -> Self {
        let primed = resuming == Resuming::Primed;
        let retry = limits.retry.as_millis();
        let opening = if primed { format!("retry: {retry}\nid: {stream}-0\ndata:\n\n").into() } else { COMMENT };
        Self { resuming, opening, named: false, until: limits.max_stream.filter(|_| primed) }
    }

    /// A stream that a GET opened.
    pub(super) fn of_get(resuming: Resuming, limits: &HttpServerLimits) -> Self {
        let opening = format!(": \nretry: {}\n\n", limits.retry.as_millis()).into();
        Self { resuming, opening, named: false, until: limits.max_stream.filter(|_| resuming == Resuming::Primed) }
    }
}

struct Writing {
    reader: Reader,
    manner: Manner,
    keep_alive: Duration,
    retry: Duration,
    begun: Instant,
    ended: bool,
    _in_use: InUse,
}

/// The answer that streams what the reader has.
pub(super) fn answer(reader: Reader, manner: Manner, in_use: InUse, limits: &HttpServerLimits) -> Answer {
    if manner.resuming == Resuming::Primed {
        reader.set_resumable();
    }
    let (keep_alive, retry) = (limits.keep_alive, limits.retry);
    let writing = Writing { reader, manner, keep_alive, retry, begun: Instant::now(), ended: false, _in_use: in_use };
    let pieces = unfold(writing, async |mut writing| writing.next().await.map(|piece| (piece, writing)));
    let mut answer = reply::with(StatusCode::OK, Body::Events(Box::pin(pieces)));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    answer
}

impl Writing {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.manner.opening.is_empty() {
            return Some(std::mem::take(&mut self.manner.opening));
        }
        loop {
            if self.ended {
                return None;
            }
            let taken = self.reader.take(PIECE);
            if !taken.events.is_empty() {
                return Some(self.write(&taken.events));
            }
            if taken.done {
                return None;
            }
            let rest = self.manner.until.map(|until| until.saturating_sub(self.begun.elapsed()));
            let wait = rest.map_or(self.keep_alive, |rest| rest.min(self.keep_alive));
            if timeout(wait, self.reader.woken()).await.is_ok() {
                continue;
            }
            self.ended = rest.is_some_and(|rest| rest <= self.keep_alive);
            return Some(if self.ended { self.goodbye() } else { COMMENT });
        }
    }

    fn write(&mut self, events: &[Event]) -> Bytes {
        let mut out = BytesMut::with_capacity(events.iter().map(|event| event.line.len() + 40).sum());
        for event in events {
            if self.manner.resuming != Resuming::No {
                out.put_slice(format!("id: {}-{}\n", self.reader.stream(), event.number).as_bytes());
            }
            if self.manner.named {
                out.put_slice(b"event: message\n");
            }
            out.put_slice(b"data: ");
            out.put_slice(event.line.trim_ascii_end()); // one line of JSON, whatever is in it
            out.put_slice(b"\n\n");
        }
        if self.manner.resuming == Resuming::Ids {
            self.reader.set_resumable();
        }
        out.freeze()
    }

    /// Tells the client to come back.
    fn goodbye(&self) -> Bytes {
        format!("retry: {}\n\n", self.retry.as_millis()).into()
    }
}

/// An event's id as this server writes it: the stream's number and the event's.
pub(super) fn parse_id(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}
