//! The server over standard input and output.

use std::fs::File;
use std::io::{BufRead as _, Write as _, stderr, stdin, stdout};
use std::thread;

use super::{Journal, Message, NOISE, Task, common, die, exit, sleep};
use crate::deed::Deed;

pub(super) fn serve(journal: &Journal) {
    let mut line = Vec::new();
    thread::scope(|threads| {
        loop {
            line.clear();
            match stdin().lock().read_until(b'\n', &mut line) {
                // nobody is left to answer to
                Ok(0) | Err(_) => std::process::exit(0),
                Ok(_) => {}
            }
            let Some(Message { id: Some(id), method, params }) = Message::read(&line) else { continue };
            match method.as_str() {
                "" => {} // an answer to what was asked
                "tools/call" => {
                    let task = Task::of(id, &params);
                    match task.deed {
                        Deed::Slow | Deed::Late => drop(threads.spawn(move || take_time(&task, journal))),
                        _ => perform(&task, journal),
                    }
                }
                _ => say(&common(&id, &method)),
            }
        }
    });
}

fn take_time(task: &Task, journal: &Journal) {
    if task.deed == Deed::Slow {
        task.work(journal);
    }
    sleep(task.amount);
    if task.deed == Deed::Late {
        task.work(journal);
    }
    say(&task.answer());
}

fn perform(task: &Task, journal: &Journal) {
    match task.deed {
        Deed::Ignore => return,
        Deed::ExitFirst => exit(task.amount),
        _ => task.work(journal),
    }
    let answer = task.answer();
    let half = &answer[..answer.len() / 2];
    match task.deed {
        Deed::Mute => {}
        Deed::Exit => exit(task.amount),
        Deed::Die => die(),
        Deed::Noise => {
            NOISE.iter().for_each(|noise| say(noise));
            write(b"\n\r\n\xff\xfe broken \xc3\n");
            say(&answer);
        }
        Deed::Torn => say(half),
        Deed::Glued => write(half.as_bytes()),
        Deed::Cut => {
            write(half.as_bytes());
            exit(0);
        }
        Deed::Stderr => {
            let _ = stderr().write_all(
                "what a server says in a hundred bytes or so, over and over again\n".repeat(1500).as_bytes(),
            );
            say(&answer);
        }
        Deed::CloseOutput => {
            say(&answer);
            let _ = rustix::stdio::dup2_stdout(nowhere());
        }
        Deed::CloseInput => {
            say(&answer);
            let _ = rustix::stdio::dup2_stdin(nowhere());
            loop {
                thread::park(); // until somebody ends it
            }
        }
        Deed::Deaf => {
            say(&answer);
            sleep(task.amount);
        }
        _ => task.messages().iter().for_each(|message| say(message)),
    }
}

fn nowhere() -> File {
    File::options().read(true).write(true).open("/dev/null").expect("/dev/null")
}

fn say(message: &str) {
    write(format!("{message}\n").as_bytes());
}

/// Whole, even beside other threads. Who can't be written to is gone.
fn write(bytes: &[u8]) {
    let mut out = stdout().lock();
    if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}
