//! The servers of a set, one by one, whichever way they were given.

use std::sync::Arc;

use super::Slot;
use crate::client::{Client, ToolProxy};
use crate::connection::CallContext;
use crate::error::Result;
use crate::multi::{MultiServer, Place};
use crate::protocol::ToolDefinition;

/// One server of the set.
#[derive(Clone)]
pub(super) struct Server {
    place: Place,
    client: Client,
    /// Which of the given sources it belongs to.
    source: usize,
    naming: Naming,
}

/// Who names its tools.
#[derive(Clone, Copy)]
enum Naming {
    Client,
    Multi,
}

/// All the servers, in the order in which they were given. The clients given by themselves are members of `own`.
pub(super) fn servers(own: &MultiServer, slots: &[Slot]) -> Vec<Server> {
    let mut own = own.places().into_iter();
    let mut servers = Vec::new();
    for (source, slot) in slots.iter().enumerate() {
        match slot {
            Slot::Client(client) => servers.extend(own.next().map(|place| Server {
                place,
                client: client.clone(),
                source,
                naming: Naming::Client,
            })),
            Slot::Multi(multi) => servers.extend(multi.places().into_iter().map(|place| {
                let client = Client::sharing(place.managed().clone());
                Server { place, client, source, naming: Naming::Multi }
            })),
        }
    }
    servers
}

impl Server {
    pub(super) fn is(&self, other: &Self) -> bool {
        self.source == other.source && Arc::ptr_eq(self.place.managed(), other.place.managed())
    }

    pub(super) fn label(&self) -> &str {
        self.place.label()
    }

    pub(super) fn is_required(&self) -> bool {
        self.place.managed().setup().required
    }

    /// Asks it for its tools.
    pub(super) async fn tools(&self) -> Result<Arc<[ToolDefinition]>> {
        self.place.tools(&CallContext::new()).await
    }

    /// Its tools as listed last, by whoever; nothing where they have changed since.
    pub(super) fn listed(&self) -> Option<Arc<[ToolDefinition]>> {
        let managed = self.place.managed();
        managed.catalogue().tools(managed.hub())
    }

    /// The name that the source gives a tool.
    pub(super) fn name_of(&self, tool: &ToolDefinition) -> String {
        match self.naming {
            Naming::Client => self.client.exposed(tool),
            Naming::Multi => self.place.exposed(tool.name()),
        }
    }

    pub(super) fn proxy(&self, tool: ToolDefinition) -> ToolProxy {
        let name = self.name_of(&tool);
        ToolProxy::new(self.client.clone(), tool).renamed(&name)
    }
}
