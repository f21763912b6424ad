//! `trunkline login`: has the person agree, and keeps what comes of it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use trunkline::{
    FileStore, Login as Kept, LoginKey, OAuth, Result, Secret, ServerSpec, StoreGuard, TokenStore, TransportSpec,
};

use crate::args;
use crate::consent::Asking;
use crate::exit::{Exit, Failure, Outcome};
use crate::logins;
use crate::render::{Screen, escape};
use crate::servers::Servers;

use super::auth;

/// How long connecting may take with a person in it.
const TIME: Duration = Duration::from_secs(600);

pub(crate) struct Login {
    args: args::Login,
}

impl Login {
    pub(crate) fn new(args: args::Login) -> Self {
        Self { args }
    }

    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        let label = servers.label_of(&self.args.server)?;
        let entry = servers.config.entry(&label).expect("a server that was found");
        check(&entry.resolve(&servers.environment)?)?;
        let store = logins::needed(&servers.environment)?;
        let fresh = std::sync::Arc::new(Fresh { store: store.clone(), saved: Mutex::default() });
        let person = Asking::new(self.args.no_browser, &servers.person, &servers.environment, *screen);
        let oauth = OAuth::new().store(Shared(fresh.clone())).person(person).scopes(self.args.scope);
        let client = servers.builder().start_timeout(TIME).timeout(TIME).oauth(oauth).entry(entry)?;
        let outcome = match client.connect().await {
            Ok(()) => client.list_tools().await.map(drop), // some want a login only then
            failed => failed,
        };
        client.disconnect().await;
        let key = fresh.saved.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(key) = key else {
            outcome?;
            screen.note(&format!("{} lets everybody in: there is no login", escape::line(&label)));
            return Ok(Exit::Done);
        };
        if let Err(error) = outcome {
            let failure = Failure::from(error);
            return Err(failure); // logged in, and of no use
        }
        if let Some(login) = store.load(&key).await? {
            auth::show(&[(label, key, login)], screen)?;
        }
        Ok(Exit::Done)
    }
}

/// A login makes sense only where the server is reached by URL, and nothing else says who asks.
fn check(spec: &ServerSpec) -> Outcome {
    let label = &spec.label;
    let (TransportSpec::Http(http) | TransportSpec::Sse(http)) = &spec.transport else {
        return Err(Failure::usage(format!("Server \"{label}\" is started here, and logs in to nothing"))
            .hint("What it needs to know comes in its \"env\" in the config"));
    };
    let header = http.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if header || !http.bearer_command.is_empty() {
        return Err(Failure::usage(format!("Server \"{label}\" has a token of its own already"))
            .hint("Take it out of the config (\"headers\", \"bearerCommand\") to log in instead"));
    }
    Ok(())
}

/// The store as it is for somebody who logs in anew: what was given before is not used, and is kept until there is more.
struct Fresh {
    store: FileStore,
    saved: Mutex<Option<LoginKey>>,
}

struct Shared(std::sync::Arc<Fresh>);

impl TokenStore for Shared {
    async fn load(&self, key: &LoginKey) -> Result<Option<Kept>> {
        let login = match self.0.store.load(key).await {
            Err(error) if error.get("file").is_some() => None, // it can't be used, and is kept aside
            read => read?,
        };
        let saved = self.0.saved.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let none = |mut login: Kept| {
            (login.access_token, login.refresh_token) = (None::<Secret>, None);
            login
        };
        Ok(if saved { login } else { login.map(none) })
    }

    async fn save(&self, key: &LoginKey, login: &Kept) -> Result<()> {
        if login.access_token.is_none() {
            return Ok(()); // only what this client is registered as: it comes again with the tokens
        }
        self.0.store.save(key, login).await?;
        *self.0.saved.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
        Ok(())
    }

    async fn remove(&self, key: &LoginKey) -> Result<()> {
        let saved = self.0.saved.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if saved { self.0.store.remove(key).await } else { Ok(()) }
    }

    async fn lock(&self, key: &LoginKey) -> Result<StoreGuard> {
        self.0.store.lock(key).await
    }
}
