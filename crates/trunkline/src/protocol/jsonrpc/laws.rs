//! What holds of the envelope, whatever the line: an independent parser sees the same messages.

use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{INTERNAL_ERROR, Message, Outcome, Unreadable, split};
use crate::protocol::scan;

/// An object's members as serde_json sees them, in their order.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        reader.deserialize_map(All)
    }
}

impl Members {
    /// The last member of this name.
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.get())
    }

    fn some(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| *value != "null")
    }
}

/// Every line becomes something; what is valid becomes exactly what it says, in its own bytes; what an array holds
/// becomes one thing each.
pub(crate) fn envelope(line: &[u8]) {
    let mut found = Vec::new();
    let repaired = split(Bytes::copy_from_slice(line), &mut |message| found.push(message));
    let Ok(text) = std::str::from_utf8(line) else {
        assert!(repaired);
        return;
    };
    if scan::whole(line).is_err() {
        let is_array = text.trim_start().starts_with('[');
        assert!(is_array || found.len() == 1, "{found:?}");
        return;
    }
    assert!(!repaired);
    let told: Vec<_> = found.iter().map(told).collect();
    match text.trim_start().as_bytes().first() {
        Some(b'{') => assert_eq!(told, [expected(text)]),
        Some(b'[') => {
            let items: Vec<Box<RawValue>> = serde_json::from_str(text).expect("the scanner took it");
            assert_eq!(told, items.iter().map(|item| expected(item.get())).collect::<Vec<_>>());
        }
        _ => assert_eq!(told, ["noise"]),
    }
}

fn told(message: &Result<Message, Unreadable>) -> String {
    let outcome = |outcome: &Outcome| match outcome {
        Outcome::Result(result) => format!("result {result}"),
        Outcome::Error(error) => format!("error {} {:?}", error.code, error.data.as_ref().map(ToString::to_string)),
        Outcome::Malformed(_) => "malformed".to_owned(),
    };
    match message {
        Ok(Message::Response { id, id_was_text, outcome: of, no_version }) => {
            format!("response {id} {id_was_text} {} {no_version}", outcome(of))
        }
        Ok(Message::Stray { id, outcome: of }) => {
            format!("stray {:?} {}", id.as_ref().map(ToString::to_string), outcome(of))
        }
        Ok(Message::Request { id, method, params }) => {
            format!("request {id} {method:?} {:?}", params.as_ref().map(ToString::to_string))
        }
        Ok(Message::Notification { method, params }) => {
            format!("notification {method:?} {:?}", params.as_ref().map(ToString::to_string))
        }
        Err(Unreadable::Noise) => "noise".to_owned(),
        Err(Unreadable::NotRpc) => "not rpc".to_owned(),
        Err(other) => format!("{other:?}"),
    }
}

/// What a valid value says.
fn expected(text: &str) -> String {
    let Ok(members) = serde_json::from_str::<Members>(text) else { return "not rpc".to_owned() };
    let (id, result, error) = (members.some("id"), members.get("result"), members.some("error"));
    if let Some(method) = members.get("method").and_then(|method| serde_json::from_str::<String>(method).ok()) {
        let params = members.some("params");
        return match id {
            Some(id) => format!("request {id} {method:?} {params:?}"),
            None => format!("notification {method:?} {params:?}"),
        };
    }
    let outcome = match (result, error) {
        (None, None) if id.is_none() => return "not rpc".to_owned(),
        (Some(result), None) => format!("result {result}"),
        (None | Some("null"), Some(error)) => format!("error {}", of_error(error)),
        _ => "malformed".to_owned(),
    };
    let own = id.and_then(|id| {
        let digits = id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).unwrap_or(id);
        digits.parse::<u64>().ok().filter(|id| id.to_string() == digits)
    });
    match own {
        Some(own) => {
            let (was_text, versioned) =
                (id.is_some_and(|id| id.starts_with('"')), members.get("jsonrpc") == Some("\"2.0\""));
            format!("response {own} {was_text} {outcome} {}", !versioned)
        }
        None => format!("stray {id:?} {outcome}"),
    }
}

fn of_error(error: &str) -> String {
    let members = serde_json::from_str::<Members>(error).ok();
    let get = |name| members.as_ref().and_then(|members| members.get(name));
    let code = get("code").and_then(|code| serde_json::from_str::<i64>(code).ok());
    let data = get("data").filter(|data| *data != "null");
    format!("{} {data:?}", code.unwrap_or(INTERNAL_ERROR))
}
