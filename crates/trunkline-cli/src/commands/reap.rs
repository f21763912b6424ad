//! `trunkline reap`: ends what is left of servers whose owner is gone, and nothing else.

use serde_json::json;
use trunkline::Limits;
use trunkline::processes::{self, Started};

use super::ps::{machine, named};
use crate::args;
use crate::exit::{Exit, Outcome};
use crate::render::{Screen, escape};

pub(crate) fn run(args: &args::Reap, screen: &Screen) -> Outcome<Exit> {
    let mut left = named(&args.servers)?;
    left.retain(Started::is_left_over);
    let survivors = if args.dry_run { Vec::new() } else { processes::end(&left, &Limits::default()) };
    let survives = |started: &Started| survivors.iter().any(|survivor| std::ptr::eq(*survivor, started));
    let (still, ended): (Vec<_>, Vec<_>) = left.iter().partition(|started| survives(started));
    if screen.json {
        let machines = |all: &[&Started]| all.iter().map(|started| machine(started)).collect::<Vec<_>>();
        let told = json!({"ended": machines(&ended), "still_running": machines(&still), "dry_run": args.dry_run});
        screen.print_exact(told.to_string().as_bytes())?;
    } else {
        let done = if args.dry_run { "Would end" } else { "Ended" };
        let lines: Vec<_> = ended.iter().map(|started| told(done, started)).collect();
        screen.print(&lines.join("\n"))?;
        still.iter().for_each(|started| screen.report(&told("Could not end", started)));
        if left.is_empty() {
            screen.note("Nothing is left of any server");
        }
    }
    Ok(if still.is_empty() { Exit::Done } else { Exit::ToolError })
}

fn told(done: &str, started: &Started) -> String {
    let pids: Vec<_> = started.pids.iter().map(u32::to_string).collect();
    let (server, command) = (escape::line(&started.server), escape::line(&started.command));
    format!("{done} {server} (process {}; of {}, which is gone): {command}", pids.join(", "), started.owner.pid)
}
