//! One member: its label here, its connection, and what it listed last.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::flight::Flight;
use crate::connection::Listed;
use crate::managed::{Managed, State};
use crate::protocol::{Prompt, Resource, ResourceTemplate, ToolDefinition};

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

/// A member in its place. What it listed of tools is kept by its connection.
pub(super) struct Seat {
    pub(super) label: String,
    pub(super) managed: Arc<Managed>,
    pub(super) tools: Flight<ToolDefinition>,
    pub(super) resources: Shelf<Resource>,
    pub(super) templates: Shelf<ResourceTemplate>,
    pub(super) prompts: Shelf<Prompt>,
}

impl Seat {
    pub(super) fn new(label: String, managed: Arc<Managed>) -> Self {
        let (resources, templates, prompts) = (Shelf::default(), Shelf::default(), Shelf::default());
        Self { label, managed, tools: Flight::default(), resources, templates, prompts }
    }

    pub(super) fn status(&self) -> MemberStatus {
        MemberStatus {
            label: self.label.clone(),
            state: self.managed.state(),
            tools: self.known_tools().map(|tools| tools.len()),
            required: self.managed.setup().required,
        }
    }

    pub(super) fn generation(&self, list: Listed) -> u64 {
        self.managed.hub().generation(list)
    }

    /// Its tools, if they were listed and are still what it offers.
    pub(super) fn known_tools(&self) -> Option<Arc<[ToolDefinition]>> {
        self.managed.catalogue().tools(self.managed.hub())
    }

    /// Its resources, likewise.
    pub(super) fn known_resources(&self) -> Option<Arc<[Resource]>> {
        self.resources.fresh(self.generation(Listed::Resources))
    }

    /// Its resource templates, likewise.
    pub(super) fn known_templates(&self) -> Option<Arc<[ResourceTemplate]>> {
        self.templates.fresh(self.generation(Listed::Resources))
    }

    /// Its prompts, likewise.
    pub(super) fn known_prompts(&self) -> Option<Arc<[Prompt]>> {
        self.prompts.fresh(self.generation(Listed::Prompts))
    }

    /// Whether all is known of its resources that can be had now: a member that rests after failing, or takes
    /// longer than `patience` to list them, holds nobody up.
    pub(super) fn has_told_resources(&self, patience: Duration) -> bool {
        let resources = self.known_resources().is_some() || self.resources.flight.is_overdue(patience);
        let templates = self.known_templates().is_some() || self.templates.flight.is_overdue(patience);
        resources && templates || self.managed.due().is_err()
    }

    /// The same of its prompts.
    pub(super) fn has_told_prompts(&self, patience: Duration) -> bool {
        let prompts = self.known_prompts().is_some() || self.prompts.flight.is_overdue(patience);
        prompts || self.managed.due().is_err()
    }

    /// Gives up every list that is asked for.
    pub(super) fn abort(&self) {
        self.tools.abort();
        self.resources.flight.abort();
        self.templates.flight.abort();
        self.prompts.flight.abort();
    }
}

/// A list as it was last, with the generation it belongs to, and how it is asked for.
pub(super) struct Shelf<T> {
    kept: Mutex<Option<(u64, Arc<[T]>)>>,
    pub(super) flight: Flight<T>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { kept: Mutex::new(None), flight: Flight::default() }
    }
}

impl<T> Shelf<T> {
    pub(super) fn store(&self, generation: u64, items: &Arc<[T]>) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((generation, items.clone()));
    }

    /// The list, if it is still what the server offers.
    fn fresh(&self, generation: u64) -> Option<Arc<[T]>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(stored, _)| *stored == generation).map(|(_, items)| items.clone())
    }
}
