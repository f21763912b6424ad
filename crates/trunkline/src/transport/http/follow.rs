//! Follows a stream of events: hands on its messages, remembers where it was for the case that it breaks.

use std::time::Duration;

use bytes::Bytes;

use super::answer::Body;
use super::pool::within;
use super::sse::{Event, Parser};
use crate::error::Error;
use crate::limits::Limits;
use crate::transport::{Inbox, framing};

/// Where a stream was when it ended.
#[derive(Debug, Default, Clone)]
pub(super) struct Place {
    /// The id of the last event.
    pub(super) last: Option<String>,
    /// How long the server asks to wait before coming back.
    pub(super) retry: Option<Duration>,
    /// Whether a message came.
    pub(super) heard: bool,
}

/// How a stream came to its end.
pub(super) enum End {
    /// The server ended it.
    Clean,
    /// It broke; why.
    Broken(String),
    /// Nothing came for longer than it may be silent; told.
    Silent(String),
    /// It must not be followed any further.
    Refused(Error),
}

/// Reads the stream to its end, or until it was silent for too long (zero: as long as it likes). `take` gets each event that may be a message.
pub(super) async fn follow(
    body: &mut Body,
    place: &mut Place,
    limits: &Limits,
    silence: Duration,
    take: &mut (dyn FnMut(&Event, Bytes) + Send),
) -> End {
    let mut parser = Parser::default();
    loop {
        let chunk = match within(silence, body.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return End::Clean,
            Ok(Err(error)) => return End::Broken(error.to_string()),
            Err(_) => return End::Silent(silent(silence)),
        };
        parser.push(&chunk);
        while let Some(mut event) = parser.next() {
            if let Some(id) = event.id.take() {
                place.last = Some(id).filter(|id| !id.is_empty());
            }
            place.retry = event.retry.or(place.retry);
            if let Some(data) = event.data.take().filter(|data| !data.trim_ascii().is_empty()) {
                if data.len() > limits.max_message {
                    return End::Refused(too_long(limits.max_message));
                }
                place.heard = true;
                take(&event, data);
            }
        }
        if parser.held() > limits.max_message {
            return End::Refused(too_long(limits.max_message));
        }
    }
}

pub(super) fn silent(limit: Duration) -> String {
    format!("nothing came for {} s (Limits::stream_silence)", limit.as_secs_f64())
}

pub(super) fn too_long(max: usize) -> Error {
    framing::too_long(max).with_may_have_run(true)
}

/// Hands on an event of the default kind; others are not MCP's.
pub(super) fn hand_on(inbox: &dyn Inbox, event: &Event, data: Bytes, about: Option<u64>) {
    if event.is_message() {
        inbox.message(data, about);
    }
}
