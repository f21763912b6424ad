//! From an exposed name to its server and wire name: a table built from what the members listed. A name that
//! isn't in it makes the members list once more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::MultiServer;
use super::gather::gather;
use super::member::Seat;
use crate::connection::{CallContext, Listed};
use crate::error::Result;
use crate::suggest;

/// Where a name leads.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) seat: Arc<Seat>,
    pub(super) wire: String,
}

type Table = Arc<HashMap<String, Route>>;

/// What a table was built from, member by member: it is rebuilt when this changes.
type Basis = Vec<(u64, u64)>;

/// The table in use.
#[derive(Default)]
pub(super) struct Routes(Mutex<Option<(Basis, Table)>>);

impl MultiServer {
    /// Finds the server of a tool. An unknown name is looked for once in fresh lists.
    pub(super) async fn route(&self, name: &str, cx: &CallContext) -> Result<Route> {
        if let Some(route) = self.table().get(name) {
            return Ok(route.clone());
        }
        let seats = self.seats();
        let settle = Some(self.0.limits.settle);
        let asking = seats.iter().map(|seat| self.tools_of(seat.clone(), cx));
        let outcomes = gather(asking, settle, |_, _| self.table().contains_key(name)).await;
        let table = self.table();
        if let Some(route) = table.get(name) {
            return Ok(route.clone());
        }
        let mut names: Vec<_> = table.keys().map(String::as_str).collect();
        names.sort_unstable();
        let error = suggest::unknown("tool", name, "", names);
        let missing = seats.iter().zip(&outcomes).filter(|(_, outcome)| !matches!(outcome, Some(Ok(_))));
        let missing: Vec<_> = missing.map(|(seat, _)| seat.label.as_str()).collect();
        if missing.is_empty() { Err(error) } else { Err(error.with_context("not listed", missing.join(", "))) }
    }

    fn table(&self) -> Table {
        let seats = self.seats();
        let basis: Basis =
            seats.iter().map(|seat| (seat.managed.catalogue().version(), seat.generation(Listed::Tools))).collect();
        let mut kept = self.0.routes.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((known, table)) if *known == basis => table.clone(),
            _ => {
                let table = Arc::new(self.build(&seats));
                *kept = Some((basis, table.clone()));
                table
            }
        }
    }

    fn build(&self, seats: &[Arc<Seat>]) -> HashMap<String, Route> {
        let namer = self.namer();
        let mut table = HashMap::new();
        for seat in seats {
            let tools = seat.managed.catalogue().tools(seat.managed.hub());
            for tool in tools.iter().flat_map(|tools| tools.iter()) {
                let exposed = namer.exposed(&seat.label, tool.name());
                table.entry(exposed).or_insert_with(|| Route { seat: seat.clone(), wire: tool.name().to_owned() });
            }
        }
        table
    }
}
