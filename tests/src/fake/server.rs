//! `Server`: the state of the fake, and which rule a message meets.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write as _};
use std::process;
use std::sync::{Arc, Mutex};

use super::inbox::Inbox;
use super::lock;
use super::message::Message;
use super::output::Output;
use super::record::Record;
use crate::rule::Match;
use crate::script::{Page, Pieces, Script};

/// The event of a line with no rule and no default.
pub(crate) const UNKNOWN: &str = "@unknown";

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) script: Script,
    pub(crate) record: Record,
    pub(crate) output: Output,
    pub(crate) inbox: Inbox,
    /// Number of this start, from 1.
    pub(crate) start: u64,
    pub(crate) lists: Mutex<BTreeMap<String, Vec<Page>>>,
    pub(crate) variables: Mutex<HashMap<String, String>>,
    /// Messages that `gather` holds, by rule.
    pub(crate) held: Mutex<HashMap<usize, Vec<Scope>>>,
    /// How many messages have fitted each rule.
    counts: Mutex<Vec<u64>>,
}

/// What the actions of one rule know about the message at hand.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) message: Arc<Message>,
    pub(crate) rule: usize,
    pub(crate) n: u64,
    pub(crate) round: u64,
    pub(crate) reply: Option<String>,
    pub(crate) pieces: Option<Pieces>,
}

impl Server {
    pub(crate) fn new(script: Script, start: u64) -> io::Result<Server> {
        Ok(Server {
            record: Record::open(script.log.as_deref())?,
            output: Output::new(script.framing.clone()),
            inbox: Inbox::default(),
            start,
            lists: Mutex::new(script.lists.clone()),
            variables: Mutex::default(),
            held: Mutex::default(),
            counts: Mutex::new(vec![0; script.rules.len()]),
            script,
        })
    }

    pub(crate) fn has_rule_on(&self, method: &str) -> bool {
        self.script.rules.iter().any(|rule| rule.on.method == method)
    }

    /// The first rule for this method that matches, with how often it has. Counts the message for all rules it
    /// fits. The method is the message's own or the event's.
    pub(crate) fn rule_for(&self, method: &str, message: &Message) -> Option<(usize, u64)> {
        let mut counts = lock(&self.counts);
        let mut found = None;
        for (index, rule) in self.script.rules.iter().enumerate() {
            if !self.fits(&rule.on, method, message) {
                continue;
            }
            counts[index] += 1;
            let n = counts[index];
            if found.is_none() && within(rule.on.nth, n) {
                found = Some((index, n));
            }
        }
        found
    }

    fn fits(&self, on: &Match, method: &str, message: &Message) -> bool {
        let same = |wanted: &Option<String>, given: &dyn Fn() -> Option<String>| {
            wanted.as_ref().is_none_or(|wanted| given().as_ref() == Some(wanted))
        };
        let any = on.method == "*" && !method.starts_with('@');
        (any || on.method == method)
            && same(&on.name, &|| message.name())
            && same(&on.cursor, &|| message.cursor())
            && on.contains.as_ref().is_none_or(|text| message.line.contains(text))
            && within(on.start, self.start)
            && on.when.as_ref().is_none_or(|(name, value)| self.variable(name) == *value)
    }

    /// Whether the rule with this index is for lines that no other rule is for.
    pub(crate) fn is_last_resort(&self, rule: usize) -> bool {
        self.script.rules.get(rule).is_some_and(|rule| rule.on.method == UNKNOWN)
    }

    pub(crate) fn variable(&self, name: &str) -> String {
        lock(&self.variables).get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn exit(&self, code: i32) -> ! {
        self.record.note(&format!("exit {code}"));
        process::exit(code)
    }

    /// Ends the process because the script can't be followed.
    pub(crate) fn fail(&self, problem: &str) -> ! {
        self.record.note(&format!("failed: {problem}"));
        let _ = writeln!(io::stderr(), "fake: {problem}");
        self.exit(70)
    }
}

impl Scope {
    pub(crate) fn new(message: Arc<Message>, rule: usize, n: u64) -> Scope {
        Scope { message, rule, n, round: 0, reply: None, pieces: None }
    }
}

fn within(range: Option<(u64, u64)>, n: u64) -> bool {
    range.is_none_or(|(first, last)| (first..=last).contains(&n))
}
