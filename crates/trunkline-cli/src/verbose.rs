//! What `-v` shows on standard error: what servers log, what they write on their own standard error, and the
//! messages themselves. Secrets of the config are masked everywhere.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::task::JoinHandle;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use trunkline::{EventKind, Redactor};

use crate::render::{CYAN, DIM, Screen, YELLOW, escape, paint};
use crate::servers::Servers;

/// The target of the library's trace events of whole messages.
const WIRE: &str = "trunkline::wire";
/// And of how far an HTTP request has come.
const HTTP: &str = "trunkline::http";

/// How many bytes of a message are shown.
const LONGEST: usize = 4000;

/// Prints events until it is dropped.
pub(crate) struct Listening(Option<JoinHandle<()>>);

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// Starts to print what `-v` asks for. Needs a runtime.
pub(crate) fn listen(servers: &Servers, screen: Screen) -> Listening {
    if screen.verbose == 0 {
        return Listening(None);
    }
    let redactors = servers.redactors();
    let mut events = trunkline::Connection::events(servers.all());
    let task = tokio::spawn(async move {
        while let Some(event) = events.next().await {
            let line = described(&event.kind, screen.verbose);
            if let Some(line) = line {
                let line = masked(&redactors, &line);
                screen.report(&format!("{} {}", paint(DIM, format!("[{}]", escape::line(&event.server))), line));
            }
        }
    });
    Listening(Some(task))
}

/// Installs what reads the library's traces, for the rest of the program: the messages for `-vvv`, and the moment of
/// each server's first message for whoever measures.
pub(crate) fn trace(servers: &Servers, screen: Screen) {
    let printer = (screen.verbose > 2).then(|| Printer { screen, redactors: servers.redactors() });
    let traces = Traces { printer, moments: servers.moments.clone() };
    // a subscriber that is there already stays: then there is nothing to show
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(traces));
}

fn described(kind: &EventKind, verbose: u8) -> Option<String> {
    Some(match kind {
        EventKind::Log(message) => {
            let logger = message.logger.as_ref().map(|logger| format!(" {}", escape::line(logger))).unwrap_or_default();
            let level = paint(CYAN, format!("{}{logger}:", escape::line(&message.level)));
            format!("{level} {}", escape::line(&message.text()))
        }
        EventKind::Warning(text) => format!("{} {}", paint(YELLOW, "warning:"), escape::line(text)),
        EventKind::Stderr(line) if verbose > 1 => format!("{} {}", paint(DIM, "|"), escape::line(line)),
        EventKind::Starting if verbose > 1 => paint(DIM, "starting"),
        EventKind::Ready if verbose > 1 => paint(DIM, "ready"),
        EventKind::Closed if verbose > 1 => paint(DIM, "closed"),
        EventKind::Lagged(lost) => format!("{lost} events were not shown"),
        _ => return None,
    })
}

/// The text without the secrets of any server.
pub(crate) fn masked(redactors: &[Redactor], text: &str) -> String {
    redactors.iter().fold(text.to_owned(), |text, redactor| redactor.redact(&text).into_owned())
}

/// Reads the library's traces.
struct Traces {
    printer: Option<Printer>,
    moments: Moments,
}

/// Prints every message.
struct Printer {
    screen: Screen,
    redactors: Vec<Redactor>,
}

impl Printer {
    fn print(&self, event: &Event<'_>) {
        let mut texts = Texts::default();
        event.record(&mut texts);
        let arrow = if texts.get("direction") == "out" { "-->" } else { "<--" };
        let message = masked(&self.redactors, texts.get("message"));
        let shown: String = message.chars().take(LONGEST).collect();
        let more = if shown.len() < message.len() { "..." } else { "" };
        self.screen.report(&format!("{} {}{more}", paint(DIM, arrow), escape::json(&shown)));
    }
}

/// The fields of an event or a span as text.
#[derive(Default)]
struct Texts(Vec<(&'static str, String)>);

impl Texts {
    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
    }
}

impl Visit for Texts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

/// When what happened on the way to each server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moments(Arc<Mutex<HashMap<String, Way>>>);

/// What happened on the way to a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Way {
    /// It was there to be sent its first message: a process had been started by then.
    pub(crate) first: Option<Instant>,
    /// The stages of HTTP that were passed.
    pub(crate) passed: Vec<Passed>,
}

/// A stage of an HTTP request, and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    pub(crate) stage: String,
    pub(crate) at: Instant,
    pub(crate) detail: String,
}

impl Moments {
    pub(crate) fn of(&self, server: &str) -> Way {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server).cloned().unwrap_or_default()
    }

    fn note(&self, server: &str, passed: Option<Passed>) {
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let way = ways.entry(server.to_owned()).or_default();
        match passed {
            Some(passed) => way.passed.push(passed),
            None => drop(way.first.get_or_insert_with(Instant::now)),
        }
    }
}

/// The server that a span is about.
struct ServerOf(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Traces {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with("trunkline")
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut texts = Texts::default();
        attributes.record(&mut texts);
        if let Some(span) = context.span(id).filter(|_| !texts.get("server").is_empty()) {
            span.extensions_mut().insert(ServerOf(texts.get("server").to_owned()));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let passed = match event.metadata().target() {
            WIRE => None,
            HTTP => {
                let mut texts = Texts::default();
                event.record(&mut texts);
                let (stage, detail) = (texts.get("stage").to_owned(), texts.get("detail").to_owned());
                Some(Passed { stage, at: Instant::now(), detail })
            }
            _ => return,
        };
        if let Some(printer) = self.printer.as_ref().filter(|_| passed.is_none()) {
            printer.print(event);
        }
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(ServerOf(server)) = span.extensions().get() {
                self.moments.note(server, passed.clone());
            }
        }
    }
}
