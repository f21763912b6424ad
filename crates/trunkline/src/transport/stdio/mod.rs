//! A server as a child process that this side owns to the end: lines over its standard input and output, its
//! standard error always drained, its whole process group gone at the end.

mod guard;
mod lookup;
mod process;
mod tail;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::framing::{Outbox, TryWrite, read_lines};
use super::{CloseReport, Evidence, Inbox, Kind, Launch, Turn};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use process::{Forced, Graces, Pipes, Process};
use tail::Tail;

#[cfg(any(test, fuzzing))]
pub(crate) use tail::laws::tail;

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
pub(crate) fn start(launch: &Launch, limits: &Limits, inbox: Arc<dyn Inbox>, turn: Turn) -> Result<StdioWire> {
    let graces = Graces { exit: limits.exit_grace, term: limits.term_grace, kill: limits.kill_grace };
    let (process, pipes) = Process::spawn(launch, graces, turn).map_err(|error| lookup::explain(launch, error))?;
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
        tail: tail.clone(),
        farewell: Farewell { outbox: outbox.clone(), inbox, said: false },
        exit_grace: limits.exit_grace,
    };
    tokio::spawn(async move {
        let report = supervisor.run(stopped).await;
        let _ = end.send(Some(report)); // nobody waiting is fine
    });
    Ok(StdioWire { outbox, tail, stop, ended })
}

impl StdioWire {
    pub(crate) fn lost(&self, end: u64) -> bool {
        self.outbox.lost(end)
    }

    pub(crate) fn send(&self, kind: Kind, line: &[u8]) -> Result<u64> {
        let eager = !matches!(kind, Kind::Request { eager: false, .. });
        self.outbox.send(line, eager)
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
async fn finished<T>(task: &mut JoinHandle<T>, deadline: Instant) -> bool {
    task.is_finished() || timeout_at(deadline, task).await.is_ok()
}

/// Waits until somebody wants an end, or nobody holds the handle any more.
async fn asked(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
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
    tail: Arc<Tail>,
    farewell: Farewell,
    exit_grace: Duration,
}

impl Supervisor {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) -> CloseReport {
        let why = tokio::select! {
            read = &mut self.tasks.reader => match read {
                Ok(Err(error)) => self.with_stderr(error),
                _ => self.went_away("output").await,
            },
            () = self.process.exited() => self.went_away("output").await,
            _ = &mut self.tasks.flusher => self.went_away("input").await,
            () = asked(&mut stopped) => Error::new(ErrorKind::Closed, "The connection was closed"),
        };
        self.farewell.say(why);
        self.end().await
    }

    /// Gathers what there is to know of a server that exited, or at least closed a stream: its exit status, the
    /// last of its output.
    async fn went_away(&mut self, closed: &str) -> Error {
        if timeout(DRAIN, self.process.exited()).await.is_ok() {
            self.tail.set_exited();
            self.farewell.outbox.close(); // the flusher finds out what never left
            let deadline = Instant::now() + DRAIN;
            let Tasks { reader, drain, flusher } = &mut self.tasks;
            tokio::join!(finished(reader, deadline), finished(drain, deadline), finished(flusher, deadline));
        }
        let error = match self.process.status() {
            Some(status) => {
                Error::new(ErrorKind::Closed, format!("The server exited ({status})")).with_context("exit", status)
            }
            None => Error::new(ErrorKind::Closed, format!("The server closed its {closed} but keeps running")),
        };
        self.with_stderr(error)
    }

    fn with_stderr(&self, error: Error) -> Error {
        let lines = self.tail.evidence().stderr;
        if lines.is_empty() { error } else { error.with_context("stderr", lines.join("\n")) }
    }

    /// The ladder: standard input closed, wait, SIGTERM, wait, SIGKILL; until nothing of it is left.
    async fn end(&mut self) -> CloseReport {
        let patience = Instant::now() + self.exit_grace;
        if !finished(&mut self.tasks.flusher, patience).await {
            self.tasks.flusher.abort(); // it doesn't read; the pipe has to close all the same
        }
        let forced = self.process.end(patience).await;
        self.tail.set_exited();
        if let Some(Forced { signal, whom }) = forced {
            self.farewell.inbox.warning(format!("{whom} had to be ended by {signal}"));
        }
        finished(&mut self.tasks.drain, Instant::now() + DRAIN).await;
        self.tasks.drain.abort();
        self.tasks.reader.abort();
        CloseReport { forced: forced.map(|forced| forced.signal), exit: self.process.status() }
    }
}

/// Closes the outgoing side and tells the inbox that nothing more will come: once, and at the latest when the
/// supervisor is dropped with its runtime.
struct Farewell {
    outbox: Arc<Outbox>,
    inbox: Arc<dyn Inbox>,
    said: bool,
}

impl Farewell {
    fn say(&mut self, why: Error) {
        self.said = true;
        self.outbox.close();
        self.inbox.closed(why);
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        if !self.said {
            self.say(Error::new(ErrorKind::Closed, "The runtime that this connection ran on has ended"));
        }
    }
}

impl TryWrite for process::PipeSender {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        process::PipeSender::try_write(self, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl Inbox for Nobody {
        fn message(&self, _bytes: bytes::Bytes, _about: Option<u64>) {}
        fn stderr(&self, _line: &str) {}
        fn warning(&self, _text: String) {}
        fn closed(&self, _error: Error) {}
    }

    async fn closed(script: &str) -> CloseReport {
        let args = ["-c".to_owned(), script.to_owned()].to_vec();
        let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let launch = Launch { label: "sh".to_owned(), command: "/bin/sh".to_owned(), args, env, cwd: None };
        let turn = Arc::new(tokio::sync::Semaphore::new(1)).acquire_owned().await.unwrap();
        let limits = Limits { term_grace: Duration::from_secs(60), ..Limits::default() };
        start(&launch, &limits, Arc::new(Nobody), turn).unwrap().close().await
    }

    #[tokio::test]
    async fn p02_a_close_tells_how_the_server_ended() {
        for (script, forced, exit) in [
            ("read -r line", None, "exit status 1"),
            ("read -r line; sleep 0.3; exit 0", None, "exit status 0"),
            ("read -r line; kill -HUP $$", None, "signal 1 (SIGHUP)"),
            ("exec sleep 600", Some("SIGTERM"), "signal 15 (SIGTERM)"),
        ] {
            let report = closed(script).await;
            assert_eq!(report, CloseReport { forced, exit: Some(exit.to_owned()) }, "{script}");
        }
    }
}
