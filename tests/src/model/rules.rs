//! What a request has to be like for OpenAI to take it. One that breaks a rule is refused, and fails the test.

use serde_json::Value;
use trunkline::format::Dialect;

use crate::providers::violations;

/// Checks the body of a request; says which rule it breaks.
///
/// # Errors
/// The rule, in words.
pub fn check(request: &Value) -> Result<(), String> {
    if !request["model"].is_string() {
        return Err("model is missing".to_owned());
    }
    if let Some(tools) = request.get("tools") {
        check_tools(tools)?;
    }
    check_messages(request["messages"].as_array().map(Vec::as_slice).unwrap_or_default())
}

fn check_tools(tools: &Value) -> Result<(), String> {
    if tools.as_array().is_none_or(Vec::is_empty) {
        return Err("tools is no list with something in it".to_owned());
    }
    match violations(Dialect::OpenAiChat, tools).as_slice() {
        [] => Ok(()),
        violations => Err(violations.join("; ")),
    }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Every call is answered right after the message that makes it, and nothing else is.
fn check_messages(messages: &[Value]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(place) = open.iter().position(|known| *known == id) else {
                return Err(format!(
                    "messages[{at}] answers the call {id:?}, which wasn't made or is answered already"
                ));
            };
            open.remove(place);
        } else if !open.is_empty() {
            return Err(format!("messages[{at}] comes before the calls {open:?} are answered"));
        }
        match role {
            "system" | "developer" | "user" | "tool" if has_text(&message["content"]) => {}
            "assistant" => open = check_assistant(at, message)?,
            _ => return Err(format!("messages[{at}] is not understood: {message}")),
        }
    }
    match (messages.last().map(|last| &last["role"]), open.is_empty()) {
        (None, _) => Err("messages is empty".to_owned()),
        (Some(_), false) => Err(format!("the calls {open:?} are not answered")),
        (Some(_), true) => Ok(()),
    }
}

fn has_text(content: &Value) -> bool {
    content.is_string() || content.is_array()
}

fn check_assistant(at: usize, message: &Value) -> Result<Vec<&str>, String> {
    let Some(calls) = message.get("tool_calls") else {
        return if has_text(&message["content"]) {
            Ok(Vec::new())
        } else {
            Err(format!("messages[{at}] says nothing"))
        };
    };
    let mut ids: Vec<&str> = Vec::new();
    for call in calls.as_array().filter(|calls| !calls.is_empty()).ok_or("tool_calls is no list of calls")? {
        let (id, function) = (call["id"].as_str().unwrap_or_default(), &call["function"]);
        let is_whole = call["type"] == "function" && function["arguments"].is_string();
        if id.is_empty() || ids.contains(&id) || !is_whole || !is_name(function["name"].as_str().unwrap_or_default()) {
            return Err(format!("messages[{at}] has a call that is not understood: {call}"));
        }
        ids.push(id);
    }
    Ok(ids)
}
