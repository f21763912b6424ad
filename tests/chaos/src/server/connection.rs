//! One HTTP/1.1 connection: requests read, answers written, whole or in pieces.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

pub(super) struct Connection(BufReader<TcpStream>);

#[derive(Default)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) session: Option<String>,
    pub(super) last_event: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// The next request; nothing where the client is gone.
    pub(super) fn read(&mut self) -> io::Result<Option<Request>> {
        let (mut line, mut length) = (String::new(), 0);
        if self.0.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let method = line.split(' ').next().unwrap_or_default().to_owned();
        let mut request = Request { method, ..Request::default() };
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap_or(0),
                "mcp-session-id" => request.session = Some(value.to_owned()),
                "last-event-id" => request.last_event = Some(value.to_owned()),
                _ => {}
            }
        }
        request.body.resize(length, 0);
        self.0.read_exact(&mut request.body)?;
        Ok(Some(request))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.0.get_mut().write_all(text.as_bytes())
    }

    pub(super) fn status(&mut self, status: &str, body: &str) -> io::Result<()> {
        let length = body.len();
        self.write(&format!("HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}"))
    }

    pub(super) fn page(&mut self) -> io::Result<()> {
        self.write("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 13\r\n\r\n<html></html>")
    }

    pub(super) fn json(&mut self, body: &str, session: Option<&str>) -> io::Result<()> {
        let session = session.map(|session| format!("mcp-session-id: {session}\r\n")).unwrap_or_default();
        self.write(&format!("{}{session}\r\n{body}", json_head(body)))
    }

    /// The head of a whole answer and half of its body.
    pub(super) fn half_json(&mut self, body: &str) -> io::Result<()> {
        self.write(&format!("{}\r\n{}", json_head(body), &body[..body.len() / 2]))
    }

    pub(super) fn begin_events(&mut self) -> io::Result<()> {
        self.write(EVENTS)
    }

    pub(super) fn event(&mut self, message: &str) -> io::Result<()> {
        write_event(self.0.get_mut(), message)
    }

    pub(super) fn end_events(&mut self) -> io::Result<()> {
        self.write("0\r\n\r\n")
    }

    /// What is no message: comments, events of other kinds, empty ones, and data that is noise.
    pub(super) fn noise(&mut self, noise: &[&str]) -> io::Result<()> {
        let mut text = ": alive\n\nevent: ping\ndata: {}\n\nretry: 100\n\ndata:\n\n".to_owned();
        text.extend(noise.iter().map(|noise| format!("data: {noise}\n\n")));
        self.write(&chunk(&text))
    }

    /// A stream that ends in the middle of an event.
    pub(super) fn half_event(&mut self, message: &str) -> io::Result<()> {
        self.begin_events()?;
        self.write(&chunk(&format!("data: {}", &message[..message.len() / 2])))
    }

    /// A stream that ends after it said under which id the rest can be had.
    pub(super) fn promise(&mut self, event: &str) -> io::Result<()> {
        self.begin_events()?;
        self.write(&chunk(&format!("id: {event}\nretry: 10\ndata:\n\n")))
    }

    /// The same connection for others to write to.
    pub(super) fn share(&self) -> io::Result<TcpStream> {
        self.0.get_ref().try_clone()
    }

    /// Makes its end a reset.
    pub(super) fn linger_not(&self) -> io::Result<()> {
        Ok(rustix::net::sockopt::set_socket_linger(self.0.get_ref(), Some(Duration::ZERO))?)
    }
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn json_head(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len())
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

pub(super) fn write_event(stream: &mut TcpStream, message: &str) -> io::Result<()> {
    stream.write_all(chunk(&format!("data: {message}\n\n")).as_bytes())
}
