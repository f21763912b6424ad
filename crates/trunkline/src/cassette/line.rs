//! One line of a cassette, and its JSON both ways.
//!
//! | line | means |
//! | --- | --- |
//! | `{"cassette":1,"servers":[S…]}` | a recording begins: the format's number, and the order of the servers |
//! | `{"server":S,"info":I}` | what S says of itself |
//! | `{"server":S,"error":E}` | S could not be connected to |
//! | `{"server":S,"method":M,"params":P,"during":[N…],"result":R}` | a call and its answer; `error` instead of `result` where it failed |
//! | `{"server":S,"event":K,…}` | something that happened between calls |
//!
//! A call that ended before others that had begun earlier says how many: `"overtook":2`. A note N is
//! `{"progress":…}`, `{"log":…}` or `{"event":K,…}`.

use serde_json::json;

use super::note::{Note, read_event, write_event};
use crate::connection::EventKind;
use crate::error::{Error, ErrorKind};
use crate::protocol::raw::{ObjectWriter, array};
use crate::protocol::{Arguments, RawJson, ToolResult};

/// The format that is written, and the only one that is read.
pub(super) const FORMAT: u64 = 1;

/// More calls than this never run at once.
const MOST_AT_ONCE: usize = 1 << 20;

/// A line.
#[derive(Debug)]
pub(super) enum Line {
    /// With the labels of the servers that are known then, in their order.
    Header(Vec<String>),
    Info {
        server: String,
        info: RawJson,
    },
    Down {
        server: String,
        error: Error,
    },
    Call {
        server: String,
        overtook: usize,
        call: Box<Call>,
    },
    Event {
        server: String,
        event: EventKind,
    },
}

/// A call and its answer.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: String,
    /// Nothing for an empty object.
    pub(super) params: Option<RawJson>,
    pub(super) during: Vec<Note>,
    pub(super) outcome: Result<RawJson, Error>,
}

/// The params of a call that names what it wants.
pub(super) fn params_of(key: &str, name: &str, arguments: Option<&Arguments>) -> RawJson {
    let mut out = ObjectWriter::new();
    out.text(key, name);
    if let Some(arguments) = arguments {
        out.member("arguments", arguments.raw());
    }
    out.finish()
}

/// Params as they are recorded: `_meta` is about one transmission, and an empty object says nothing.
pub(super) fn trimmed(params: Option<RawJson>) -> Option<RawJson> {
    let params = params?;
    let params = match params.get("_meta") {
        Some(_) => {
            let mut out = ObjectWriter::new();
            params.members().filter(|(key, _)| key != "_meta").for_each(|(key, value)| out.member(&key, &value));
            out.finish()
        }
        None => params,
    };
    let says_something = !params.is_object() || params.members().next().is_some();
    (says_something && !params.is_null()).then_some(params)
}

impl Line {
    pub(super) fn write(&self) -> RawJson {
        let mut out = ObjectWriter::new();
        match self {
            Self::Header(servers) => {
                out.member("cassette", &json!(FORMAT).into());
                out.member("servers", &json!(servers).into());
            }
            Self::Info { server, info } => {
                out.text("server", server);
                out.member("info", info);
            }
            Self::Down { server, error } => {
                out.text("server", server);
                out.member("error", &write_error(error));
            }
            Self::Call { server, overtook, call } => {
                out.text("server", server);
                call.write(*overtook, &mut out);
            }
            Self::Event { server, event } => {
                out.text("server", server);
                write_event(event, &mut out);
            }
        }
        out.finish()
    }

    /// Reads a line; says what is wrong with one that is none.
    pub(super) fn read(line: &RawJson) -> Result<Self, String> {
        if let Some(format) = line.get("cassette") {
            return match format.as_bytes() == FORMAT.to_string().as_bytes() {
                true => {
                    let servers = line.get("servers").into_iter().flat_map(|list| list.items().collect::<Vec<_>>());
                    Ok(Self::Header(servers.filter_map(|server| server.as_text()).collect()))
                }
                false => Err(format!("its format is {format}, and this version reads {FORMAT}")),
            };
        }
        let server = line.text("server").ok_or("it names no server")?;
        if let Some(method) = line.text("method") {
            let overtook = line.get("overtook").map_or(Ok(0), |number| number.decode::<usize>());
            let overtook = overtook.ok().filter(|overtook| *overtook <= MOST_AT_ONCE);
            let overtook = overtook.ok_or_else(|| "its \"overtook\" can't be".to_owned())?;
            let call = Box::new(Call::read(line, method)?);
            return Ok(Self::Call { server, overtook, call });
        }
        if let Some(info) = line.get("info").filter(RawJson::is_object) {
            return Ok(Self::Info { server, info });
        }
        if line.get("event").is_some() {
            return Ok(Self::Event { server, event: read_event(line)? });
        }
        match line.get("error") {
            Some(error) => Ok(Self::Down { server, error: read_error(&error) }),
            None => Err("it has none of method, info, event and error".to_owned()),
        }
    }
}

impl Call {
    fn write(&self, overtook: usize, out: &mut ObjectWriter) {
        out.text("method", &self.method);
        if overtook > 0 {
            out.member("overtook", &json!(overtook).into());
        }
        if let Some(params) = &self.params {
            out.member("params", params);
        }
        if !self.during.is_empty() {
            let notes: Vec<_> = self.during.iter().map(Note::write).collect();
            out.member("during", &array(&notes));
        }
        match &self.outcome {
            Ok(result) => out.member("result", result),
            Err(error) => out.member("error", &write_error(error)),
        }
    }

    fn read(line: &RawJson, method: String) -> Result<Self, String> {
        let outcome = match (line.get("result"), line.get("error")) {
            (Some(result), _) => Ok(result),
            (None, Some(error)) => Err(read_error(&error)),
            (None, None) => return Err("it has neither a result nor an error".to_owned()),
        };
        let during = line.get("during").map(|notes| notes.items().map(|note| Note::read(&note)).collect());
        let during = during.unwrap_or_else(|| Ok(Vec::new()))?;
        Ok(Self { method, params: line.get("params"), during, outcome })
    }
}

/// An error without its context, which is about the machine it happened on.
fn write_error(error: &Error) -> RawJson {
    let mut out = ObjectWriter::new();
    out.text("kind", error.kind().as_str());
    if let Some(code) = error.code() {
        out.member("code", &json!(code).into());
    }
    out.text("message", error.message());
    if let Some(hint) = error.hint() {
        out.text("hint", hint);
    }
    if let Some(data) = error.data() {
        out.member("data", data);
    }
    if error.may_have_run() {
        out.member("mayHaveRun", &json!(true).into());
    }
    if let Some(result) = error.tool_result() {
        out.member("result", &result.raw());
    }
    out.finish()
}

fn read_error(raw: &RawJson) -> Error {
    let kind = raw.text("kind").and_then(|word| ErrorKind::of_word(&word)).unwrap_or(ErrorKind::Protocol);
    let error = Error::new(kind, raw.text("message").unwrap_or_default());
    let code = raw.get("code").and_then(|code| code.decode().ok());
    let error = error.with_answer(code, raw.get("data"), raw.get("result").map(ToolResult::from_raw));
    let ran = raw.get("mayHaveRun").is_some_and(|ran| ran.as_bytes() == b"true");
    let error = error.with_may_have_run(ran);
    match raw.text("hint") {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
