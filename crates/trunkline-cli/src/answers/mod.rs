//! What servers ask, answered: forms and pages by the person at the terminal or by `--answer`, a model's turn by a
//! command, roots by `--root`. Only what can be answered is declared to servers.

mod form;
mod given;
mod page;
mod roots;
mod sample;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use trunkline::{Answer, Elicitation, Environment, Error, ErrorKind, FormField, Handlers, RawJson};

use crate::args::Answering;
use crate::exit::Outcome;
use crate::person::Person;
use crate::render::{Screen, escape};
use crate::values::Given;
use crate::words;

/// Who answers, and with what.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) person: Arc<Person>,
    given: Given,
    /// Whether the person may be asked.
    asks: bool,
    environment: Environment,
    screen: Screen,
    /// What was said already.
    said: Mutex<HashSet<String>>,
}

/// Who answers the servers of this call of the program.
pub(crate) fn handlers(
    answering: Option<&Answering>,
    environment: &Environment,
    screen: &Screen,
) -> Outcome<(Arc<Person>, Option<Handlers>)> {
    let person = Arc::new(Person::new());
    let Some(answering) = answering else { return Ok((person, None)) };
    let given = Given::read(&answering.answers, None)?;
    let asks = person.is_there && !answering.no_input;
    let pages = asks;
    let forms = asks || answering.no_input || !given.is_empty();
    let (environment, said) = (environment.clone(), Mutex::default());
    let answers = Arc::new(Answers { person: person.clone(), given, asks, environment, screen: *screen, said });
    let answer = move |request: Elicitation| {
        let answers = answers.clone();
        async move { answers.answer(&request).await }
    };
    let mut handlers = match (pages, forms) {
        (true, _) => Handlers::new().elicit(answer),
        (false, true) => Handlers::new().elicit_forms(answer),
        (false, false) => nobody(answer),
    };
    if let Some(command) = &answering.sample_command {
        let words: Arc<[String]> = sample::words(words::split(command)?)?.into();
        handlers = handlers.sample_with_tools(move |request| {
            let words = words.clone();
            async move { sample::run(&words, &request).await }
        });
    }
    if !answering.roots.is_empty() {
        handlers = handlers.roots(roots::of(&answering.roots)?);
    }
    Ok((person, Some(handlers)))
}

/// Declares nothing, and says which answers a server would need that asks all the same.
fn nobody<F, Fut>(answer: F) -> Handlers
where
    F: Fn(Elicitation) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    let forms = Handlers::new().elicit_forms(answer);
    Handlers::new().on("elicitation/create", json!({}), move |params: RawJson| {
        let forms = forms.clone();
        async move {
            trunkline::Handler::handle(&forms, "elicitation/create", params).await?;
            Err(Error::new(ErrorKind::Unsupported, "Nobody is there to answer \"elicitation/create\""))
        }
    })
}

impl Answers {
    async fn answer(&self, request: &Elicitation) -> Answer {
        if let Some(url) = request.url() {
            let mut turn = self.person.turn().await;
            return page::consent(&mut turn, request, url, &self.environment).await;
        }
        let filled = match given::fill(&self.given, request.fields()) {
            Ok(filled) => filled,
            Err(error) => {
                self.tell(&format!("note: {}: declined", error.message()));
                return Answer::decline();
            }
        };
        if self.asks && (!filled.open.is_empty() || self.given.is_empty()) {
            let mut turn = self.person.turn().await;
            return form::fill_in(&mut turn, request, filled).await;
        }
        if filled.missing().next().is_none() && !self.given.is_empty() {
            let content = filled.content();
            return match request.check(&content) {
                Ok(()) => Answer::accept(content),
                Err(error) => {
                    self.tell(&format!("note: {}: declined", error.message()));
                    Answer::decline()
                }
            };
        }
        self.tell(&unanswered(request, &filled.missing().collect::<Vec<_>>()));
        Answer::decline()
    }

    /// Says something on standard error, once.
    fn tell(&self, text: &str) {
        let news = self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned());
        if news {
            self.person.aside(|| self.screen.report(&escape::line(text)));
        }
    }
}

/// What a server wanted to know, and how to answer it the next time.
fn unanswered(request: &Elicitation, missing: &[&FormField]) -> String {
    let named = |field: &&FormField| format!("\"{}\" ({})", field.name(), field.kind().words());
    let wanted: Vec<_> = missing.iter().map(named).collect();
    let options: Vec<_> = missing.iter().map(|field| format!("--answer {}=...", field.name())).collect();
    let asks = format!("note: {} asks \"{}\"", request.server(), request.message());
    match missing {
        [] => format!(
            "{asks}, and nobody is there to answer: declined; --answer KEY=VALUE, with any of its fields, accepts"
        ),
        _ => format!(
            "{asks} and needs {}, which nobody answers: declined; give {}",
            wanted.join(", "),
            options.join(" ")
        ),
    }
}
