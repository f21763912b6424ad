//! Asks the person at the terminal whether a call may be made, one question at a time.

use std::io::{IsTerminal as _, Write as _};

use tokio::sync::{Mutex, oneshot};

/// What the person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    /// Yes, and from now on.
    Always,
    No,
    /// Nobody is there.
    Absent,
}

/// The person, if there is one.
#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) is_there: bool,
    /// Held while a question is open.
    turn: Mutex<()>,
}

impl Person {
    /// Somebody is there where both the input and the place of the questions are a terminal.
    pub(crate) fn new() -> Self {
        let is_there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        Self { is_there, turn: Mutex::new(()) }
    }

    /// Waits until nobody else asks, then asks. `settled` is looked at first: another answer may have made the
    /// question needless.
    pub(crate) async fn ask(&self, question: impl FnOnce() -> String, settled: impl Fn() -> bool) -> Answer {
        if !self.is_there {
            return Answer::Absent;
        }
        let _turn = self.turn.lock().await;
        if settled() {
            return Answer::Yes;
        }
        let question = question();
        loop {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "{question} [y]es, [n]o, [a]lways: "); // without a stream there is no answer either
            let _ = err.flush();
            drop(err);
            let Some(line) = line().await else { return Answer::No };
            if let Some(answer) = meaning(&line) {
                return answer;
            }
        }
    }
}

fn meaning(line: &str) -> Option<Answer> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(Answer::Yes),
        "n" | "no" => Some(Answer::No),
        "a" | "always" => Some(Answer::Always),
        _ => None,
    }
}

/// The next line of the input; nothing where it ends. The thread that reads is left alone when the program ends.
async fn line() -> Option<String> {
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).unwrap_or(0);
        let _ = send.send((read > 0).then_some(line)); // nobody waits for it any more
    });
    receive.await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_generously_and_never_guessed() {
        for (line, answer) in [
            ("y\n", Some(Answer::Yes)),
            (" YES ", Some(Answer::Yes)),
            ("n", Some(Answer::No)),
            ("always\r\n", Some(Answer::Always)),
            ("\n", None),
            ("yep", None),
        ] {
            assert_eq!(meaning(line), answer, "{line:?}");
        }
    }
}
