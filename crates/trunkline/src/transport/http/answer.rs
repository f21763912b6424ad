//! An answer of a server: its head, and the body as it comes.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap};

use super::follow::{silent, too_long};
use super::lane::Lane;
use super::pool::{Pool, within};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// An answer whose body is still on its way.
pub(super) struct Answer {
    pub(super) status: hyper::StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
}

/// A body as it comes. Dropped before its end, it closes its connection.
pub(super) struct Body {
    pub(super) incoming: Incoming,
    pub(super) lane: Option<Box<Lane>>,
    /// How long the connection may be kept after it.
    pub(super) keep: Duration,
    pub(super) pool: Arc<Pool>,
}

impl Body {
    /// The next piece; nothing at the end, which gives the connection back.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        loop {
            let incoming = &mut self.incoming;
            let frame = match &mut self.lane {
                Some(lane) => lane.driven(incoming.frame()).await,
                None => incoming.frame().await,
            };
            match frame {
                None => {
                    if let Some(lane) = self.lane.take() {
                        self.pool.give_back(lane, self.keep);
                    }
                    return Ok(None);
                }
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}

/// The type of an answer, without parameters and in small letters.
pub(super) fn content_type(answer: &Answer) -> Option<String> {
    let told = answer.headers.get(CONTENT_TYPE)?.to_str().ok()?;
    Some(told.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()).filter(|kind| !kind.is_empty())
}

/// The whole body, if it isn't too long. One piece stays as it is.
pub(super) async fn whole(body: &mut Body, limits: &Limits) -> Result<Bytes> {
    let Some(first) = piece(body, limits).await? else { return Ok(Bytes::new()) };
    let Some(second) = piece(body, limits).await? else { return Ok(first) };
    let mut all = BytesMut::with_capacity(2 * (first.len() + second.len()));
    all.extend_from_slice(&first);
    all.extend_from_slice(&second);
    while all.len() <= limits.max_message {
        let Some(chunk) = piece(body, limits).await? else { return Ok(all.freeze()) };
        all.extend_from_slice(&chunk);
    }
    Err(too_long(limits.max_message))
}

async fn piece(body: &mut Body, limits: &Limits) -> Result<Option<Bytes>> {
    match within(limits.stream_silence, body.chunk()).await {
        Ok(Ok(Some(piece))) if piece.len() > limits.max_message => Err(too_long(limits.max_message)),
        Ok(piece) => piece.map_err(|error| no_answer(&format!("the answer broke off: {error}"))),
        Err(_) => Err(no_answer(&silent(limits.stream_silence)).with_kind_if(true, ErrorKind::Deadline)),
    }
}

/// Reads and drops what there is, so that the connection can be used again.
pub(super) async fn drain(body: &mut Body, most: usize) {
    let mut seen = 0;
    while let Ok(Some(chunk)) = body.chunk().await {
        seen += chunk.len();
        if seen > most {
            return;
        }
    }
}

/// The error of a request that was sent and for which nothing came.
pub(super) fn no_answer(why: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("The server gave no answer to the request: {why}")).with_may_have_run(true)
}
