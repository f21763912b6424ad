//! What servers were started on this machine by programs that use this library, and what is left of them. Nothing is
//! recorded for this: every server carries a mark in its environment (`TRUNKLINE_SERVER`), whatever it starts inherits
//! it, and Linux shows it in `/proc`. On other systems [`started`] is an error.
//!
//! Not found is what runs as another user (`sudo`), in another container or on another machine, and what dropped the
//! variable. A program that is meant to outlive its server drops it on purpose: `env -u TRUNKLINE_SERVER …`.
//!
//! ```
//! use trunkline::processes;
//!
//! for server in processes::started().unwrap_or_default() {
//!     println!("{} of process {}: {} bytes", server.server, server.owner.pid, server.memory);
//! }
//! ```

#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports, unused_mut, unused_variables))]

mod mark;
mod proc;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::redact::{Redactor, is_telling_variable, mask_arguments};
pub(crate) use mark::{Mark, VARIABLE};
#[cfg(unix)]
pub(crate) use proc::has_live_member;

/// How often processes that should be ending are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// One start of a server, and all that runs of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Started {
    /// The server's label in the program that started it.
    pub server: String,
    /// The command of its oldest process, without its secrets.
    pub command: String,
    /// Who started it.
    pub owner: Owner,
    /// When its oldest process began.
    pub since: SystemTime,
    /// The resident memory of all its processes, in bytes. What they share is counted for each.
    pub memory: u64,
    /// All its processes, the oldest first. Those that left its process group are among them.
    pub pids: Vec<u32>,
    mark: Mark,
}

/// The process that started a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Owner {
    /// Its number. Where it isn't [`alive`](Self::alive), that number may be another process by now.
    pub pid: u32,
    /// Whether it still runs.
    pub alive: bool,
    /// Its command without secrets, while it runs.
    pub command: Option<String>,
}

impl Started {
    /// Whether nobody will end it: its owner is gone. Never true of what this very process runs in.
    pub fn is_left_over(&self) -> bool {
        !self.owner.alive && !self.pids.contains(&std::process::id())
    }
}

/// Everything this user's programs started with this library that still runs, the oldest first.
///
/// # Errors
/// [`Unsupported`](ErrorKind::Unsupported) where there is no `/proc` to read: outside Linux.
pub fn started() -> Result<Vec<Started>> {
    if !Path::new("/proc/self/environ").exists() {
        let error = Error::new(ErrorKind::Unsupported, "Started servers can only be found in Linux's /proc");
        return Err(error.with_hint("Look for the variable TRUNKLINE_SERVER by hand: ps -E, or ps eww"));
    }
    let namespace = proc::namespace();
    let mut starts: BTreeMap<Mark, Vec<Member>> = BTreeMap::new();
    for (pid, environment) in proc::marked() {
        let mark = proc::mark_in(&environment).and_then(|mark| Mark::parse(std::str::from_utf8(mark).ok()?));
        let mark = mark.filter(|mark| mark.namespace == namespace);
        if let (Some(mark), Some(stat)) = (mark, proc::stat(pid).filter(|stat| !stat.dead)) {
            starts.entry(mark).or_default().push(Member { pid, stat, environment });
        }
    }
    let mut all: Vec<_> = starts.into_iter().filter_map(|(mark, members)| summed(mark, members)).collect();
    all.sort_by_key(|started| (started.since, started.pids[0]));
    Ok(all)
}

/// Ends what runs of these: SIGTERM, `term_grace`, SIGKILL, `kill_grace`. Gives back those of which something runs
/// nevertheless. Blocks meanwhile. A number that was given to another process in between is left alone.
///
/// ```no_run
/// use trunkline::{Limits, processes};
///
/// let mut left = processes::started()?;
/// left.retain(|server| server.is_left_over());
/// assert!(processes::end(&left, &Limits::default()).is_empty());
/// # Ok::<(), trunkline::Error>(())
/// ```
pub fn end<'a>(started: &'a [Started], limits: &Limits) -> Vec<&'a Started> {
    let mut left: Vec<_> = started.iter().collect();
    #[cfg(unix)]
    for (signal, grace) in
        [(rustix::process::Signal::TERM, limits.term_grace), (rustix::process::Signal::KILL, limits.kill_grace)]
    {
        left.iter().for_each(|started| started.mark.signal(signal));
        let deadline = Instant::now() + grace;
        loop {
            left.retain(|started| started.mark.is_carried());
            if left.is_empty() || Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(LOOK);
        }
    }
    left
}

/// A process of a start.
struct Member {
    pid: u32,
    stat: proc::Stat,
    environment: Vec<u8>,
}

fn summed(mark: Mark, mut members: Vec<Member>) -> Option<Started> {
    members.sort_by_key(|member| (member.stat.began, member.pid));
    let oldest = members.first()?;
    let owner_lives = proc::stat(mark.owner).is_some_and(|stat| !stat.dead && stat.began == mark.began);
    let command_of = |pid: u32, environment: &[u8]| command(pid, &redactor(environment));
    Some(Started {
        server: mark.label.clone(),
        command: command_of(oldest.pid, &oldest.environment).unwrap_or_default(),
        owner: Owner {
            pid: mark.owner,
            alive: owner_lives,
            command: owner_lives.then(|| command_of(mark.owner, &proc::environment(mark.owner))).flatten(),
        },
        since: proc::began_at(oldest.stat),
        memory: members.iter().map(|member| proc::memory(member.stat)).sum(),
        pids: members.iter().map(|member| member.pid).collect(),
        mark,
    })
}

/// Knows the secrets that a process was given in variables.
fn redactor(environment: &[u8]) -> Redactor {
    let environment = String::from_utf8_lossy(environment);
    let variables = environment.split('\0').filter_map(|entry| entry.split_once('='));
    Redactor::new(variables.filter(|(name, _)| is_telling_variable(name)).map(|(_, value)| value))
}

/// The command line of a process, for people.
fn command(pid: u32, redactor: &Redactor) -> Option<String> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = String::from_utf8_lossy(&words);
    let words: Vec<String> = words.trim_end_matches('\0').split('\0').map(str::to_owned).collect();
    let (program, args) = words.split_first()?;
    let shown: Vec<_> = std::iter::once(program.clone()).chain(mask_arguments(args)).collect();
    Some(redactor.redact(&shown.join(" ")).into_owned())
}
