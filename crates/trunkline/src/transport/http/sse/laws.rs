//! What holds of a stream of events, whatever comes and however it is cut: what the specification's own words make of it.

use std::time::Duration;

use bytes::Bytes;

use super::{Event, Parser};

/// The events are those of the whole text read at once by the letter of the specification.
pub(crate) fn events(chunks: &[&[u8]]) {
    let (mut parser, mut found) = (Parser::default(), Vec::new());
    let mut came = 0;
    for chunk in chunks {
        came += chunk.len();
        parser.push(chunk);
        found.extend(std::iter::from_fn(|| parser.next()));
        assert!(parser.held() <= came, "more is held than came");
    }
    assert_eq!(found, by_the_letter(&chunks.concat()));
}

/// Splits the whole into lines first, then goes through them one by one.
fn by_the_letter(text: &[u8]) -> Vec<Event> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\r' | b'\n' => {
                at += usize::from(text[at..].starts_with(b"\r\n"));
                lines.push(std::mem::take(&mut line));
            }
            byte => line.push(byte),
        }
        at += 1;
    }
    let (mut events, mut event, mut data) = (Vec::new(), Event::default(), None::<Vec<u8>>);
    let mut says = false;
    for line in lines {
        if line.is_empty() {
            if std::mem::take(&mut says) {
                event.data = data.take().map(Bytes::from);
                events.push(std::mem::take(&mut event));
            }
            continue;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = String::from_utf8_lossy(value).into_owned();
        match field {
            b"data" => data = Some(data.map_or_else(|| value.to_vec(), |data| [&data, &b"\n"[..], value].concat())),
            b"event" => event.name = text,
            b"id" if !text.contains('\0') => event.id = Some(text),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => match text.parse() {
                Ok(millis) => event.retry = Some(Duration::from_millis(millis)),
                Err(_) => continue, // no clock counts so far
            },
            _ => continue,
        }
        says = true;
    }
    events
}
