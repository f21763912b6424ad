//! The server of both runs: small and quick, over standard input and output or over HTTP. It does what a call asks it to
//! do (see `deed`), and notes each piece of work in a journal before anybody can hear of it.

mod connection;
mod http;
mod stdio;

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::deed::{Deed, Row};

/// Runs the server until its input ends.
pub(crate) fn serve(way: &str, folder: &Path, label: &str, port: u16) {
    let journal = Journal::open(&folder.join(format!("{label}.journal")));
    note_process(folder, label);
    match way {
        "stdio" => stdio::serve(&journal),
        _ => http::serve(journal, port),
    }
}

/// Where a server leaves its process number for whoever wants to kill it: whole, or not at all.
fn note_process(folder: &Path, label: &str) {
    let (new, path) = (folder.join(format!("{label}.new")), folder.join(format!("{label}.pid")));
    let noted = std::fs::write(&new, std::process::id().to_string()).and_then(|()| std::fs::rename(&new, &path));
    noted.expect("the folder of the run can be written to");
}

/// What was done: a line for each piece of work, which the death of its writer doesn't lose.
pub(crate) struct Journal(File);

impl Journal {
    fn open(path: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Self(file.expect("the journal can be opened"))
    }

    fn done(&self, nonce: &str) {
        (&self.0).write_all(format!("{nonce}\n").as_bytes()).expect("the journal can be written");
    }
}

/// A message of the client.
struct Message {
    /// As text, ready to be sent back. Nothing for a notification.
    id: Option<String>,
    method: String,
    params: Value,
}

impl Message {
    fn read(text: &[u8]) -> Option<Self> {
        let mut whole: Value = serde_json::from_slice(text).ok()?;
        let id = whole.get("id").map(Value::to_string);
        let method = whole.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(Self { id, method, params: whole["params"].take() })
    }
}

/// What a call asks for.
struct Task {
    id: String,
    nonce: String,
    deed: Deed,
    amount: u64,
    /// Whether it is to be noted.
    noted: bool,
}

impl Task {
    fn of(id: String, params: &Value) -> Self {
        let given = &params["arguments"];
        let row = given["do"].as_str().and_then(Row::of_word);
        Self {
            id,
            nonce: given["nonce"].as_str().unwrap_or_default().to_owned(),
            deed: row.map_or(Deed::Answer, |row| row.deed),
            amount: given["amount"].as_u64().unwrap_or_default(),
            noted: row.is_some(),
        }
    }

    /// Does the work.
    fn work(&self, journal: &Journal) {
        if self.noted {
            journal.done(&self.nonce);
        }
    }

    /// The answer.
    fn answer(&self) -> String {
        self.result(&self.id, false)
    }

    fn result(&self, id: &str, is_error: bool) -> String {
        let text = Value::from(self.nonce.as_str());
        let content = format!(r#"{{"content":[{{"type":"text","text":{text}}}],"isError":{is_error}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{content}}}"#)
    }

    /// The messages that come for it, of which the last is the answer. The same over pipes and over HTTP.
    fn messages(&self) -> Vec<String> {
        let id = &self.id;
        let notification = |method: &str| json!({"jsonrpc": "2.0", "method": method}).to_string();
        let mut messages = match self.deed {
            Deed::Storm => (0..self.amount).map(|_| notification("notifications/tools/list_changed")).collect(),
            Deed::Ask => vec![
                r#"{"jsonrpc":"2.0","id":"one","method":"ping"}"#.to_owned(),
                r#"{"jsonrpc":"2.0","id":"two","method":"roots/list"}"#.to_owned(),
            ],
            Deed::Progress => (0..self.amount)
                .map(|done| {
                    let params = format!(r#"{{"progressToken":{id},"progress":{done}}}"#);
                    format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#)
                })
                .collect(),
            Deed::Twice => vec![self.answer()],
            _ => Vec::new(),
        };
        messages.push(match self.deed {
            Deed::ToolError => self.result(id, true),
            Deed::RpcError => {
                let message = Value::from(self.nonce.as_str());
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":{message}}}}}"#)
            }
            Deed::Hollow => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
            Deed::TextId => self.result(&format!("\"{id}\""), false),
            _ => self.answer(),
        });
        messages
    }
}

/// The answers that every server gives.
fn common(id: &str, method: &str) -> String {
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "chaos", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{
            "name": "work",
            "description": "Does as it is told.",
            "inputSchema": {"type": "object", "properties": {"nonce": {"type": "string"}}},
        }]}),
        "ping" => json!({}),
        _ => {
            return format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"there is no such method"}}}}"#
            );
        }
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// Noise of several kinds, none of it an answer to anybody.
const NOISE: [&str; 8] = [
    "Server ready, listening on stdio",
    "{\"jsonrpc\":\"2.0\",\"id\":4000000000,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"stranger\",\"result\":{}}",
    "[1,2",
    "{\"not\":\"a message\"}",
    "\u{1b}[31mred\u{1b}[0m \u{feff}\u{fffd}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard-of\",\"params\":[1]}",
    "{{{{",
];

fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

fn exit(amount: u64) -> ! {
    std::process::exit(i32::try_from(amount).unwrap_or(1))
}

fn sleep(millis: u64) {
    std::thread::sleep(std::time::Duration::from_millis(millis));
}
