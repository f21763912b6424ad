//! The revisions of the protocol that this crate speaks.

/// The revisions that start with `initialize`, newest first.
pub(crate) const HANDSHAKE_REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The revision to ask for.
pub(crate) const NEWEST_HANDSHAKE: &str = HANDSHAKE_REVISIONS[0];

/// The only revision with arrays of messages (JSON-RPC batches).
const WITH_ARRAYS: &str = "2025-03-26";

pub(crate) fn has_arrays(revision: &str) -> bool {
    revision == WITH_ARRAYS
}

pub(crate) fn speaks(revision: &str) -> bool {
    HANDSHAKE_REVISIONS.contains(&revision)
}
