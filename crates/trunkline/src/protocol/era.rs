//! The revisions of the protocol that this crate speaks, and their two eras: *legacy*, which opens with `initialize`,
//! and *modern*, where every request says for itself what the handshake said (MCP specification, Versioning).

use std::fmt;

use crate::error::{Error, Result};

/// The revisions that start with `initialize`, newest first.
pub(crate) const HANDSHAKE_REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The revision to ask for.
pub(crate) const NEWEST_HANDSHAKE: &str = HANDSHAKE_REVISIONS[0];

/// The revisions without a handshake, newest first.
pub(crate) const MODERN_REVISIONS: [&str; 1] = ["2026-07-28"];

/// The only revision with arrays of messages (JSON-RPC batches).
const WITH_ARRAYS: &str = "2025-03-26";

/// The headers don't say what the body says.
pub(crate) const HEADER_MISMATCH: i64 = -32020;
/// The server needs something that this client did not declare.
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
/// The server doesn't speak the revision that was asked for.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

pub(crate) fn has_arrays(revision: &str) -> bool {
    revision == WITH_ARRAYS
}

/// Whether this is a revision with a handshake that is known here.
pub(crate) fn speaks(revision: &str) -> bool {
    HANDSHAKE_REVISIONS.contains(&revision)
}

/// Whether an error with this code comes from a server of the modern era.
pub(crate) fn is_modern_error(code: i64) -> bool {
    matches!(code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
}

/// The newest modern revision among those that a server speaks.
pub(crate) fn common_modern(supported: &[String]) -> Option<&'static str> {
    MODERN_REVISIONS.into_iter().find(|known| supported.iter().any(|revision| revision == known))
}

/// The newest revision with a handshake among those that a server speaks.
pub(crate) fn common_handshake(supported: &[String]) -> Option<&'static str> {
    HANDSHAKE_REVISIONS.into_iter().find(|known| supported.iter().any(|revision| revision == known))
}

/// Every revision that is known here, newest first, for people.
pub(crate) fn known() -> String {
    MODERN_REVISIONS.into_iter().chain(HANDSHAKE_REVISIONS).collect::<Vec<_>>().join(", ")
}

/// Which revisions of the protocol a server is spoken to in.
///
/// The *modern* era (2026-07-28) has no handshake; the *legacy* one (2025-11-25 … 2024-11-05) opens a session with
/// `initialize` (MCP specification, Versioning and Compatibility).
///
/// ```
/// use trunkline::{Client, Protocol};
///
/// let old = Client::stdio("some-server", [""; 0]).protocol(Protocol::Legacy).build()?;
/// let exact = Client::http("https://example.com/mcp").protocol("2025-06-18".parse()?).build()?;
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Finds out: asks for the modern era, and falls back to the handshake on anything that isn't the answer of a modern
    /// server.
    #[default]
    Auto,
    /// Only the modern era.
    Modern,
    /// Only the handshake, beginning with the newest revision that has one.
    Legacy,
    /// Only the handshake, and this revision first.
    Revision(LegacyRevision),
}

/// A revision of the protocol that opens with a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyRevision(&'static str);

impl LegacyRevision {
    /// Its date, such as `2025-06-18`.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl std::str::FromStr for Protocol {
    type Err = Error;

    /// Reads `auto`, `modern`, `legacy`, or a revision such as `2025-06-18`.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for anything else.
    fn from_str(text: &str) -> Result<Self> {
        let revision = || HANDSHAKE_REVISIONS.into_iter().find(|known| *known == text);
        match text {
            "auto" => Ok(Self::Auto),
            "modern" => Ok(Self::Modern),
            "legacy" => Ok(Self::Legacy),
            text if MODERN_REVISIONS.contains(&text) => Ok(Self::Modern),
            text => revision().map(|known| Self::Revision(LegacyRevision(known))).ok_or_else(|| {
                Error::config(format!("{text:?} is no protocol that is known here"))
                    .with_hint(format!("Give auto, modern, legacy, or one of {}", known()))
            }),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Modern => "modern",
            Self::Legacy => "legacy",
            Self::Revision(revision) => revision.0,
        })
    }
}

impl Protocol {
    /// The revision to ask for in a handshake.
    pub(crate) fn handshake(self) -> &'static str {
        match self {
            Self::Revision(revision) => revision.0,
            _ => NEWEST_HANDSHAKE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_read_and_written_alike() {
        for text in ["auto", "modern", "legacy", "2025-11-25", "2024-11-05"] {
            assert_eq!(text.parse::<Protocol>().unwrap().to_string(), text);
        }
        assert_eq!("2026-07-28".parse::<Protocol>().unwrap(), Protocol::Modern);
        for wrong in ["", "Auto", "2025-11-26", "old"] {
            let error = wrong.parse::<Protocol>().unwrap_err();
            assert!(error.hint().unwrap().contains("2025-03-26"), "{error}");
        }
    }

    #[test]
    fn common_revisions_are_the_newest_of_each_era() {
        let supported = ["2024-11-05", "1999-01-01", "2026-07-28", "2025-06-18"].map(str::to_owned);
        assert_eq!((common_modern(&supported), common_handshake(&supported)), (Some("2026-07-28"), Some("2025-06-18")));
        assert_eq!((common_modern(&supported[..2]), common_handshake(&supported[1..3])), (None, None));
    }
}
