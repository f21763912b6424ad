//! Following a task to its end (the tasks extension, SEP-2663): asked about as often as its server suggests, its questions
//! answered, each once.

use std::collections::HashSet;
use std::future::Future;

use crate::connection::{CallContext, Progress, SharedHandler, answer_all};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::raw::ObjectWriter;
use crate::protocol::{RawJson, Task, TaskStatus};

/// Whoever passes requests about a task on to its server.
pub(crate) trait Asker {
    fn ask(&self, method: &'static str, params: RawJson) -> impl Future<Output = Result<RawJson>> + Send;
}

/// The parameters that name a task.
pub(crate) fn named(id: &str) -> RawJson {
    let mut out = ObjectWriter::new();
    out.text("taskId", id);
    out.finish()
}

/// Asks where a task stands.
pub(crate) async fn get(server: &impl Asker, id: &str) -> Result<Task> {
    let told = server.ask("tasks/get", named(id)).await?;
    Task::read(told.clone()).ok_or_else(|| {
        let message = format!("The server answered tasks/get with something that is no task: {told}");
        Error::new(ErrorKind::Protocol, message).with_may_have_run(true)
    })
}

/// Follows a task to its end and gives its result. What it says of itself is reported as progress.
pub(crate) async fn follow(
    server: &impl Asker,
    task: Task,
    handler: Option<&SharedHandler>,
    cx: &CallContext,
) -> Result<RawJson> {
    let (id, mut task) = (task.id(), task);
    let (mut said, mut steps, mut answered) = (None, 0.0, HashSet::new());
    loop {
        let message = task.status_message();
        if message != said {
            steps += 1.0;
            cx.report_progress(&Progress::new(steps, None, message.clone()));
            said = message;
        }
        match task.status() {
            Some(TaskStatus::Working) => {}
            Some(TaskStatus::InputRequired) => answer(server, &task, handler, cx, &mut answered).await?,
            _ => return ended(&task),
        }
        {
            let _waiting = cx.hold(); // what takes long is the task, not the server's answers
            tokio::time::sleep(task.poll_interval()).await;
        }
        task = get(server, &id).await?;
    }
}

/// Answers what wasn't answered yet.
async fn answer(
    server: &impl Asker,
    task: &Task,
    handler: Option<&SharedHandler>,
    cx: &CallContext,
    answered: &mut HashSet<String>,
) -> Result<()> {
    let new: Vec<_> = task.questions().members().filter(|(key, _)| !answered.contains(key)).collect();
    if new.is_empty() {
        return Ok(());
    }
    let Some(handler) = handler else { return Err(unanswered(task, &new)) };
    let answers = {
        let _patience = cx.hold();
        answer_all(handler, &new).await?
    };
    answered.extend(new.into_iter().map(|(key, _)| key));
    let params = named(&task.id()).with_member("inputResponses", &answers);
    server.ask("tasks/update", params).await.map(drop)
}

fn unanswered(task: &Task, questions: &[(String, RawJson)]) -> Error {
    let asked: Vec<_> = questions.iter().filter_map(|(_, question)| question.text("method")).collect();
    let message = format!("The task {} needs an answer first ({}), and nobody gives one", task.id(), asked.join(", "));
    Error::new(ErrorKind::Unsupported, message)
        .with_hint("Give the client or the call a handler that answers what the server asks")
        .with_may_have_run(true)
}

/// What a task that goes on no more came to.
fn ended(task: &Task) -> Result<RawJson> {
    let said = task.status_message().map(|said| format!(": {said}")).unwrap_or_default();
    let told = |kind, message: String| Err(Error::new(kind, message).with_may_have_run(true));
    match task.status() {
        Some(TaskStatus::Completed) => match task.raw().field("result") {
            Some(result) if result.is_object() => Ok(result),
            _ => told(ErrorKind::Protocol, format!("The task {} is done, but its result is missing", task.id())),
        },
        Some(TaskStatus::Failed) => {
            let error = task.raw().field("error").unwrap_or_else(RawJson::empty_object);
            let code = error.field("code").and_then(|code| code.decode().ok()).unwrap_or(-32603);
            let message = error.text("message").unwrap_or_else(|| format!("The task {} failed{said}", task.id()));
            Err(Error::protocol(code, message, error.field("data")).with_may_have_run(true))
        }
        Some(TaskStatus::Cancelled) => {
            told(ErrorKind::Cancelled, format!("The task {} was cancelled{said}", task.id()))
        }
        _ => {
            let status = task.raw().field("status").map_or_else(|| "none".to_owned(), |status| status.to_string());
            told(ErrorKind::Protocol, format!("The task {} has an unknown status: {status}", task.id()))
        }
    }
}
