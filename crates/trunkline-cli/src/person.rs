//! The person at the terminal: asked one thing at a time, with the spinner out of the way.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use indicatif::ProgressBar;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::sync::{Mutex as Turns, MutexGuard};

use crate::render::Screen;

/// The person, if there is one.
#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) is_there: bool,
    screen: Screen,
    /// Held while a question is open.
    turns: Turns<Lines>,
    spinner: Mutex<Weak<ProgressBar>>,
}

/// What is read of the input.
#[derive(Debug, Default)]
struct Lines {
    /// A read that goes on though whoever asked has stopped waiting.
    reading: Option<oneshot::Receiver<Option<String>>>,
}

impl Person {
    /// Somebody is there where both the input and the place of the questions are a terminal.
    pub(crate) fn new(screen: Screen) -> Self {
        let is_there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        Self { is_there, screen, turns: Turns::default(), spinner: Mutex::default() }
    }

    /// From now on this spinner is hidden while a question is open.
    pub(crate) fn mind(&self, spinner: &Arc<ProgressBar>) {
        *self.spinner.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(spinner);
    }

    fn spinner(&self) -> Option<Arc<ProgressBar>> {
        self.spinner.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    /// Prints something without the spinner in its way.
    pub(crate) fn aside(&self, print: impl FnOnce()) {
        match self.spinner() {
            Some(spinner) => spinner.suspend(print),
            None => print(),
        }
    }

    /// Waits until nobody else asks.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        let lines = self.turns.lock().await;
        let spinner = self.spinner().filter(|spinner| !spinner.is_finished());
        spinner.iter().for_each(|spinner| spinner.finish_and_clear());
        Turn { lines, screen: self.screen, _hidden: Hidden(spinner) }
    }
}

/// The right to ask.
pub(crate) struct Turn<'a> {
    lines: MutexGuard<'a, Lines>,
    screen: Screen,
    _hidden: Hidden,
}

impl Turn<'_> {
    /// Says something beside the questions.
    pub(crate) fn say(&self, text: &str) {
        self.screen.report(text);
    }

    /// The line that is typed at this question; nothing where the input ends.
    pub(crate) async fn ask(&mut self, question: &str) -> Option<String> {
        self.screen.prompt(question);
        self.lines.next().await.map(|line| line.trim_end_matches(['\r', '\n']).to_owned())
    }
}

impl Lines {
    /// The next line that is typed from now on.
    async fn next(&mut self) -> Option<String> {
        if let Some(reading) = &mut self.reading {
            // a line that was typed before the question isn't its answer
            if !matches!(reading.try_recv(), Err(TryRecvError::Empty)) {
                self.reading = None;
            }
        }
        let line = self.reading.get_or_insert_with(read).await.ok().flatten();
        self.reading = None;
        line
    }
}

/// Reads a line on a thread, which is left alone when the program ends.
fn read() -> oneshot::Receiver<Option<String>> {
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).unwrap_or(0);
        let _ = send.send((read > 0).then_some(line)); // the program is at its end
    });
    receive
}

/// A spinner that comes back when this goes.
struct Hidden(Option<Arc<ProgressBar>>);

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(spinner) = &self.0 {
            spinner.reset();
            spinner.enable_steady_tick(Duration::from_millis(100));
        }
    }
}
