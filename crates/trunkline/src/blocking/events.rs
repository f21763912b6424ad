//! The twin of a stream of events: an iterator that waits.

use std::time::Duration;

use super::runtime;
use crate::connection::{self, Event};

/// What happens on a server's side, as it happens. Twin of [`Events`](connection::Events).
///
/// The iterator waits for the next event and ends when the client is gone; with a [`timeout`](Self::timeout), also
/// when nothing has happened for that long (it can be asked again). On the background thread it ends at once.
///
/// ```
/// use std::time::Duration;
/// use trunkline::{Client, EventKind, StaticServer};
///
/// # fn main() -> trunkline::Result<()> {
/// let client = Client::from_connection(StaticServer::new()).build_blocking()?;
/// let mut events = client.events().timeout(Duration::from_secs(5));
/// client.connect()?;
/// assert!(events.any(|event| matches!(event.kind, EventKind::Ready)));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Events {
    pub(super) events: connection::Events,
    pub(super) timeout: Option<Duration>,
}

impl Events {
    /// The same events; the iterator ends when nothing has happened for so long.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let (events, timeout) = (&mut self.events, self.timeout);
        let next = async move {
            match timeout {
                None => events.next().await,
                Some(timeout) => tokio::time::timeout(timeout, events.next()).await.ok().flatten(),
            }
        };
        runtime::wait(next).ok().flatten()
    }
}

impl From<connection::Events> for Events {
    fn from(events: connection::Events) -> Self {
        Self { events, timeout: None }
    }
}
