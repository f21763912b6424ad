//! Pinned tools: what a server's tools were when somebody agreed to them, and what became of them since. The file, the
//! comparison, and the connection that refuses what wasn't agreed to.

mod canonical;
mod change;
mod compare;
mod file;
mod locked;
mod policy;
mod read;
mod report;
mod schema;
mod suspicion;
#[cfg(test)]
mod tests;
mod watch;
mod write;

pub use change::{Change, Severity};
pub use file::LockFile;
pub use locked::Locked;
pub(crate) use policy::Pin;
pub use policy::{AddedTools, Lock, UnknownServers};
pub use report::{LockReport, ToolReport, ToolState};

use std::sync::Arc;

use crate::connection::{Connection, Hub};

/// Holds a session, whose word of changes goes to `hub`, to a lock.
pub(crate) fn of_session<C: Connection>(inner: C, server: &str, pin: &Arc<Pin>, hub: &Arc<Hub>) -> Locked<C> {
    Locked::watched(inner, server.to_owned(), pin.clone(), watch::Watch::Hub(hub.clone()))
}

/// Holds any other connection to a lock.
pub(crate) fn of_connection<C: Connection>(inner: C, server: &str, pin: &Arc<Pin>) -> Locked<C> {
    let watch = watch::Watch::of(&inner);
    Locked::watched(inner, server.to_owned(), pin.clone(), watch)
}

/// The version of the file's form that this crate writes and reads.
const VERSION: u64 = 1;
