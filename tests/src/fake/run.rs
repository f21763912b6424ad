//! Does what the rules say: finds the rule for a message and carries out its actions.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{getpid, kill_process};
use serde_json::json;

use super::defaults::{self, Answer};
use super::expand::{Place, expand, quoted};
use super::lock;
use super::message::Message;
use super::server::{Scope, Server, UNKNOWN};
use crate::action::{Action, Request};
use crate::json::Json;
use crate::process::signal_named;
use crate::script::{Pieces, Script};
use crate::wait::poll;

/// How long an event is awaited before the script counts as wrong.
const EVENT: Duration = Duration::from_secs(60);

/// Handles a message of the client: by its rule, else by default, else as unknown.
pub(crate) fn handle(server: &Arc<Server>, message: Message) {
    let message = Arc::new(message);
    if !follow_rule(server, &message.method, &message) && message.method != UNKNOWN {
        answer_by_default(server, &Scope::new(message, usize::MAX, 1));
    }
}

/// Handles an event; false if there is no rule for it.
pub(crate) fn react(server: &Arc<Server>, message: Message) -> bool {
    follow_rule(server, &message.method.clone(), &Arc::new(message))
}

fn follow_rule(server: &Arc<Server>, method: &str, message: &Arc<Message>) -> bool {
    let Some((rule, n)) = server.rule_for(method, message) else { return false };
    let mut scope = Scope::new(Arc::clone(message), rule, n);
    run(server, &mut scope, &server.script.rules[rule].actions);
    true
}

fn answer_by_default(server: &Arc<Server>, scope: &Scope) {
    match defaults::answer(server, &scope.message) {
        Answer::Result(members) => result(server, scope, members),
        Answer::Error { code, message, data } => error(server, scope, code, &quoted(&message), data.as_ref()),
        Answer::Nothing => {}
        Answer::Unknown => unknown(server, scope),
    }
}

fn unknown(server: &Arc<Server>, scope: &Scope) {
    let message = &scope.message;
    let handled = !server.is_last_resort(scope.rule) && follow_rule(server, UNKNOWN, message);
    if !handled && message.id.is_some() {
        error(server, scope, -32601, &quoted(&format!("Method not found: {}", message.method)), None);
    }
}

fn run(server: &Arc<Server>, scope: &mut Scope, actions: &[Action]) {
    for action in actions {
        step(server, scope, action);
    }
}

fn step(server: &Arc<Server>, scope: &mut Scope, action: &Action) {
    let fill = |text: &str, place| expand(text, place, server, scope);
    match action {
        Action::Respond(value) => respond(server, scope, &fill(value.text(), Place::Json)),
        Action::RespondError { code, message, data } => {
            let data = data.as_ref().and_then(|data| Json::parse(&fill(data.text(), Place::Json)));
            error(server, scope, *code, &fill(&quoted(message), Place::Quoted), data.as_ref());
        }
        Action::Text(text) => {
            result(server, scope, defaults::text_content(&fill(&quoted(text), Place::Quoted)));
        }
        Action::Dump => result(server, scope, defaults::text_content(&quoted(&dump()))),
        Action::Default => answer_by_default(server, scope),
        Action::Notify { method, params } => {
            let params = params.as_ref().map(|params| fill(params.text(), Place::Json));
            send(server, scope, None, &fill(method, Place::Plain), params.as_deref());
        }
        Action::Ask { requests, within_ms } => ask(server, scope, requests, Duration::from_millis(*within_ms)),
        Action::Line(text) => raw(server, scope, (fill(text, Place::Line) + "\n").as_bytes()),
        Action::Write(text) => raw(server, scope, fill(text, Place::Line).as_bytes()),
        Action::Bytes(base64) => match STANDARD.decode(base64) {
            Ok(bytes) => raw(server, scope, &bytes),
            Err(error) => server.fail(&format!("bytes: {error}")),
        },
        Action::Stderr(text) => drop(io::stderr().write_all(fill(text, Place::Plain).as_bytes())),
        Action::InPieces { bytes, pause_us, actions } => {
            let before = scope.pieces.replace(Pieces { bytes: *bytes, pause_us: *pause_us });
            run(server, scope, actions);
            scope.pieces = before;
        }
        Action::Flood(text) => server.output.flood(&server.record, text),
        Action::Set { name, value } => {
            let value = fill(value, Place::Line);
            lock(&server.variables).insert(name.clone(), value);
        }
        Action::SetList { method, pages } => drop(lock(&server.lists).insert(method.clone(), pages.clone())),
        _ => step_in_time(server, scope, action),
    }
}

/// The actions that wait, repeat, branch off or end.
fn step_in_time(server: &Arc<Server>, scope: &mut Scope, action: &Action) {
    let fill = |text: &str| expand(text, Place::Plain, server, scope);
    match action {
        Action::Sleep(ms) => match fill(ms).parse() {
            Ok(ms) => thread::sleep(Duration::from_millis(ms)),
            Err(_) => server.fail(&format!("sleep: {:?} is not a number of milliseconds", fill(ms))),
        },
        Action::WaitFile(path) => {
            let path = PathBuf::from(fill(&path.to_string_lossy()));
            event(server, poll(EVENT, || path.exists().then_some(())).is_some(), || path.display().to_string());
        }
        Action::WaitLine(text) => {
            let text = expand(text, Place::Line, server, scope);
            event(server, server.inbox.wait_line(scope.message.seen, &text, EVENT), || text.clone());
        }
        Action::Background(actions) => background(server, scope.clone(), actions.clone()),
        Action::Gather { count, actions } => gather(server, scope, *count, actions),
        Action::Repeat { times, actions } => again(server, scope, *times, actions),
        Action::Mark { path, word } => {
            let path = PathBuf::from(fill(&path.to_string_lossy()));
            let written = append(&path, &fill(word));
            written.unwrap_or_else(|error| server.fail(&format!("{}: {error}", path.display())));
        }
        Action::Spawn { script, inherit } => {
            spawn(script, *inherit).unwrap_or_else(|error| server.fail(&format!("spawn: {error}")));
        }
        Action::CloseStdout => {
            server.output.close().unwrap_or_else(|error| server.fail(&format!("close_stdout: {error}")));
        }
        Action::Exit(code) => server.exit(*code),
        Action::Die(signal) => die(server, signal),
        _ => unreachable!("done by step"),
    }
}

fn respond(server: &Server, scope: &Scope, result: &str) {
    let id = scope.message.id.as_ref().map_or("null", Json::text);
    message(server, scope, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
}

/// Answers with a result of these members.
fn result(server: &Server, scope: &Scope, members: String) {
    respond(server, scope, &format!("{{{}}}", defaults::modern_members(&scope.message, members)));
}

fn error(server: &Server, scope: &Scope, code: i64, quoted: &str, data: Option<&Json>) {
    let id = scope.message.id.as_ref().map_or("null", Json::text);
    let data = data.map_or_else(String::new, |data| format!(r#","data":{}"#, data.text()));
    let error = format!(r#"{{"code":{code},"message":{quoted}{data}}}"#);
    message(server, scope, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
}

/// Sends a request or, without an id, a notification.
fn send(server: &Server, scope: &Scope, id: Option<&str>, method: &str, params: Option<&str>) {
    let id = id.map_or_else(String::new, |id| format!(r#""id":{id},"#));
    let params = params.map_or_else(String::new, |params| format!(r#","params":{params}"#));
    message(server, scope, &format!(r#"{{"jsonrpc":"2.0",{id}"method":{}{params}}}"#, quoted(method)));
}

fn message(server: &Server, scope: &Scope, json: &str) {
    server.output.message(&server.record, json, scope.pieces);
}

fn raw(server: &Server, scope: &Scope, bytes: &[u8]) {
    server.output.raw(&server.record, bytes, scope.pieces);
}

fn ask(server: &Server, scope: &mut Scope, requests: &[Request], limit: Duration) {
    let mut ids = Vec::new();
    for request in requests {
        let id = expand(request.id.text(), Place::Json, server, scope);
        let params = request.params.as_ref().map(|params| expand(params.text(), Place::Json, server, scope));
        server.inbox.expect(&id);
        let method = expand(&request.method, Place::Plain, server, scope);
        send(server, scope, Some(&id), &method, params.as_deref());
        ids.push(id);
    }
    for id in ids {
        scope.reply = server.inbox.reply(&id, limit);
        if scope.reply.is_none() {
            server.record.note(&format!("no reply to {id}"));
        }
    }
}

fn event(server: &Server, came: bool, what: impl Fn() -> String) {
    if !came {
        server.fail(&format!("waited {EVENT:?} in vain for: {}", what()));
    }
}

fn background(server: &Arc<Server>, mut scope: Scope, actions: Vec<Action>) {
    let server = Arc::clone(server);
    server.inbox.begin();
    thread::spawn(move || {
        run(&server, &mut scope, &actions);
        server.inbox.end();
    });
}

fn gather(server: &Arc<Server>, scope: &Scope, count: usize, actions: &[Action]) {
    let complete = {
        let mut held = lock(&server.held);
        let scopes = held.entry(scope.rule).or_default();
        scopes.push(scope.clone());
        if scopes.len() >= count { std::mem::take(scopes) } else { Vec::new() }
    };
    for mut scope in complete.into_iter().rev() {
        run(server, &mut scope, actions);
    }
}

fn again(server: &Arc<Server>, scope: &mut Scope, times: Option<u64>, actions: &[Action]) {
    let before = scope.round;
    scope.round = 0;
    while times.map_or(!server.output.is_closed(), |times| scope.round < times) {
        scope.round += 1;
        run(server, scope, actions);
    }
    scope.round = before;
}

fn append(path: &Path, word: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{word}\n").as_bytes())
}

fn spawn(script: &Script, inherit: bool) -> io::Result<()> {
    let stdio = || if inherit { Stdio::inherit() } else { Stdio::null() };
    let mut command = Command::new(std::env::current_exe()?);
    command.args(script.args()).env_remove("FAKE_SCRIPT").stdin(Stdio::null()).stdout(stdio()).stderr(stdio());
    command.spawn().map(drop)
}

fn die(server: &Server, name: &str) {
    let Some(signal) = signal_named(name) else { server.fail(&format!("no signal is called {name}")) };
    server.record.note(&format!("die {name}"));
    // The runtime's own handler takes the first SEGV.
    for _ in 0..if name == "SEGV" { 2 } else { 1 } {
        let _ = kill_process(getpid(), signal);
        thread::sleep(Duration::from_millis(1));
    }
}

fn dump() -> String {
    let argv: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let lossy = |(key, value): (std::ffi::OsString, std::ffi::OsString)| {
        (key.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
    };
    let env: BTreeMap<String, String> = std::env::vars_os().map(lossy).collect();
    let cwd = std::env::current_dir().map(|cwd| cwd.to_string_lossy().into_owned()).ok();
    json!({"argv": argv, "env": env, "cwd": cwd}).to_string()
}
