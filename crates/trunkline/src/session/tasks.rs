//! Calls that a server goes on with after it has answered (the tasks extension): followed to their end, and cancelled where
//! nobody waits for that any more.

use super::{Session, calls};
use crate::connection::CallContext;
use crate::error::Result;
use crate::protocol::jsonrpc::Params;
use crate::protocol::{RawJson, Task, result_type};
use crate::tasks::{self, Asker};

/// The result of a call, or of the task it became.
pub(super) async fn followed(session: &Session, result: RawJson, cx: &CallContext) -> Result<RawJson> {
    let Some(task) = Task::read(result.clone()).filter(|_| result_type(&result).as_deref() == Some("task")) else {
        return Ok(result);
    };
    let mut given_up = GivenUp { session, id: Some(task.id()) };
    let handler = cx.handler().or_else(|| session.desk.handler());
    let outcome = tasks::follow(&Messenger(session, cx.bounds()), task, handler, cx).await;
    if !matches!(&outcome, Err(error) if error.code().is_none()) {
        given_up.id = None; // the server has ended it, or doesn't know it
    }
    outcome
}

struct Messenger<'a>(&'a Session, CallContext);

impl Asker for Messenger<'_> {
    async fn ask(&self, method: &'static str, params: RawJson) -> Result<RawJson> {
        calls::request(self.0, method, Params::Raw(&params), &self.1).await
    }
}

/// A task that nobody waits for any more is cancelled.
struct GivenUp<'a> {
    session: &'a Session,
    id: Option<String>,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let session = Session { listening: None, ..self.session.clone() };
        runtime.spawn(async move {
            let (cx, patience) = (CallContext::new(), session.limits.close_grace);
            let cancelled = Messenger(&session, cx);
            let cancelled = cancelled.ask("tasks/cancel", tasks::named(&id));
            let _ = tokio::time::timeout(patience, cancelled).await; // best effort: it may be over
        });
    }
}
