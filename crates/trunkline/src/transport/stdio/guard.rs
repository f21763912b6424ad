//! A small process that outlives this one for a moment: it is told each process group over a pipe, and when
//! the pipe closes (this process ended, in whatever way) it ends what is left: wait, SIGTERM, wait, SIGKILL.
//! What it can't catch: a grandchild that left its group (`setsid`).

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Reads `+ GROUP` and `- GROUP` lines until the pipe closes, then clears up. Plain POSIX shell.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT
groups=
while read -r op group; do
  rest=
  for one in $groups; do [ "$one" = "$group" ] || rest="$rest $one"; done
  groups=$rest
  [ "$op" = + ] && groups="$groups $group"
done
alive() {
  for one in $groups; do kill -0 "-$one" 2>/dev/null && return 0; done
  return 1
}
wait_up_to() {
  tries=$1
  while [ "$tries" -gt 0 ] && alive; do sleep 0.1 || sleep 1; tries=$((tries - 1)); done
}
wait_up_to 5
for one in $groups; do kill -TERM "-$one" 2>/dev/null; done
wait_up_to 20
for one in $groups; do kill -KILL "-$one" 2>/dev/null; done
exit 0
"#;

static GUARD: Mutex<Guard> = Mutex::new(Guard { running: None, groups: BTreeSet::new() });

struct Guard {
    running: Option<(Child, ChildStdin)>,
    groups: BTreeSet<i32>,
}

/// Keeps a group under guard until dropped.
#[derive(Debug)]
pub(crate) struct Ticket(i32);

/// Puts a group under guard, starting the guard where there is none. Without a shell there is no guard; the
/// orderly ways to end still work.
pub(crate) fn register(group: i32) -> Ticket {
    let mut guard = lock();
    guard.groups.insert(group);
    if guard.tell('+', group).is_err() {
        guard.restart();
    }
    Ticket(group)
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut guard = lock();
        guard.groups.remove(&self.0);
        let _ = guard.tell('-', self.0); // a guard that is gone guards nothing
    }
}

fn lock() -> MutexGuard<'static, Guard> {
    GUARD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guard {
    fn tell(&mut self, op: char, group: i32) -> std::io::Result<()> {
        match &mut self.running {
            Some((_, pipe)) => pipe.write_all(format!("{op} {group}\n").as_bytes()),
            None => Err(std::io::ErrorKind::NotConnected.into()),
        }
    }

    fn restart(&mut self) {
        if let Some((mut child, pipe)) = self.running.take() {
            drop(pipe);
            let _ = child.try_wait(); // reaps it if it is dead
        }
        let started = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "trunkline-guard"])
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
                for group in self.groups.clone() {
                    let _ = self.tell('+', group); // a guard that dies at once can't be helped
                }
            }
            Err(error) => tracing::debug!(%error, "no guard process: servers may outlive a kill -9 of this one"),
        }
    }
}
