//! What the model does with one request, and how it is put on the wire.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::http::{Step, body, open, pieces, reply, send};

/// One turn of a model.
pub struct Turn(What);

enum What {
    Message { text: String, calls: Vec<(String, String)>, plain: bool, finish: Option<String> },
    Steps(Vec<Step>),
}

impl Turn {
    /// Says something.
    pub fn says(text: &str) -> Turn {
        Turn(What::Message { text: text.to_owned(), calls: Vec::new(), plain: false, finish: None })
    }

    /// Calls tools; arguments that are a text are sent as they are.
    pub fn calls<const N: usize>(calls: [(&str, Value); N]) -> Turn {
        Turn::says("").and_calls(calls)
    }

    /// Calls tools besides.
    #[must_use]
    pub fn and_calls<const N: usize>(mut self, more: [(&str, Value); N]) -> Turn {
        if let What::Message { calls, .. } = &mut self.0 {
            let text = |arguments: Value| arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            calls.extend(more.map(|(name, arguments)| (name.to_owned(), text(arguments))));
        }
        self
    }

    /// Answers with one JSON document, as an endpoint does that can't stream.
    #[must_use]
    pub fn plain(mut self) -> Turn {
        if let What::Message { plain, .. } = &mut self.0 {
            *plain = true;
        }
        self
    }

    /// Gives another reason to have stopped than the usual one.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Turn {
        if let What::Message { finish, .. } = &mut self.0 {
            *finish = Some(reason.to_owned());
        }
        self
    }

    /// Anything else.
    pub fn steps(steps: impl IntoIterator<Item = Step>) -> Turn {
        Turn(What::Steps(steps.into_iter().collect()))
    }

    /// Refuses the request with this status and body.
    pub fn status(status: u16, body: Value) -> Turn {
        Turn::steps([send(reply(status).json(body))])
    }

    pub(super) fn into_steps(self, request: &Value) -> Vec<Step> {
        let (text, calls, plain, finish) = match self.0 {
            What::Steps(steps) => return steps,
            What::Message { text, calls, plain, finish } => (text, calls, plain, finish),
        };
        let usual = if calls.is_empty() { "stop" } else { "tool_calls" };
        let finish = finish.unwrap_or_else(|| usual.to_owned());
        // different in each turn, as with a real endpoint
        let turn = request["messages"].as_array().map_or(0, Vec::len);
        if plain || request["stream"] != true {
            return vec![send(reply(200).json(completion(&text, &calls, &finish, turn)))];
        }
        let counted = request["stream_options"]["include_usage"] == true;
        let stream = streamed(&text, &calls, &finish, turn, counted);
        let head = reply(200).header("content-type", "text/event-stream").chunked();
        vec![open(head), pieces(7, 0), body(stream)]
    }
}

/// A chunk of a stream that brings this.
pub fn chunk(delta: Value) -> Value {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]})
}

/// The chunk that says why the model stopped.
pub fn last_chunk(finish: &str) -> Value {
    let mut chunk = chunk(json!({}));
    chunk["choices"][0]["finish_reason"] = json!(finish);
    chunk
}

fn usage() -> Value {
    json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
}

fn id(turn: usize, at: usize) -> String {
    format!("call-{turn}-{at}")
}

fn completion(text: &str, calls: &[(String, String)], finish: &str, turn: usize) -> Value {
    let mut message = json!({"role": "assistant", "content": text, "refusal": null});
    if !calls.is_empty() {
        let call = |(at, (name, arguments)): (usize, &(String, String))| json!({"id": id(turn, at), "type": "function", "function": {"name": name, "arguments": arguments}});
        message["tool_calls"] = calls.iter().enumerate().map(call).collect();
        message["content"] = if text.is_empty() { Value::Null } else { json!(text) };
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice], "usage": usage()})
}

/// The events of a turn: text three letters at a time, and a piece of each call after each piece of text.
fn streamed(text: &str, calls: &[(String, String)], finish: &str, turn: usize, counted: bool) -> String {
    let mut deltas = vec![json!({"role": "assistant", "content": "", "refusal": null})];
    let letters: Vec<char> = text.chars().collect();
    let mut texts = letters.chunks(3).map(|piece| json!({"content": piece.iter().collect::<String>()}));
    let mut pieces: Vec<_> =
        calls.iter().enumerate().map(|(at, call)| call_pieces(turn, at, call).into_iter()).collect();
    loop {
        let next: Vec<_> = texts.next().into_iter().chain(pieces.iter_mut().filter_map(Iterator::next)).collect();
        if next.is_empty() {
            break;
        }
        deltas.extend(next);
    }
    let mut chunks: Vec<_> = deltas.into_iter().map(chunk).collect();
    chunks.push(last_chunk(finish));
    if counted {
        chunks.push(json!({"object": "chat.completion.chunk", "choices": [], "usage": usage()}));
    }
    let mut stream = ": welcome\n\n".to_owned();
    for (at, chunk) in chunks.iter().enumerate() {
        let (end, space) = if at % 2 == 0 { ("\r\n", " ") } else { ("\n", "") };
        let _ = write!(stream, "data:{space}{chunk}{end}{end}"); // writing to a String can't fail
        if at % 3 == 0 {
            stream.push_str(": still here\n\n");
        }
    }
    stream + "data: [DONE]\n\n"
}

/// A call: its name first, then its arguments four letters at a time.
fn call_pieces(turn: usize, at: usize, (name, arguments): &(String, String)) -> Vec<Value> {
    let first = json!({"tool_calls": [
        {"index": at, "id": id(turn, at), "type": "function", "function": {"name": name, "arguments": ""}}
    ]});
    let letters: Vec<char> = arguments.chars().collect();
    let rest = letters.chunks(4).map(
        |piece| json!({"tool_calls": [{"index": at, "function": {"arguments": piece.iter().collect::<String>()}}]}),
    );
    std::iter::once(first).chain(rest).collect()
}
