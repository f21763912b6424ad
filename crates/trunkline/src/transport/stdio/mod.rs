//! A server as a child process that this side owns to the end: lines over its standard input and output, its
//! standard error always drained, its whole process group gone at the end.

mod guard;
mod lookup;
mod process;
mod tail;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncRead;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::framing::{Outbox, TryWrite, read_lines};
use super::{CloseReport, Evidence, Inbox, Kind, Launch};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use process::{Pipes, Process};
use tail::Tail;

/// How long the output of a process that has ended may still drain.
const DRAIN: Duration = Duration::from_millis(250);

/// The handle of a running server. Dropping it ends the server in the background.
pub(crate) struct StdioWire {
    outbox: Arc<Outbox>,
    tail: Arc<Tail>,
    /// `true` asks the supervisor to end the server; dropping does the same.
    stop: watch::Sender<bool>,
    ended: watch::Receiver<Option<CloseReport>>,
}

/// Starts the command. Needs a runtime.
pub(crate) fn start(launch: &Launch, limits: &Limits, inbox: Arc<dyn Inbox>) -> Result<StdioWire> {
    let (process, pipes) = Process::spawn(launch).map_err(|error| lookup::explain(launch, error))?;
    let Pipes { stdin, stdout, stderr } = pipes;
    let tail = Arc::new(Tail::new(limits.stderr_tail));
    let stdin = Arc::new(stdin);
    let outbox = Outbox::new(limits.max_unsent, Some(stdin.clone()));
    let flusher = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.flush(process::SharedPipe(stdin)).await }
    });
    let reader = tokio::spawn(read(stdout, limits.max_message, inbox.clone(), tail.clone()));
    let drain = tokio::spawn(tail::drain(stderr, tail.clone(), inbox.clone()));
    let (stop, stopped) = watch::channel(false);
    let (end, ended) = watch::channel(None);
    let supervisor = Supervisor {
        process,
        tasks: Tasks { reader, drain, flusher },
        outbox: outbox.clone(),
        tail: tail.clone(),
        inbox,
        graces: (limits.exit_grace, limits.term_grace),
    };
    tokio::spawn(async move {
        let report = supervisor.run(stopped).await;
        let _ = end.send(Some(report)); // nobody waiting is fine
    });
    Ok(StdioWire { outbox, tail, stop, ended })
}

impl StdioWire {
    pub(crate) fn send(&self, kind: Kind, line: Bytes) -> Result<()> {
        let eager = !matches!(kind, Kind::Request { eager: false });
        self.outbox.send(&line, eager)
    }

    pub(crate) async fn close(&self) -> CloseReport {
        let _ = self.stop.send(true); // a supervisor that is gone has ended already
        let mut ended = self.ended.clone();
        let report = ended.wait_for(Option::is_some).await;
        report.ok().and_then(|report| report.clone()).unwrap_or_default()
    }

    pub(crate) fn evidence(&self) -> Evidence {
        Evidence { alive: self.ended.borrow().is_none() && !self.tail.exited(), ..self.tail.evidence() }
    }
}

async fn read(stdout: impl AsyncRead + Unpin, max: usize, inbox: Arc<dyn Inbox>, tail: Arc<Tail>) -> Result<()> {
    read_lines(stdout, max, &*inbox, &|bytes| tail.received(bytes)).await
}

/// Waits for a task that may have been waited for before; whether it has ended.
async fn finished<T>(task: &mut JoinHandle<T>, limit: Duration) -> bool {
    task.is_finished() || timeout(limit, task).await.is_ok()
}

struct Tasks {
    reader: JoinHandle<Result<()>>,
    drain: JoinHandle<()>,
    flusher: JoinHandle<()>,
}

/// Owns the process from its start to the last member of its group.
struct Supervisor {
    process: Process,
    tasks: Tasks,
    outbox: Arc<Outbox>,
    tail: Arc<Tail>,
    inbox: Arc<dyn Inbox>,
    graces: (Duration, Duration),
}

/// What ended first.
enum First {
    Output(Result<()>),
    Exit,
    Stop,
}

impl Supervisor {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) -> CloseReport {
        let first = tokio::select! {
            end = &mut self.tasks.reader => First::Output(end.unwrap_or(Ok(()))),
            () = self.process.exited() => First::Exit,
            _ = stopped.wait_for(|stop| *stop) => First::Stop,
        };
        match first {
            First::Stop => {
                let inbox = self.inbox.clone();
                let report = self.end().await;
                inbox.closed(Error::new(ErrorKind::Closed, "The connection was closed"));
                report
            }
            First::Output(Err(error)) => {
                self.inbox.closed(self.with_stderr(error));
                self.end().await
            }
            First::Output(Ok(())) | First::Exit => {
                let error = self.ended_by_itself().await;
                self.inbox.closed(error);
                self.end().await
            }
        }
    }

    /// Gathers what there is to know of a server that went away: exit status, the last of its output.
    async fn ended_by_itself(&mut self) -> Error {
        let deadline = Instant::now() + DRAIN;
        let exited = timeout_at(deadline, self.process.exited()).await.is_ok();
        if exited {
            self.tail.set_exited();
            finished(&mut self.tasks.reader, DRAIN).await;
            finished(&mut self.tasks.drain, DRAIN).await;
        }
        let error = match self.process.status() {
            Some(status) => Error::new(ErrorKind::Closed, format!("The server exited ({status})"))
                .with_context("exit", status.clone()),
            None => Error::new(ErrorKind::Closed, "The server closed its output but keeps running"),
        };
        self.with_stderr(error)
    }

    fn with_stderr(&self, error: Error) -> Error {
        let lines = self.tail.evidence().stderr;
        if lines.is_empty() { error } else { error.with_context("stderr", lines.join("\n")) }
    }

    /// The ladder: standard input closed, wait, SIGTERM, wait, SIGKILL; until the whole group is gone.
    async fn end(mut self) -> CloseReport {
        self.outbox.close();
        if !finished(&mut self.tasks.flusher, self.graces.0).await {
            self.tasks.flusher.abort(); // it doesn't read; the pipe has to close all the same
        }
        let forced = self.process.end(self.graces).await;
        self.tail.set_exited();
        if let Some(signal) = forced {
            self.inbox.warning(format!("The server had to be ended by {signal}"));
        }
        finished(&mut self.tasks.drain, DRAIN).await;
        self.tasks.drain.abort();
        self.tasks.reader.abort();
        CloseReport { forced }
    }
}

impl TryWrite for process::PipeSender {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        process::PipeSender::try_write(self, bytes)
    }
}
