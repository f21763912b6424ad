//! `trunkline ask`, with a scripted model behind a real endpoint and real servers.

mod answers;
mod calls;
mod failures;
mod person;

use serde_json::Value;
use trunkline_tests::model::Model;

use crate::harness::{Bench, Ran};

/// A home, a model and the program between them.
pub(crate) struct Asked {
    pub(crate) bench: Bench,
    pub(crate) model: Model,
}

impl Asked {
    pub(crate) fn new(turns: impl IntoIterator<Item = trunkline_tests::model::Turn>) -> Self {
        Self { bench: Bench::new(), model: Model::playing(turns) }
    }

    /// The command line that asks the model.
    pub(crate) fn args<'a>(&self, base: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["ask", "--model", "scripted", "--api-base", base], more].concat()
    }

    pub(crate) fn run(&self, more: &[&str]) -> Ran {
        self.bench.run(&self.args(&self.model.base(), more))
    }

    pub(crate) fn command(&self, more: &[&str]) -> std::process::Command {
        self.bench.command(&self.args(&self.model.base(), more))
    }

    /// The standard error with the times that were measured as TIME.
    pub(crate) fn timeless(ran: &Ran) -> String {
        let mut out = String::new();
        for line in ran.stderr.lines() {
            match line.rsplit_once(" (") {
                Some((start, end)) if line.starts_with("<- ") && end.ends_with("s)") => {
                    out.push_str(&format!("{start} (TIME)\n"));
                }
                _ => out.push_str(&format!("{line}\n")),
            }
        }
        out
    }
}

/// The contents of the messages of the last request.
pub(crate) fn told(model: &Model) -> Vec<Value> {
    let requests = model.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].clone()).collect()
}
