//! Holds the login of one server, and lets its requests in. Whoever needs another token waits for the one flight that is
//! under way; it goes on where they give up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use tokio::task::AbortHandle;
use url::Url;

use super::dpop::ProofKey;
use super::flow::Flow;
use super::grant::Grant;
use super::login::{Login, LoginKey, TokenType};
use super::need::{Kind, Need};
use super::random::now;
use super::settings::OAuth;
use crate::auth::{Authorizer, Pass, Pause, Refused, Target, Tries, Wanted};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::transport::{Endpoint, Reach};

/// How often a request is made again with more scopes.
const MOST_SCOPES: usize = 2;
/// How often with another nonce.
const MOST_NONCES: usize = 2;
/// How often with another token: renewed, then got anew.
const MOST_TOKENS: usize = 2;

/// The login of one server.
pub(crate) struct Keeper {
    flow: Arc<Flow>,
    state: Arc<Mutex<State>>,
    pause: Pause,
}

#[derive(Default)]
struct State {
    /// Whether the store was read.
    read: bool,
    held: Option<Arc<Held>>,
    flight: Option<Flight>,
}

/// A login, ready to be used.
struct Held {
    login: Login,
    key: Option<ProofKey>,
}

impl Held {
    fn new(login: Login) -> Result<Arc<Self>> {
        let bound = login.dpop_key.as_ref().filter(|_| login.token_type == TokenType::Dpop);
        let key = bound.map(ProofKey::read).transpose()?;
        Ok(Arc::new(Self { login, key }))
    }
}

/// Another token on its way.
#[derive(Clone)]
struct Flight {
    kind: Kind,
    landed: Shared<BoxFuture<'static, Result<Arc<Held>>>>,
    task: AbortHandle,
}

impl Keeper {
    /// For the server at this endpoint, called `label`.
    ///
    /// # Errors
    /// Kind `Config` for a private key that can't be used.
    pub(crate) fn new(label: &str, settings: OAuth, endpoint: &Endpoint, limits: &Arc<Limits>) -> Result<Self> {
        let flow = Arc::new(Flow::new(label, settings, endpoint, limits)?);
        Ok(Self { flow, state: Arc::default(), pause: Pause::default() })
    }

    pub(crate) fn key(&self) -> &LoginKey {
        &self.flow.key
    }

    /// Logs in anew, whatever is held.
    pub(crate) async fn log_in(&self) -> Result<Login> {
        let wanted = self.flow.first_challenge().await?;
        let held = self.known().await.ok().flatten();
        let refused = held.and_then(|held| held.login.access_token.clone());
        let held = self.get(Need { kind: Kind::Anew, wanted, refused }).await?;
        Ok(held.login.clone())
    }

    /// Forgets the login, here and in the store; whether there was one.
    pub(crate) async fn log_out(&self) -> Result<bool> {
        let known = self.known().await;
        {
            let mut state = self.state();
            state.held = None;
            state.read = true;
        }
        if let Some(store) = &self.flow.settings.store {
            let _guard = self.flow.lock().await?;
            store.remove(&self.flow.key).await?;
        }
        Ok(known.map_or(true, |held| held.is_some())) // what can't be read was something
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The login that is held, or kept.
    async fn known(&self) -> Result<Option<Arc<Held>>> {
        {
            let state = self.state();
            if state.read || state.held.is_some() {
                return Ok(state.held.clone());
            }
        }
        let stored = self.flow.stored().await?.map(Held::new).transpose()?;
        let mut state = self.state();
        state.read = true;
        if state.held.is_none() {
            state.held = stored;
        }
        Ok(state.held.clone())
    }

    /// A login that has what is needed: there already, on its way, or got now.
    async fn get(&self, need: Need) -> Result<Arc<Held>> {
        for _ in 0..3 {
            let (flight, own) = {
                let mut state = self.state();
                match &state.held {
                    Some(held) if need.kind != Kind::Ahead && need.is_met_by(&held.login) => return Ok(held.clone()),
                    _ => {}
                }
                match &state.flight {
                    Some(flight) => (flight.clone(), false),
                    None => (self.take_off(&mut state, need.clone()), true),
                }
            };
            match flight.landed.await {
                outcome if own => return outcome,
                Ok(held) if need.is_met_by(&held.login) => return Ok(held),
                Err(error) if flight.kind == need.kind => return Err(error),
                _ => {}
            }
        }
        Err(Error::new(ErrorKind::Auth, "Others log in to this server all the time, for something else"))
    }

    fn take_off(&self, state: &mut State, need: Need) -> Flight {
        let (flow, shared, kind) = (self.flow.clone(), self.state.clone(), need.kind);
        let current = state.held.as_ref().map(|held| held.login.clone());
        let paused = self.pause.begin();
        let task = tokio::spawn(async move {
            let _paused = paused;
            let outcome = flow.get(&need, current).await.and_then(Held::new);
            let mut state = lock(&shared);
            state.flight = None;
            if let Ok(held) = &outcome {
                state.held = Some(held.clone());
            }
            outcome.map_err(|error| error.map_text(|text| flow.redactor.redact(text).into_owned()))
        });
        let (handle, shared) = (task.abort_handle(), self.state.clone());
        let landed = async move {
            task.await.unwrap_or_else(|_| {
                lock(&shared).flight = None;
                Err(Error::new(ErrorKind::Closed, "The login was given up"))
            })
        };
        let flight = Flight { kind, landed: landed.boxed().shared(), task: handle };
        state.flight = Some(flight.clone());
        flight
    }

    fn pass_of(&self, held: &Held, target: Target<'_>) -> Result<Option<Pass>> {
        let Some(token) = held.login.access_token.clone() else { return Ok(None) };
        let proof = match &held.key {
            Some(key) => {
                let nonce = self.flow.nonces.of(target.url);
                Some(key.proof(target.method, target.url, nonce.as_deref(), Some(&token))?)
            }
            None => None,
        };
        Ok(Some(Pass { token, proof }))
    }

    /// The login for a request, renewed where it is nearly over.
    async fn ready(&self) -> Result<Option<Arc<Held>>> {
        let Some(held) = self.known().await? else { return Ok(None) };
        let login = &held.login;
        let renewable = login.refresh_token.is_some() || !matches!(self.flow.settings.grant, Grant::AuthorizationCode);
        if login.access_token.is_none() || !login.is_over(now()) || !renewable {
            return Ok(Some(held));
        }
        let refused = login.access_token.clone();
        match self.get(Need { kind: Kind::Ahead, wanted: Wanted::default(), refused }).await {
            Ok(next) => Ok(Some(next)),
            Err(error) if error.kind() == ErrorKind::Auth || !login.is_dead(now()) => Ok(Some(held)), // the server has the last word
            Err(error) => Err(error),
        }
    }

    /// Another token in place of one that was refused.
    async fn another(&self, refused: &Refused<'_>, wanted: Wanted, tries: &mut Tries) -> Result<Option<Arc<Held>>> {
        if tries.tokens >= MOST_TOKENS {
            return Ok(None);
        }
        let token = refused.pass.map(|pass| pass.token.clone());
        let kind = if token.is_some() && tries.tokens == 0 { Kind::Refused } else { Kind::Anew };
        tries.tokens += 1;
        let need = Need { kind, wanted, refused: token };
        let before = self.state().held.clone();
        let held = self.get(need).await?;
        let renewed = before.is_some_and(|before| before.login.client == held.login.client && kind == Kind::Refused);
        if !renewed {
            tries.tokens = MOST_TOKENS; // somebody was asked: that won't be better
        }
        Ok(Some(held))
    }

    /// A token with more scopes.
    async fn more(&self, refused: &Refused<'_>, wanted: Wanted, tries: &mut Tries) -> Result<Option<Arc<Held>>> {
        let token = refused.pass.map(|pass| pass.token.clone());
        let need = Need { kind: Kind::More, wanted, refused: token };
        let asks = matches!(self.flow.settings.grant, Grant::AuthorizationCode | Grant::ClientCredentials);
        if tries.scopes >= MOST_SCOPES || !asks {
            let current = self.state().held.clone();
            return Err(self.flow.scopes_lack(&need, current.as_ref().map(|held| &held.login)));
        }
        tries.scopes += 1;
        self.get(need).await.map(Some)
    }
}

impl Authorizer for Keeper {
    fn pass<'a>(&'a self, target: Target<'a>) -> BoxFuture<'a, Result<Option<Pass>>> {
        Box::pin(async move {
            match self.ready().await? {
                Some(held) => self.pass_of(&held, target),
                None => Ok(None),
            }
        })
    }

    fn again<'a>(
        &'a self,
        target: Target<'a>,
        refused: Refused<'a>,
        tries: &'a mut Tries,
    ) -> BoxFuture<'a, Result<Option<Pass>>> {
        Box::pin(async move {
            if let Some(peer) = target.peer {
                self.flow.near().get_or_insert(Reach::of(peer));
            }
            let wanted = Wanted::read(refused.header.unwrap_or_default());
            let held = match refused.status {
                // who leaves asks nobody to be let in
                _ if target.method == "DELETE" && !wanted.is("use_dpop_nonce") => None,
                401 if wanted.is("use_dpop_nonce") && refused.pass.is_some() && tries.nonces < MOST_NONCES => {
                    tries.nonces += 1;
                    self.state().held.clone()
                }
                401 => self.another(&refused, wanted, tries).await?,
                403 if wanted.is("insufficient_scope") => self.more(&refused, wanted, tries).await?,
                _ => None,
            };
            held.map_or(Ok(None), |held| self.pass_of(&held, target))
        })
    }

    fn pause(&self) -> Option<&Pause> {
        Some(&self.pause)
    }

    fn note_nonce(&self, url: &Url, nonce: &str) {
        self.flow.nonces.note(url, nonce);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(flight) = self.state().flight.take() {
            flight.task.abort();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
