//! The tools of the chosen servers: what the model is shown, and whose each is.

use std::collections::HashMap;

use futures_util::FutureExt as _;
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
    pub(crate) set: ToolSet,
    /// By the name that the set has for it.
    known: HashMap<String, Known>,
    events: Events,
    pub(crate) definitions: Definitions,
}

impl Tools {
    /// Asks the servers for their tools, tells of those that have none, and leaves out what the policy denies.
    pub(crate) async fn of(
        servers: &Servers,
        labels: &[String],
        policy: &Policy,
        strict: bool,
        screen: &Screen,
    ) -> Outcome<Self> {
        let multi = servers.chosen(labels, Limits::default())?;
        let set = ToolSet::builder().mcp(&multi).build()?;
        let (events, definitions) = (multi.events(), Definitions::new(Dialect::OpenAiChat, []));
        let mut tools = Self { multi, set, known: HashMap::new(), events, definitions };
        if labels.is_empty() {
            servers.config.problems().iter().for_each(|problem| screen.report(&list::dead(&problem.to_error())));
        }
        let (mut missing, mut lost) = (Vec::new(), None);
        for listing in tools.multi.tools_by_server(&CallContext::new()).await {
            match listing.outcome {
                Listed::Ready(_) => continue,
                Listed::Pending => screen.report(&list::starting(&listing.server)),
                Listed::Failed(error) => {
                    screen.report(&list::dead(&error));
                    lost.get_or_insert(error);
                }
            }
            missing.push(listing.server);
        }
        tools.refuse_if_missing(servers, &missing, lost, strict)?;
        tools.list(policy).await;
        tools.tell(screen);
        Ok(tools)
    }

    /// Tells what the model isn't shown as the servers have it.
    fn tell(&self, screen: &Screen) {
        for warning in self.definitions.warnings() {
            screen.note(&format!("note: {}", escape::line(warning)));
        }
        if screen.verbose > 0 {
            let lossy = self.definitions.report().iter().filter(|report| report.is_lossy());
            lossy.for_each(|report| screen.note(&escape::text(&format!("shown otherwise: {report}"))));
        }
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
        let mut shown: Vec<ToolDefinition> = self.set.definitions().await.unwrap_or_default();
        for listing in self.multi.tools_by_server(&CallContext::new()).await {
            let Listed::Ready(tools) = listing.outcome else { continue };
            for tool in tools {
                let exposed = self.multi.exposed_name(&listing.server, tool.name());
                self.known.insert(exposed, known(&listing.server, &tool));
            }
        }
        shown.retain(|tool| policy.rule(&self.known(tool.name())) != Rule::Deny);
        self.definitions = Definitions::new(Dialect::OpenAiChat, &shown);
    }

    /// Whose tool a name means; a name alone where that isn't known.
    pub(crate) fn known(&self, name: &str) -> Known {
        self.known.get(name).cloned().unwrap_or_else(|| Known {
            server: self.set.server(name).unwrap_or_default(),
            name: name.to_owned(),
            address: name.to_owned(),
            only_reads: false,
        })
    }

    fn refuse_if_missing(&self, servers: &Servers, missing: &[String], lost: Option<Error>, strict: bool) -> Outcome {
        let is_required = |label: &String| servers.config.entry(label).is_some_and(|entry| entry.required());
        if !missing.is_empty() && (strict || missing.iter().any(is_required)) {
            return Err(Failure::told(Exit::ServerMissing));
        }
        match lost {
            Some(error) if missing.len() == self.multi.members().len() => Err(Failure::told(Exit::of(error.kind()))),
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
