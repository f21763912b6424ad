//! What happens before the first message: counting the start, the lock, SIGTERM, the pid file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::{process, thread};

use rustix::fs::{FlockOperation, flock};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use super::message::Message;
use super::run;
use super::server::Server;
use crate::script::Script;

/// The exit code where the lock is taken.
const LOCKED: i32 = 9;

pub(crate) fn start(script: Script) -> Arc<Server> {
    let number = script.starts.as_deref().map_or(Ok(1), count_start);
    let server = number.and_then(|number| Server::new(script, number)).unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "fake: cannot start: {error}");
        process::exit(70)
    });
    let server = Arc::new(server);
    server.record.note(&format!("start {}", server.start));
    if let Some(path) = &server.script.lock {
        // Held until the process ends.
        match take_lock(path) {
            Ok(file) => std::mem::forget(file),
            Err(error) => {
                server.record.note(&format!("lock taken: {error}"));
                server.exit(LOCKED);
            }
        }
    }
    let prepared = handle_term(&server).and_then(|()| write_pid(server.script.pid_file.as_deref()));
    if let Err(error) = prepared {
        server.fail(&format!("cannot start: {error}"));
    }
    server
}

/// Appends a line to the file; the number of lines is the number of this start.
fn count_start(path: &Path) -> io::Result<u64> {
    let mut file = OpenOptions::new().create(true).append(true).read(true).open(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    let mut before = String::new();
    file.read_to_string(&mut before)?;
    writeln!(file, "{}", process::id())?;
    Ok(before.lines().count() as u64 + 1)
}

fn take_lock(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

fn handle_term(server: &Arc<Server>) -> io::Result<()> {
    if !server.has_rule_on("@term") {
        return Ok(());
    }
    let mut signals = Signals::new([SIGTERM])?;
    let server = Arc::clone(server);
    thread::spawn(move || {
        for signal in signals.forever() {
            server.record.note("term");
            if !run::react(&server, Message::of_its_own("@term", server.inbox.seen())) {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        }
    });
    Ok(())
}

fn write_pid(path: Option<&Path>) -> io::Result<()> {
    let Some(path) = path else { return Ok(()) };
    let draft = path.with_extension(format!("{}.draft", process::id()));
    fs::write(&draft, format!("{}\n", process::id()))?;
    fs::rename(draft, path)
}
