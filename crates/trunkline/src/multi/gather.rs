//! Asks all members at once and takes what is ready: readiness is per server, partial failure is data.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::timeout;

use super::MultiServer;
use super::flight::{Answer, Flight};
use super::member::Seat;
use crate::connection::{CallContext, EventKind};
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
    /// It is still starting, or slow to answer; it goes on in the background, and an event tells when its list
    /// is there.
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
    gather_more(asking, settle, false, enough).await
}

/// The same where others may have `succeeded` before.
pub(super) async fn gather_more<T, F>(
    asking: impl IntoIterator<Item = F>,
    settle: Option<Duration>,
    mut succeeded: bool,
    enough: impl Fn(usize, &Result<T>) -> bool,
) -> Vec<Option<Result<T>>>
where
    F: Future<Output = Result<T>>,
{
    let asking = asking.into_iter().enumerate().map(|(index, asking)| async move { (index, asking.await) });
    let mut asking: FuturesUnordered<_> = asking.collect();
    let mut outcomes: Vec<Option<Result<T>>> = (0..asking.len()).map(|_| None).collect();
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
    async fn by_server<'a, T, F>(
        &self,
        ask: impl Fn(&'a Arc<Seat>) -> F,
        seats: &'a [Arc<Seat>],
        flight: impl Fn(&Seat) -> &Flight<T>,
    ) -> Vec<ServerListing<T>>
    where
        T: Clone + Send + Sync + 'static,
        F: Future<Output = Answer<T>>,
    {
        let outcomes = gather(seats.iter().map(ask), Some(self.0.limits.settle), |_, _| false).await;
        let listing = |(seat, outcome): (&Arc<Seat>, Option<Answer<T>>)| {
            let outcome = match outcome.or_else(|| flight(seat).miss()) {
                None => Outcome::Pending,
                Some(Ok(items)) => Outcome::Ready(items.to_vec()),
                Some(Err(error)) => {
                    self.0.hub.emit(EventKind::Warning(format!("server \"{}\" is left out: {error}", seat.label)));
                    Outcome::Failed(error)
                }
            };
            ServerListing { server: seat.label.clone(), outcome }
        };
        seats.iter().zip(outcomes).map(listing).collect()
    }

    /// Each member's tools, by wire name, in the members' order.
    pub async fn tools_by_server(&self, cx: &CallContext) -> Vec<ServerListing<ToolDefinition>> {
        self.by_server(|seat| self.0.starter.tools(seat, cx), &self.seats(), |seat| &seat.tools).await
    }

    /// Each member's resources, in the members' order.
    pub async fn resources_by_server(&self, cx: &CallContext) -> Vec<ServerListing<Resource>> {
        self.by_server(|seat| self.0.starter.resources(seat, cx), &self.seats(), |seat| &seat.resources.flight).await
    }

    /// Each member's resource templates, in the members' order.
    pub async fn templates_by_server(&self, cx: &CallContext) -> Vec<ServerListing<ResourceTemplate>> {
        self.by_server(|seat| self.0.starter.templates(seat, cx), &self.seats(), |seat| &seat.templates.flight).await
    }

    /// Each member's prompts, by wire name, in the members' order.
    pub async fn prompts_by_server(&self, cx: &CallContext) -> Vec<ServerListing<Prompt>> {
        self.by_server(|seat| self.0.starter.prompts(seat, cx), &self.seats(), |seat| &seat.prompts.flight).await
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
