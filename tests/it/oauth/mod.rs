//! Logging in: the OAuth client against an authorization server that checks all it is sent.

mod answers;
mod clients;
mod config;
mod discovery;
mod dpop;
mod grants;
mod login;
mod renew;
mod scopes;
mod security;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use trunkline::{Client, ClientBuilder, Consent, ConsentRequest, Environment, Error, OAuth, Redirect, Result};
use trunkline_tests::authority::{Authority, Protected, browser};
use url::Url;

/// Nothing listens there: the browser isn't followed to it.
const BACK: &str = "http://127.0.0.1:1/callback";

/// A person who agrees at once; remembers what they were asked.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Vec<ConsentRequest>>>);

impl Person {
    fn asked(&self) -> Vec<ConsentRequest> {
        self.0.lock().unwrap().clone()
    }

    /// The scopes that were asked for, login by login.
    fn scopes(&self) -> Vec<String> {
        self.asked().iter().map(|request| request.scopes().join(" ")).collect()
    }

    /// A parameter of the address that was opened, login by login.
    fn opened(&self, parameter: &str) -> Vec<Option<String>> {
        let of = |request: &ConsentRequest| {
            let url = Url::parse(request.url()).unwrap();
            url.query_pairs().find(|(key, _)| key == parameter).map(|(_, value)| value.into_owned())
        };
        self.asked().iter().map(of).collect()
    }
}

impl Consent for Person {
    async fn redirect_uri(&self) -> Result<String> {
        Ok(BACK.to_owned())
    }

    async fn authorize(&self, request: &ConsentRequest) -> Result<Redirect> {
        self.0.lock().unwrap().push(request.clone());
        Ok(Redirect::new(browser::location(request.url())))
    }
}

fn at(server: &Protected) -> ClientBuilder {
    Client::http(server.url()).label("fake").environment(Environment::from_pairs::<&str, &str>([]))
}

/// A server, its authorization server, a person, and a client that asks them.
struct Stage {
    authority: Authority,
    server: Protected,
    person: Person,
}

impl Stage {
    fn new() -> Self {
        let authority = Authority::start();
        let server = Protected::start(&authority);
        Self { authority, server, person: Person::default() }
    }

    fn together() -> Self {
        let (authority, server) = trunkline_tests::authority::together();
        Self { authority, server, person: Person::default() }
    }

    fn client(&self) -> Client {
        self.client_with(OAuth::new())
    }

    fn client_with(&self, oauth: OAuth) -> Client {
        at(&self.server).oauth(oauth.person(self.person.clone())).build().unwrap()
    }

    /// A client that nobody can be asked by.
    fn headless(&self, oauth: OAuth) -> Client {
        at(&self.server).oauth(oauth).build().unwrap()
    }

    /// Nothing was done that a strict server refuses.
    fn assert_orderly(&self) {
        assert_eq!(self.authority.refusals(), [""; 0]);
        assert_eq!(self.server.refusals(), [""; 0]);
    }

    /// The error of a login that can't be, which shows none of the secrets there are.
    async fn refused(&self, client: &Client) -> Error {
        let error = echo(client, "x").await.unwrap_err();
        let shown = all_of(&error);
        for secret in self.authority.secrets() {
            assert!(!shown.contains(&secret), "{shown}");
        }
        error
    }
}

async fn echo(client: &Client, text: &str) -> Result<Value> {
    client.call_tool("echo", json!({ "text": text })).await
}

/// Everything that an error shows.
fn all_of(error: &Error) -> String {
    let context: Vec<_> = error.context().map(|(key, value)| format!("{key}: {value}")).collect();
    format!("{error} {error:?} {} {}", error.hint().unwrap_or_default(), context.join("\n"))
}
