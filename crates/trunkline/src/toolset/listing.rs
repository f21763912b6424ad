//! Asks the servers for their tools: all at once for a list, one or all for a name that isn't known.

use std::sync::Arc;

use super::ToolSet;
use super::server::Server;
use super::table::{Entry, Known};
use crate::connection::EventKind;
use crate::error::{Error, Result};
use crate::multi::gather;
use crate::protocol::ToolDefinition;
use crate::suggest;

type Listed = Arc<[ToolDefinition]>;

impl ToolSet {
    /// The tools of this process, then those of the servers in their order. A server that is dead is left out and
    /// told; one that is slow keeps the tools it listed before.
    pub(super) async fn list(&self) -> Result<Vec<Arc<Entry>>> {
        let servers = self.servers();
        let outcomes = gather(servers.iter().map(Server::tools), Some(self.0.settle), |_, _| false).await;
        let mut entries = self.0.local.clone();
        let mut alive = servers.is_empty() || !entries.is_empty();
        let (mut lost, mut required) = (None, None);
        for (server, outcome) in servers.iter().zip(outcomes) {
            match outcome {
                Some(Ok(tools)) => {
                    alive = true;
                    self.store(server, tools);
                }
                Some(Err(error)) => {
                    required = required.or_else(|| server.is_required().then(|| error.clone()));
                    self.fail(server, error.clone());
                    lost = lost.or(Some(error));
                    continue;
                }
                None => {
                    alive = true;
                    self.warn(format!("server \"{}\" takes long to answer", server.label()));
                }
            }
            entries.extend(self.table().of(server));
        }
        match required.or(lost.filter(|_| !alive)) {
            Some(error) => Err(error),
            None => Ok(entries),
        }
    }

    /// Finds a tool. A name that isn't known is looked for once in fresh lists.
    pub(super) async fn find(&self, name: &str) -> Result<Arc<Entry>> {
        let known = self.table().look_up(name);
        match known {
            Known::Current(entry) => return Ok(entry),
            Known::Stale(server) => {
                let tools = match server.listed() {
                    Some(tools) => tools,
                    None => server.tools().await?,
                };
                self.store(&server, tools);
            }
            Known::Unknown => {}
        }
        let found = self.table().get(name);
        match found {
            Some(entry) => Ok(entry),
            None => self.search(name).await,
        }
    }

    async fn search(&self, name: &str) -> Result<Arc<Entry>> {
        let servers = self.servers();
        let enough = |at: usize, outcome: &Result<Listed>| {
            outcome.as_ref().is_ok_and(|tools| tools.iter().any(|tool| servers[at].name_of(tool) == name))
        };
        let outcomes = gather(servers.iter().map(Server::tools), Some(self.0.settle), enough).await;
        let mut missing = Vec::new();
        for (server, outcome) in servers.iter().zip(outcomes) {
            match outcome {
                Some(Ok(tools)) => self.store(server, tools),
                Some(Err(error)) => {
                    self.fail(server, error);
                    missing.push(server.label());
                }
                None => missing.push(server.label()),
            }
        }
        let (found, names) = {
            let table = self.table();
            (table.get(name), table.names())
        };
        found.ok_or_else(|| {
            let error = suggest::unknown("tool", name, "", names.iter().map(String::as_str));
            if missing.is_empty() { error } else { error.with_context("not listed", missing.join(", ")) }
        })
    }

    fn store(&self, server: &Server, tools: Listed) {
        let warnings = self.table().store(server, tools);
        warnings.into_iter().for_each(|warning| self.warn(warning));
    }

    fn fail(&self, server: &Server, error: Error) {
        self.warn(format!("server \"{}\" is left out: {error}", server.label()));
        self.table().fail(server, error);
    }

    fn warn(&self, warning: String) {
        self.hub().emit(EventKind::Warning(warning));
    }
}
