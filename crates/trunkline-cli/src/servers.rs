//! Which servers there are for this call of the program, as clients: from the command line, from config files, or
//! the built-in demo server where there is no config at all. Connects to none.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trunkline::{
    Client, ClientBuilder, Config, Entry, Environment, Limits, MultiServer, OAuth, Redactor, Tape, ToolDefinition,
};

use crate::args::{Command, Global};
use crate::exit::{Failure, Outcome};
use crate::locks::Locks;
use crate::person::Person;
use crate::render::{Screen, entry, escape};
use crate::typed::{entries, started, typed};
use crate::verbose::Moments;
use crate::{answers, catalogue, logins, recording, suggest, trust};

/// The servers of this call of the program.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    /// Who can be asked.
    pub(crate) person: Arc<Person>,
    /// How long reading the config took.
    pub(crate) reading: Duration,
    /// When what happened on the way to each server, where that is traced.
    pub(crate) moments: Moments,
    /// Where what they are asked is recorded.
    pub(crate) tape: Option<Tape>,
    locks: Locks,
    builder: ClientBuilder,
    clients: Vec<Client>,
    /// All of them, connected to or not: exposed names depend on every label.
    all: MultiServer,
}

impl Servers {
    /// Reads what there is. `command` may name a server of its own, and says who answers what servers ask.
    pub(crate) fn open(global: &Global, command: &Command, screen: &Screen) -> Outcome<Self> {
        let (answering, command) = (command.answering(), command.server_command());
        let environment = Environment::from_process();
        let begun = Instant::now();
        let cassette = recording::cassette(&global.cassette, command, screen)?;
        let mut config = match cassette {
            Some(_) => Config::default(),
            None => read_config(global, command, &environment)?,
        };
        if cassette.is_none() && config.files().is_empty() && config.entries().is_empty() {
            config = demo(screen)?;
        }
        let usable = config.entries().iter().any(|entry| !entry.disabled());
        if !usable && trust::is_given(config.untrusted(), &environment, screen)? {
            config = read_config(global, command, &environment)?;
        }
        let reading = begun.elapsed();
        let tape = recording::tape(&global.cassette)?;
        let (person, handlers) = answers::handlers(answering, &environment, screen)?;
        let builder = Self::plain(global, &environment, tape.as_ref())?;
        let plain = handlers.into_iter().fold(builder, ClientBuilder::handler);
        let oauth = oauth(&environment)?;
        let mut locks = Locks::new(global);
        let clients = match &cassette {
            Some(cassette) => recording::clients(cassette, &locked(&plain, &mut locks, None)?)?,
            None => {
                let enabled = config.entries().iter().filter(|entry| !entry.disabled());
                let builder = |entry| plain.clone().oauth(login_of(entry, &oauth, &environment));
                let client = |entry| Ok(locked(&builder(entry), &mut locks, Some(entry))?.entry(entry)?);
                enabled.map(client).collect::<Outcome<_>>()?
            }
        };
        let all = united(clients.iter(), Limits::default())?;
        Ok(Self {
            config,
            environment,
            person,
            reading,
            moments: Moments::default(),
            tape,
            locks,
            builder: plain,
            clients,
            all,
        })
    }

    fn plain(global: &Global, environment: &Environment, tape: Option<&Tape>) -> Outcome<ClientBuilder> {
        let mut builder = ClientBuilder::new().environment(environment.clone());
        if let Some(cache) = environment.cache_dir() {
            builder = builder.memory_dir(cache.join("eras"));
        }
        match global.timeout {
            Some(timeout) => builder = builder.timeout(timeout),
            None if global.cassette.relays => builder = builder.timeout(Duration::ZERO).max_timeout(Duration::ZERO),
            None => {}
        }
        if let Some(timeout) = global.start_timeout {
            if timeout.is_zero() {
                return Err(Failure::usage("--start-timeout is zero: no server can start in that time"));
            }
            builder = builder.start_timeout(timeout);
        }
        Ok(match tape {
            Some(tape) => builder.record(tape),
            None => builder,
        })
    }

    /// What every client is made with, but for the stored logins.
    pub(crate) fn builder(&self) -> ClientBuilder {
        self.builder.clone()
    }

    /// The label of the server that a name or a URL means.
    pub(crate) fn label_of(&self, server: &str) -> Outcome<String> {
        if !logins::is_url(server) {
            return self.client(server).map(|client| client.label().to_owned());
        }
        let is_it = |entry: &&Entry| {
            let spec = entry.resolve(&self.environment).ok();
            spec.is_some_and(|spec| logins::url_of(&spec.transport) == Some(server))
        };
        let entry = self.config.entries().iter().find(is_it);
        entry
            .map(|entry| entry.label().to_owned())
            .ok_or_else(|| Failure::usage(format!("{server} is no URL of a server")))
    }

    pub(crate) fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// Where the tools of a server are agreed to, whether that file is there or not.
    pub(crate) fn lock_file(&self, label: &str) -> Option<PathBuf> {
        self.locks.file_of(self.config.entry(label))
    }

    /// Everything as one connection.
    pub(crate) fn all(&self) -> &MultiServer {
        &self.all
    }

    /// The servers of these labels, or all, as one connection that shares the clients' connections.
    pub(crate) fn chosen(&self, labels: &[String], limits: Limits) -> Outcome<MultiServer> {
        let chosen: Outcome<Vec<_>> = labels.iter().map(|label| self.client(label)).collect();
        let chosen = if labels.is_empty() { self.clients.iter().collect() } else { chosen? };
        united(chosen.into_iter(), limits)
    }

    /// The server of this label, or why it can't be used.
    pub(crate) fn client(&self, label: &str) -> Outcome<&Client> {
        if let Some(client) = self.clients.iter().find(|client| client.label() == label) {
            return Ok(client);
        }
        if let Some(problem) = self.config.problems().iter().find(|problem| problem.label() == Some(label)) {
            return Err(problem.to_error().into());
        }
        if let Some(entry) = self.config.entry(label).filter(|entry| entry.disabled()) {
            let failure = Failure::usage(format!("Server \"{label}\" is switched off (\"disabled\": true)"));
            return Err(failure.context("server", label).context("config", entry.origin().to_string()));
        }
        if self.config.untrusted().iter().any(|file| file.labels.iter().any(|known| known == label)) {
            return Err(trust::missing(self.config.untrusted()).context("server", label));
        }
        let labels: Vec<_> = self.clients.iter().map(Client::label).collect();
        let failure = Failure::from(trunkline::Error::new(
            trunkline::ErrorKind::NotFound,
            format!("There is no server named \"{label}\""),
        ));
        Err(match suggest::hint(label, labels) {
            Some(hint) => failure.hint(hint),
            None => failure,
        })
    }

    /// Remembers the tools of a server for the completion of a shell.
    pub(crate) fn keep<'a>(&self, label: &str, tools: impl Iterator<Item = &'a ToolDefinition>) {
        catalogue::keep(label, &self.config, &self.environment, tools);
    }

    /// The servers of these labels, or all.
    pub(crate) fn named(&self, labels: &[String]) -> Outcome<Vec<&Client>> {
        self.ensure_any()?;
        match labels {
            [] => Ok(self.clients.iter().collect()),
            labels => labels.iter().map(|label| self.client(label)).collect(),
        }
    }

    /// The server that a dotted address names, and the rest of it: the longest known label counts.
    pub(crate) fn split<'a>(&self, address: &'a str) -> Option<(&'a str, &'a str)> {
        let config = &self.config;
        let entries = config.entries().iter().map(Entry::label);
        let problems = config.problems().iter().filter_map(|problem| problem.label());
        let untrusted = config.untrusted().iter().flat_map(|file| file.labels.iter().map(String::as_str));
        let others = self.clients.iter().map(Client::label); // of a recording
        let named = |label: &str| address.strip_prefix(label)?.strip_prefix('.').filter(|rest| !rest.is_empty());
        let rests = entries.chain(problems).chain(untrusted).chain(others).filter_map(named);
        let rest = rests.min_by_key(|rest| rest.len())?;
        Some((&address[..address.len() - rest.len() - 1], rest))
    }

    /// An error where there is no server at all that could be used.
    pub(crate) fn ensure_any(&self) -> Outcome {
        if !self.clients.is_empty() {
            return Ok(());
        }
        if let Some(problem) = self.config.problems().first() {
            return Err(problem.to_error().into());
        }
        if !self.config.untrusted().is_empty() {
            return Err(trust::missing(self.config.untrusted()));
        }
        let files: Vec<_> = self.config.files().iter().map(|file| file.display().to_string()).collect();
        let state =
            if self.config.entries().is_empty() { "There is no server" } else { "Every server is switched off" };
        Err(Failure::usage(format!("{state} in {}", files.join(", ")))
            .hint("Add one under \"mcpServers\", or start one with --stdio 'COMMAND ARGS'"))
    }

    /// What beside the usable servers is worth a word: files that aren't trusted.
    pub(crate) fn tell(&self, screen: &Screen) {
        if self.clients.is_empty() {
            return; // an error says it
        }
        for file in self.config.untrusted() {
            screen.note(&format!("note: {}", escape::line(&format!("{file} ({})", trust::command([file])))));
        }
    }

    /// Masks every secret that any of the servers has.
    pub(crate) fn redactors(&self) -> Vec<Redactor> {
        let resolved = self.config.entries().iter().filter_map(|entry| entry.resolve(&self.environment).ok());
        resolved.map(|spec| spec.redactor).collect()
    }

    /// Ends all connections and waits until the processes are gone.
    pub(crate) async fn close(&self) {
        self.all.disconnect().await;
    }
}

/// Logins that were made before: whoever uses a server asks nobody for a new one.
fn oauth(environment: &Environment) -> Outcome<OAuth> {
    Ok(match logins::store(environment)? {
        Some(store) => OAuth::new().store(store),
        None => OAuth::new(),
    })
}

/// A server that stands on the command line alone is logged in to by its URL.
fn login_of(entry: &Entry, oauth: &OAuth, environment: &Environment) -> OAuth {
    let spec = if entry.origin().is_in_file() { None } else { entry.resolve(environment).ok() };
    match spec.as_ref().and_then(|spec| logins::url_of(&spec.transport)) {
        Some(url) => oauth.clone().login_command(format!("trunkline login {}", entry::word(&trunkline::mask_url(url)))),
        None => oauth.clone(),
    }
}

fn locked(builder: &ClientBuilder, locks: &mut Locks, entry: Option<&Entry>) -> Outcome<ClientBuilder> {
    let lock = locks.of(entry)?;
    Ok(lock.iter().fold(builder.clone(), ClientBuilder::lock))
}

fn united<'a>(clients: impl Iterator<Item = &'a Client>, limits: Limits) -> Outcome<MultiServer> {
    let mut united = MultiServer::with_limits(limits);
    for client in clients {
        if !united.members().iter().any(|member| member.label == client.label()) {
            united.add(client)?;
        }
    }
    Ok(united)
}

/// The servers of the command line, and those of the config files unless the command line alone is meant.
pub(crate) fn read_config(global: &Global, command: &[String], environment: &Environment) -> Outcome<Config> {
    Ok(match typed(global, command)? {
        Some(typed) if global.config.is_empty() => typed,
        Some(typed) => Config::merge([typed, Config::discover(&global.config, environment)?]),
        None => Config::discover(&global.config, environment)?,
    })
}

/// The built-in server: this very program in a process of its own.
fn demo(screen: &Screen) -> Outcome<Config> {
    screen.note(
        "note: no config was found, so this is the built-in server \"demo\" (`trunkline config` says where yours goes)",
    );
    let program =
        std::env::current_exe().map_err(|error| Failure::usage(format!("Can't find this program: {error}")))?;
    let words = [program.display().to_string(), "demo".to_owned()];
    entries([("demo".to_owned(), started(&words))])
}
