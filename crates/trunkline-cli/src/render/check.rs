//! What `trunkline check` found out, as text for people.

use std::time::Duration;

use super::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, error, escape, paint};
use crate::commands::check::{Mark, Report, Stage};

/// One server, stage by stage.
pub(crate) fn report(report: &Report) -> String {
    let mut out = format!("{}\n", paint(BOLD, escape::line(&report.server)));
    for stage in &report.stages {
        out.push_str(&self::stage(stage));
    }
    for finding in &report.findings {
        out.push_str(&format!("  {} {}\n", paint(YELLOW, "warn"), escape::line(&finding.text)));
    }
    out
}

fn stage(stage: &Stage) -> String {
    let time = stage.time.map(shown).unwrap_or_default();
    let head = |mark: String| format!("  {mark} {:<12} {}", stage.name, paint(DIM, format!("{time:>8}")));
    match &stage.mark {
        Mark::Ok => {
            let line = format!("{}  {}", head(paint(GREEN, "ok  ")), escape::line(&stage.detail));
            format!("{}\n", line.trim_end())
        }
        Mark::Fail(failure) => {
            let mut out = format!("{}  {}\n", head(paint(RED, "FAIL")), error::reason(failure));
            for line in failure.get("stderr").unwrap_or_default().lines() {
                out.push_str(&format!("         {} {}\n", paint(DIM, "|"), escape::line(line)));
            }
            let facts =
                [("command", "command"), ("url", "url"), ("path", "PATH"), ("config", "config"), ("file", "config")];
            for (key, name) in facts {
                if let Some(value) = failure.get(key) {
                    out.push_str(&format!("         {} {}\n", paint(DIM, name), escape::line(value)));
                }
            }
            let fix = failure.hint().unwrap_or("Run with -vvv to see every message, and look there for the cause");
            out.push_str(&format!("         {} {}\n", paint(CYAN, "fix:"), escape::line(fix)));
            out
        }
    }
}

fn shown(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds if seconds >= 0.0095 => format!("{:.0} ms", seconds * 1000.0),
        seconds => format!("{:.1} ms", seconds * 1000.0),
    }
}

/// All servers in one line.
pub(crate) fn summary(reports: &[Report]) -> String {
    let failed = reports.iter().filter(|report| report.failure().is_some()).count();
    let odd = reports.iter().filter(|report| report.failure().is_none() && !report.findings.is_empty()).count();
    let count = reports.len();
    let mut out = if count == 1 { "1 server".to_owned() } else { format!("{count} servers") };
    out.push_str(&format!(": {} fine", count - failed - odd));
    if odd > 0 {
        out.push_str(&format!(", {odd} with warnings"));
    }
    if failed > 0 {
        out.push_str(&format!(", {failed} failed"));
    }
    paint(DIM, out)
}
