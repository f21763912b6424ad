//! Where a desk's messages go. A pipe has one way to the client; HTTP has several, so each message says what it
//! belongs to.

use crate::protocol::RawJson;
use crate::transport::{Kind, Wire};

/// What a message belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Route<'a> {
    /// It answers the request with this id, which is over with it.
    Answer(&'a RawJson),
    /// It was said while the request with this id runs.
    During(&'a RawJson),
    /// It asks the client something, for the request with this id.
    Ask(&'a RawJson),
    /// No request in particular.
    Apart,
}

/// Takes what a desk sends. Called while requests run: must not block.
pub(super) trait Outlet: Send + Sync {
    /// Sends one line. A client that is gone needs none.
    fn send(&self, route: Route<'_>, line: Vec<u8>);

    /// The request with this id was cancelled and gets no answer.
    fn unanswered(&self, id: &RawJson);
}

impl Outlet for Wire {
    fn send(&self, _: Route<'_>, line: Vec<u8>) {
        let _ = self.tell(Kind::Other, line); // a client that is gone needs no answer
    }

    fn unanswered(&self, _: &RawJson) {}
}
