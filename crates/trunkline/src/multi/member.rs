//! One member: its label here, its connection, and what it listed last.

use std::sync::{Arc, Mutex, PoisonError};

use crate::connection::Listed;
use crate::managed::{Managed, State};
use crate::protocol::{Prompt, Resource, ResourceTemplate};

/// What can be added to a [`MultiServer`](super::MultiServer): made from a [`Client`](crate::Client).
#[derive(Debug, Clone)]
pub struct Member(pub(crate) Arc<Managed>);

/// A member and where it stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MemberStatus {
    /// Its label among the members.
    pub label: String,
    /// Where its connection stands.
    pub state: State,
    /// How many tools it listed last; nothing before the first list and after a change.
    pub tools: Option<usize>,
    /// Whether the others are no use without it.
    pub required: bool,
}

/// A member in its place.
pub(super) struct Seat {
    pub(super) label: String,
    pub(super) managed: Arc<Managed>,
    pub(super) resources: Kept<Resource>,
    pub(super) templates: Kept<ResourceTemplate>,
    pub(super) prompts: Kept<Prompt>,
}

impl Seat {
    pub(super) fn new(label: String, managed: Arc<Managed>) -> Self {
        let (resources, templates, prompts) = (Kept::default(), Kept::default(), Kept::default());
        Self { label, managed, resources, templates, prompts }
    }

    pub(super) fn status(&self) -> MemberStatus {
        MemberStatus {
            label: self.label.clone(),
            state: self.managed.state(),
            tools: self.managed.catalogue().tools(self.managed.hub()).map(|tools| tools.len()),
            required: self.managed.setup().required,
        }
    }

    pub(super) fn generation(&self, list: Listed) -> u64 {
        self.managed.hub().generation(list)
    }
}

/// A list as it was last, with the generation it belongs to.
pub(super) struct Kept<T>(Mutex<Option<(u64, Arc<[T]>)>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> Kept<T> {
    pub(super) fn store(&self, generation: u64, items: &[T]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((generation, items.into()));
    }

    /// The list, if it is still what the server offers.
    pub(super) fn fresh(&self, generation: u64) -> Option<Arc<[T]>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(stored, _)| *stored == generation).map(|(_, items)| items.clone())
    }
}
