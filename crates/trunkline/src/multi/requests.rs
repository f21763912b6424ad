//! Raw requests on their way through: which member one is for, and its params as that member knows them. Nothing
//! but names changes, so fields that this crate doesn't know get through.

use std::sync::Arc;

use serde_json::Value;

use super::MultiServer;
use super::member::Seat;
use crate::connection::{CallContext, Connection, dispatch};
use crate::error::Result;
use crate::protocol::RawJson;

/// A member, and the params of a request to it.
type Addressed = (Arc<Seat>, RawJson);

impl MultiServer {
    /// Passes a request on to the member it names; answers the others by the typed methods.
    pub(super) async fn relay(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        let addressed = match &params {
            Some(params) => self.addressed(method, params, cx).await?,
            None => None,
        };
        match addressed {
            Some((seat, params)) => seat.managed.request(method, Some(params), cx).await,
            None => dispatch(self, method, params, cx).await,
        }
    }

    async fn addressed(&self, method: &str, params: &RawJson, cx: &CallContext) -> Result<Option<Addressed>> {
        let (name, uri) = (params.text("name"), params.text("uri"));
        Ok(match (method, name, uri) {
            ("tools/call", Some(name), _) => {
                let route = self.route(&name, cx).await?;
                Some((route.seat, renamed(params, &route.wire)))
            }
            ("prompts/get", Some(name), _) => {
                let (seat, wire) = self.prompt_owner(&name, cx).await?;
                Some((seat, renamed(params, &wire)))
            }
            ("resources/read" | "resources/subscribe" | "resources/unsubscribe", _, Some(uri)) => {
                Some((self.owner_of(&uri, cx).await?, params.clone()))
            }
            ("completion/complete", ..) => self.completing(params, cx).await?,
            _ => None,
        })
    }

    /// Completion names a prompt or a resource template inside its `ref`.
    async fn completing(&self, params: &RawJson, cx: &CallContext) -> Result<Option<Addressed>> {
        let Some(reference) = params.field("ref") else { return Ok(None) };
        if let Some(uri) = reference.text("uri") {
            return Ok(Some((self.owner_of(&uri, cx).await?, params.clone())));
        }
        let Some(name) = reference.text("name") else { return Ok(None) };
        let (seat, wire) = self.prompt_owner(&name, cx).await?;
        Ok(Some((seat, params.with_member("ref", &renamed(&reference, &wire)))))
    }
}

fn renamed(params: &RawJson, wire: &str) -> RawJson {
    params.with_member("name", &Value::from(wire).into())
}
