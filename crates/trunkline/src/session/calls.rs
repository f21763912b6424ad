//! One call from its id to its answer: written, waited for, told the server about when nobody waits any more.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::Session;
use super::desk::{Desk, Waiter};
use crate::connection::CallContext;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;
use crate::protocol::jsonrpc;
use crate::protocol::raw::ObjectWriter;
use crate::transport::{Kind, Wire};

/// With more calls than this under way, requests are gathered and written together.
const EAGER: usize = 3;

/// Sends a request and waits for its answer. Dropping the future tells the server once.
pub(super) async fn request(
    session: &Session,
    method: &str,
    params: Option<RawJson>,
    cx: &CallContext,
) -> Result<RawJson> {
    let (answer, waiting) = oneshot::channel();
    let (id, under_way) = session.desk.expect(Waiter { answer, cx: cx.clone() })?;
    let params = with_meta(params, cx, id);
    let line = jsonrpc::request(id, method, params.as_ref());
    tracing::trace!(target: "trunkline::wire", direction = "out", message = %String::from_utf8_lossy(line.trim_ascii_end()));
    let mut call = Call { id, desk: &session.desk, wire: &session.wire, cancel: false };
    session.wire.send(Kind::Request { eager: under_way <= EAGER }, line).await?;
    call.cancel = method != "initialize"; // which must not be cancelled
    let answer = match cx.cancellation() {
        None => waiting.await,
        Some(cancellation) => tokio::select! {
            answer = waiting => answer,
            () = cancellation.cancelled() => {
                let error = Error::new(ErrorKind::Cancelled, format!("The call ({method}) was cancelled"));
                return Err(error.with_may_have_run(true));
            }
        },
    };
    call.cancel = false;
    answer.unwrap_or_else(|_| Err(Error::new(ErrorKind::Closed, "The session ended").with_may_have_run(true)))
}

/// A call under way. Dropped before the answer came, it frees the id and tells the server.
struct Call<'a> {
    id: u64,
    desk: &'a Arc<Desk>,
    wire: &'a Wire,
    cancel: bool,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let waited = self.desk.forget(self.id);
        if !(waited && self.cancel) {
            return;
        }
        let mut params = ObjectWriter::new();
        params.member("requestId", &serde_json::Value::from(self.id).into());
        params.text("reason", "The client no longer waits for the answer");
        let line = jsonrpc::notification("notifications/cancelled", Some(&params.finish()));
        let _ = self.wire.tell(Kind::Other, line); // best effort: the server may be gone
    }
}

/// The parameters with the context's `_meta` and, where progress is wanted, a token (the request's id).
fn with_meta(params: Option<RawJson>, cx: &CallContext, id: u64) -> Option<RawJson> {
    if cx.meta().is_none() && !cx.wants_progress() {
        return params;
    }
    let params = params.unwrap_or_else(RawJson::empty_object);
    let mut meta = params.field("_meta").unwrap_or_else(RawJson::empty_object);
    if let Some(more) = cx.meta() {
        meta = more.members().fold(meta, |meta, (key, value)| meta.with_member(&key, &value));
    }
    if cx.wants_progress() {
        meta = meta.with_member("progressToken", &serde_json::Value::from(id).into());
    }
    Some(params.with_member("_meta", &meta))
}
