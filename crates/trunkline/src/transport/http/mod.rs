//! Streamable HTTP (revisions 2025-03-26 … 2025-11-25), and the HTTP+SSE of 2024-11-05. A request runs in its caller's
//! future; only the standing stream has a task.

mod answer;
mod connect;
mod endpoint;
mod fetch;
mod follow;
mod lane;
#[cfg(any(test, fuzzing))]
pub(super) mod laws;
#[cfg(feature = "sse")]
mod legacy;
mod pass;
mod pool;
mod proxy;
mod reach;
mod refusal;
mod requests;
mod sse;
mod standing;
mod streamable;
mod tls;
#[cfg(feature = "oauth")]
mod visit;

use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use endpoint::{Endpoint, Proxies};
#[cfg(feature = "sse")]
pub(super) use legacy::SseWire;
#[cfg(feature = "oauth")]
pub(crate) use reach::Reach;
pub(super) use streamable::HttpWire;
#[cfg(feature = "oauth")]
pub(crate) use visit::{Body as VisitBody, Visit, Visited, Visitor};

/// What a POST takes for an answer.
const ACCEPT_BOTH: &str = "application/json, text/event-stream";
const ACCEPT_EVENTS: &str = "text/event-stream";

/// What a connection waits for, for whoever runs out of patience.
#[derive(Default)]
struct Progress(AtomicUsize);

impl Progress {
    const STAGES: [&str; 4] = [
        "nothing was sent yet",
        "it waited for an HTTP answer",
        "it waited for the rest of the answer",
        "it had answered",
    ];

    fn reach(&self, stage: usize) {
        self.0.store(stage, Ordering::Relaxed);
    }

    fn told(&self) -> &'static str {
        Self::STAGES[self.0.load(Ordering::Relaxed).min(Self::STAGES.len() - 1)]
    }
}
