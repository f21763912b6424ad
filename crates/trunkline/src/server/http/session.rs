//! One client's session: its desk, its mailbox, and when it was last used.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::limits::HttpServerLimits;
use super::mailbox::{Mailbox, Shape};
use crate::connection::SharedConnection;
use crate::error::{Error, ErrorKind};
use crate::server::desk::ServerDesk;
use crate::server::subscriptions::Subscriptions;
use crate::transport::Inbox;

/// A session. Dropping it ends what runs in it.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) desk: Arc<ServerDesk>,
    pub(super) mailbox: Arc<Mailbox>,
    uses: AtomicUsize,
    used: Mutex<Instant>,
}

impl Session {
    pub(super) fn new(
        id: String,
        shape: Shape,
        connection: &SharedConnection,
        subscriptions: &Arc<Subscriptions>,
        limits: &Arc<HttpServerLimits>,
    ) -> Self {
        let mailbox = Mailbox::new(shape, limits.clone());
        let desk = ServerDesk::of_several(connection.clone(), subscriptions.clone());
        match shape {
            Shape::Alone => desk.answer_to(mailbox.clone()), // events have nowhere to go
            Shape::Streams | Shape::Single => desk.attach(mailbox.clone()),
        }
        Self { id, desk, mailbox, uses: AtomicUsize::new(0), used: Mutex::new(Instant::now()) }
    }

    /// Marks the session as in use until the token is dropped.
    pub(super) fn in_use(self: &Arc<Self>) -> InUse {
        self.used_by(false)
    }

    /// The same, and the session ends with the token.
    pub(super) fn in_use_to_the_end(self: &Arc<Self>) -> InUse {
        self.used_by(true)
    }

    fn used_by(self: &Arc<Self>, to_the_end: bool) -> InUse {
        self.uses.fetch_add(1, Ordering::Relaxed);
        InUse { session: self.clone(), to_the_end }
    }

    /// How long nothing came and no stream was open.
    pub(super) fn idle(&self) -> Duration {
        match self.uses.load(Ordering::Relaxed) {
            0 => self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed(),
            _ => Duration::ZERO,
        }
    }

    /// Ends what runs and every stream.
    pub(super) fn end(&self) {
        self.desk.closed(Error::new(ErrorKind::Closed, "The session has ended"));
        self.mailbox.close();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

/// Somebody uses the session.
pub(super) struct InUse {
    session: Arc<Session>,
    to_the_end: bool,
}

impl InUse {
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.session
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        *self.session.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.session.uses.fetch_sub(1, Ordering::Relaxed);
        if self.to_the_end {
            self.session.end();
        }
    }
}
