//! Whether a list of tools is still what the server offers.

use std::sync::{Arc, Mutex, PoisonError};

use crate::connection::{Connection, EventKind, Events, Hub, Listed};

/// Counts what makes a list stale: word of a change, a new connection.
pub(crate) enum Watch {
    /// Of a session, whose reader counts before anybody sees what came after.
    Hub(Arc<Hub>),
    /// Of any connection, by its events.
    Events(Mutex<(Events, u64)>),
}

impl Watch {
    pub(super) fn of(connection: &impl Connection) -> Self {
        Self::Events(Mutex::new((connection.events(), 0)))
    }

    /// What is listed under one number is stale under another.
    pub(super) fn generation(&self) -> u64 {
        match self {
            Self::Hub(hub) => hub.generation(Listed::Tools),
            Self::Events(counted) => {
                let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
                let (events, count) = &mut *counted;
                while let Some(event) = events.try_next() {
                    *count += u64::from(matches!(
                        event.kind,
                        EventKind::ToolsChanged | EventKind::Ready | EventKind::Lagged(_)
                    ));
                }
                *count
            }
        }
    }

    pub(super) fn warn(&self, text: String) {
        if let Self::Hub(hub) = self {
            hub.emit(EventKind::Warning(text));
        }
    }
}
