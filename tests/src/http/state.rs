//! What a running fake knows: its script, the sessions, variables and listening streams.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, watch};
use tokio_rustls::TlsAcceptor;

use super::log::HttpLog;
use super::request::HttpRequest;
use super::script::HttpScript;
use super::step::Step;

pub(crate) struct State {
    pub(crate) script: HttpScript,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) log: HttpLog,
    memory: Mutex<Memory>,
    pub(crate) pushed: broadcast::Sender<Pushed>,
    pub(crate) over: watch::Sender<bool>,
}

/// What a listening stream gets.
#[derive(Debug, Clone)]
pub(crate) enum Pushed {
    Text(String),
    End,
}

#[derive(Default)]
struct Memory {
    /// The sessions that are known, each with the version that was agreed on.
    sessions: BTreeMap<String, String>,
    begun: usize,
    variables: HashMap<String, String>,
    matches: HashMap<usize, usize>,
    /// What was pushed while nobody listened.
    kept: Vec<String>,
}

impl State {
    pub(crate) fn new(script: HttpScript, tls: Option<TlsAcceptor>) -> State {
        let (pushed, over) = (broadcast::Sender::new(4096), watch::Sender::new(false));
        State { script, tls, log: HttpLog::new(), memory: Mutex::default(), pushed, over }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The steps of the first rule that matches.
    pub(crate) fn rule_for(&self, request: &HttpRequest) -> Option<&[Step]> {
        let mut memory = self.memory();
        let mut found = None;
        for (index, rule) in self.script.rules.iter().enumerate().filter(|(_, rule)| !rule.on.accepted) {
            let holds = |(name, value): &(String, String)| memory.variables.get(name).map_or("", |v| v) == value;
            if rule.on.fits(request) && rule.on.when.iter().all(holds) {
                let count = memory.matches.entry(index).or_default();
                *count += 1;
                if found.is_none() && rule.on.nth.is_none_or(|(from, to)| (from..=to).contains(count)) {
                    found = Some(&*rule.steps);
                }
            }
        }
        found
    }

    /// The steps for the nth connection.
    pub(crate) fn rule_for_connection(&self, n: usize) -> Option<&[Step]> {
        let within = |nth: Option<(usize, usize)>| nth.is_none_or(|(from, to)| (from..=to).contains(&n));
        let rule = self.script.rules.iter().find(|rule| rule.on.accepted && within(rule.on.nth));
        rule.map(|rule| &*rule.steps)
    }

    pub(crate) fn set(&self, name: &str, value: &str) {
        self.memory().variables.insert(name.to_owned(), value.to_owned());
    }

    /// A new session: A, B …
    pub(crate) fn begin_session(&self, version: &str) -> String {
        let mut memory = self.memory();
        let id = match memory.begun {
            n @ 0..26 => char::from(b'A' + n as u8).to_string(),
            n => format!("S{n}"),
        };
        memory.begun += 1;
        memory.sessions.insert(id.clone(), version.to_owned());
        id
    }

    /// The version of a session that is known.
    pub(crate) fn session(&self, id: &str) -> Option<String> {
        self.memory().sessions.get(id).cloned()
    }

    /// Ends a session; whether there was one.
    pub(crate) fn end_session(&self, id: &str) -> bool {
        let mut memory = self.memory();
        memory.sessions.remove(id).is_some()
    }

    pub(crate) fn forget_sessions(&self) {
        self.memory().sessions.clear();
    }

    pub(crate) fn sessions(&self) -> Vec<String> {
        self.memory().sessions.keys().cloned().collect()
    }

    /// Hands an event to the streams that listen; kept for the first one where there is none.
    pub(crate) fn push(&self, text: String) {
        let mut memory = self.memory();
        if self.pushed.receiver_count() == 0 {
            memory.kept.push(text);
        } else {
            let _ = self.pushed.send(Pushed::Text(text)); // it has just gone
        }
    }

    /// Listens, from what was kept on.
    pub(crate) fn listen(&self) -> (Vec<String>, broadcast::Receiver<Pushed>) {
        let mut memory = self.memory();
        (std::mem::take(&mut memory.kept), self.pushed.subscribe())
    }
}
