//! What a server spoke last, so that the next connect begins with that.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::protocol::Protocol;
use crate::session::{Recipe, Way};

/// The eras of the protocol (see [`Protocol`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// What a server turned out to speak.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spoken(Arc<Mutex<Known>>);

#[derive(Debug, Default, Clone, Copy)]
struct Known {
    era: Option<Era>,
    /// Whether a server of a guessed kind speaks HTTP with SSE.
    sse: bool,
}

impl Spoken {
    fn known(&self) -> Known {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, recipe: &Recipe, era: Era) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Known { era: Some(era), sse: is_sse(recipe) };
    }

    pub(super) fn was_sse(&self) -> bool {
        self.known().sse
    }

    /// How to begin, and whether that is what worked before instead of what was asked for.
    pub(super) fn way(&self, protocol: Protocol, recipe: &Recipe, patience: Duration) -> (Way, bool) {
        match protocol {
            _ if is_sse(recipe) => (Way::Handshake(protocol.handshake()), false),
            Protocol::Modern => (Way::Modern, false),
            Protocol::Auto => match self.known().era {
                Some(Era::Legacy) => (Way::Handshake(protocol.handshake()), true),
                _ => (Way::Probe(patience), false),
            },
            Protocol::Legacy | Protocol::Revision(_) => (Way::Handshake(protocol.handshake()), false),
        }
    }
}

/// Whether this is the transport of 2024-11-05, which has only the handshake.
fn is_sse(_recipe: &Recipe) -> bool {
    #[cfg(feature = "sse")]
    return matches!(_recipe, Recipe::Sse(_));
    #[cfg(not(feature = "sse"))]
    false
}
