//! Checks on processes by number: alive, members of a group, memory; sending a signal. Reads `/proc`, so Linux.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag::register_conditional_default;

use crate::wait::eventually;

/// Whether the process exists and isn't a zombie.
pub fn alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| !stat.dead)
}

/// The process group of a process that exists.
pub fn group_of(pid: u32) -> Option<u32> {
    stat(pid).map(|stat| stat.group)
}

/// The living members of a process group, by number.
pub fn group_members(group: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc can be read");
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| stat(pid).is_some_and(|stat| stat.group == group && !stat.dead)).collect()
}

/// The largest resident memory the process ever had, in bytes; `None` once it is gone.
pub fn peak_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Waits until the process is gone.
pub fn wait_gone(pid: u32) {
    eventually(&format!("process {pid} to end"), || (!alive(pid)).then_some(()));
}

/// Waits until nobody is left in the process group.
pub fn wait_group_gone(group: u32) {
    let what = format!("process group {group} to be empty");
    eventually(&what, || group_members(group).is_empty().then_some(()));
}

/// Waits for a pid file (see [`Script::pid_file`](crate::Script::pid_file)) and reads it.
pub fn wait_pid(path: impl AsRef<Path>) -> u32 {
    let path = path.as_ref();
    let what = format!("the pid file {}", path.display());
    eventually(&what, || fs::read_to_string(path).ok()?.trim().parse().ok())
}

/// Sends a signal: `TERM`, `INT`, `KILL`, `HUP`, `STOP`, `CONT`, `SEGV`, `ABRT`. False if the process is gone.
pub fn send_signal(pid: u32, name: &str) -> bool {
    let signal = signal_named(name).unwrap_or_else(|| panic!("no signal is called {name}"));
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process number");
    kill_process(pid, signal).is_ok()
}

/// Makes the signals that end a program do so in this process and in all that it starts, whatever was inherited: a shell
/// that runs tests in the background, or under `nohup`, has them ignored. A handler is what `exec` takes back.
pub fn default_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            let always = Arc::new(AtomicBool::new(true));
            register_conditional_default(signal, always).expect("a signal that can be handled");
        }
    });
}

/// Arguments for `sh` that run a command as its child, the way launchers do: `sh -c '"fake" "..."; true'`.
pub fn shell<S: AsRef<str>>(command: &str, args: &[S]) -> Vec<String> {
    let words = std::iter::once(command).chain(args.iter().map(AsRef::as_ref));
    let quoted: Vec<String> = words.map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    vec!["-c".to_owned(), format!("{}; true", quoted.join(" "))]
}

pub(crate) fn signal_named(name: &str) -> Option<Signal> {
    Some(match name {
        "TERM" => Signal::TERM,
        "INT" => Signal::INT,
        "KILL" => Signal::KILL,
        "HUP" => Signal::HUP,
        "STOP" => Signal::STOP,
        "CONT" => Signal::CONT,
        "SEGV" => Signal::SEGV,
        "ABRT" => Signal::ABORT,
        _ => return None,
    })
}

struct Stat {
    dead: bool,
    group: u32,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // "pid (name) state parent group …"; the name may hold blanks and parentheses.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    let dead = matches!(fields.next()?, "Z" | "X");
    let group = fields.nth(1)?.parse().ok()?;
    Some(Stat { dead, group })
}
