//! The members one by one, for whoever lists those of several [`MultiServer`]s at once (a tool set).

use std::sync::Arc;

use super::MultiServer;
use super::member::Seat;
use crate::connection::{CallContext, Hub};
use crate::error::Result;
use crate::managed::Managed;
use crate::protocol::ToolDefinition;

/// A member in its place.
#[derive(Clone)]
pub(crate) struct Place {
    multi: MultiServer,
    seat: Arc<Seat>,
}

impl MultiServer {
    /// The members as they are now, in their order.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.seats().into_iter().map(|seat| Place { multi: self.clone(), seat }).collect()
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.0.hub
    }
}

impl Place {
    pub(crate) fn label(&self) -> &str {
        &self.seat.label
    }

    pub(crate) fn managed(&self) -> &Arc<Managed> {
        &self.seat.managed
    }

    /// The name under which its tool is shown.
    pub(crate) fn exposed(&self, tool: &str) -> String {
        self.multi.exposed_name(&self.seat.label, tool)
    }

    /// Its tools by wire name, under the rules that hold for lists over many servers.
    pub(crate) async fn tools(&self, cx: &CallContext) -> Result<Arc<[ToolDefinition]>> {
        self.multi.0.starter.tools(&self.seat, cx).await
    }
}
