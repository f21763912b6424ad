//! An authorization server as it runs: which path does what.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::memory::Memory;
use super::refusal::{Checked, Refusal};
use super::settings::{Settings, status_of};
use super::{authorize, metadata, register, token};
use crate::http::{HttpRequest, Reply, Step, pause, reply, send};

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Where it listens; set before the first request.
    pub(crate) origin: OnceLock<String>,
    settings: Mutex<Settings>,
    memory: Mutex<Memory>,
    /// Identity providers whose assertions are taken.
    pub(crate) trusted: Mutex<Vec<Arc<State>>>,
}

impl State {
    pub(crate) fn origin(&self) -> &str {
        self.origin.get().expect("it is started")
    }

    pub(crate) fn issuer(&self) -> String {
        format!("{}{}", self.origin(), self.settings().issuer_path)
    }

    pub(crate) fn settings(&self) -> Settings {
        self.change(|settings| settings.clone())
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Settings) -> T) -> T {
        change(&mut self.settings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nonce that proofs of keys have to hold now.
    pub(crate) fn nonce(&self) -> String {
        format!("nonce-{}", self.memory().nonce)
    }

    /// Notes why something was refused.
    pub(crate) fn note(&self, place: &str, refusal: &Refusal) {
        if !refusal.expected {
            self.memory().refusals.push(format!("{place}: {}: {}", refusal.error, refusal.reason));
        }
    }

    /// What is done with a request; nothing where the path is none of this server's.
    pub(crate) fn steps(&self, request: &HttpRequest) -> Option<Vec<Step>> {
        let settings = self.settings();
        let path = request.path();
        if let Some(status) = status_of(&settings.statuses, path) {
            return Some(vec![send(reply(status).content("text/html", "<h1>no</h1>"))]);
        }
        if metadata::is_at(&settings, path) {
            return Some(vec![send(reply(200).json(metadata::document(self)))]);
        }
        match (request.method.as_str(), path) {
            ("POST", "/register") if settings.registration => {
                Some(vec![self.told(path, register::register(self, request))])
            }
            ("GET", "/authorize") => Some(vec![self.told(path, authorize::authorize(self, request))]),
            ("POST", "/token") => {
                let answer = self.told(path, token::token(self, request));
                let late = (settings.delay > 0).then(|| pause(settings.delay));
                Some(late.into_iter().chain([answer]).collect())
            }
            _ => None,
        }
    }

    fn told(&self, place: &str, checked: Checked<Reply>) -> Step {
        send(checked.unwrap_or_else(|refusal| {
            self.note(place, &refusal);
            refusal.reply()
        }))
    }
}
