//! The sessions there are, by id: made, found, ended, and forgotten when nobody uses them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::limits::HttpServerLimits;
use super::mailbox::Shape;
use super::session::Session;
use crate::connection::SharedConnection;
use crate::server::subscriptions::Subscriptions;

/// How long a session may be there that never began, since its `initialize` failed.
const UNBEGUN: Duration = Duration::from_secs(10);

pub(super) struct Sessions {
    connection: SharedConnection,
    subscriptions: Arc<Subscriptions>,
    limits: Arc<HttpServerLimits>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    sessions: HashMap<String, Arc<Session>>,
    closed: bool,
}

impl Sessions {
    pub(super) fn new(connection: SharedConnection, limits: Arc<HttpServerLimits>) -> Self {
        Self { connection, subscriptions: Arc::default(), limits, table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: String, shape: Shape) -> Session {
        Session::new(id, shape, &self.connection, &self.subscriptions, &self.limits)
    }

    /// A new session; `None` where there are too many.
    pub(super) fn start(&self, shape: Shape) -> Option<Arc<Session>> {
        self.sweep();
        let id = random_id()?;
        let mut table = self.table();
        if table.closed || table.sessions.len() >= self.limits.max_sessions {
            return None;
        }
        let session = Arc::new(self.session(id.clone(), shape));
        table.sessions.insert(id, session.clone());
        Some(session)
    }

    /// A session for one POST, which is in no table.
    pub(super) fn alone(&self) -> Arc<Session> {
        Arc::new(self.session(String::new(), Shape::Alone))
    }

    /// The session with this id and shape.
    pub(super) fn find(&self, id: &str, single: bool) -> Option<Arc<Session>> {
        let found = self.table().sessions.get(id).cloned();
        found.filter(|session| session.mailbox.is_single() == single && !session.mailbox.is_over())
    }

    /// Ends a session.
    pub(super) fn end(&self, id: &str) {
        let session = self.table().sessions.remove(id);
        if let Some(session) = session {
            session.end();
        }
    }

    /// Ends what nobody has used for too long, and what ended itself.
    pub(super) fn sweep(&self) {
        let mut gone = Vec::new();
        self.table().sessions.retain(|_, session| {
            let idle = session.idle();
            let begins = session.mailbox.is_single() || session.mailbox.owed() > 0 || idle < UNBEGUN;
            let began = begins || session.desk.revision().is_some();
            let stays = began && idle < self.limits.idle && !session.mailbox.is_over();
            if !stays {
                gone.push(session.clone());
            }
            stays
        });
        gone.iter().for_each(|session| session.end());
    }

    /// Ends all sessions; none is made from now on.
    pub(super) fn close(&self) {
        let sessions = {
            let mut table = self.table();
            table.closed = true;
            std::mem::take(&mut table.sessions)
        };
        sessions.values().for_each(|session| session.end());
    }

    pub(super) fn count(&self) -> usize {
        self.table().sessions.values().filter(|session| !session.mailbox.is_over()).count()
    }

    /// How many requests have no answer yet.
    pub(super) fn owed(&self) -> usize {
        self.table().sessions.values().map(|session| session.mailbox.owed()).sum()
    }
}

/// 128 bits that nobody can guess; `None` where the system has none to give.
fn random_id() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).inspect_err(|error| tracing::error!(%error, "no random numbers")).ok()?;
    Some(bytes.iter().fold(String::with_capacity(32), |mut id, byte| {
        let _ = write!(id, "{byte:02x}"); // a string takes everything
        id
    }))
}
