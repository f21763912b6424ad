//! Bodies: what is read of a request, bounded in size and time, and the forms of an answer.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use hyper::StatusCode;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

use super::limits::HttpServerLimits;

/// The body of an answer.
pub(super) enum Body {
    Empty,
    Whole(Bytes),
    /// An event stream, ended by the end of the stream.
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let body = self.get_mut();
        let next = match body {
            Body::Empty => None,
            Body::Whole(_) => match std::mem::replace(body, Body::Empty) {
                Body::Whole(bytes) => Some(bytes),
                _ => None,
            },
            Body::Events(events) => ready!(events.as_mut().poll_next(cx)),
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Empty => SizeHint::with_exact(0),
            Body::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Events(_) => SizeHint::default(),
        }
    }
}

/// The whole body of a request, or the status it is refused with.
pub(super) async fn read(body: Incoming, limits: &HttpServerLimits) -> Result<Bytes, StatusCode> {
    if body.size_hint().lower() > limits.max_body as u64 {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    tokio::time::timeout(limits.body, gather(body, limits.max_body)).await.unwrap_or(Err(StatusCode::REQUEST_TIMEOUT))
}

async fn gather(mut body: Incoming, most: usize) -> Result<Bytes, StatusCode> {
    let mut whole = BytesMut::new();
    let mut first = Bytes::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(data) = frame.map_err(|_| StatusCode::BAD_REQUEST)?.into_data() else { continue };
        if first.len() + whole.len() + data.len() > most {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        // most bodies come in one piece, which needs no copy
        if first.is_empty() && whole.is_empty() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            whole.extend_from_slice(&std::mem::take(&mut first));
        }
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() { first } else { whole.freeze() })
}
