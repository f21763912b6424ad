//! What the fake answers where no rule does: the steps of an ordinary server.

use serde_json::{Value, json};

use super::event::Event;
use super::modern;
use super::request::HttpRequest;
use super::state::State;
use super::step::{Reply, Step, event, listen, lost_session, push, reply, send, sse};

const SESSION: &str = "Mcp-Session-Id";

pub(crate) fn steps(state: &State, request: &HttpRequest) -> Vec<Step> {
    if state.script.legacy {
        return legacy(state, request);
    }
    if request.path() != "/mcp" {
        return vec![send(reply(404))];
    }
    let modern = state.script.modern && request.method == "POST";
    if let Some(refusal) = if modern { modern::refuse(request) } else { refuse(state, request) } {
        return vec![send(refusal)];
    }
    match request.method.as_str() {
        "POST" if modern && request.rpc_method().as_deref() == Some("subscriptions/listen") => {
            modern::listening(request)
        }
        "POST" => post(state, request),
        "GET" if state.script.listening => vec![sse(), listen()],
        "DELETE" => {
            state.end_session(request.header(SESSION).unwrap_or_default());
            vec![send(reply(200))]
        }
        _ => vec![send(reply(405).header("Allow", "POST, DELETE"))],
    }
}

/// What is wrong with the session or the version that a request names.
fn refuse(state: &State, request: &HttpRequest) -> Option<Reply> {
    let begins = matches!(request.rpc_method().as_deref(), Some("initialize" | "server/discover"));
    if begins || !state.script.sessions {
        return None;
    }
    let Some(id) = request.header(SESSION) else { return Some(reply(400).body("no session id")) };
    let Some(version) = state.session(id) else { return Some(lost_session()) };
    let wrong = state.script.strict_version && request.header("mcp-protocol-version") != Some(&version);
    wrong.then(|| reply(400).body(format!("the version is {version}")))
}

fn post(state: &State, request: &HttpRequest) -> Vec<Step> {
    let Some(message) = message(state, request) else { return vec![send(reply(202))] };
    answer(state, request, &message)
}

/// A message as the answer to a request, in the form that the script asks for.
pub(crate) fn answer(state: &State, request: &HttpRequest, message: &str) -> Vec<Step> {
    if state.script.legacy {
        return vec![push(Event::data(message).name("message")), send(reply(202).body("Accepted"))];
    }
    let session = begun(state, request).map(|id| (SESSION.to_owned(), id));
    let with_session = |mut reply: Reply| {
        reply.headers.extend(session.clone());
        reply
    };
    if state.script.sse_answers {
        let head = reply(200).header("Content-Type", "text/event-stream").chunked();
        return vec![Step::Open(with_session(head)), event(Event::data(message))];
    }
    vec![send(with_session(reply(200).content("application/json", message)))]
}

/// The session that begins with this request.
fn begun(state: &State, request: &HttpRequest) -> Option<String> {
    let begins = state.script.sessions && request.rpc_method().as_deref() == Some("initialize");
    begins.then(|| state.begin_session(&version(state, request)))
}

fn version(state: &State, request: &HttpRequest) -> String {
    let asked = || request.params()["protocolVersion"].as_str().unwrap_or_default().to_owned();
    state.script.version.clone().unwrap_or_else(asked)
}

/// The answer to a JSON-RPC request; nothing for what needs none.
fn message(state: &State, request: &HttpRequest) -> Option<String> {
    let method = request.rpc_method().filter(|_| request.wants_answer())?;
    let outcome = match method.as_str() {
        "initialize" => {
            let version = json!(version(state, request));
            let capabilities = state.script.capabilities.text();
            let info = json!({"name": "fake", "version": "1"});
            format!(r#""result":{{"protocolVersion":{version},"capabilities":{capabilities},"serverInfo":{info}}}"#)
        }
        "server/discover" if state.script.modern => format!(r#""result":{{{}}}"#, modern::discovered(state)),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => r#""result":{}"#.to_owned(),
        "tools/list" => {
            let tools: Vec<_> = state.script.tools.iter().map(|tool| tool.text()).collect();
            format!(r#""result":{{"tools":[{}]}}"#, tools.join(","))
        }
        "tools/call" => call(state, request),
        _ => failure(-32601, &format!("Method not found: {method}")),
    };
    let outcome = match outcome.strip_prefix(r#""result":{"#).filter(|_| state.script.modern) {
        Some(rest) => format!(r#""result":{{"resultType":"complete",{rest}"#),
        None => outcome,
    };
    Some(format!(r#"{{"jsonrpc":"2.0","id":{},{outcome}}}"#, request.id()))
}

fn call(state: &State, request: &HttpRequest) -> String {
    let name = request.name().unwrap_or_default();
    let offers = |tool: &Value| tool["name"] == json!(name);
    if !state.script.tools.iter().any(|tool| serde_json::from_str(tool.text()).is_ok_and(|tool| offers(&tool))) {
        return failure(-32602, &format!("Unknown tool: {name}"));
    }
    let arguments = request.params()["arguments"].take();
    let text = arguments["text"].as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    format!(r#""result":{}"#, json!({"content": [{"type": "text", "text": text}]}))
}

fn failure(code: i64, message: &str) -> String {
    format!(r#""error":{}"#, json!({"code": code, "message": message}))
}

fn legacy(state: &State, request: &HttpRequest) -> Vec<Step> {
    match (request.method.as_str(), request.path()) {
        ("GET", "/sse") => {
            let id = state.begin_session("2024-11-05");
            vec![sse(), event(Event::data(&format!("/messages?session={id}")).name("endpoint")), listen()]
        }
        ("POST", "/messages") => post(state, request),
        (_, "/sse" | "/messages") => vec![send(reply(405))],
        _ => vec![send(reply(404))],
    }
}
