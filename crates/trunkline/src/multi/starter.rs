//! How members are started: a few at a time, silent ones holding up nobody. And how each is asked for its lists.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::flight::{Answer, Flight};
use super::member::Seat;
use crate::connection::{CallContext, Connection, EventKind, Hub, Listed};
use crate::error::Result;
use crate::limits::Limits;
use crate::managed::{Managed, What, within_context};
use crate::protocol::{Prompt, Resource, ResourceTemplate, ToolDefinition};

/// Starts members and asks them. Shared by all requests, also those that outlive the call they were made for.
pub(super) struct Starter {
    permits: Semaphore,
    permit_hold: Duration,
    hub: Arc<Hub>,
}

impl Starter {
    pub(super) fn new(limits: &Limits, hub: Arc<Hub>) -> Arc<Self> {
        let permits = Semaphore::new(limits.start_permits.max(1));
        Arc::new(Self { permits, permit_hold: limits.permit_hold, hub })
    }

    /// Has a member ready, under a start permit that a silent one gives back after a moment.
    pub(super) async fn ready(&self, managed: &Managed) -> Result<()> {
        managed.due()?;
        if !managed.needs_start() {
            return Ok(());
        }
        let permit = self.permits.acquire().await;
        let live = managed.live();
        tokio::pin!(live);
        if let Ok(outcome) = timeout(self.permit_hold, &mut live).await {
            return outcome.map(drop);
        }
        drop(permit);
        live.await.map(drop)
    }

    /// Asks a member for a list, or waits with others who did, within the bounds of `cx`.
    async fn ask<T, F>(
        self: &Arc<Self>,
        seat: &Arc<Seat>,
        (what, flight, event): (&'static str, &Flight<T>, EventKind),
        cx: &CallContext,
        list: impl FnOnce(Arc<Seat>, CallContext) -> F + Send + 'static,
    ) -> Answer<T>
    where
        T: Send + Sync + 'static,
        F: Future<Output = Answer<T>> + Send + 'static,
    {
        let (starter, member, patient, hub) = (self.clone(), seat.clone(), patient(seat, cx), self.hub.clone());
        let asking = || async move {
            starter.ready(&member.managed).await?;
            list(member, patient).await
        };
        let landing = flight.join(asking, move || hub.emit(event));
        let outcome = within_context(What(what, None), cx, |_| landing.answer()).await;
        outcome.map_err(|error| error.with_context("server", seat.label.clone()))
    }

    pub(super) async fn tools(self: &Arc<Self>, seat: &Arc<Seat>, cx: &CallContext) -> Answer<ToolDefinition> {
        let which = ("tools/list", &seat.tools, EventKind::ToolsChanged);
        let list = async |seat: Arc<Seat>, cx: CallContext| {
            let tools = seat.managed.list_tools(&cx).await?;
            Ok(seat.known_tools().unwrap_or_else(|| tools.into()))
        };
        self.ask(seat, which, cx, list).await
    }

    pub(super) async fn resources(self: &Arc<Self>, seat: &Arc<Seat>, cx: &CallContext) -> Answer<Resource> {
        let which = ("resources/list", &seat.resources.flight, EventKind::ResourcesChanged);
        let list = async |seat: Arc<Seat>, cx: CallContext| {
            let generation = seat.generation(Listed::Resources);
            let items = seat.managed.list_resources(&cx).await?.into();
            seat.resources.store(generation, &items);
            Ok(items)
        };
        self.ask(seat, which, cx, list).await
    }

    pub(super) async fn templates(self: &Arc<Self>, seat: &Arc<Seat>, cx: &CallContext) -> Answer<ResourceTemplate> {
        let which = ("resources/templates/list", &seat.templates.flight, EventKind::ResourcesChanged);
        let list = async |seat: Arc<Seat>, cx: CallContext| {
            let generation = seat.generation(Listed::Resources);
            let items = seat.managed.list_resource_templates(&cx).await?.into();
            seat.templates.store(generation, &items);
            Ok(items)
        };
        self.ask(seat, which, cx, list).await
    }

    pub(super) async fn prompts(self: &Arc<Self>, seat: &Arc<Seat>, cx: &CallContext) -> Answer<Prompt> {
        let which = ("prompts/list", &seat.prompts.flight, EventKind::PromptsChanged);
        let list = async |seat: Arc<Seat>, cx: CallContext| {
            let generation = seat.generation(Listed::Prompts);
            let items = seat.managed.list_prompts(&cx).await?.into();
            seat.prompts.store(generation, &items);
            Ok(items)
        };
        self.ask(seat, which, cx, list).await
    }
}

/// The deadlines of a request that others may wait for as well: the server's own, or longer ones where the first to
/// ask has them. Whoever wants to wait for less gives up by himself.
fn patient(seat: &Seat, cx: &CallContext) -> CallContext {
    let setup = seat.managed.setup();
    let longer = |given: Option<Duration>, own: Duration| {
        given.filter(|given| given.is_zero() || !own.is_zero() && *given > own)
    };
    let mut patient = CallContext::new();
    if let Some(timeout) = longer(cx.timeout(), setup.timeout) {
        patient = patient.with_timeout(timeout);
    }
    if let Some(max_timeout) = longer(cx.max_timeout(), setup.max_timeout) {
        patient = patient.with_max_timeout(max_timeout);
    }
    patient
}
