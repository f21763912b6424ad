//! Which log messages a client wants. Any connection may log, through the context of a call, so every served one
//! declares `logging` and minds the level its client sets (MCP specification, Logging).

use serde_json::json;

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{RawJson, ServerInfo};

/// From the least to the most severe.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The least severe level that goes out; all do until the client says otherwise.
#[derive(Debug, Default)]
pub(super) struct Threshold(usize);

impl Threshold {
    /// What the client asks for with `logging/setLevel`.
    pub(super) fn asked(params: Option<&RawJson>) -> Result<Self> {
        let level = params.and_then(|params| params.text("level")).unwrap_or_default();
        rank(&level).map(Self).ok_or_else(|| {
            Error::new(ErrorKind::InvalidArguments, format!("No log level {level:?}"))
                .with_hint(format!("The levels are {}", LEVELS.join(", ")))
        })
    }

    /// Whether a message of this level goes out; one of an unknown level does.
    pub(super) fn permits(&self, level: &str) -> bool {
        rank(level).is_none_or(|rank| rank >= self.0)
    }
}

fn rank(level: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == level)
}

/// The answer to `initialize` with `logging` among the capabilities.
pub(super) fn declared(info: &ServerInfo) -> RawJson {
    let capabilities = info.capabilities();
    let capabilities = match capabilities.get("logging").filter(|logging| !logging.is_null()) {
        Some(_) => capabilities,
        None => capabilities.with_member("logging", &json!({}).into()),
    };
    info.raw().with_member("capabilities", &capabilities)
}
