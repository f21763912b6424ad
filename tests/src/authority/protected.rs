//! `Protected`: an MCP server that wants tokens.

use std::sync::{Arc, Mutex, PoisonError};

use super::guard::{Gate, Guard};
use super::handle::Authority;
use super::state::State;
use crate::http::{HttpFake, HttpLog, HttpScript};

/// An MCP server that wants the tokens of an authority. It ends with the value.
pub struct Protected {
    fake: Arc<HttpFake>,
    gate: Arc<Gate>,
}

impl std::fmt::Debug for Protected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Protected({})", self.url())
    }
}

impl Protected {
    /// A server with the one tool `echo`.
    pub fn start(authority: &Authority) -> Protected {
        Protected::of(authority, HttpScript::new())
    }

    /// This server behind the guard.
    pub fn of(authority: &Authority, script: HttpScript) -> Protected {
        let gate = Protected::gate(&authority.state);
        let asked = gate.clone();
        let fake = script.before(move |request| asked.steps(request)).start();
        Protected::at(Arc::new(fake), gate)
    }

    fn gate(authority: &Arc<State>) -> Arc<Gate> {
        let authority = Mutex::new(authority.clone());
        Arc::new(Gate { guard: Mutex::default(), authority, own: State::default() })
    }

    fn at(fake: Arc<HttpFake>, gate: Arc<Gate>) -> Protected {
        gate.own.origin.set(fake.origin()).expect("it is started once");
        let server = Protected { fake, gate };
        server.make_known();
        server
    }

    /// Changes the guard from now on.
    pub fn set(&self, change: impl FnOnce(&mut Guard)) {
        change(&mut self.gate.guard.lock().unwrap_or_else(PoisonError::into_inner));
        self.make_known();
    }

    /// From now on wants the tokens of another authority.
    pub fn turn_to(&self, authority: &Authority) {
        *self.gate.authority.lock().unwrap_or_else(PoisonError::into_inner) = authority.state.clone();
        self.make_known();
    }

    fn make_known(&self) {
        let resource = self.gate.resource();
        self.gate.authority().memory().resources.insert(resource);
    }

    /// From now on proofs have to hold another nonce.
    pub fn change_nonce(&self) {
        self.gate.own.memory().nonce += 1;
    }

    pub fn url(&self) -> String {
        self.fake.url()
    }

    pub fn origin(&self) -> String {
        self.fake.origin()
    }

    /// Every request that came, refused or not.
    pub fn log(&self) -> HttpLog {
        self.fake.log()
    }

    /// Whatever was refused beside what an orderly client can't know before: a token that is not known, not for this
    /// server, not bound to the client's key …
    pub fn refusals(&self) -> Vec<String> {
        self.gate.own.memory().refusals.clone()
    }

    /// The server behind the guard.
    pub fn fake(&self) -> &HttpFake {
        &self.fake
    }
}

/// An authority and a server under one origin, as revision 2025-03-26 has it: no metadata of the server, and `resource`
/// is not asked for.
pub fn together() -> (Authority, Protected) {
    let state = Arc::new(State::default());
    let gate = Protected::gate(&state);
    let (served, asked) = (state.clone(), gate.clone());
    let script = HttpScript::new().before(move |request| served.steps(request).or_else(|| asked.steps(request)));
    let fake = Arc::new(script.start());
    let authority = Authority::at(fake.clone(), state);
    let server = Protected::at(fake, gate);
    authority.set(|it| it.resource_optional = true);
    server.set(|it| (it.metadata_at, it.tells_metadata) = (None, false));
    (authority, server)
}
