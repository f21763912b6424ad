//! The tools a server listed last, kept until it says that they changed.

use std::sync::{Arc, Mutex, PoisonError};

use crate::connection::{Hub, Listed};
use crate::protocol::ToolDefinition;

/// What was listed, and under which generation.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    kept: Mutex<Option<(u64, Arc<[ToolDefinition]>)>>,
}

impl Catalogue {
    /// The generation that a list asked for now will belong to.
    pub(super) fn asking(&self, hub: &Hub) -> u64 {
        hub.generation(Listed::Tools)
    }

    pub(super) fn store(&self, generation: u64, tools: &[ToolDefinition], hub: &Hub) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((generation, tools.into()));
        hub.advance();
    }

    /// The tools as listed last; nothing where they were never listed or have changed since.
    pub(crate) fn tools(&self, hub: &Hub) -> Option<Arc<[ToolDefinition]>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref()
            .filter(|(generation, _)| *generation == hub.generation(Listed::Tools))
            .map(|(_, tools)| tools.clone())
    }

    pub(crate) fn clear(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
