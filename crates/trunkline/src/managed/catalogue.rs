//! The tools a server listed last, and what their results have to look like, kept until it says that they changed.

use std::sync::{Arc, Mutex, PoisonError};

use super::outputs::Outputs;
use crate::connection::{Hub, Listed};
use crate::protocol::ToolDefinition;

/// What was listed last.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    generation: u64,
    tools: Arc<[ToolDefinition]>,
    outputs: Arc<Outputs>,
}

impl Catalogue {
    /// The generation that a list asked for now will belong to.
    pub(super) fn asking(&self, hub: &Hub) -> u64 {
        hub.generation(Listed::Tools)
    }

    pub(super) fn store(&self, generation: u64, tools: &[ToolDefinition], hub: &Hub) {
        let kept = Kept { generation, tools: tools.into(), outputs: Arc::new(Outputs::of(tools)) };
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        hub.advance();
    }

    /// The tools as listed last; nothing where they were never listed or have changed since.
    pub(crate) fn tools(&self, hub: &Hub) -> Option<Arc<[ToolDefinition]>> {
        self.current(hub, |kept| kept.tools.clone())
    }

    /// The output schemas of these.
    pub(super) fn outputs(&self, hub: &Hub) -> Option<Arc<Outputs>> {
        self.current(hub, |kept| kept.outputs.clone())
    }

    fn current<T>(&self, hub: &Hub, part: impl FnOnce(&Kept) -> T) -> Option<T> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|kept| kept.generation == hub.generation(Listed::Tools)).map(part)
    }

    pub(crate) fn clear(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
