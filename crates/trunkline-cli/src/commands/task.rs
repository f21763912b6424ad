//! `trunkline task`: a call that goes on at its server.

use trunkline::{CallContext, TaskStatus};

use super::call::Shown;
use crate::args;
use crate::exit::{Exit, Outcome};
use crate::progress::Spinner;
use crate::render::{Screen, escape};
use crate::servers::Servers;

pub(crate) struct Task {
    pub(crate) args: args::Task,
}

impl Task {
    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        let client = servers.client(&self.args.server)?;
        let task = client.task(&self.args.id);
        let address = format!("the task {}", self.args.id);
        let spinner = Spinner::start(screen, "connecting").telling(servers);
        if self.args.cancel {
            task.cancel().await?;
            drop(spinner);
            screen.note("The server was asked to give it up.");
            return Ok(Exit::Done);
        }
        if self.args.wait {
            let shown = escape::line(&address);
            let cx = CallContext::new();
            let cx = match spinner.progress_sink(&shown) {
                Some(sink) => cx.on_progress(sink),
                None => cx,
            };
            let result = task.wait_with(&cx).await?;
            drop(spinner);
            return Shown { raw: false, output: None }.show(&result, &address, screen);
        }
        let task = task.get().await?;
        drop(spinner);
        if screen.json {
            screen.print_exact(task.raw().as_bytes())?;
            return Ok(Exit::Done);
        }
        let status = match task.status() {
            Some(TaskStatus::Working) => "working".to_owned(),
            Some(TaskStatus::InputRequired) => "needs an answer (--wait asks for it)".to_owned(),
            Some(TaskStatus::Completed) => "completed (--wait prints the result)".to_owned(),
            Some(TaskStatus::Cancelled) => "cancelled".to_owned(),
            Some(TaskStatus::Failed) => "failed (--wait prints the error)".to_owned(),
            _ => task.raw().get("status").map_or_else(|| "unknown".to_owned(), |status| status.to_string()),
        };
        let said = task.status_message().map(|said| format!(": {said}")).unwrap_or_default();
        screen.print(&escape::line(&format!("{status}{said}")))?;
        Ok(Exit::Done)
    }
}
