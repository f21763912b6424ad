//! Server-sent events: the grammar of `text/event-stream` (WHATWG HTML, "Server-sent events"). Knows nothing of what
//! the events hold.

#[cfg(any(test, fuzzing))]
pub(super) mod laws;

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};

/// An event, or what a block without data said about the stream.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// The stream's last event id, where this block set it.
    pub(super) id: Option<String>,
    /// The name; empty means `message`.
    pub(super) name: String,
    /// The data lines joined by line feeds; nothing where there was none.
    pub(super) data: Option<Bytes>,
    /// How long to wait before connecting again, where this block says it.
    pub(super) retry: Option<Duration>,
}

impl Event {
    /// Whether this is an event of the default kind.
    pub(super) fn is_message(&self) -> bool {
        self.name.is_empty() || self.name == "message"
    }
}

/// Cuts a stream of bytes into events. Line ends are LF, CR LF or CR, wherever the chunks are cut.
#[derive(Debug, Default)]
pub(super) struct Parser {
    buffer: BytesMut,
    /// Up to here the buffer holds no line end.
    searched: usize,
    begun: bool,
    /// The last line ended in CR: an LF that follows belongs to it.
    after_cr: bool,
    event: Event,
    /// Whether the block at hand says anything.
    says: bool,
    more: BytesMut,
}

impl Parser {
    /// Takes what came.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// How many bytes wait for the end of their line or event.
    pub(super) fn held(&self) -> usize {
        self.buffer.len() + self.more.len() + self.event.data.as_ref().map_or(0, Bytes::len)
    }

    /// The next block that is complete.
    pub(super) fn next(&mut self) -> Option<Event> {
        while let Some(line) = self.line() {
            if !line.is_empty() {
                self.field(line);
            } else if std::mem::take(&mut self.says) {
                let mut event = std::mem::take(&mut self.event);
                if !self.more.is_empty() {
                    event.data = Some(self.more.split().freeze());
                }
                return Some(event);
            }
        }
        None
    }

    fn line(&mut self) -> Option<Bytes> {
        if self.after_cr && !self.buffer.is_empty() {
            if self.buffer[0] == b'\n' {
                self.buffer.advance(1);
            }
            self.after_cr = false;
        }
        if !self.begun {
            self.skip_mark()?;
        }
        let Some(found) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + found;
        self.searched = 0;
        let line = self.buffer.split_to(end).freeze();
        self.after_cr = self.buffer[0] == b'\r';
        self.buffer.advance(1);
        if self.after_cr && self.buffer.first() == Some(&b'\n') {
            self.buffer.advance(1);
            self.after_cr = false;
        }
        Some(line)
    }

    /// A byte order mark before the first line isn't part of it.
    fn skip_mark(&mut self) -> Option<()> {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        let known = self.buffer.len().min(MARK.len());
        if self.buffer[..known] == MARK[..known] {
            if known < MARK.len() {
                return None;
            }
            self.buffer.advance(MARK.len());
        }
        self.begun = true;
        Some(())
    }

    fn field(&mut self, line: Bytes) {
        let colon = memchr::memchr(b':', &line);
        let name = &line[..colon.unwrap_or(line.len())];
        let mut value = colon.map_or_else(Bytes::new, |colon| line.slice(colon + 1..));
        if value.starts_with(b" ") {
            value.advance(1);
        }
        match name {
            b"data" => self.data(value),
            b"event" => self.event.name = String::from_utf8_lossy(&value).into_owned(),
            b"id" if !value.contains(&0) => self.event.id = Some(String::from_utf8_lossy(&value).into_owned()),
            b"retry" => match std::str::from_utf8(&value)
                .ok()
                .filter(|text| !text.starts_with('+'))
                .and_then(|text| text.parse().ok())
            {
                Some(millis) => self.event.retry = Some(Duration::from_millis(millis)),
                None => return,
            },
            _ => return, // a comment, or a field of another time
        }
        self.says = true;
    }

    /// The first data line stays as it is; a second one makes a copy of both.
    fn data(&mut self, value: Bytes) {
        match self.event.data.take() {
            None if self.more.is_empty() => self.event.data = Some(value),
            first => {
                if let Some(first) = first {
                    self.more.extend_from_slice(&first);
                }
                self.more.extend_from_slice(b"\n");
                self.more.extend_from_slice(&value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<Event> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for chunk in chunks {
            parser.push(chunk);
            events.extend(std::iter::from_fn(|| parser.next()));
        }
        events
    }

    fn datas(text: &str) -> Vec<String> {
        let text_of = |event: Event| String::from_utf8(event.data.unwrap_or_default().to_vec()).unwrap();
        read(&[text.as_bytes()]).into_iter().map(text_of).collect()
    }

    #[test]
    fn every_legal_form_is_read() {
        for (text, wanted) in [
            ("data: a\n\n", vec!["a"]),
            ("data: a\r\n\r\n", vec!["a"]),
            ("data: a\r\r", vec!["a"]),
            ("data:a\n\n", vec!["a"]),
            ("data:  a\n\n", vec![" a"]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            ("data: a\ndata: b\n\n", vec!["a\nb"]),
            ("data: a\ndata\ndata: b\n\n", vec!["a\n\nb"]),
            ("data\ndata\n\n", vec!["\n"]),
            ("data: a\nevent: message\n\n", vec!["a"]),
            (": note\n\ndata: a\n\n", vec!["a"]),
            ("foo: bar\ndata: a\n\nfoo\n\n", vec!["a"]),
            ("data: a\n\ndata: b\n\n", vec!["a", "b"]),
            ("data: unfinished\n", vec![]),
            ("data: {\"a\":\ndata: 1}\n\n", vec!["{\"a\":\n1}"]),
        ] {
            assert_eq!(datas(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn ids_names_and_pauses_are_told() {
        let events = read(&[
            b"id: 7\nretry: 300\ndata:\n\nid: 8\n\nid: a\0b\ndata: x\n\nevent: ping\ndata: 1\n\nretry: soon\n\n",
        ]);
        let told: Vec<_> =
            events.iter().map(|e| (e.id.as_deref(), e.name.as_str(), e.retry, e.data.is_some())).collect();
        let pause = Some(Duration::from_millis(300));
        let wanted = [
            (Some("7"), "", pause, true),
            (Some("8"), "", None, false),
            (None, "", None, true),
            (None, "ping", None, true),
        ];
        assert_eq!(told, wanted);
        assert!(events[0].is_message() && !events[3].is_message());
    }
}
