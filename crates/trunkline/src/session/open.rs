//! The handshake of the revisions that have one (MCP specification, Lifecycle): `initialize`, then
//! `notifications/initialized`.

use serde_json::json;

use super::{Session, calls};
use crate::connection::{CallContext, Handler, RootChanges};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::era::{HANDSHAKE_REVISIONS, NEWEST_HANDSHAKE, speaks};
use crate::protocol::jsonrpc::Params;
use crate::protocol::{RawJson, ServerInfo};

/// Who this side says it is.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) version: String,
}

impl Default for Identity {
    fn default() -> Self {
        Self { name: "trunkline".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

impl Session {
    /// Agrees on a revision and learns what the server offers.
    pub(crate) async fn handshake(&self, identity: &Identity) -> Result<()> {
        let root_changes = self.desk.handler().map_or_else(RootChanges::none, Handler::root_changes);
        let capabilities = self.desk.handler().map_or_else(RawJson::empty_object, Handler::capabilities);
        let params = json!({
            "protocolVersion": NEWEST_HANDSHAKE,
            "capabilities": capabilities.to_value(),
            "clientInfo": {"name": identity.name, "version": identity.version},
        });
        let params = RawJson::from(params);
        let result = calls::request(self, "initialize", Params::Raw(&params), &CallContext::new()).await?;
        let info = ServerInfo::from_raw(result);
        let revision = checked_revision(&info)?;
        self.wire.agreed(&revision);
        self.desk.agreed(&revision);
        let _ = self.info.set(info); // once a session
        calls::notify(self, "notifications/initialized").await?;
        self.desk.set_established();
        self.tell_of_roots(root_changes);
        self.wire.listen().await;
        Ok(())
    }
}

/// The revision that the server chose, if this side speaks it.
fn checked_revision(info: &ServerInfo) -> Result<String> {
    let message = match info.raw().field("protocolVersion") {
        Some(version) => match version.as_text() {
            Some(version) if speaks(&version) => return Ok(version),
            _ => format!("The server speaks protocol version {version}, which this client doesn't know"),
        },
        None => "The server's answer to initialize names no protocol version".to_owned(),
    };
    let known = HANDSHAKE_REVISIONS.join(", ");
    Err(Error::new(ErrorKind::Protocol, message).with_hint(format!("This client speaks {known}")))
}
