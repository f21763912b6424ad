//! From an exposed name to its server and wire name: a table built from what the members listed. A name that
//! isn't in it makes those members list once more whose it can be.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::MultiServer;
use super::flight::Answer;
use super::gather::{gather, gather_more};
use super::member::Seat;
use crate::connection::CallContext;
use crate::error::{Error, Result};
use crate::protocol::ToolDefinition;
use crate::suggest;

/// Where a name leads.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) seat: Arc<Seat>,
    pub(super) wire: Arc<str>,
}

type Table = Arc<HashMap<String, Route>>;

/// The table in use, and the epoch of what it was built from.
#[derive(Default)]
pub(super) struct Routes(Mutex<Option<(u64, Table)>>);

impl MultiServer {
    /// Finds the server of a tool. For a name that isn't known, those members list once more whose it can be, as
    /// its beginning tells; the others neither start for it nor hold it up.
    pub(super) async fn route(&self, name: &str, cx: &CallContext) -> Result<Route> {
        if let Some(route) = self.table().get(name) {
            return Ok(route.clone());
        }
        let (namer, bounds) = (self.namer(), cx.bounds());
        let (likely, others): (Vec<_>, Vec<_>) =
            self.seats().into_iter().partition(|seat| namer.may_be_of(&seat.label, name));
        let find = |at: usize, outcome: &Answer<ToolDefinition>| {
            let mut tools = outcome.as_ref().ok()?.iter().map(ToolDefinition::name);
            tools.find(|tool| namer.exposed(&likely[at].label, tool) == name).map(Arc::from)
        };
        let asking = likely.iter().map(|seat| self.0.starter.tools(seat, &bounds));
        let outcomes = gather(asking, None, |at, outcome| find(at, outcome).is_some()).await;
        let mut failure: Option<(&Seat, Error)> = None;
        for (at, outcome) in outcomes.into_iter().enumerate() {
            let Some(outcome) = outcome else { continue };
            if let Some(wire) = find(at, &outcome) {
                return Ok(Route { seat: likely[at].clone(), wire });
            }
            let longer = failure.as_ref().is_none_or(|(seat, _)| likely[at].label.len() > seat.label.len());
            if let Some(error) = outcome.err().filter(|_| longer) {
                failure = Some((&likely[at], error)); // of two whose it can be, the nearer one
            }
        }
        match failure {
            Some((_, error)) => Err(error.with_may_have_run(false)), // a list was asked for, nothing else
            None => Err(self.unknown_tool(name, &others, &bounds).await),
        }
    }

    /// What to say of a name that is nobody's. Members that never listed do so for it, since the name that was
    /// meant may be among theirs.
    async fn unknown_tool(&self, name: &str, others: &[Arc<Seat>], cx: &CallContext) -> Error {
        let settle = self.0.limits.settle;
        let unlisted: Vec<_> =
            others.iter().filter(|seat| seat.known_tools().is_none() && !seat.tools.is_overdue(settle)).collect();
        let known = unlisted.len() < others.len();
        let asking = unlisted.iter().map(|seat| self.0.starter.tools(seat, cx));
        gather_more(asking, Some(settle), known, |_, _| false).await;
        let table = self.table();
        let mut names: Vec<_> = table.keys().map(String::as_str).collect();
        names.sort_unstable();
        let error = suggest::unknown("tool", name, "", names);
        let missing: Vec<_> =
            others.iter().filter(|seat| seat.known_tools().is_none()).map(|seat| seat.label.as_str()).collect();
        if missing.is_empty() { error } else { error.with_context("not listed", missing.join(", ")) }
    }

    fn table(&self) -> Table {
        let epoch = self.0.hub.epoch(); // read before the lists: one that changes meanwhile makes the table old
        let mut kept = self.0.routes.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((known, table)) if *known == epoch => table.clone(),
            _ => {
                let table = Arc::new(self.build());
                *kept = Some((epoch, table.clone()));
                table
            }
        }
    }

    fn build(&self) -> HashMap<String, Route> {
        let namer = self.namer();
        let mut table = HashMap::new();
        for seat in self.seats() {
            for tool in seat.known_tools().iter().flat_map(|tools| tools.iter()) {
                let route = || Route { seat: seat.clone(), wire: tool.name().into() };
                table.entry(namer.exposed(&seat.label, tool.name())).or_insert_with(route);
            }
        }
        table
    }
}
