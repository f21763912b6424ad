//! Asks all members at once and takes what is ready: readiness is per server, partial failure is data.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::timeout;

use super::MultiServer;
use super::member::Seat;
use crate::connection::{CallContext, Connection, EventKind, Listed};
use crate::error::{Error, Result};
use crate::protocol::{Prompt, Resource, ResourceTemplate, ToolDefinition};

/// What one server gave to a list over many.
#[derive(Debug, Clone)]
pub struct ServerListing<T> {
    /// The server's label among the members.
    pub server: String,
    /// What came of asking it.
    pub outcome: Outcome<T>,
}

/// What came of asking one server.
#[derive(Debug, Clone)]
pub enum Outcome<T> {
    /// It answered.
    Ready(Vec<T>),
    /// It is still starting, or slow to answer; it goes on in the background.
    Pending,
    /// It is dead, or refused.
    Failed(Error),
}

/// Runs all of `asking` at once. Ends when all have answered, or `settle` after the last that did once one has
/// succeeded, or when `enough` says so of one (by its place). Outcomes in the order of `asking`.
pub(crate) async fn gather<T, F>(
    asking: impl IntoIterator<Item = F>,
    settle: Option<Duration>,
    enough: impl Fn(usize, &Result<T>) -> bool,
) -> Vec<Option<Result<T>>>
where
    F: Future<Output = Result<T>>,
{
    let asking = asking.into_iter().enumerate().map(|(index, asking)| async move { (index, asking.await) });
    let mut asking: FuturesUnordered<_> = asking.collect();
    let mut outcomes: Vec<Option<Result<T>>> = (0..asking.len()).map(|_| None).collect();
    let mut succeeded = false;
    loop {
        let next = match settle {
            Some(settle) if succeeded => match timeout(settle, asking.next()).await {
                Ok(next) => next,
                Err(_) => return outcomes,
            },
            _ => asking.next().await,
        };
        let Some((index, outcome)) = next else { return outcomes };
        succeeded |= outcome.is_ok();
        let enough = enough(index, &outcome);
        outcomes[index] = Some(outcome);
        if enough {
            return outcomes;
        }
    }
}

impl MultiServer {
    /// Has a member ready, under a start permit that a silent one gives back after a moment.
    pub(super) async fn ready(&self, seat: Arc<Seat>) -> Result<()> {
        seat.managed.due()?;
        if !seat.managed.needs_start() {
            return Ok(());
        }
        let permit = self.0.permits.clone().acquire_owned().await;
        let live = seat.managed.live();
        tokio::pin!(live);
        if let Ok(outcome) = timeout(self.0.limits.permit_hold, &mut live).await {
            return outcome.map(drop);
        }
        drop(permit);
        live.await.map(drop)
    }

    async fn by_server<T, F>(&self, ask: impl Fn(Arc<Seat>) -> F) -> Vec<ServerListing<T>>
    where
        F: Future<Output = Result<Vec<T>>>,
    {
        let seats = self.seats();
        let asking = seats.iter().map(|seat| ask(seat.clone()));
        let outcomes = gather(asking, Some(self.0.limits.settle), |_, _| false).await;
        let listing = |(seat, outcome): (&Arc<Seat>, Option<Result<Vec<T>>>)| ServerListing {
            server: seat.label.clone(),
            outcome: match outcome {
                None => Outcome::Pending,
                Some(Ok(items)) => Outcome::Ready(items),
                Some(Err(error)) => {
                    self.0.hub.emit(EventKind::Warning(format!("server \"{}\" is left out: {error}", seat.label)));
                    Outcome::Failed(error)
                }
            },
        };
        seats.iter().zip(outcomes).map(listing).collect()
    }

    /// Each member's tools, by wire name, in the members' order.
    pub async fn tools_by_server(&self, cx: &CallContext) -> Vec<ServerListing<ToolDefinition>> {
        self.by_server(|seat| self.tools_of(seat, cx)).await
    }

    pub(super) async fn tools_of(&self, seat: Arc<Seat>, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        self.ready(seat.clone()).await?;
        seat.managed.list_tools(cx).await
    }

    /// Each member's resources, in the members' order.
    pub async fn resources_by_server(&self, cx: &CallContext) -> Vec<ServerListing<Resource>> {
        self.by_server(|seat| self.resources_of(seat, cx)).await
    }

    async fn resources_of(&self, seat: Arc<Seat>, cx: &CallContext) -> Result<Vec<Resource>> {
        self.ready(seat.clone()).await?;
        let generation = seat.generation(Listed::Resources);
        let items = seat.managed.list_resources(cx).await?;
        seat.resources.store(generation, &items);
        Ok(items)
    }

    /// Each member's resource templates, in the members' order.
    pub async fn templates_by_server(&self, cx: &CallContext) -> Vec<ServerListing<ResourceTemplate>> {
        self.by_server(|seat| self.templates_of(seat, cx)).await
    }

    async fn templates_of(&self, seat: Arc<Seat>, cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        self.ready(seat.clone()).await?;
        let generation = seat.generation(Listed::Resources);
        let items = seat.managed.list_resource_templates(cx).await?;
        seat.templates.store(generation, &items);
        Ok(items)
    }

    /// Each member's prompts, by wire name, in the members' order.
    pub async fn prompts_by_server(&self, cx: &CallContext) -> Vec<ServerListing<Prompt>> {
        self.by_server(|seat| self.prompts_of(seat, cx)).await
    }

    async fn prompts_of(&self, seat: Arc<Seat>, cx: &CallContext) -> Result<Vec<Prompt>> {
        self.ready(seat.clone()).await?;
        let generation = seat.generation(Listed::Prompts);
        let items = seat.managed.list_prompts(cx).await?;
        seat.prompts.store(generation, &items);
        Ok(items)
    }

    /// One list of all: an error only when a required member is dead, or none lives.
    pub(super) fn united<T>(&self, listings: Vec<ServerListing<T>>, each: impl Fn(&str, T) -> T) -> Result<Vec<T>> {
        let (mut all, mut lost, mut alive) = (Vec::new(), None, listings.is_empty());
        for ServerListing { server, outcome } in listings {
            match outcome {
                Outcome::Ready(items) => {
                    alive = true;
                    all.extend(items.into_iter().map(|item| each(&server, item)));
                }
                Outcome::Pending => alive = true,
                Outcome::Failed(error) if self.is_required(&server) => return Err(error),
                Outcome::Failed(error) => lost = lost.or(Some(error)),
            }
        }
        match lost {
            Some(error) if !alive => Err(error),
            _ => Ok(all),
        }
    }

    fn is_required(&self, server: &str) -> bool {
        self.seats().iter().any(|seat| seat.label == server && seat.managed.setup().required)
    }
}
