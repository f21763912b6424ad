//! `Authority`: an authorization server that runs.

use std::sync::Arc;
use std::time::Instant;

use super::memory::{Assertion, Known};
use super::settings::Settings;
use super::state::State;
use crate::http::{HttpFake, HttpLog, HttpScript, reply, send};

/// An authorization server that runs. It ends with the value.
pub struct Authority {
    pub(crate) fake: Arc<HttpFake>,
    pub(crate) state: Arc<State>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Authority({})", self.issuer())
    }
}

impl Authority {
    /// One that does everything right.
    pub fn start() -> Authority {
        let state = Arc::new(State::default());
        let served = state.clone();
        let script = HttpScript::new()
            .before(move |request| Some(served.steps(request).unwrap_or_else(|| vec![send(reply(404))])));
        Authority::at(Arc::new(script.start()), state)
    }

    pub(crate) fn at(fake: Arc<HttpFake>, state: Arc<State>) -> Authority {
        state.origin.set(fake.origin()).expect("it is started once");
        Authority { fake, state }
    }

    /// Changes how it behaves from now on.
    pub fn set(&self, change: impl FnOnce(&mut Settings)) {
        self.state.change(change);
    }

    pub fn issuer(&self) -> String {
        self.state.issuer()
    }

    pub fn origin(&self) -> String {
        self.fake.origin()
    }

    /// Every request that came.
    pub fn log(&self) -> HttpLog {
        self.fake.log()
    }

    /// Whatever was refused, and why.
    pub fn refusals(&self) -> Vec<String> {
        self.state.memory().refusals.clone()
    }

    /// How often this grant was asked for, in vain or not.
    pub fn grants(&self, kind: &str) -> usize {
        self.state.memory().grants.get(kind).copied().unwrap_or_default()
    }

    /// The requests for this path.
    pub fn requests(&self, path: &str) -> usize {
        self.log().requests().iter().filter(|request| request.path() == path).count()
    }

    /// Every code, token and secret that was ever given out. None of them may be shown anywhere.
    pub fn secrets(&self) -> Vec<String> {
        self.state.memory().secrets.clone()
    }

    /// Makes a client known that doesn't register itself; also the document of a client whose id is a URL.
    pub fn know(&self, client: Known) {
        let mut memory = self.state.memory();
        memory.secrets.extend(client.secret.clone());
        memory.clients.insert(client.id.clone(), client);
    }

    /// Forgets every client, as a server does that was set up anew.
    pub fn forget_clients(&self) {
        self.state.memory().clients.clear();
    }

    /// Takes this assertion for the JWT bearer grant.
    pub fn take_assertion(&self, assertion: &str) {
        self.state.memory().assertions.insert(assertion.to_owned(), Assertion::default());
    }

    /// As an identity provider: knows this identity token.
    pub fn know_identity(&self, token: &str) {
        self.state.memory().identities.insert(token.to_owned());
    }

    /// Takes the assertions of this identity provider.
    pub fn trust(&self, provider: &Authority) {
        let mut trusted = self.state.trusted.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        trusted.push(provider.state.clone());
    }

    /// Lets tokens be for this resource too.
    pub fn know_resource(&self, resource: &str) {
        self.state.memory().resources.insert(resource.to_owned());
    }

    /// Every access token is over from now on; refresh tokens aren't.
    pub fn expire(&self) {
        let now = Instant::now();
        self.state.memory().access.values_mut().for_each(|access| access.until = now);
    }

    /// Takes all tokens back.
    pub fn revoke(&self) {
        let mut memory = self.state.memory();
        memory.access.clear();
        memory.refresh.clear();
    }

    /// From now on proofs have to hold another nonce.
    pub fn change_nonce(&self) {
        self.state.memory().nonce += 1;
    }

    /// The refresh tokens that are still good.
    pub fn good_refresh_tokens(&self) -> Vec<String> {
        let memory = self.state.memory();
        memory.refresh.iter().filter(|(_, refresh)| !refresh.used).map(|(token, _)| token.clone()).collect()
    }

    /// Whether this access token is good.
    pub fn is_good(&self, access: &str) -> bool {
        self.state.memory().access.get(access).is_some_and(|known| known.until > Instant::now())
    }
}
