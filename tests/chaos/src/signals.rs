//! Signals to servers, and to nobody else: a number of a server that ended may be somebody else's by now.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Sends a signal to the server that left its number in the folder of the run, if it runs. Whether it was sent.
pub(crate) fn send(folder: &Path, label: &str, signal: Signal) -> bool {
    let number = fs::read_to_string(folder.join(format!("{label}.pid"))).ok().and_then(|text| text.parse().ok());
    let Some(pid) = number.and_then(Pid::from_raw) else { return false };
    // what the descriptor means doesn't change any more; so look who it is after it is open
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    is_of(folder, label, pid) && pidfd_send_signal(process, signal).is_ok()
}

fn is_of(folder: &Path, label: &str, pid: Pid) -> bool {
    let command = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    let words: Vec<_> = command.split(|byte| *byte == 0).collect();
    let folder = folder.as_os_str().as_encoded_bytes();
    words.windows(2).any(|pair| pair == [folder, label.as_bytes()])
}

/// How many processes run that were started for this run.
pub(crate) fn servers_running(folder: &Path) -> usize {
    let folder = folder.as_os_str().as_encoded_bytes();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let commands = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    commands.filter(|command| command.split(|byte| *byte == 0).any(|word| word == folder)).count()
}
