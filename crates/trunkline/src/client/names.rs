//! Between the names a client shows and the names on the wire: a table, never a split.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::name::Namer;
use crate::protocol::ToolDefinition;

/// The names of one client. Not namespaced, they are the wire's.
pub(super) struct Names {
    label: String,
    namer: Option<Namer>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    tools: Option<Arc<[ToolDefinition]>>,
    wire: HashMap<String, String>,
}

impl Names {
    pub(super) fn new(label: &str, namespaced: bool) -> Self {
        let namer = namespaced.then(|| Namer::new([label]));
        Self { label: label.to_owned(), namer, table: Mutex::default() }
    }

    pub(super) fn namespaced(&self) -> bool {
        self.namer.is_some()
    }

    /// The name shown for a tool.
    pub(super) fn exposed(&self, tool: &str) -> String {
        self.namer.as_ref().map_or_else(|| tool.to_owned(), |namer| namer.exposed(&self.label, tool))
    }

    /// The wire name behind an exposed name, or a name that is exactly one on the wire.
    pub(super) fn wire(&self, name: &str, tools: &Arc<[ToolDefinition]>) -> Option<String> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if !table.tools.as_ref().is_some_and(|known| Arc::ptr_eq(known, tools)) {
            table.wire = tools.iter().map(|tool| (self.exposed(tool.name()), tool.name().to_owned())).collect();
            table.tools = Some(tools.clone());
        }
        let exact = || tools.iter().find(|tool| tool.name() == name).map(|tool| tool.name().to_owned());
        table.wire.get(name).cloned().or_else(exact)
    }

    /// Every exposed name, as listed last.
    pub(super) fn all(&self) -> Vec<String> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<_> = table.wire.keys().cloned().collect();
        names.sort();
        names
    }
}
