//! A small process that outlives this one for a moment: it is told each process group over a pipe, and when
//! the pipe closes (this process ended, in whatever way) it ends what is left: wait, SIGTERM, wait, SIGKILL.
//! On Linux it finds those too that left their group (`setsid`), by the mark in their environment.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::process::Graces;
use crate::processes::{Mark, VARIABLE};

/// Reads `+ GROUP`, `- GROUP` and `= EXIT_GRACE TERM_GRACE` (tenths of seconds) until the pipe closes, then clears up.
/// Its argument is how the marks of this process begin. Plain POSIX shell.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT
mark=$1 groups= exit=0 term=0
while read -r op one two; do
  case $op in
  =) exit=$one term=$two ;;
  +) groups="$groups $one" ;;
  -)
    rest=
    for group in $groups; do [ "$group" = "$one" ] || rest="$rest $group"; done
    groups=$rest ;;
  esac
done
strays() {
  grep -lF "$mark" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do echo "$pid"; done
}
alive() {
  for group in $groups; do kill -0 "-$group" 2>/dev/null && return 0; done
  [ -n "$(strays)" ]
}
ended_within() {
  tries=$1
  while alive; do
    [ "$tries" -gt 0 ] || return 1
    sleep 0.1 || sleep 1
    tries=$((tries - 1))
  done
}
signal() {
  for group in $groups; do kill "-$1" "-$group" 2>/dev/null; done
  for pid in $(strays); do kill "-$1" "$pid" 2>/dev/null; done
}
ended_within "$exit" && exit
signal TERM
ended_within "$term" && exit
signal KILL
exit 0
"#;

static GUARD: Mutex<Guard> = Mutex::new(Guard { running: None, groups: BTreeSet::new(), graces: (0, 0) });

struct Guard {
    running: Option<(Child, ChildStdin)>,
    groups: BTreeSet<i32>,
    /// The longest of all servers: until SIGTERM, and from there to SIGKILL. In tenths of seconds.
    graces: (u128, u128),
}

/// Keeps a group under guard until dropped.
#[derive(Debug)]
pub(crate) struct Ticket(i32);

/// Starts the guard where there is none, before a server with this mark and these graces. Without a shell there is no
/// guard; the orderly ways to end still work.
pub(crate) fn stand_by(mark: &Mark, graces: Graces) {
    let mut guard = lock();
    let tenths = |grace: Duration| grace.as_millis().div_ceil(100);
    guard.graces = (guard.graces.0.max(tenths(graces.exit)), guard.graces.1.max(tenths(graces.term)));
    if guard.tell_graces().is_err() {
        guard.restart(mark);
    }
}

/// Puts a group under guard.
pub(crate) fn register(group: i32) -> Ticket {
    let mut guard = lock();
    guard.groups.insert(group);
    let _ = guard.tell(format_args!("+ {group}")); // one that died since it was asked to stand by can't be helped
    Ticket(group)
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut guard = lock();
        guard.groups.remove(&self.0);
        let _ = guard.tell(format_args!("- {}", self.0)); // a guard that is gone guards nothing
    }
}

fn lock() -> MutexGuard<'static, Guard> {
    GUARD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guard {
    fn tell(&mut self, line: std::fmt::Arguments<'_>) -> std::io::Result<()> {
        match &mut self.running {
            Some((_, pipe)) => pipe.write_all(format!("{line}\n").as_bytes()),
            None => Err(std::io::ErrorKind::NotConnected.into()),
        }
    }

    fn tell_graces(&mut self) -> std::io::Result<()> {
        let (exit, term) = self.graces;
        self.tell(format_args!("= {exit} {term}"))
    }

    fn restart(&mut self, mark: &Mark) {
        if let Some((mut child, pipe)) = self.running.take() {
            drop(pipe);
            let _ = child.try_wait(); // reaps it if it is dead
        }
        let started = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "trunkline-guard", &format!("{VARIABLE}={}", mark.of_owner())])
            .current_dir("/")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        match started {
            Ok(mut child) => {
                self.running = child.stdin.take().map(|pipe| (child, pipe));
                let _ = self.tell_graces(); // a guard that dies at once can't be helped
                for group in self.groups.clone() {
                    let _ = self.tell(format_args!("+ {group}"));
                }
            }
            Err(error) => tracing::debug!(%error, "no guard process: servers may outlive a kill -9 of this one"),
        }
    }
}
