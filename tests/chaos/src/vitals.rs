//! What this process holds: memory, open files, threads, children.

use std::fs;
use std::time::{Duration, Instant};

use tokio::time::sleep;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Vitals {
    /// Resident memory in bytes.
    pub(crate) memory: u64,
    pub(crate) files: usize,
    pub(crate) threads: usize,
    pub(crate) children: usize,
}

impl Vitals {
    pub(crate) fn now() -> Self {
        let entries = |folder: &str| fs::read_dir(folder).map_or(0, Iterator::count);
        Self {
            memory: memory(),
            files: entries("/proc/self/fd"),
            threads: entries("/proc/self/task"),
            children: children(),
        }
    }

    /// Looks until `fine`, for some seconds at most: what ends in the background takes a moment.
    pub(crate) async fn settled(fine: impl Fn(&Self) -> bool) -> Self {
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            let now = Self::now();
            if fine(&now) || Instant::now() > patience {
                return now;
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}

impl std::fmt::Display for Vitals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { memory, files, threads, children } = self;
        write!(f, "{:.1} MiB, {files} files, {threads} threads, {children} children", mebibytes(*memory as f64))
    }
}

pub(crate) fn mebibytes(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

/// Resident memory in bytes.
pub(crate) fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

/// How many processes have this one as their parent.
fn children() -> usize {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    // "pid (name) state parent …"; the name may hold anything
    stats.filter(|stat| stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)) == Some(&own)).count()
}
