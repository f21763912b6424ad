//! The program `fake`: reads its script, then stdin line by line, and does what the rules say.
//!
//! `start` gets it going, `message` opens a line, `server` holds the state and picks the rule, `run` does the
//! actions, `defaults` answers where no rule does, `expand` fills placeholders in, `inbox` is what was read,
//! `output` what is written, `record` the log. One thread reads, one handles, one waits for SIGTERM.

mod defaults;
mod expand;
mod inbox;
mod message;
mod output;
mod record;
mod run;
mod server;
mod start;

use std::io::{BufRead as _, BufReader, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use std::{fs, process, thread};

use crate::script::Script;
use message::{Line, Message};
use server::{Server, UNKNOWN};

/// How long the end of stdin waits for what is still running.
const DRAIN: Duration = Duration::from_millis(200);

/// Runs the program; it ends with the process.
pub fn main() -> ! {
    let script = load().unwrap_or_else(|problem| {
        let _ = writeln!(std::io::stderr(), "fake: {problem}");
        process::exit(64)
    });
    let server = start::start(script);
    let (queue, messages) = channel();
    let reader = Arc::clone(&server);
    thread::spawn(move || read_stdin(&reader, queue));
    server.inbox.begin();
    run::react(&server, Message::of_its_own("@start", 0));
    server.inbox.end();
    handle_all(&server, messages);
    loop {
        thread::park();
    }
}

fn load() -> Result<Script, String> {
    let mut args = std::env::args().skip(1);
    let given = std::env::var("FAKE_SCRIPT").ok().or_else(|| args.find(|arg| arg != "--inline"));
    let given = given.ok_or("usage: fake SCRIPT.json | fake --inline JSON, or FAKE_SCRIPT=either")?;
    let (source, text) = if given.trim_start().starts_with('{') {
        ("the inline script".to_owned(), given)
    } else {
        let text = fs::read_to_string(&given).map_err(|error| format!("{given}: {error}"))?;
        (given, text)
    };
    serde_json::from_str(&text).map_err(|error| format!("{source}: {error}"))
}

fn read_stdin(server: &Arc<Server>, queue: Sender<Message>) {
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut left = server.script.reads.unwrap_or(u64::MAX);
    while left > 0 {
        let mut bytes = Vec::new();
        if input.read_until(b'\n', &mut bytes).unwrap_or(0) == 0 {
            return end_of_stdin(server);
        }
        take_line(server, &queue, &bytes);
        left -= 1;
    }
}

fn take_line(server: &Arc<Server>, queue: &Sender<Message>, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes.strip_suffix(b"\n").unwrap_or(bytes)).into_owned();
    server.record.received(&text);
    let message = match message::open(&text) {
        Line::Reply(id) if server.inbox.deliver(&id, &text) => return server.inbox.push(text),
        Line::Message(message) => message,
        Line::Reply(_) | Line::Other => Message::of_its_own(UNKNOWN, 0),
    };
    server.inbox.push(text.clone());
    server.inbox.begin();
    // Only the end of the process ends the other side.
    let _ = queue.send(message.read_as(text, server.inbox.seen()));
}

fn handle_all(server: &Arc<Server>, messages: Receiver<Message>) {
    for message in messages {
        run::handle(server, message);
        server.inbox.end();
    }
}

fn end_of_stdin(server: &Arc<Server>) {
    server.record.note("eof");
    if !run::react(server, Message::of_its_own("@eof", server.inbox.seen())) {
        server.inbox.wait_idle(DRAIN);
        server.exit(0);
    }
}

/// Locks, whatever a panicking thread left behind.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
