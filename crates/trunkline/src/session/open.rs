//! How a session begins (MCP specification, Versioning): with the handshake of the legacy revisions (`initialize`, then
//! `notifications/initialized`), with the question of the modern ones (`server/discover`), or with the one and, on
//! anything that isn't a modern server's answer to it, the other.

use std::pin::pin;
use std::time::Duration;

use serde_json::json;

use super::modern::{self, Found, Modern};
use super::{Session, calls};
use crate::connection::{CallContext, Handler, RootChanges};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::era::{self, HANDSHAKE_REVISIONS, NEWEST_HANDSHAKE, UNSUPPORTED_VERSION, speaks};
use crate::protocol::jsonrpc::Params;
use crate::protocol::{RawJson, ServerInfo};
use crate::transport::{Pause, Terms};

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

/// How to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// With the handshake, and this revision first.
    Handshake(&'static str),
    /// Without a handshake.
    Modern,
    /// Find out which; after so long a silence, both.
    Probe(Duration),
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Begun {
    Legacy,
    Modern,
    /// It took the question and the handshake, so nobody knows what it holds to: it has to be started anew.
    Both,
    /// The server ended on the question which it is, so it has to be started anew, with the handshake.
    Ended(Error),
}

impl Session {
    /// Agrees on a revision and learns what the server offers. How long it is silent is counted without the time of logins.
    pub(crate) async fn begin(&self, identity: &Identity, way: Way, logins: &Pause) -> Result<Begun> {
        match way {
            Way::Handshake(revision) => self.handshake(identity, revision).await.map(|()| Begun::Legacy),
            Way::Modern => match self.discover(&Modern::new(identity, self.desk.handler()), false).await {
                Found::Modern(info) => self.begin_modern(identity, info).await,
                Found::Legacy { why, .. } => Err(modern::not_modern(why)),
                Found::Nothing(error) => Err(error),
            },
            Way::Probe(patience) => self.probe(identity, patience, logins).await,
        }
    }

    async fn handshake(&self, identity: &Identity, revision: &str) -> Result<()> {
        self.wire.agree(Terms::default());
        let root_changes = self.desk.handler().map_or_else(RootChanges::none, Handler::root_changes);
        let capabilities = self.desk.handler().map_or_else(RawJson::empty_object, Handler::capabilities);
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities.to_value(),
            "clientInfo": {"name": identity.name, "version": identity.version},
        });
        let params = RawJson::from(params);
        let result = calls::request(self, "initialize", Params::Raw(&params), &CallContext::new()).await?;
        let info = ServerInfo::from_raw(result);
        let revision = checked_revision(&info)?;
        self.wire.agree(Terms { revision: Some(revision.clone()), stateless: false });
        self.desk.agreed(&revision);
        let _ = self.info.set(info); // once a session
        calls::notify(self, "notifications/initialized").await?;
        self.desk.set_established();
        self.tell_of_roots(root_changes);
        self.wire.listen().await;
        Ok(())
    }

    /// Asks for the modern era; where that isn't it, goes on with the handshake.
    async fn probe(&self, identity: &Identity, patience: Duration, logins: &Pause) -> Result<Begun> {
        let modern = Modern::new(identity, self.desk.handler());
        let mut discovering = pin!(self.discover(&modern, true));
        match logins.within(patience, &mut discovering).await {
            Some(found) => self.after(found, identity).await,
            None => {
                tracing::debug!("no answer to server/discover yet; trying the handshake beside it");
                let mut shaking = pin!(self.handshake(identity, NEWEST_HANDSHAKE));
                tokio::select! {
                    biased;
                    found = &mut discovering => match found {
                        // over HTTP the one leaves no trace in the other
                        Found::Modern(info) if self.wire.has_headers() => self.begin_modern(identity, info).await,
                        Found::Modern(info) => match logins.within(patience, shaking).await {
                            Some(Ok(())) => Ok(Begun::Both),
                            Some(Err(_)) | None => self.begin_modern(identity, info).await,
                        },
                        Found::Legacy { .. } => self.shaken(shaking.await),
                        Found::Nothing(error) => Err(error),
                    },
                    shaken = &mut shaking => match shaken {
                        // it took the first question after all, and refuses the second
                        Err(error) if error.code() == Some(UNSUPPORTED_VERSION) => {
                            let found = discovering.await;
                            self.after(found, identity).await
                        }
                        shaken => self.shaken(shaken),
                    },
                }
            }
        }
    }

    async fn after(&self, found: Found, identity: &Identity) -> Result<Begun> {
        match found {
            Found::Modern(info) => self.begin_modern(identity, info).await,
            Found::Nothing(error) => Err(error),
            Found::Legacy { why, .. } if self.over_because().is_some() => Ok(Begun::Ended(self.ended(why))),
            Found::Legacy { revision, .. } => self.shaken(self.handshake(identity, revision).await),
        }
    }

    /// What the handshake after a question comes to.
    fn shaken(&self, outcome: Result<()>) -> Result<Begun> {
        match outcome {
            Err(error) if error.kind() == ErrorKind::Closed && self.over_because().is_some() => Ok(Begun::Ended(error)),
            outcome => outcome.map(|()| Begun::Legacy),
        }
    }

    fn ended(&self, why: Option<Error>) -> Error {
        let over = self.over_because();
        over.or(why).unwrap_or_else(|| Error::new(ErrorKind::Closed, "The server ended"))
    }

    async fn begin_modern(&self, identity: &Identity, info: ServerInfo) -> Result<Begun> {
        let modern = Modern::new(identity, self.desk.handler()).of_server(&info);
        self.wire.agree(modern.terms());
        self.desk.agreed(modern.revision());
        let _ = self.info.set(info); // once a session
        let _ = self.modern.set(modern);
        self.desk.set_established();
        self.listen().await;
        Ok(Begun::Modern)
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
    let modern = era::MODERN_REVISIONS.join(", ");
    Err(Error::new(ErrorKind::Protocol, message)
        .with_hint(format!("This client speaks {known}, and {modern} without a handshake")))
}
