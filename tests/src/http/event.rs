//! `Event`: one server-sent event, in any spelling that is legal, and in some that aren't.

use serde_json::{Value, json};

use crate::json::Json;

/// One event of a stream. Its fields are written in the order of the calls that set them.
#[derive(Debug, Clone, Default)]
pub struct Event {
    fields: Vec<(Option<&'static str>, String)>,
    end: LineEnd,
    compact: bool,
}

#[derive(Debug, Clone, Copy, Default)]
enum LineEnd {
    #[default]
    Lf,
    CrLf,
    Cr,
}

impl Event {
    /// An event without any field yet.
    pub fn blank() -> Event {
        Event::default()
    }

    /// An event with an empty `data` field, as servers prime a stream with.
    pub fn empty() -> Event {
        Event::data("")
    }

    /// An event with this data; a line feed in it makes a further `data` field.
    pub fn data(text: &str) -> Event {
        Event::blank().with_data(text)
    }

    /// A message.
    pub fn json(message: impl Into<Json>) -> Event {
        Event::data(message.into().text())
    }

    /// The answer to the request at hand.
    pub fn result(result: impl Into<Json>) -> Event {
        Event::data(&format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{}}}"#, result.into().text()))
    }

    /// An error as the answer to the request at hand.
    pub fn error(code: i64, message: &str) -> Event {
        let error = json!({"code": code, "message": message});
        Event::data(&format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#))
    }

    /// A notification.
    pub fn notification(method: &str, params: Value) -> Event {
        Event::json(json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// A request of the server.
    pub fn request(id: Value, method: &str, params: Value) -> Event {
        Event::json(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// A further `data` field for each line of this text.
    pub fn with_data(mut self, text: &str) -> Event {
        self.fields.extend(text.split('\n').map(|line| (Some("data"), line.to_owned())));
        self
    }

    /// Its id.
    pub fn id(self, id: &str) -> Event {
        self.field("id", id)
    }

    /// How long the client should wait before it comes back, in milliseconds.
    pub fn retry(self, ms: u64) -> Event {
        self.field("retry", &ms.to_string())
    }

    /// Its name.
    pub fn name(self, name: &str) -> Event {
        self.field("event", name)
    }

    /// Any field.
    pub fn field(mut self, name: &'static str, value: &str) -> Event {
        self.fields.push((Some(name), value.to_owned()));
        self
    }

    /// A comment.
    pub fn comment(mut self, text: &str) -> Event {
        self.fields.push((None, text.to_owned()));
        self
    }

    /// What was set last goes first.
    pub fn last_first(mut self) -> Event {
        self.fields.rotate_right(1);
        self
    }

    /// Lines end in CR LF.
    pub fn crlf(self) -> Event {
        Event { end: LineEnd::CrLf, ..self }
    }

    /// Lines end in CR.
    pub fn cr(self) -> Event {
        Event { end: LineEnd::Cr, ..self }
    }

    /// No blank after the colon.
    pub fn compact(self) -> Event {
        Event { compact: true, ..self }
    }

    /// The event as it goes out, with the empty line that ends it.
    pub fn text(&self) -> String {
        let end = match self.end {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
            LineEnd::Cr => "\r",
        };
        let blank = if self.compact { "" } else { " " };
        let lines = self.fields.iter().map(|(name, value)| match value.as_str() {
            "" if name.is_some() => format!("{}:{end}", name.unwrap_or_default()),
            value => format!("{}:{blank}{value}{end}", name.unwrap_or_default()),
        });
        lines.collect::<String>() + end
    }
}
