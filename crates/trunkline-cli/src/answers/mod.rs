//! What servers ask, answered: forms and pages by the person at the terminal or by `--answer`, a model's turn by a
//! command, roots by `--root`. Only what can be answered is declared to servers.

mod form;
mod given;
mod page;
mod roots;
mod sample;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use trunkline::{
    Answer, Elicitation, Environment, Error, ErrorKind, FormField, Handler, Handlers, RawJson, SharedHandler,
};

use crate::args::Answering;
use crate::exit::Outcome;
use crate::person::Person;
use crate::render::json::Object;
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
) -> Outcome<(Arc<Person>, Option<SharedHandler>)> {
    let person = Arc::new(Person::new(*screen));
    let Some(answering) = answering else { return Ok((person, None)) };
    let given = Given::read(&answering.answers, None)?;
    let asks = person.is_there && !answering.no_input;
    let answers_forms = asks || answering.no_input || !given.is_empty();
    let (environment, said) = (environment.clone(), Mutex::default());
    let answers = Arc::new(Answers { person: person.clone(), given, asks, environment, screen: *screen, said });
    let answer = move |request: Elicitation| {
        let answers = answers.clone();
        async move { answers.answer(&request).await }
    };
    let mut handlers = match asks {
        true => Handlers::new().elicit(answer),
        false => Handlers::new().elicit_forms(answer),
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
    let handler = SharedHandler::new(handlers);
    Ok((person, Some(if answers_forms { handler } else { SharedHandler::new(Nobody(handler)) })))
}

/// Where nobody can answer: forms aren't declared, but a server that asks all the same is told of, with the answers that
/// it would need.
struct Nobody(SharedHandler);

const ELICITATION: &str = "elicitation/create";

impl Handler for Nobody {
    fn capabilities(&self) -> RawJson {
        let all = self.0.capabilities();
        let others = all.members().filter(|(name, _)| name != "elicitation");
        let others = others.fold(Object::default(), |object, (name, value)| object.raw(&name, value));
        RawJson::parse(others.finish()).unwrap_or(all)
    }

    async fn handle(&self, method: &str, params: RawJson) -> trunkline::Result<RawJson> {
        let outcome = self.0.handle(method, params).await;
        match method {
            ELICITATION => Err(Error::new(ErrorKind::Unsupported, format!("Nobody is there to answer \"{method}\""))),
            _ => outcome,
        }
    }

    fn for_server(&self, label: &str) -> Option<SharedHandler> {
        Some(SharedHandler::new(Self(self.0.for_server(label)?)))
    }
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
