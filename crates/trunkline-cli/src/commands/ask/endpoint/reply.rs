//! The model's message, put together from the pieces in which an endpoint sends it, or taken from one JSON document.
//! Tolerates what endpoints get wrong: missing ids and indexes, an index for several calls, names sent twice.

use serde_json::{Map, Value, json};

/// What the model sent in one step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    /// Its message, fit to go back to the endpoint.
    pub(crate) message: Value,
    /// Why it stopped, in the endpoint's words.
    pub(crate) finish: Option<String>,
    /// What the endpoint says it took.
    pub(crate) usage: Option<Value>,
}

impl Reply {
    /// The text of the message.
    pub(crate) fn text(&self) -> String {
        text_of(&self.message)
    }
}

/// Puts a reply together.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    members: Map<String, Value>,
    calls: Vec<Map<String, Value>>,
    /// For each call, the index that its pieces bear.
    indexes: Vec<Option<u64>>,
    finish: Option<String>,
    usage: Option<Value>,
}

impl Pieces {
    /// Takes in one chunk, or a whole completion; gives the text that is new.
    pub(super) fn add(&mut self, chunk: &Value) -> String {
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        let choices = chunk.get("choices").and_then(Value::as_array);
        let first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        let Some(choice) = choices.and_then(|choices| choices.iter().find(first)) else { return String::new() };
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(reason.to_owned());
        }
        let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) else { return String::new() };
        for (key, value) in delta.as_object().into_iter().flatten() {
            match key.as_str() {
                "role" | "content" | "refusal" => {} // a refusal is text, too
                "tool_calls" => value.as_array().into_iter().flatten().for_each(|call| self.add_call(call)),
                _ => merge(&mut self.members, key, value),
            }
        }
        let text = text_of(delta);
        merge(&mut self.members, "content", &Value::from(text.as_str()));
        text
    }

    /// Whether the endpoint has said why the model stopped.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn add_call(&mut self, delta: &Value) {
        let Some(delta) = delta.as_object() else { return };
        let at = self.place(delta);
        let call = &mut self.calls[at];
        for (key, value) in delta {
            match (key.as_str(), value) {
                ("index", _) => {}
                ("function", Value::Object(function)) => {
                    let known = call.entry("function").or_insert_with(|| json!({}));
                    let Some(known) = known.as_object_mut() else { continue };
                    for (key, value) in function {
                        // some endpoints repeat the whole name in every piece
                        if key != "name" || known.get("name") != Some(value) {
                            merge(known, key, value);
                        }
                    }
                }
                (_, Value::Null) => {}
                ("id", Value::String(id)) if id.is_empty() => {}
                _ => {
                    call.insert(key.clone(), value.clone());
                }
            }
        }
    }

    /// The call that a piece belongs to, or a new one.
    fn place(&mut self, delta: &Map<String, Value>) -> usize {
        let index = delta.get("index").and_then(Value::as_u64);
        let id = delta.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let known_id = |call: &Map<String, Value>| call.get("id").and_then(Value::as_str).map(str::to_owned);
        let found = match (index, id) {
            (Some(_), _) => self.indexes.iter().rposition(|known| *known == index),
            (None, Some(id)) => self.calls.iter().position(|call| known_id(call).as_deref() == Some(id)),
            // neither: a name begins a call, anything else goes on with the last
            (None, None) if delta.get("function").is_some_and(|function| function.get("name").is_some()) => None,
            (None, None) => self.calls.len().checked_sub(1),
        };
        // the same index with another id, or with a name after complete arguments, is another call
        let found = found.filter(|at| match (id, known_id(&self.calls[*at])) {
            (Some(id), Some(known)) => id == known,
            _ => !(text_in(delta, "name") && text_in(delta, "arguments") && is_complete(&self.calls[*at])),
        });
        found.unwrap_or_else(|| {
            self.calls.push(Map::new());
            self.indexes.push(index);
            self.calls.len() - 1
        })
    }

    /// The whole. `step` makes the ids that the endpoint left out.
    pub(super) fn finish(mut self, step: u32) -> Reply {
        let mut message = Map::from_iter([("role".to_owned(), json!("assistant"))]);
        message.append(&mut self.members);
        for (at, call) in self.calls.iter_mut().enumerate() {
            complete(call, || format!("call_{step}_{}", at + 1));
        }
        if !self.calls.is_empty() {
            if message.get("content").is_none_or(|content| content == "") {
                message.insert("content".to_owned(), Value::Null);
            }
            message.insert("tool_calls".to_owned(), Value::from(self.calls));
        }
        Reply { message: Value::from(message), finish: self.finish, usage: self.usage }
    }
}

/// Gives a call all that an endpoint wants of one, each of the right type; `id` makes an id.
fn complete(call: &mut Map<String, Value>, id: impl FnOnce() -> String) {
    let id = match call.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => id(),
    };
    call.insert("id".to_owned(), Value::from(id));
    if !call.get("type").is_some_and(Value::is_string) {
        call.insert("type".to_owned(), json!("function"));
    }
    let mut function = match call.remove("function") {
        Some(Value::Object(function)) => function,
        _ => Map::new(),
    };
    if !function.get("name").is_some_and(Value::is_string) {
        function.insert("name".to_owned(), json!(""));
    }
    let arguments = match function.remove("arguments") {
        Some(Value::String(text)) => text,
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    function.insert("arguments".to_owned(), Value::from(arguments));
    call.insert("function".to_owned(), Value::from(function));
}

/// Whether a call's function has this text.
fn text_in(call: &Map<String, Value>, key: &str) -> bool {
    let text = call.get("function").and_then(|function| function.get(key)).and_then(Value::as_str);
    text.is_some_and(|text| !text.is_empty())
}

fn is_complete(call: &Map<String, Value>) -> bool {
    let arguments = call.get("function").and_then(|function| function.get("arguments")).and_then(Value::as_str);
    arguments.is_some_and(|text| serde_json::from_str::<Map<String, Value>>(text).is_ok())
}

/// Puts a piece to what is known: text grows, lists too, objects member by member.
fn merge(into: &mut Map<String, Value>, key: &str, piece: &Value) {
    match (into.get_mut(key), piece) {
        (_, Value::Null) => {}
        (Some(Value::String(known)), Value::String(piece)) => known.push_str(piece),
        (Some(Value::Array(known)), Value::Array(piece)) => known.extend(piece.iter().cloned()),
        (Some(Value::Object(known)), Value::Object(piece)) => {
            piece.iter().for_each(|(key, value)| merge(known, key, value));
        }
        _ => {
            into.insert(key.to_owned(), piece.clone());
        }
    }
}

/// The text of a message or a piece of one; of a refusal where the model refuses.
fn text_of(message: &Value) -> String {
    let parts = |parts: &Vec<Value>| parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
    let content = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(list)) => parts(list),
        _ => String::new(),
    };
    match message.get("refusal").and_then(Value::as_str) {
        Some(refusal) if content.is_empty() => refusal.to_owned(),
        _ => content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(deltas: &[Value]) -> (Value, String) {
        let mut pieces = Pieces::default();
        let chunk = |delta: &Value| json!({"choices": [{"index": 0, "delta": delta}]});
        let text = deltas.iter().map(|delta| pieces.add(&chunk(delta))).collect();
        (pieces.finish(3).message, text)
    }

    fn calls(deltas: &[Value]) -> Vec<(String, String, String)> {
        let (message, _) = reply(&deltas.iter().map(|call| json!({"tool_calls": [call]})).collect::<Vec<_>>());
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let calls = message["tool_calls"].as_array().unwrap().iter();
        calls
            .map(|call| (text(&call["id"]), text(&call["function"]["name"]), text(&call["function"]["arguments"])))
            .collect()
    }

    fn told(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn calls_are_put_together_by_index_however_they_are_mixed() {
        let found = calls(&[
            json!({"index": 1, "id": "b", "type": "function", "function": {"name": "two", "arguments": ""}}),
            json!({"index": 0, "id": "a", "function": {"name": "on"}}),
            json!({"index": 1, "function": {"arguments": "{\"x\""}}),
            json!({"index": 0, "function": {"name": "e", "arguments": "{}"}}),
            json!({"index": 1, "id": null, "function": {"name": null, "arguments": ":1}"}}),
        ]);
        assert_eq!(found, [told("b", "two", "{\"x\":1}"), told("a", "one", "{}")]);
    }

    #[test]
    fn what_endpoints_leave_out_or_repeat_is_put_up_with() {
        let whole = |arguments: Value| json!({"function": {"name": "t", "arguments": arguments}});
        // no index and no id; arguments as an object
        let found = calls(&[whole(json!("{\"n\":")), json!({"function": {"arguments": "1}"}}), whole(json!({"n": 2}))]);
        assert_eq!(found, [told("call_3_1", "t", "{\"n\":1}"), told("call_3_2", "t", "{\"n\":2}")]);
        // one index for all, with and without ids
        let at_zero = |id: &str| json!({"index": 0, "id": id, "function": {"name": "t", "arguments": "{}"}});
        assert_eq!(calls(&[at_zero("a"), at_zero("b")]), [told("a", "t", "{}"), told("b", "t", "{}")]);
        assert_eq!(calls(&[at_zero(""), at_zero("")]), [told("call_3_1", "t", "{}"), told("call_3_2", "t", "{}")]);
        // members of another type
        let odd = calls(&[
            json!({"index": 0, "id": 7, "type": 1, "function": {"name": {}}}),
            json!({"index": 1, "id": [], "function": "t"}),
        ]);
        assert_eq!(odd, [told("7", "", ""), told("call_3_2", "", "")]);
        // the whole name in every piece
        let again = |arguments: &str| json!({"index": 0, "id": "a", "function": {"name": "t", "arguments": arguments}});
        assert_eq!(calls(&[again("{\"n\""), again(":1}"), again("")]), [told("a", "t", "{\"n\":1}")]);
    }

    #[test]
    fn text_grows_and_what_is_not_known_is_kept_for_the_endpoint() {
        let (message, text) = reply(&[
            json!({"role": "assistant", "content": "", "reasoning_content": "hm"}),
            json!({"content": "It is", "reasoning_content": "m", "annotations": []}),
            json!({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": " noon"}], "refusal": null}),
            json!({"content": null, "tool_calls": [{"index": 0, "id": "a", "extra_content": {"signature": "s"}}]}),
        ]);
        assert_eq!(text, "It is noon");
        assert_eq!(
            message,
            json!({"role": "assistant", "content": "It is noon", "reasoning_content": "hmm", "annotations": [], "tool_calls": [
                {"id": "a", "type": "function", "extra_content": {"signature": "s"}, "function": {"name": "", "arguments": ""}}
            ]})
        );
        let (message, text) = reply(&[json!({"content": null, "refusal": "I "}), json!({"refusal": "won't"})]);
        assert_eq!((message["content"].as_str(), text.as_str()), (Some("I won't"), "I won't"));
    }
}
