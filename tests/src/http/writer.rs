//! Writing onto an HTTP/1.1 connection, with every byte under control.

use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::step::{Framing, Reply};

/// Why nothing more is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Cut,
    Reset,
    /// HTTP/2: nothing was done for the stream.
    Refused,
    /// The client is gone.
    Gone,
}

pub(crate) type Written = Result<(), Stop>;

/// Where a response goes.
pub(crate) trait Out: Send {
    /// The status and the headers.
    fn head(&mut self, reply: &Reply) -> impl Future<Output = Written> + Send;
    /// Part of the body.
    fn body(&mut self, bytes: &[u8]) -> impl Future<Output = Written> + Send;
    /// The end of the body.
    fn finish(&mut self) -> impl Future<Output = Written> + Send;
    /// Bytes outside any framing.
    fn wire(&mut self, bytes: &[u8]) -> impl Future<Output = Written> + Send;
    /// Whether a head was written whose body hasn't ended.
    fn is_open(&self) -> bool;
    fn set_pieces(&mut self, bytes: usize, pause_us: u64);
    fn set_end(&mut self, bytes: usize, reset: bool);
}

/// The writing half of a connection.
pub(crate) struct Writer<W> {
    io: W,
    /// The socket itself, to be reset.
    socket: OwnedFd,
    pieces: Option<(usize, u64)>,
    end: Option<(usize, bool)>,
    open: Option<Framing>,
}

impl<W: AsyncWrite + Unpin + Send> Writer<W> {
    pub(crate) fn new(io: W, socket: OwnedFd) -> Self {
        Self { io, socket, pieces: None, end: None, open: None }
    }

    /// Ends the connection.
    pub(crate) async fn end(mut self, stop: Stop) {
        assert!(stop != Stop::Refused, "refuse() is a word of HTTP/2");
        if stop == Stop::Reset {
            let now = Some(Duration::ZERO);
            rustix::net::sockopt::set_socket_linger(&self.socket, now).expect("a socket that can linger");
        } else {
            let _ = self.io.shutdown().await; // the client may be gone
        }
    }

    async fn put(&mut self, bytes: &[u8]) -> Written {
        let (bytes, last) = match self.end {
            Some((left, reset)) if bytes.len() >= left => {
                (&bytes[..left], Some(if reset { Stop::Reset } else { Stop::Cut }))
            }
            _ => (bytes, None),
        };
        self.end = self.end.map(|(left, reset)| (left - bytes.len(), reset));
        let (size, pause_us) = self.pieces.unwrap_or((usize::MAX, 0));
        for piece in bytes.chunks(size.max(1)) {
            self.io.write_all(piece).await.map_err(|_| Stop::Gone)?;
            self.io.flush().await.map_err(|_| Stop::Gone)?;
            if self.pieces.is_some() {
                tokio::time::sleep(Duration::from_micros(pause_us)).await;
            }
        }
        last.map_or(Ok(()), Err)
    }
}

impl<W: AsyncWrite + Unpin + Send> Out for Writer<W> {
    async fn head(&mut self, reply: &Reply) -> Written {
        let mut head = format!("HTTP/1.1 {} {}\r\n", reply.status, reason(reply.status));
        for (name, value) in &reply.headers {
            head += &format!("{name}: {value}\r\n");
        }
        match reply.framing {
            Framing::Length if reply.status == 204 || reply.status == 304 => {}
            Framing::Length => head += &format!("Content-Length: {}\r\n", reply.body.len()),
            Framing::Chunked => head += "Transfer-Encoding: chunked\r\n",
            Framing::Close => head += "Connection: close\r\n",
        }
        head += "\r\n";
        self.open = Some(reply.framing);
        self.put(head.as_bytes()).await
    }

    async fn body(&mut self, bytes: &[u8]) -> Written {
        match self.open {
            _ if bytes.is_empty() => Ok(()), // an empty chunk would end the body
            Some(Framing::Chunked) => {
                let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
                self.put(&chunk).await
            }
            Some(_) => self.put(bytes).await,
            None => panic!("a script writes a body before any head: it lacks open() or sse()"),
        }
    }

    async fn finish(&mut self) -> Written {
        match self.open.take() {
            Some(Framing::Chunked) => self.put(b"0\r\n\r\n").await,
            Some(Framing::Close) => Err(Stop::Cut),
            Some(Framing::Length) | None => Ok(()),
        }
    }

    async fn wire(&mut self, bytes: &[u8]) -> Written {
        self.put(bytes).await
    }

    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn set_pieces(&mut self, bytes: usize, pause_us: u64) {
        self.pieces = Some((bytes, pause_us));
    }

    fn set_end(&mut self, bytes: usize, reset: bool) {
        self.end = Some((bytes, reset));
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
