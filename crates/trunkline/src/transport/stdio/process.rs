//! One child process with its group: started, watched, ended, reaped.

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
use crate::transport::{Launch, Turn};

/// How soon a group is looked at again while it should be ending (there is no event for "the group is empty"),
/// and how late.
const LOOK: Duration = Duration::from_millis(2);
const LONGEST_LOOK: Duration = Duration::from_millis(50);

/// How long the kernel may take to clear up what SIGKILL ended.
const KILL_GRACE: Duration = Duration::from_secs(1);

pub(crate) type PipeSender = pipe::Sender;

/// The ends of the child's pipes.
pub(crate) struct Pipes {
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
}

/// A child process and whatever it started in its group.
pub(crate) struct Process {
    child: Child,
    group: Pid,
    status: Option<ExitStatus>,
    /// How long it may take after its input is closed, and after SIGTERM.
    graces: (Duration, Duration),
    held: Option<Held>,
}

/// What is held until nothing is left of the group.
struct Held {
    _guarded: guard::Ticket,
    _turn: Turn,
}

impl Process {
    pub(crate) fn spawn(launch: &Launch, graces: (Duration, Duration), turn: Turn) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new(&launch.command);
        command.args(&launch.args).env_clear().envs(launch.env.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        if let Some(cwd) = &launch.cwd {
            command.current_dir(cwd);
        }
        let mut child = command.spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).ok_or(io::ErrorKind::NotFound)?;
        let held = Some(Held { _guarded: guard::register(group.as_raw_nonzero().get()), _turn: turn });
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // from here on, dropping `process` ends the child
        let process = Self { child, group, status: None, graces, held };
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

    /// Waits until `patience` for the group to end by itself (its input is closed), then ends it by SIGTERM, then
    /// by SIGKILL. Returns the last signal that was needed.
    pub(crate) async fn end(&mut self, patience: tokio::time::Instant) -> Option<&'static str> {
        let mut forced = None;
        let mut gone = self.gone_by(patience).await;
        for (signal, name, grace) in [(Signal::TERM, "SIGTERM", self.graces.1), (Signal::KILL, "SIGKILL", KILL_GRACE)] {
            if gone {
                break;
            }
            let _ = kill_process_group(self.group, signal); // gone in between is what we want
            forced = Some(name);
            gone = self.gone_by(tokio::time::Instant::now() + grace).await;
        }
        if gone {
            self.held = None;
        }
        forced
    }

    /// Whether the child has been reaped and its group is empty by `deadline`.
    async fn gone_by(&mut self, deadline: tokio::time::Instant) -> bool {
        if tokio::time::timeout_at(deadline, self.exited()).await.is_err() {
            return false;
        }
        let mut looks = looks();
        while !group_is_empty(self.group) {
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
        let (group, graces) = (self.group, self.graces);
        let leader = self.status.is_none().then_some(group); // a number that was reaped may be somebody else's by now
        let ladder = move || {
            clear(group, leader, graces);
            drop(held);
        };
        let _ = std::thread::Builder::new().name("trunkline-reap".to_owned()).spawn(ladder); // else the guard has it
    }
}

/// The ladder of [`Process::end`] where nothing can be awaited. Reaps the leader, if there is one.
fn clear(group: Pid, leader: Option<Pid>, (exit_grace, term_grace): (Duration, Duration)) {
    for (signal, grace) in [(None, exit_grace), (Some(Signal::TERM), term_grace), (Some(Signal::KILL), KILL_GRACE)] {
        if let Some(signal) = signal {
            let _ = kill_process_group(group, signal); // gone in between is what we want
        }
        let deadline = Instant::now() + grace;
        let mut looks = looks();
        while Instant::now() < deadline {
            if leader.is_some() {
                let _ = waitpid(leader, WaitOptions::NOHANG); // somebody else's reaping is as good
            }
            if group_is_empty(group) {
                return;
            }
            std::thread::sleep(looks.next().unwrap_or(LOOK));
        }
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

/// Looks through `/proc`: the fields after the command's `)` are state, parent, group.
fn has_live_member(group: Pid) -> bool {
    let group = group.as_raw_nonzero().to_string();
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    processes.flatten().any(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let (state, _parent, its_group) = (fields.next(), fields.next(), fields.next());
        its_group == Some(group.as_str()) && !matches!(state, Some("Z" | "X"))
    })
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
