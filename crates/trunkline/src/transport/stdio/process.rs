//! One child process and all that it started, in its process group or out of it: started, watched, ended, reaped.

use std::io;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpid};
use tokio::io::AsyncWrite;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::guard;
use crate::processes::{Mark, VARIABLE, has_live_member};
use crate::transport::{Launch, Turn};

/// How soon a group is looked at again while it should be ending (there is no event for "the group is empty"),
/// and how late.
const LOOK: Duration = Duration::from_millis(2);
const LONGEST_LOOK: Duration = Duration::from_millis(50);

pub(crate) type PipeSender = pipe::Sender;

/// The ends of the child's pipes.
pub(crate) struct Pipes {
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
}

/// How long a server may take to end after its input is closed, after SIGTERM and after SIGKILL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Graces {
    pub(crate) exit: Duration,
    pub(crate) term: Duration,
    pub(crate) kill: Duration,
}

/// That a server didn't end by itself: the last signal that was needed, and for whom.
pub(crate) struct Forced {
    pub(crate) signal: &'static str,
    pub(crate) whom: &'static str,
}

/// A child process and whatever it started.
pub(crate) struct Process {
    child: Child,
    family: Family,
    status: Option<ExitStatus>,
    graces: Graces,
    held: Option<Held>,
}

/// All that a child started: what is in its group, and what left that but carries the mark.
#[derive(Debug, Clone)]
struct Family {
    group: Pid,
    mark: Mark,
}

/// What is held until nothing is left of the family.
struct Held {
    _guarded: guard::Ticket,
    _turn: Turn,
}

impl Process {
    pub(crate) fn spawn(launch: &Launch, graces: Graces, turn: Turn) -> io::Result<(Self, Pipes)> {
        let mark = Mark::next(&launch.label);
        let mut command = Command::new(&launch.command);
        command.args(&launch.args).env_clear().envs(launch.env.iter().map(|(key, value)| (key, value)));
        command.env(VARIABLE, mark.value());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        if let Some(cwd) = &launch.cwd {
            command.current_dir(cwd);
        }
        guard::stand_by(&mark, graces); // it has to see the mark of a child that nobody could tell it of
        let mut child = command.spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).ok_or(io::ErrorKind::NotFound)?;
        let held = Some(Held { _guarded: guard::register(group.as_raw_nonzero().get()), _turn: turn });
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // from here on, dropping `process` ends the child
        let process = Self { child, family: Family { group, mark }, status: None, graces, held };
        let missing = || io::Error::other("the child has no pipes");
        let pipes = Pipes {
            stdin: pipe::Sender::from_owned_fd(stdin.ok_or_else(missing)?.into_owned_fd()?)?,
            stdout: pipe::Receiver::from_owned_fd(stdout.ok_or_else(missing)?.into_owned_fd()?)?,
            stderr: pipe::Receiver::from_owned_fd(stderr.ok_or_else(missing)?.into_owned_fd()?)?,
        };
        Ok((process, pipes))
    }

    /// Waits until the child itself has ended. Can be dropped and called again.
    pub(crate) async fn exited(&mut self) {
        if self.status.is_none() {
            self.status = self.child.wait().await.ok();
        }
    }

    /// How the child ended, in words.
    pub(crate) fn status(&self) -> Option<String> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.status?;
        Some(match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("signal {signal}{}", signal_name(signal)),
            (None, None) => "unknown status".to_owned(),
        })
    }

    /// Waits until `patience` for the family to end by itself (the child's input is closed), then ends it by SIGTERM,
    /// then by SIGKILL.
    pub(crate) async fn end(&mut self, patience: tokio::time::Instant) -> Option<Forced> {
        let mut forced = None;
        let mut gone = self.gone_by(patience).await;
        let whom = if self.status.is_some() { "What the server started" } else { "The server" };
        for (signal, name, grace) in
            [(Signal::TERM, "SIGTERM", self.graces.term), (Signal::KILL, "SIGKILL", self.graces.kill)]
        {
            if gone {
                break;
            }
            self.family.signal(signal);
            forced = Some(Forced { signal: name, whom });
            gone = self.gone_by(tokio::time::Instant::now() + grace).await;
        }
        if gone {
            self.held = None;
        }
        forced
    }

    /// Whether the child has been reaped and nothing is left of its family by `deadline`.
    async fn gone_by(&mut self, deadline: tokio::time::Instant) -> bool {
        if tokio::time::timeout_at(deadline, self.exited()).await.is_err() {
            return false;
        }
        let mut looks = looks();
        while !self.family.is_gone() {
            if tokio::time::Instant::now() >= deadline {
                return false;
            }
            tokio::time::sleep(looks.next().unwrap_or(LOOK)).await;
        }
        true
    }
}

impl Drop for Process {
    /// Whoever supervised it was dropped with the runtime: a thread ends the group, and the guard does if this
    /// process ends first.
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        let (family, graces) = (self.family.clone(), self.graces);
        let leader = self.status.is_none().then_some(family.group); // a number that was reaped may be another's by now
        let ladder = move || {
            clear(&family, leader, graces);
            drop(held);
        };
        let _ = std::thread::Builder::new().name("trunkline-reap".to_owned()).spawn(ladder); // else the guard has it
    }
}

/// The ladder of [`Process::end`] where nothing can be awaited. Reaps the leader, if there is one.
fn clear(family: &Family, leader: Option<Pid>, graces: Graces) {
    let Graces { exit, term, kill } = graces;
    for (signal, grace) in [(None, exit), (Some(Signal::TERM), term), (Some(Signal::KILL), kill)] {
        if let Some(signal) = signal {
            family.signal(signal);
        }
        let deadline = Instant::now() + grace;
        let mut looks = looks();
        while Instant::now() < deadline {
            if leader.is_some() {
                let _ = waitpid(leader, WaitOptions::NOHANG); // somebody else's reaping is as good
            }
            if family.is_gone() {
                return;
            }
            std::thread::sleep(looks.next().unwrap_or(LOOK));
        }
    }
}

impl Family {
    fn is_gone(&self) -> bool {
        group_is_empty(self.group) && !self.mark.is_carried()
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal); // gone in between is what we want
        self.mark.signal(signal);
    }
}

/// The pauses between looks at a group that should be ending: short at first.
fn looks() -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(LOOK), |pause| Some((*pause * 2).min(LONGEST_LOOK)))
}

/// Whether nothing runs in the group any more. Dead members that nobody reaps (as in a container whose first
/// process doesn't) don't count.
fn group_is_empty(group: Pid) -> bool {
    match test_kill_process_group(group) {
        Err(Errno::SRCH) => true,
        _ if cfg!(target_os = "linux") => !has_live_member(group),
        _ => false,
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        6 => " (SIGABRT)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

/// The writing end, shared between whoever writes at once and the flusher. The pipe closes when both let go.
pub(crate) struct SharedPipe(pub(crate) Arc<pipe::Sender>);

impl AsyncWrite for SharedPipe {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
