//! What `/proc` says of the processes of this user. Where there is none (outside Linux) it says of nobody anything.

use std::fs;
use std::time::{Duration, SystemTime};

#[cfg(unix)]
use rustix::process::{Pid, Signal};

use super::mark::VARIABLE;

/// What is read of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stat {
    /// Nothing of it runs any more; it may wait to be reaped.
    pub(super) dead: bool,
    group: u32,
    /// When it began, in ticks since the machine did.
    pub(super) began: u64,
    /// Its resident memory, in pages.
    pub(super) pages: u64,
}

pub(super) fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse(&text)
}

/// The fields are counted from the end of the command's name, which may hold anything.
fn parse(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        dead: matches!(*fields.first()?, "Z" | "X") && number(17)? <= 1, // its first thread may end before the others
        group: u32::try_from(number(2)?).ok()?,
        began: number(19)?,
        pages: number(21)?,
    })
}

/// When the process began, by the clock.
#[cfg(target_os = "linux")]
pub(super) fn began_at(stat: Stat) -> SystemTime {
    use rustix::time::{ClockId, clock_gettime};
    let up = Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default();
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let after =
        Duration::from_secs(stat.began / ticks) + Duration::from_nanos(stat.began % ticks * 1_000_000_000 / ticks);
    SystemTime::now() - up.saturating_sub(after)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn began_at(_stat: Stat) -> SystemTime {
    SystemTime::UNIX_EPOCH
}

/// Its resident memory, in bytes.
pub(super) fn memory(stat: Stat) -> u64 {
    #[cfg(unix)]
    return stat.pages * rustix::param::page_size() as u64;
    #[cfg(not(unix))]
    return stat.pages * 4096;
}

/// The numbers of all processes.
fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether anything runs in the process group. Dead members that nobody reaps don't count.
#[cfg(unix)]
pub(crate) fn has_live_member(group: Pid) -> bool {
    let group = group.as_raw_nonzero().get().unsigned_abs();
    all().any(|pid| stat(pid).is_some_and(|stat| stat.group == group && !stat.dead))
}

/// Which numbers mean which processes: those of another container mean others.
pub(super) fn namespace() -> u64 {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default(); // pid:[4026531836]
    let digits: String = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// The environment, as far as it may be read; nothing of a dead process. One that is just becoming another program has none
/// for a moment, which is waited for.
pub(super) fn environment(pid: u32) -> Vec<u8> {
    const PATIENCE: u32 = 20; // there are also processes that have none
    for _ in 0..PATIENCE {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { break };
        let has_memory = || stat(pid).is_some_and(|stat| !stat.dead && stat.pages > 0);
        if !environment.is_empty() || !has_memory() {
            return environment;
        }
        std::thread::yield_now();
    }
    Vec::new()
}

/// The mark in an environment.
pub(super) fn mark_in(environment: &[u8]) -> Option<&[u8]> {
    let entries = environment.split(|byte| *byte == 0);
    let mut values = entries.filter_map(|entry| entry.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"="));
    values.next()
}

/// The processes of this user that carry any mark, each with its environment.
pub(super) fn marked() -> impl Iterator<Item = (u32, Vec<u8>)> {
    let environments = all().map(|pid| (pid, environment(pid)));
    environments.filter(|(pid, environment)| mark_in(environment).is_some() && is_own(*pid))
}

/// Those that carry this mark.
pub(super) fn marked_with(mark: &str) -> impl Iterator<Item = u32> {
    all().filter(|pid| carries(*pid, mark) && is_own(*pid))
}

fn carries(pid: u32, mark: &str) -> bool {
    mark_in(&environment(pid)) == Some(mark.as_bytes())
}

/// Whether the process runs as this user; the superuser may read those of others.
fn is_own(pid: u32) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let owner = fs::metadata(format!("/proc/{pid}")).map(|metadata| metadata.uid());
        owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
    }
    #[cfg(not(unix))]
    {
        let _ = pid;
        false
    }
}

/// Sends a signal to a process that carries the mark; never to another that has got its number since.
#[cfg(target_os = "linux")]
pub(super) fn signal(pid: u32, mark: &str, signal: Signal) {
    use rustix::process::{PidfdFlags, kill_process, pidfd_open, pidfd_send_signal};
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    let held = pidfd_open(number, PidfdFlags::empty());
    if !carries(pid, mark) {
        return;
    }
    let _ = match held {
        Ok(held) => pidfd_send_signal(held, signal), // gone in between is what we want
        Err(_) => kill_process(number, signal),      // an old kernel: nothing holds the number
    };
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(super) fn signal(_pid: u32, _mark: &str, _signal: Signal) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_command_may_hold_anything() {
        let stat = parse("7 (a) b) Z 8 9) S 1 42 42 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 357608 3133440 362 18 9").unwrap();
        assert_eq!((stat.dead, stat.group, stat.began, stat.pages), (false, 42, 357_608, 362));
        assert!(parse("7 (a) Z 1 42 42 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 1 0 0").unwrap().dead);
        assert!(parse("").is_none() && parse("7 (a) S 1").is_none());
    }

    #[test]
    fn a_mark_is_a_whole_variable() {
        assert_eq!(mark_in(b"A=1\0TRUNKLINE_SERVER=x y\0B=2\0"), Some(&b"x y"[..]));
        assert_eq!(mark_in(b"A=TRUNKLINE_SERVER=x\0XTRUNKLINE_SERVER=y\0TRUNKLINE_SERVER2=z\0"), None);
    }

    /// A number may be another process's by the time it is sent a signal.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_signal_reaches_only_who_carries_the_mark() {
        use std::os::unix::process::ExitStatusExt as _;
        let mut child = std::process::Command::new("sleep").arg("600").env(VARIABLE, "1.1.1.1 a").spawn().unwrap();
        while mark_in(&environment(child.id())).is_none() {
            std::thread::yield_now(); // it runs, but its environment isn't there to read yet
        }
        signal(child.id(), "1.1.1.1 b", Signal::KILL);
        signal(child.id(), "1.1.1.1", Signal::KILL);
        assert_eq!(child.try_wait().unwrap(), None);
        signal(child.id(), "1.1.1.1 a", Signal::TERM);
        assert_eq!(child.wait().unwrap().signal(), Some(15));
    }
}
