//! The loop: the model is asked, the calls it wants are made and told it, until it wants none.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use serde_json::json;
use trunkline::format::{Answer, ToolCall};
use trunkline::{Error, ErrorKind, RawJson, ToolResult};

use super::consent::Consent;
use super::endpoint::{Endpoint, Reply};
use super::mask::Mask;
use super::tools::{Known, Tools};
use super::transcript::Transcript;
use super::view::View;
use crate::exit::Outcome;

/// How many calls of one message run at once.
const AT_ONCE: usize = 8;

/// A call and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub(crate) step: u32,
    pub(crate) call: ToolCall,
    pub(crate) tool: Known,
    pub(crate) outcome: trunkline::Result<ToolResult>,
    /// Nothing was sent, since it was not allowed.
    pub(crate) refused: bool,
    pub(crate) took: Duration,
}

impl Called {
    pub(crate) fn is_error(&self) -> bool {
        self.outcome.as_ref().map_or(true, ToolResult::is_error)
    }
}

/// A conversation with a model that has tools.
pub(crate) struct Talk<'a> {
    pub(crate) endpoint: Endpoint,
    pub(crate) tools: Tools,
    pub(crate) consent: Consent,
    pub(crate) mask: Mask,
    pub(crate) view: View<'a>,
    pub(crate) transcript: Transcript,
    pub(crate) max_steps: u32,
}

impl Talk<'_> {
    /// Talks until the model has answered; the answer.
    pub(crate) async fn run(&mut self) -> Outcome<String> {
        for step in 1..=self.max_steps {
            let reply = self.ask(step).await?;
            let calls = self.tools.definitions.calls(&reply.message);
            if calls.is_empty() {
                return self.finished(&reply);
            }
            if step == self.max_steps {
                break; // nobody would be told what comes of them
            }
            let called = self.make(step, calls).await;
            self.tell(called);
        }
        Err(no_answer(self.max_steps).into())
    }

    async fn ask(&mut self, step: u32) -> Outcome<Reply> {
        if step > 1 {
            self.tools.renew(&self.consent.policy).await;
        }
        let definitions = &self.tools.definitions;
        let tools = (!definitions.is_empty()).then(|| definitions.tools());
        self.view.waits_for("waiting for the model");
        let reply = self.endpoint.ask(step, self.transcript.messages(), tools, &mut self.view).await;
        self.view.said()?;
        let reply = reply?;
        self.transcript.heard(step, &reply);
        Ok(reply)
    }

    /// Makes the calls of one message; what came of them, in their order.
    async fn make(&mut self, step: u32, calls: Vec<ToolCall>) -> Vec<Called> {
        self.view.waits_for("calling");
        let this = &*self;
        let all = calls.into_iter().map(|call| this.call(step, call));
        let called = stream::iter(all.collect::<Vec<_>>()).buffered(AT_ONCE).collect().await;
        self.view.rests();
        called
    }

    async fn call(&self, step: u32, call: ToolCall) -> Called {
        let tool = self.tools.known(call.name());
        self.view.calls(&tool.address, &call);
        let begun = Instant::now();
        let (outcome, refused) = match self.attempt(&tool, &call).await {
            Ok(outcome) => (outcome, false),
            Err(reason) => (Ok(ToolResult::error(reason)), true),
        };
        let outcome = outcome.map(|result| ToolResult::from_raw(self.mask.json(&result.raw())));
        let called = Called { step, call, tool, outcome, refused, took: begun.elapsed() };
        self.view.called(&called);
        called
    }

    /// Makes a call that can be made and may be; else the reason why it may not.
    async fn attempt(&self, tool: &Known, call: &ToolCall) -> Result<trunkline::Result<ToolResult>, String> {
        let set = &self.tools.set;
        let arguments = match call.arguments() {
            Ok(arguments) => arguments.clone(),
            Err(error) => return Ok(Err(error)),
        };
        if let Err(error) = set.check(call.name(), arguments.clone()).await {
            return Ok(Err(error));
        }
        self.consent.to(tool, || self.view.question(&tool.address, call)).await?;
        Ok(set.call_result(call.name(), arguments, &self.view.context(&tool.address)).await)
    }

    fn tell(&mut self, called: Vec<Called>) {
        let answers = called.iter().map(|called| Answer::new(called.call.clone(), called.outcome.clone()));
        let answers = self.tools.definitions.answers(answers);
        let messages = answers.messages().iter().map(|message| self.mask.json(message)).collect();
        self.transcript.told(messages, called);
    }

    /// The model wants no more calls.
    fn finished(&self, reply: &Reply) -> Outcome<String> {
        match reply.finish.as_deref() {
            Some("length") => {
                Err(Error::new(ErrorKind::Limit, "The answer is cut off: the model reached its limit of length")
                    .with_hint("Ask for a shorter answer, or of a model that can say more")
                    .into())
            }
            Some("content_filter") => {
                Err(Error::new(ErrorKind::Protocol, "The endpoint withholds the answer (content_filter)").into())
            }
            _ => Ok(reply.text()),
        }
    }
}

fn no_answer(steps: u32) -> Error {
    let message = format!("The model still wanted to call tools after {steps} steps");
    Error::new(ErrorKind::Limit, message).with_hint("--max-steps allows more")
}

/// The messages that begin a conversation.
pub(crate) fn opening(system: Option<&str>, question: &str) -> Vec<RawJson> {
    let system = system.map(|text| json!({"role": "system", "content": text}));
    let user = json!({"role": "user", "content": question});
    system.into_iter().chain([user]).map(RawJson::from).collect()
}
