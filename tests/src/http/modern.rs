//! What a server of revision 2026-07-28 asks of each request, and what it answers where no rule does.

use base64::Engine as _;
use serde_json::{Value, json};

use super::event::Event;
use super::request::HttpRequest;
use super::state::State;
use super::step::{Reply, Step, event, listen, reply, sse};

pub(crate) const REVISION: &str = "2026-07-28";
const META: &str = "io.modelcontextprotocol/";

/// What is wrong with a request: a header that is missing, or doesn't say what the body says.
pub(crate) fn refuse(request: &HttpRequest) -> Option<Reply> {
    let method = request.rpc_method().unwrap_or_default();
    let (params, meta) = (request.params(), request.params()["_meta"].take());
    let version = meta[format!("{META}protocolVersion")].clone();
    if version != REVISION {
        let asked = version.as_str().or(params["protocolVersion"].as_str());
        let data = json!({"supported": [REVISION], "requested": asked});
        return Some(error(request, -32022, "Unsupported protocol version", data));
    }
    if !meta[format!("{META}clientCapabilities")].is_object() {
        return Some(error(request, -32602, "no clientCapabilities in _meta", Value::Null));
    }
    let named = match method.as_str() {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let wanted = [("mcp-protocol-version", Some(REVISION)), ("mcp-method", Some(&*method)), ("mcp-name", named)];
    wanted.into_iter().find_map(|(header, expected)| {
        let sent = request.header(header).map(decoded);
        let differs = sent.as_deref() != expected;
        differs.then(|| error(request, -32020, &format!("{header}: {sent:?}, not {expected:?}"), Value::Null))
    })
}

/// The value that a header stands for.
pub fn decoded(value: &str) -> String {
    let inner = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let Some(inner) = inner else { return value.to_owned() };
    let bytes = base64::engine::general_purpose::STANDARD.decode(inner).expect("base64");
    String::from_utf8(bytes).expect("UTF-8")
}

fn error(request: &HttpRequest, code: i64, message: &str, data: Value) -> Reply {
    let error = json!({"code": code, "message": message, "data": data});
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, request.id());
    reply(400).content("application/json", body)
}

/// The answer to `server/discover`, without the braces around its members.
pub(crate) fn discovered(state: &State) -> String {
    let capabilities = state.script.capabilities.text();
    let info = json!({"name": "fake", "version": "1"});
    format!(r#""supportedVersions":["{REVISION}"],"capabilities":{capabilities},"_meta":{{"{META}serverInfo":{info}}}"#)
}

/// The stream of a subscription: agreed to as it was asked for, then whatever is pushed.
pub(crate) fn listening(request: &HttpRequest) -> Vec<Step> {
    let id: Value = serde_json::from_str(&request.id()).expect("an id");
    let agreed =
        json!({"_meta": {format!("{META}subscriptionId"): id}, "notifications": request.params()["notifications"]});
    vec![sse(), event(Event::notification("notifications/subscriptions/acknowledged", agreed)), listen()]
}
