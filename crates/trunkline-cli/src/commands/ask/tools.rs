//! The tools of the chosen servers: what the model is shown, and whose each is.

use std::collections::HashMap;

use futures_util::FutureExt as _;
use serde_json::Value;
use trunkline::format::{Definitions, Dialect};
use trunkline::{
    CallContext, Connection as _, Error, EventKind, Events, Limits, MultiServer, Outcome as Listed, ToolDefinition,
    ToolSet,
};

use super::policy::{Policy, Rule};
use crate::exit::{Exit, Failure, Outcome};
use crate::render::{Screen, escape, list};
use crate::servers::Servers;

/// A tool as a person knows it.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) server: String,
    /// Its name there.
    pub(crate) name: String,
    /// `SERVER.NAME`.
    pub(crate) address: String,
    /// Its server says that it changes nothing.
    pub(crate) only_reads: bool,
}

/// The tools of the chosen servers.
pub(crate) struct Tools {
    multi: MultiServer,
    events: Events,
    dialect: Dialect,
    pub(crate) set: ToolSet,
    /// By the name that the set has for it.
    known: HashMap<String, Known>,
    /// The servers that gave no tools when they were asked last, and why.
    pub(crate) failures: Vec<(String, Error)>,
    /// Those that haven't answered yet.
    pending: Vec<String>,
    pub(crate) definitions: Definitions,
}

impl Tools {
    /// Asks these servers, or all, for their tools. What the policy denies is left out.
    pub(crate) async fn of(servers: &Servers, labels: &[String], dialect: Dialect, policy: &Policy) -> Outcome<Self> {
        let multi = servers.chosen(labels, Limits::default())?;
        let set = ToolSet::builder().mcp(&multi).build()?;
        let (events, definitions) = (multi.events(), Definitions::new(dialect, []));
        let (known, failures, pending) = (HashMap::new(), Vec::new(), Vec::new());
        let mut tools = Self { multi, events, dialect, set, known, failures, pending, definitions };
        tools.list(policy).await;
        Ok(tools)
    }

    /// Lists again where a server has other tools than before, or has become ready.
    pub(crate) async fn renew(&mut self, policy: &Policy) {
        let mut is_new = false;
        while let Some(Some(event)) = self.events.next().now_or_never() {
            is_new |= matches!(event.kind, EventKind::ToolsChanged | EventKind::Ready | EventKind::Lagged(_));
        }
        if is_new {
            self.list(policy).await;
        }
    }

    /// What the model is shown from now on.
    async fn list(&mut self, policy: &Policy) {
        let mut shown = Vec::new();
        self.failures.clear();
        self.pending.clear();
        for listing in self.multi.tools_by_server(&CallContext::new()).await {
            match listing.outcome {
                Listed::Ready(tools) => {
                    shown.extend(tools.iter().filter_map(|tool| self.show(&listing.server, tool, policy)))
                }
                Listed::Failed(error) => self.failures.push((listing.server, error)),
                Listed::Pending => self.pending.push(listing.server),
            }
        }
        self.definitions = Definitions::new(self.dialect, &shown);
    }

    /// The tool under the name that the set has for it, unless it is denied.
    fn show(&mut self, server: &str, tool: &ToolDefinition, policy: &Policy) -> Option<ToolDefinition> {
        let (name, known) = (self.multi.exposed_name(server, tool.name()), known(server, tool));
        let is_shown = policy.rule(&known) != Rule::Deny;
        self.known.insert(name.clone(), known);
        is_shown.then(|| tool.clone().with("name", Value::from(name)))
    }

    /// Whose tool a name means; a name alone where that isn't known.
    pub(crate) fn known(&self, name: &str) -> Known {
        let unknown =
            || Known { server: String::new(), name: name.to_owned(), address: name.to_owned(), only_reads: false };
        self.known.get(name).cloned().unwrap_or_else(unknown)
    }

    /// Tells of servers that gave no tools, and of tools that the model isn't shown as they are.
    pub(crate) fn tell(&self, screen: &Screen) {
        self.failures.iter().for_each(|(_, failure)| screen.report(&list::dead(failure)));
        self.pending.iter().for_each(|server| screen.report(&list::starting(server)));
        for warning in self.definitions.warnings() {
            screen.note(&format!("note: {}", escape::line(warning)));
        }
        if screen.verbose > 0 {
            let lossy = self.definitions.report().iter().filter(|report| report.is_lossy());
            lossy.for_each(|report| screen.note(&escape::text(&format!("shown otherwise: {report}"))));
        }
    }

    /// An error where a server is missing that had to be there, or all are.
    pub(crate) fn ensure(&self, servers: &Servers, strict: bool) -> Outcome {
        let is_required = |label: &String| servers.config.entry(label).is_some_and(|entry| entry.required());
        let mut missing = self.failures.iter().map(|(server, _)| server).chain(&self.pending);
        if missing.any(|server| strict || is_required(server)) {
            return Err(Failure::told(Exit::ServerMissing));
        }
        match self.failures.first() {
            Some((_, failure)) if self.failures.len() == self.multi.members().len() => {
                Err(Failure::told(Exit::of_error(failure)))
            }
            _ => Ok(()),
        }
    }
}

fn known(server: &str, tool: &ToolDefinition) -> Known {
    let hint = tool.annotations().and_then(|hints| hints.get("readOnlyHint"));
    Known {
        server: server.to_owned(),
        name: tool.name().to_owned(),
        address: format!("{server}.{}", tool.name()),
        only_reads: hint.is_some_and(|hint| hint.as_bytes() == b"true"),
    }
}
