//! `Action`: one thing the fake can do, and the function that makes each. Run by `fake::run`; the table
//! with all of them and their placeholders is in `script`.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::script::{Page, Script, single_page};

/// One thing the fake does. Made by the functions of this module.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    Respond(Json),
    RespondError { code: i64, message: String, data: Option<Json> },
    Text(String),
    Dump,
    Default,
    Notify { method: String, params: Option<Json> },
    Ask { requests: Vec<Request>, within_ms: u64 },
    Line(String),
    Write(String),
    Bytes(String),
    Stderr(String),
    InPieces { bytes: usize, pause_us: u64, actions: Vec<Action> },
    Flood(String),
    Sleep(String),
    WaitFile(PathBuf),
    WaitLine(String),
    Background(Vec<Action>),
    Gather { count: usize, actions: Vec<Action> },
    Repeat { times: Option<u64>, actions: Vec<Action> },
    Set { name: String, value: String },
    SetList { method: String, pages: Vec<Page> },
    Mark { path: PathBuf, word: String },
    Spawn { script: Box<Script>, inherit: bool },
    CloseStdout,
    Exit(i32),
    Die(String),
}

/// A request of the server to the client, for [`ask`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub(crate) id: Json,
    pub(crate) method: String,
    pub(crate) params: Option<Json>,
}

/// A request without params. The id is any JSON, `json!(1)` or `json!("s-2")`.
pub fn request(id: impl Into<Json>, method: &str) -> Request {
    Request { id: id.into(), method: method.to_owned(), params: None }
}

impl Request {
    /// The request's params.
    pub fn params(mut self, params: impl Into<Json>) -> Request {
        self.params = Some(params.into());
        self
    }
}

/// Answer with this result.
pub fn respond(result: impl Into<Json>) -> Action {
    Action::Respond(result.into())
}

/// Answer with a JSON-RPC error.
pub fn respond_error(code: i64, message: &str) -> Action {
    Action::RespondError { code, message: message.to_owned(), data: None }
}

/// Answer with a JSON-RPC error that carries `data`.
pub fn respond_error_data(code: i64, message: &str, data: impl Into<Json>) -> Action {
    Action::RespondError { code, message: message.to_owned(), data: Some(data.into()) }
}

/// Answer a tool call with one text block.
pub fn text(text: &str) -> Action {
    Action::Text(text.to_owned())
}

/// Answer a tool call with the exact text of its arguments.
pub fn echo_args() -> Action {
    text("$ARGS")
}

/// Answer a tool call with `{"argv": [..], "env": {..}, "cwd": ".."}` as text.
pub fn dump() -> Action {
    Action::Dump
}

/// Answer as though no rule had matched.
pub fn default_answer() -> Action {
    Action::Default
}

/// Send a notification without params.
pub fn notify(method: &str) -> Action {
    Action::Notify { method: method.to_owned(), params: None }
}

/// Send a notification.
pub fn notify_with(method: &str, params: impl Into<Json>) -> Action {
    Action::Notify { method: method.to_owned(), params: Some(params.into()) }
}

/// Send `notifications/progress` with the token of the request at hand.
pub fn progress(done: f64, total: Option<f64>) -> Action {
    let mut params = serde_json::json!({"progressToken": "$TOKEN", "progress": done});
    if let Some(total) = total {
        params["total"] = total.into();
    }
    notify_with("notifications/progress", params)
}

/// Send requests to the client, all at once, and wait up to 10 s for all replies. `$REPLY` is then the
/// last request's whole reply; where one stayed out the log has the note `no reply to ID`.
pub fn ask(requests: impl IntoIterator<Item = Request>) -> Action {
    ask_within(10_000, requests)
}

/// [`ask`] with its own limit.
pub fn ask_within(ms: u64, requests: impl IntoIterator<Item = Request>) -> Action {
    Action::Ask { requests: requests.into_iter().collect(), within_ms: ms }
}

/// Write this text and a line feed to stdout, whatever the script's framing.
pub fn line(text: &str) -> Action {
    Action::Line(text.to_owned())
}

/// Write this text to stdout, without a line feed.
pub fn write(text: &str) -> Action {
    Action::Write(text.to_owned())
}

/// Write these bytes to stdout.
pub fn bytes(bytes: impl AsRef<[u8]>) -> Action {
    Action::Bytes(STANDARD.encode(bytes))
}

/// Write this text to stderr, without a line feed.
pub fn stderr(text: &str) -> Action {
    Action::Stderr(text.to_owned())
}

/// Whatever these actions write to stdout goes out in writes of `bytes` bytes with a pause after each.
pub fn in_pieces(bytes: usize, pause_us: u64, actions: impl IntoIterator<Item = Action>) -> Action {
    Action::InPieces { bytes, pause_us, actions: actions.into_iter().collect() }
}

/// Write this text to stdout in blocks of about 64 KiB until nobody reads it.
pub fn flood(unit: &str) -> Action {
    Action::Flood(unit.to_owned())
}

/// Sleep. Prefer an event: [`wait_file`], [`wait_line`], [`gather`].
pub fn sleep(ms: u64) -> Action {
    Action::Sleep(ms.to_string())
}

/// Sleep for as many milliseconds as this argument of the call says.
pub fn sleep_arg(key: &str) -> Action {
    Action::Sleep(format!("$ARG({key})"))
}

/// Wait until this file exists.
pub fn wait_file(path: impl AsRef<Path>) -> Action {
    Action::WaitFile(path.as_ref().to_owned())
}

/// Wait until the client has sent a line that contains this text, after the message at hand.
pub fn wait_line(text: &str) -> Action {
    Action::WaitLine(text.to_owned())
}

/// Do these things on a thread of their own, so that later messages are answered meanwhile.
pub fn background(actions: impl IntoIterator<Item = Action>) -> Action {
    Action::Background(actions.into_iter().collect())
}

/// Hold the message until `count` messages of this rule have come, then do these things for each of
/// them, the last one first.
pub fn gather(count: usize, actions: impl IntoIterator<Item = Action>) -> Action {
    Action::Gather { count, actions: actions.into_iter().collect() }
}

/// Do these things n times; `$I` counts from 1.
pub fn repeat(n: u64, actions: impl IntoIterator<Item = Action>) -> Action {
    Action::Repeat { times: Some(n), actions: actions.into_iter().collect() }
}

/// Do these things until stdout is closed on the other side.
pub fn forever(actions: impl IntoIterator<Item = Action>) -> Action {
    Action::Repeat { times: None, actions: actions.into_iter().collect() }
}

/// Set a variable, for [`Match::when`](crate::Match::when) and `$(name)`. Values from the message keep
/// their JSON form: `set("first", "$ID")`.
pub fn set(name: &str, value: &str) -> Action {
    Action::Set { name: name.to_owned(), value: value.to_owned() }
}

/// From now on offer these tools. Doesn't tell the client: [`notify`] does.
pub fn set_tools<T: Into<Json>>(tools: impl IntoIterator<Item = T>) -> Action {
    set_list("tools/list", tools)
}

/// From now on answer this list method with these items.
pub fn set_list<T: Into<Json>>(method: &str, items: impl IntoIterator<Item = T>) -> Action {
    Action::SetList { method: method.to_owned(), pages: single_page(items) }
}

/// Append a word and a line feed to a file.
pub fn mark(path: impl AsRef<Path>, word: &str) -> Action {
    Action::Mark { path: path.as_ref().to_owned(), word: word.to_owned() }
}

/// Start another fake as a child of this one, with stdin, stdout and stderr at `/dev/null`. It stays in the
/// process group. A script for it wants `ignore_eof()`, since its stdin ends at once.
pub fn spawn(script: Script) -> Action {
    Action::Spawn { script: Box::new(script), inherit: false }
}

/// [`spawn`], but it shares this fake's stdout and stderr, so the pipes stay open after this one has died.
pub fn spawn_sharing(script: Script) -> Action {
    Action::Spawn { script: Box::new(script), inherit: true }
}

/// Close stdout and live on.
pub fn close_stdout() -> Action {
    Action::CloseStdout
}

/// End the process with this code.
pub fn exit(code: i32) -> Action {
    Action::Exit(code)
}

/// End the process by a signal: `KILL`, `SEGV`, `ABRT`, `TERM`, `HUP`. `STOP` freezes it instead.
pub fn die(signal: &str) -> Action {
    Action::Die(signal.to_owned())
}
