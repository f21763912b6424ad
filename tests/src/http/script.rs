//! `HttpScript`: the settings and rules of a fake, before it is started. What they mean is in the module's text.

use super::fake::HttpFake;
use super::request::HttpRequest;
use super::rule::{HttpMatch, Rule};
use super::state::State;
use super::step::Step;
use super::tls::Tls;
use crate::json::{Json, tool};

type Before = Box<dyn Fn(&HttpRequest) -> Option<Vec<Step>> + Send + Sync>;

/// What an HTTP fake does. See the module's text.
pub struct HttpScript {
    pub(crate) version: Option<String>,
    pub(crate) capabilities: Json,
    pub(crate) tools: Vec<Json>,
    pub(crate) sse_answers: bool,
    pub(crate) sessions: bool,
    pub(crate) strict_version: bool,
    pub(crate) listening: bool,
    pub(crate) legacy: bool,
    pub(crate) before: Option<Before>,
    pub(crate) modern: bool,
    pub(crate) rules: Vec<Rule>,
}

impl Default for HttpScript {
    fn default() -> HttpScript {
        HttpScript {
            version: Some("2025-06-18".to_owned()),
            capabilities: serde_json::json!({"tools": {}}).into(),
            tools: vec![tool("echo").into()],
            sse_answers: false,
            sessions: true,
            strict_version: false,
            listening: false,
            legacy: false,
            before: None,
            modern: false,
            rules: Vec::new(),
        }
    }
}

impl HttpScript {
    /// A server with the one tool `echo`.
    pub fn new() -> HttpScript {
        HttpScript::default()
    }

    pub fn version(self, version: &str) -> HttpScript {
        HttpScript { version: Some(version.to_owned()), ..self }
    }

    pub fn echo_version(self) -> HttpScript {
        HttpScript { version: None, ..self }
    }

    pub fn capabilities(self, capabilities: impl Into<Json>) -> HttpScript {
        HttpScript { capabilities: capabilities.into(), ..self }
    }

    pub fn tools<T: Into<Json>>(self, items: impl IntoIterator<Item = T>) -> HttpScript {
        HttpScript { tools: items.into_iter().map(Into::into).collect(), ..self }
    }

    pub fn sse_answers(self) -> HttpScript {
        HttpScript { sse_answers: true, ..self }
    }

    pub fn sessionless(self) -> HttpScript {
        HttpScript { sessions: false, ..self }
    }

    pub fn strict_version(self) -> HttpScript {
        HttpScript { strict_version: true, ..self }
    }

    pub fn listening(self) -> HttpScript {
        HttpScript { listening: true, ..self }
    }

    pub fn legacy_sse(self) -> HttpScript {
        HttpScript { legacy: true, ..self }
    }

    /// Asks this of every request before any rule: where it gives steps, they are done instead.
    pub fn before(self, f: impl Fn(&HttpRequest) -> Option<Vec<Step>> + Send + Sync + 'static) -> HttpScript {
        HttpScript { before: Some(Box::new(f)), ..self }
    }

    pub fn modern(self) -> HttpScript {
        HttpScript { modern: true, sessions: false, ..self }
    }

    /// Adds a rule after those that are there.
    pub fn on<S: Into<Step>>(mut self, on: HttpMatch, steps: impl IntoIterator<Item = S>) -> HttpScript {
        self.rules.push(Rule { on, steps: steps.into_iter().map(Into::into).collect() });
        self
    }

    /// Starts the fake on a free port of this machine.
    pub fn start(self) -> HttpFake {
        HttpFake::start(State::new(self, None))
    }

    /// Starts the fake behind TLS.
    pub fn start_tls(self, tls: Tls<'_>) -> HttpFake {
        HttpFake::start(State::new(self, Some(tls.acceptor())))
    }
}
