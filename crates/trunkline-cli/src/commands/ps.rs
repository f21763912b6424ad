//! `trunkline ps`: which servers this user's programs started with the library and still run, and what is left of them
//! without an owner. Starts nothing, ends nothing.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use trunkline::processes::{self, Owner, Started};

use crate::args;
use crate::exit::{Exit, Outcome};
use crate::render::{BOLD, RED, Screen, escape, paint};

const HEADINGS: [&str; 6] = ["SERVER", "PID", "AGE", "MEMORY", "STARTED BY", "COMMAND"];

pub(crate) fn run(args: &args::Ps, screen: &Screen) -> Outcome<Exit> {
    let all = named(&args.servers)?;
    if screen.json {
        let servers: Vec<_> = all.iter().map(machine).collect();
        screen.print_exact(json!({ "servers": servers }).to_string().as_bytes())?;
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        screen.note("No server runs");
    } else {
        let width = if screen.out_is_terminal() { screen.width() } else { usize::MAX };
        screen.print(&table(&all, width))?;
    }
    match all.iter().filter(|started| started.is_left_over()).count() {
        0 => {}
        1 => screen.note("1 has lost its owner; `trunkline reap` ends it"),
        left => screen.note(&format!("{left} have lost their owner; `trunkline reap` ends them")),
    }
    Ok(Exit::Done)
}

/// What runs of the servers of these names, or of all.
pub(super) fn named(servers: &[String]) -> Outcome<Vec<Started>> {
    let mut all = processes::started()?;
    all.retain(|started| servers.is_empty() || servers.contains(&started.server));
    Ok(all)
}

/// One start of a server, for machines.
pub(super) fn machine(started: &Started) -> Value {
    let Owner { pid, alive, command, .. } = &started.owner;
    let since = started.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    json!({
        "server": started.server,
        "command": started.command,
        "owner": {"pid": pid, "alive": alive, "command": command},
        "since": since,
        "memory": started.memory,
        "pids": started.pids,
        "left_over": started.is_left_over(),
    })
}

fn table(all: &[Started], width: usize) -> String {
    let rows: Vec<[String; 6]> = all.iter().map(row).collect();
    let longest = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([HEADINGS[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..5).map(longest).collect();
    let line = |cells: &[String; 6]| {
        let padded = widths.iter().zip(cells).map(|(width, cell)| format!("{cell:<width$}  "));
        let line: String = padded.chain([cells[5].clone()]).collect();
        cut(line.trim_end(), width)
    };
    let mut out = format!("{}\n", paint(BOLD, line(&HEADINGS.map(str::to_owned))));
    for (started, row) in all.iter().zip(&rows) {
        let line = line(row);
        let shown = if started.is_left_over() { paint(RED, line) } else { line };
        out.push_str(&format!("{shown}\n"));
    }
    out
}

fn row(started: &Started) -> [String; 6] {
    let more = match started.pids.len() {
        1 => String::new(),
        all => format!(" +{}", all - 1),
    };
    [
        escape::line(&started.server),
        format!("{}{more}", started.pids[0]),
        age(started.since.elapsed().unwrap_or_default()),
        size(started.memory),
        owner(&started.owner),
        escape::line(&started.command),
    ]
}

fn owner(owner: &Owner) -> String {
    match &owner.command {
        _ if !owner.alive => format!("{}, gone", owner.pid),
        None => owner.pid.to_string(),
        Some(command) => {
            let program = command.split(' ').next().unwrap_or_default();
            let name = program.rsplit('/').next().unwrap_or_default();
            format!("{} {}", owner.pid, cut(&escape::line(name), 20))
        }
    }
}

/// In the largest unit that leaves a whole number.
fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

fn size(bytes: u64) -> String {
    match bytes.div_ceil(1_000_000) {
        megabytes @ 0..1000 => format!("{megabytes} MB"),
        megabytes => format!("{:.1} GB", megabytes as f64 / 1000.0),
    }
}

fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width.saturating_sub(3)).chain("...".chars()).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        let ages = [0, 59, 60, 3599, 3600, 86_399, 86_400, 864_000].map(|s| age(Duration::from_secs(s)));
        assert_eq!(ages, ["0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d", "10 d"]);
        let sizes = [0, 1, 1_000_000, 999_000_000, 1_250_000_000].map(size);
        assert_eq!(sizes, ["0 MB", "1 MB", "1 MB", "999 MB", "1.2 GB"]);
    }

    #[test]
    fn what_is_too_long_is_cut() {
        assert_eq!((cut("abcdef", 6).as_str(), cut("abcdefg", 6).as_str()), ("abcdef", "abc..."));
        assert_eq!(cut("日本日本日", 4), "日...");
    }
}
