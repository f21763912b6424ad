//! Server-sent events out of bytes that come in any pieces: the data of each, comments and other fields left out.

/// Reads a stream of events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Bytes that end no line yet.
    rest: Vec<u8>,
    /// The data lines of the event at hand.
    data: Option<String>,
    begun: bool,
}

impl Events {
    /// Takes in bytes; gives the data of each event that is now complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let from = self.rest.len();
        self.rest.extend_from_slice(bytes);
        let (mut found, mut start) = (Vec::new(), 0);
        for at in from..self.rest.len() {
            if self.rest[at] == b'\n' {
                let line = String::from_utf8_lossy(&self.rest[start..at]).into_owned();
                found.extend(self.line(line.trim_end_matches('\r')));
                start = at + 1;
            }
        }
        self.rest.drain(..start);
        found
    }

    /// The data that was there without the blank line behind it when the stream ended.
    pub(super) fn finish(&mut self) -> Option<String> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned();
        self.line(line.trim_end_matches('\r'));
        self.data.take()
    }

    fn line(&mut self, line: &str) -> Option<String> {
        let line = if self.begun { line } else { line.trim_start_matches('\u{feff}') };
        self.begun = true;
        if line.is_empty() {
            return self.data.take();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}: hello\r\ndata: {\"a\":\r\ndata: \"é\"}\r\n\r\nevent: x\nid: 7\ndata:two\n\n\n: still here\n\n\
                          data\n\ndata: [DONE]";

    #[test]
    fn events_are_the_same_in_whichever_pieces_they_come() {
        for size in 1..STREAM.len() {
            let mut events = Events::default();
            let mut found: Vec<_> = STREAM.as_bytes().chunks(size).flat_map(|piece| events.push(piece)).collect();
            assert_eq!(found, ["{\"a\":\n\"é\"}", "two", ""], "{size}");
            found.extend(events.finish());
            assert_eq!(found.pop().as_deref(), Some("[DONE]"), "{size}");
        }
    }
}
