//! HTTP/2 for the fake: the same rules and steps, but for those that need bytes outside any framing.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc, oneshot};

use super::play;
use super::request::HttpRequest;
use super::state::State;
use super::step::Reply;
use super::writer::{Out, Stop, Written};

/// Answers what comes on one connection, many requests at a time.
pub(crate) async fn converse<S>(stream: S, connection: usize, state: &Arc<State>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let cut = Arc::new(Notify::new());
    let service = service_fn(|request: Request<Incoming>| {
        let (state, cut) = (state.clone(), cut.clone());
        async move {
            let request = read(request, connection).await;
            state.log.note(&request);
            let (head, response) = oneshot::channel();
            let out = Stream { head: Some(head), ..Stream::default() };
            let mut asking = Asking(Some(out.gone.clone()));
            tokio::spawn(answer(state, request, out, cut));
            let response = response.await; // without a head the stream is reset
            asking.0 = None;
            match response {
                Ok(response) => response,
                Err(_) => Err(Broken(None)),
            }
        }
    });
    let serving = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        _ = serving => state.log.closed(connection),
        () = cut.notified() => {}
    }
}

async fn answer(state: Arc<State>, request: HttpRequest, mut out: Stream, cut: Arc<Notify>) {
    let gone = out.gone.clone();
    let outcome = tokio::select! {
        outcome = play::answer(&state, &request, &mut out) => outcome,
        () = gone.notified() => Err(Stop::Gone),
    };
    match outcome {
        Err(Stop::Cut) => cut.notify_one(),
        Err(Stop::Reset) => out.fail().await,
        Err(Stop::Refused) => out.refuse(),
        Err(Stop::Gone) => state.log.given_up_on(&request),
        Ok(()) => {}
    }
}

async fn read(request: Request<Incoming>, connection: usize) -> HttpRequest {
    let (head, mut incoming) = request.into_parts();
    let mut body = Vec::new();
    while let Some(Ok(frame)) = std::future::poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx)).await {
        body.extend(frame.into_data().unwrap_or_default());
    }
    let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let authority = head.uri.authority().map(|authority| ("host".to_owned(), authority.to_string()));
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value)));
    HttpRequest {
        at: Instant::now(),
        connection,
        method: head.method.to_string(),
        target: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        version: "HTTP/2".to_owned(),
        headers: authority.into_iter().chain(headers).collect(),
        body,
    }
}

/// The response side of one stream.
#[derive(Default)]
struct Stream {
    head: Option<oneshot::Sender<Result<Response<Channel>, Broken>>>,
    body: Option<mpsc::Sender<Result<Bytes, Broken>>>,
    gone: Arc<Notify>,
    pieces: Option<(usize, u64)>,
    end: Option<(usize, bool)>,
}

/// A client that waits for a head; dropped when it no longer does.
struct Asking(Option<Arc<Notify>>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.iter().for_each(|gone| gone.notify_one());
    }
}

/// The body of a response.
struct Channel {
    parts: mpsc::Receiver<Result<Bytes, Broken>>,
    gone: Arc<Notify>,
}

/// What a stream is reset with, if it has to be a certain reason.
#[derive(Debug)]
struct Broken(Option<h2::Error>);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("broken on purpose")
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.as_ref().map(|reason| reason as _)
    }
}

impl Body for Channel {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.parts.poll_recv(cx).map(|part| part.map(|part| part.map(Frame::data)))
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.gone.notify_one();
    }
}

impl Stream {
    async fn fail(&mut self) {
        self.head = None;
        if let Some(body) = &self.body {
            let _ = body.send(Err(Broken(None))).await; // it has just gone
        }
    }

    fn refuse(&mut self) {
        let head = self.head.take().expect("what has a head can't be refused");
        let _ = head.send(Err(Broken(Some(h2::Reason::REFUSED_STREAM.into())))); // the client may be gone
    }
}

impl Out for Stream {
    async fn head(&mut self, reply: &Reply) -> Written {
        let mut response = Response::builder().status(reply.status);
        for (name, value) in &reply.headers {
            response = response.header(name, value);
        }
        let (send, parts) = mpsc::channel(16);
        let response = response.body(Channel { parts, gone: self.gone.clone() }).expect("a response");
        self.body = Some(send);
        let head = self.head.take().expect("HTTP/2 has one response for each request");
        head.send(Ok(response)).map_err(|_| Stop::Gone)
    }

    async fn body(&mut self, bytes: &[u8]) -> Written {
        let (bytes, last) = match self.end {
            Some((left, reset)) if bytes.len() >= left => {
                (&bytes[..left], Some(if reset { Stop::Reset } else { Stop::Cut }))
            }
            _ => (bytes, None),
        };
        self.end = self.end.map(|(left, reset)| (left - bytes.len(), reset));
        let body = self.body.as_ref().expect("a head before the body");
        let (size, pause_us) = self.pieces.unwrap_or((usize::MAX, 0));
        for piece in bytes.chunks(size.max(1)) {
            body.send(Ok(Bytes::copy_from_slice(piece))).await.map_err(|_| Stop::Gone)?;
            if self.pieces.is_some() {
                tokio::time::sleep(Duration::from_micros(pause_us)).await;
            }
        }
        last.map_or(Ok(()), Err)
    }

    async fn finish(&mut self) -> Written {
        self.body = None;
        Ok(())
    }

    async fn wire(&mut self, _: &[u8]) -> Written {
        panic!("wire() writes outside any framing, which HTTP/2 doesn't have");
    }

    fn is_open(&self) -> bool {
        self.body.is_some()
    }

    fn set_pieces(&mut self, bytes: usize, pause_us: u64) {
        self.pieces = Some((bytes, pause_us));
    }

    fn set_end(&mut self, bytes: usize, reset: bool) {
        self.end = Some((bytes, reset));
    }
}
