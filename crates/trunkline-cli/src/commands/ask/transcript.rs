//! The conversation as it went, and the one JSON document that tells it.

use std::collections::BTreeMap;

use serde_json::Value;
use trunkline::{Error, RawJson};

use super::endpoint::Reply;
use super::mask::Mask;
use super::talk::Called;
use crate::exit::{Failure, Outcome};
use crate::render::error;
use crate::render::json::{Object, array, quote};

/// What was said and done.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    model: String,
    messages: Vec<RawJson>,
    calls: Vec<Called>,
    steps: u32,
    finish: Option<String>,
    usage: BTreeMap<String, u64>,
}

impl Transcript {
    pub(crate) fn new(model: &str, messages: Vec<RawJson>) -> Self {
        Self { model: model.to_owned(), messages, ..Self::default() }
    }

    /// What the endpoint is sent.
    pub(crate) fn messages(&self) -> &[RawJson] {
        &self.messages
    }

    /// What the model said.
    pub(crate) fn heard(&mut self, step: u32, reply: &Reply) {
        self.steps = step;
        self.finish.clone_from(&reply.finish);
        self.messages.push(reply.message.clone().into());
        for (what, count) in reply.usage.iter().filter_map(Value::as_object).flatten() {
            if let Some(count) = count.as_u64() {
                *self.usage.entry(what.clone()).or_default() += count;
            }
        }
    }

    /// What the model was told came of its calls.
    pub(crate) fn told(&mut self, messages: Vec<RawJson>, called: Vec<Called>) {
        self.messages.extend(messages);
        self.calls.extend(called);
    }

    /// The tools whose calls were refused, each once.
    pub(crate) fn refused(&self) -> Vec<&str> {
        let mut refused: Vec<_> =
            self.calls.iter().filter(|called| called.refused).map(|called| called.tool.address.as_str()).collect();
        refused.sort_unstable();
        refused.dedup();
        refused
    }

    /// The whole as one document.
    pub(crate) fn document(&self, outcome: &Outcome<String>, failures: &[(String, Error)], mask: &Mask) -> String {
        let mut out = Object::default().text("model", &self.model);
        out = out.raw("answer", outcome.as_ref().map_or_else(|_| "null".to_owned(), |answer| quote(answer)));
        let stop = if outcome.is_ok() { "answer" } else { "error" };
        out = out.text("stopReason", stop).maybe("finishReason", self.finish.as_deref()).raw("steps", self.steps);
        out = out.raw("messages", array(self.messages.iter().map(ToString::to_string)));
        out = out.raw("calls", array(self.calls.iter().map(call)));
        if !self.usage.is_empty() {
            out = out.raw("usage", Value::from_iter(self.usage.clone()));
        }
        let failures = failures.iter().map(|(_, failure)| error::object(failure.kind().as_str(), failure));
        out = out.raw("failures", array(failures));
        if let Err(Failure { kind, error, .. }) = outcome {
            out = out.raw("error", error::object(kind, error));
        }
        let document = out.finish();
        match RawJson::parse(document.clone()) {
            Ok(document) => mask.json(&document).to_string(),
            Err(_) => mask.text(&document), // it can't be: everything in it was written as JSON
        }
    }
}

fn call(called: &Called) -> String {
    let outcome = match () {
        () if called.refused => "refused",
        () if called.is_error() => "error",
        () => "ok",
    };
    let mut out = Object::default().raw("step", called.step).maybe("id", called.call.id());
    out = out.text("tool", &called.tool.address).text("server", &called.tool.server);
    if let Ok(arguments) = called.call.arguments() {
        out = out.raw("arguments", arguments.raw());
    }
    out = out.text("outcome", outcome);
    out = match &called.outcome {
        Ok(result) => out.raw("result", result.raw()),
        Err(failure) => out.raw("error", error::object(failure.kind().as_str(), failure)),
    };
    out.raw("milliseconds", called.took.as_millis()).finish()
}
