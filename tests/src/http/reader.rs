//! Reading requests off a connection, byte by byte as HTTP/1.1 has them.

use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::request::HttpRequest;

/// What was read of a connection and belongs to no request yet.
#[derive(Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    /// The next request; `None` once the client is gone or sends what is no HTTP.
    pub(crate) async fn next(&mut self, io: &mut (impl AsyncRead + Unpin), connection: usize) -> Option<HttpRequest> {
        let head = self.until(io, b"\r\n\r\n").await?;
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ').map(str::to_owned);
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers: Vec<_> =
            headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
        let at = Instant::now();
        let mut request = HttpRequest { at, connection, method, target, version, headers, body: Vec::new() };
        if request.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            request.body = self.chunks(io).await?;
        } else if let Some(length) = request.header("content-length").and_then(|length| length.parse().ok()) {
            request.body = self.exactly(io, length).await?;
        }
        request.at = Instant::now();
        Some(request)
    }

    /// What came after the last request.
    pub(crate) fn rest(self) -> Vec<u8> {
        self.buffer
    }

    async fn chunks(&mut self, io: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = self.until(io, b"\r\n").await?;
            let size = String::from_utf8(size).ok()?;
            let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
            body.extend(self.exactly(io, size).await?);
            self.until(io, b"\r\n").await?;
            if size == 0 {
                return Some(body);
            }
        }
    }

    /// What comes before `mark`, which is left out.
    async fn until(&mut self, io: &mut (impl AsyncRead + Unpin), mark: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|window| window == mark) {
                let mut before: Vec<u8> = self.buffer.drain(..at + mark.len()).collect();
                before.truncate(at);
                return Some(before);
            }
            self.more(io).await?;
        }
    }

    async fn exactly(&mut self, io: &mut (impl AsyncRead + Unpin), length: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < length {
            self.more(io).await?;
        }
        Some(self.buffer.drain(..length).collect())
    }

    async fn more(&mut self, io: &mut (impl AsyncRead + Unpin)) -> Option<()> {
        io.read_buf(&mut self.buffer).await.ok().filter(|count| *count > 0).map(drop)
    }
}
