//! The folders that servers may work in, which can change while they run.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::connection::RootChanges;
use crate::protocol::RawJson;
use crate::protocol::raw::{ObjectWriter, array};

/// A folder, or another place, that a server may work in (MCP specification, Roots).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    uri: String,
    name: Option<String>,
}

impl Root {
    /// The place of this URI, such as `file:///home/me/project`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }

    /// The same with a name for people.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Its URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Its name for people, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn to_json(&self) -> RawJson {
        let mut out = ObjectWriter::new();
        out.text("uri", &self.uri);
        if let Some(name) = &self.name {
            out.text("name", name);
        }
        out.finish()
    }
}

impl From<&str> for Root {
    fn from(uri: &str) -> Self {
        Self::new(uri)
    }
}

impl From<String> for Root {
    fn from(uri: String) -> Self {
        Self::new(uri)
    }
}

/// The roots that servers are told of, to be changed at any time. Clones share them; see
/// [`Handlers::live_roots`](crate::Handlers::live_roots).
///
/// Servers of revisions before 2026-07-28 that are connected are told of each change (`notifications/roots/list_changed`)
/// and ask again; later ones ask when they need to know.
#[derive(Debug, Clone)]
pub struct Roots(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    list: Mutex<Vec<Root>>,
    version: watch::Sender<u64>,
}

impl Roots {
    /// These roots, to begin with.
    pub fn new<R: Into<Root>>(roots: impl IntoIterator<Item = R>) -> Self {
        let list = Mutex::new(roots.into_iter().map(Into::into).collect());
        Self(Arc::new(Shared { list, version: watch::Sender::new(0) }))
    }

    /// The roots now.
    pub fn list(&self) -> Vec<Root> {
        self.0.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Other roots from now on. Says nothing to anybody where they are the same.
    pub fn set<R: Into<Root>>(&self, roots: impl IntoIterator<Item = R>) {
        let roots: Vec<_> = roots.into_iter().map(Into::into).collect();
        let mut list = self.0.list.lock().unwrap_or_else(PoisonError::into_inner);
        if *list != roots {
            *list = roots;
            drop(list);
            self.0.version.send_modify(|version| *version += 1);
        }
    }

    pub(super) fn changes(&self) -> RootChanges {
        RootChanges::of(self.0.version.subscribe())
    }

    pub(super) fn to_result(&self) -> RawJson {
        let roots: Vec<_> = self.list().iter().map(Root::to_json).collect();
        let mut out = ObjectWriter::new();
        out.member("roots", &array(&roots));
        out.finish()
    }
}
