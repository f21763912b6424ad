//! What a person sees while waiting: a spinner on standard error that says what is waited for, and the server's own
//! progress. Nothing where nobody watches.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::task::JoinHandle;
use trunkline::{EventKind, Progress, Redactor};

use crate::render::{Screen, escape};
use crate::servers::Servers;
use crate::verbose::masked;

/// Whoever is quicker than this needs no spinner.
const PATIENCE: Duration = Duration::from_millis(300);

/// How many characters of a server's line are shown.
const LONGEST: usize = 60;

/// A spinner that appears after a moment and goes when dropped.
pub(crate) struct Spinner {
    bar: Option<Arc<ProgressBar>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Spinner {
    /// Starts one that says `message`. Needs a runtime.
    pub(crate) fn start(screen: &Screen, message: impl Into<String>) -> Self {
        if !screen.is_watched() {
            return Self { bar: None, tasks: Vec::new() };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_message(message.into());
        if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {msg} {elapsed:.dim}") {
            bar.set_style(style);
        }
        let bar = Arc::new(bar);
        let shown = bar.clone();
        let appearing = tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await; // a bar that is finished by then draws nothing
            shown.set_draw_target(ProgressDrawTarget::stderr());
            shown.enable_steady_tick(Duration::from_millis(100));
        });
        Self { bar: Some(bar), tasks: vec![appearing] }
    }

    /// Says meanwhile what servers write on their standard error while they start: a first start may be a long download.
    pub(crate) fn telling(mut self, servers: &Servers) -> Self {
        if let Some(bar) = &self.bar {
            servers.person.mind(bar);
            let events = trunkline::Connection::events(servers.all());
            self.tasks.push(tokio::spawn(tell_starts(bar.clone(), events, servers.redactors())));
        }
        self
    }

    /// Changes what it says.
    pub(crate) fn say(&self, message: impl Into<String>) {
        if let Some(bar) = &self.bar {
            bar.set_message(message.into());
        }
    }

    /// Prints something without the spinner in its way.
    pub(crate) fn aside(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Where a call reports its progress to; nothing where nobody watches.
    pub(crate) fn progress_sink(&self, what: &str) -> Option<impl Fn(&Progress) + Send + Sync + 'static + use<>> {
        let (bar, what) = (self.bar.clone()?, what.to_owned());
        Some(move |progress: &Progress| bar.set_message(described(&what, progress)))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

async fn tell_starts(bar: Arc<ProgressBar>, mut events: trunkline::Events, redactors: Vec<Redactor>) {
    let (usual, mut said, mut starting) = (bar.message(), String::new(), BTreeSet::new());
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::Starting => drop(starting.insert(event.server)),
            EventKind::Stderr(line) if starting.contains(&event.server) => {
                let line = escape::line(&masked(&redactors, &line));
                let line: String = line.chars().take(LONGEST).collect();
                said = format!("{} is still starting: {line}", escape::line(&event.server));
                bar.set_message(said.clone());
            }
            EventKind::Ready | EventKind::Failed(_) | EventKind::Closed => {
                starting.remove(&event.server);
                if bar.message() == said {
                    bar.set_message(usual.clone());
                }
            }
            _ => {}
        }
    }
}

fn described(what: &str, progress: &Progress) -> String {
    let amount = match progress.total {
        Some(total) if total > 0.0 => format!("{:.0} %", (progress.progress / total * 100.0).clamp(0.0, 100.0)),
        _ => format!("{}", progress.progress),
    };
    match &progress.message {
        Some(message) => format!("{what}: {amount}, {}", escape::line(message)),
        None => format!("{what}: {amount}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_reads_as_a_share_where_the_end_is_known() {
        let said = |progress: f64, total, message: Option<&str>| {
            described("demo.slow", &Progress::new(progress, total, message.map(str::to_owned)))
        };
        assert_eq!(said(1.0, Some(4.0), Some("reading\u{1b}")), "demo.slow: 25 %, reading\\u{1b}");
        assert_eq!(said(9.0, Some(4.0), None), "demo.slow: 100 %");
        assert_eq!(said(3.0, None, None), "demo.slow: 3");
    }
}
