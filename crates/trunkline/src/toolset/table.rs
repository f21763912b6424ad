//! Which tool a name means: one table over the tools of this process and what each server listed last. A name
//! that was once given out stays with its tool.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::server::Server;
use crate::client::ToolProxy;
use crate::connection::{EventKind, Hub};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::name;
use crate::protocol::{Arguments, ToolDefinition};
use crate::schema::Checker;
use crate::tool::{SharedTool, Tool};

/// A tool of the set.
pub(super) struct Entry {
    pub(super) tool: SharedTool,
    /// The label of its server; none for a tool of this process.
    pub(super) server: Option<Box<str>>,
    /// Compiled at the first call; none where the schema can't be used.
    checker: OnceLock<Option<Checker>>,
    limits: Arc<Limits>,
}

impl Entry {
    pub(super) fn local(tool: SharedTool) -> Arc<Self> {
        Arc::new(Self { tool, server: None, checker: OnceLock::new(), limits: Arc::default() })
    }

    fn remote(server: &str, proxy: ToolProxy) -> Arc<Self> {
        let limits = proxy.limits().clone();
        Arc::new(Self { tool: SharedTool::new(proxy), server: Some(server.into()), checker: OnceLock::new(), limits })
    }

    pub(super) fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }

    pub(super) fn name(&self) -> &str {
        self.definition().name()
    }

    /// Whether the arguments fit the schema. One that can't be used checks nothing; `hub` is told so.
    pub(super) fn check(&self, arguments: &Arguments, hub: &Hub) -> Result<()> {
        let checker = self.checker.get_or_init(|| {
            let compiled = Checker::compile(&self.definition().input_schema(), &self.limits);
            compiled.map_err(|why| hub.emit(unchecked(self, &why))).ok()
        });
        let Some(checker) = checker else { return Ok(()) };
        checker.check(arguments).map_err(|error| {
            let message = format!("The arguments of tool \"{}\" don't fit: {}", self.name(), error.message());
            self.of_tool(error.with_message(message))
        })
    }

    /// An error with what is known of the tool.
    pub(super) fn of_tool(&self, error: Error) -> Error {
        let error = error.with_context("tool", self.name());
        match &self.server {
            Some(server) => error.with_context("server", &**server),
            None => error,
        }
    }
}

fn unchecked(entry: &Entry, why: &str) -> EventKind {
    let of = entry.server.as_deref().map(|server| format!(" of server \"{server}\"")).unwrap_or_default();
    EventKind::Warning(format!("the arguments of tool \"{}\"{of} aren't checked: {why}", entry.name()))
}

/// What a server listed last.
struct Section {
    server: Server,
    /// The list it was made from.
    basis: Arc<[ToolDefinition]>,
    entries: Vec<Arc<Entry>>,
    failure: Option<Error>,
}

/// Whose an exposed name is: a section's tool by its wire name, or a tool of this process.
type Owner = Option<(usize, Box<str>)>;

/// What is known of a name.
pub(super) enum Known {
    Current(Arc<Entry>),
    /// Its server has changed its list since.
    Stale(Server),
    Unknown,
}

#[derive(Default)]
pub(super) struct Table {
    sections: Vec<Section>,
    by_name: HashMap<Box<str>, (Option<usize>, Arc<Entry>)>,
    owners: HashMap<Box<str>, Owner>,
}

impl Table {
    pub(super) fn new(local: &[Arc<Entry>]) -> Self {
        let by_name = local.iter().map(|entry| (entry.name().into(), (None, entry.clone()))).collect();
        let owners = local.iter().map(|entry| (entry.name().into(), None)).collect();
        Self { sections: Vec::new(), by_name, owners }
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<Entry>> {
        self.by_name.get(name).map(|(_, entry)| entry.clone())
    }

    pub(super) fn look_up(&self, name: &str) -> Known {
        match self.by_name.get(name) {
            None => Known::Unknown,
            Some((None, entry)) => Known::Current(entry.clone()),
            Some((Some(at), entry)) => {
                let Section { server, basis, .. } = &self.sections[*at];
                match server.listed().is_some_and(|list| Arc::ptr_eq(&list, basis)) {
                    true => Known::Current(entry.clone()),
                    false => Known::Stale(server.clone()),
                }
            }
        }
    }

    /// Every name, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.by_name.keys().map(|name| name.to_string()).collect();
        names.sort_unstable();
        names
    }

    /// The tools of a server as it listed them last.
    pub(super) fn of(&self, server: &Server) -> Vec<Arc<Entry>> {
        self.place(server).map(|at| self.sections[at].entries.clone()).unwrap_or_default()
    }

    pub(super) fn failures(&self) -> Vec<(String, Error)> {
        let failed = |section: &Section| Some((section.server.label().to_owned(), section.failure.clone()?));
        self.sections.iter().filter_map(failed).collect()
    }

    pub(super) fn fail(&mut self, server: &Server, error: Error) {
        let at = self.place_or_new(server);
        self.sections[at].failure = Some(error);
    }

    /// Takes in what a server listed. Returns what is to be told of it.
    pub(super) fn store(&mut self, server: &Server, list: Arc<[ToolDefinition]>) -> Vec<String> {
        let at = self.place_or_new(server);
        let mut warnings = Vec::new();
        let entries: Vec<_> = list.iter().map(|tool| self.entry(at, server, tool, &mut warnings)).collect();
        for old in std::mem::take(&mut self.sections[at].entries) {
            self.by_name.remove(old.name());
        }
        for entry in &entries {
            self.by_name.insert(entry.name().into(), (Some(at), entry.clone()));
        }
        self.sections[at] = Section { server: server.clone(), basis: list, entries, failure: None };
        warnings
    }

    fn place(&self, server: &Server) -> Option<usize> {
        self.sections.iter().position(|section| section.server.is(server))
    }

    fn place_or_new(&mut self, server: &Server) -> usize {
        self.place(server).unwrap_or_else(|| {
            let (basis, entries) = (Arc::from([]), Vec::new());
            self.sections.push(Section { server: server.clone(), basis, entries, failure: None });
            self.sections.len() - 1
        })
    }

    /// The entry of a listed tool; the one there is, where nothing has changed.
    fn entry(&mut self, at: usize, server: &Server, tool: &ToolDefinition, warnings: &mut Vec<String>) -> Arc<Entry> {
        let proxy = server.proxy(tool.clone());
        let name = self.name_for(at, server, &proxy, warnings);
        let proxy = proxy.renamed(&name);
        match self.by_name.get(&*name) {
            Some((Some(place), known)) if *place == at && known.definition() == proxy.definition() => known.clone(),
            _ => Entry::remote(server.label(), proxy),
        }
    }

    /// The name for a tool: its own, if models take it and no other tool has it.
    fn name_for(&mut self, at: usize, server: &Server, tool: &ToolProxy, warnings: &mut Vec<String>) -> Box<str> {
        let (wanted, wire, label) = (tool.name(), tool.wire_name(), server.label());
        let owner = Some((at, wire.into()));
        let taken = |name: &str| self.owners.get(name).is_some_and(|known| *known != owner);
        let legal = name::legal(wanted, label, wire);
        let (name, why) = match taken(&legal) {
            true => (name::told_apart(wanted, label, wire, taken), "the name is taken"),
            false => (legal, "models don't take its name"),
        };
        if self.owners.insert(name.as_str().into(), owner).is_none() && name != wanted {
            warnings.push(format!("tool \"{wanted}\" of server \"{label}\" is \"{name}\" here: {why}"));
        }
        name.into()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
