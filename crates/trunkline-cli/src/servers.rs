//! Which servers there are for this call of the program, as clients: from the command line, from config files, or
//! the built-in demo server where there is no config at all. Connects to none.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trunkline::{Client, ClientBuilder, Config, Entry, Environment, Limits, MultiServer, Redactor, Tape};

use crate::args::Global;
use crate::exit::{Failure, Outcome};
use crate::render::{Screen, escape};
use crate::verbose::Moments;
use crate::{recording, suggest, words};

/// The servers of this call of the program.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    /// How long reading the config took.
    pub(crate) reading: Duration,
    /// When what happened on the way to each server, where that is traced.
    pub(crate) moments: Moments,
    /// Where what they are asked is recorded.
    pub(crate) tape: Option<Tape>,
    clients: Vec<Client>,
    /// All of them, connected to or not: exposed names depend on every label.
    all: MultiServer,
}

impl Servers {
    /// Reads what there is. `command` is the server given after `--`.
    pub(crate) fn open(global: &Global, command: &[String], screen: &Screen) -> Outcome<Self> {
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
        let reading = begun.elapsed();
        let tape = recording::tape(&global.cassette)?;
        let builder = Self::builder(global, &environment, tape.as_ref())?;
        let clients = match &cassette {
            Some(cassette) => recording::clients(cassette, &builder)?,
            None => builder.each(&config)?,
        };
        let all = united(clients.iter(), Limits::default())?;
        Ok(Self { config, environment, reading, moments: Moments::default(), tape, clients, all })
    }

    fn builder(global: &Global, environment: &Environment, tape: Option<&Tape>) -> Outcome<ClientBuilder> {
        let mut builder = ClientBuilder::new().environment(environment.clone());
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

    pub(crate) fn clients(&self) -> &[Client] {
        &self.clients
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
            return Err(self.not_trusted());
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
            return Err(self.not_trusted());
        }
        let files: Vec<_> = self.config.files().iter().map(|file| file.display().to_string()).collect();
        let state =
            if self.config.entries().is_empty() { "There is no server" } else { "Every server is switched off" };
        Err(Failure::usage(format!("{state} in {}", files.join(", ")))
            .hint("Add one under \"mcpServers\", or start one with --stdio 'COMMAND ARGS'"))
    }

    fn not_trusted(&self) -> Failure {
        let untrusted = self.config.untrusted();
        let told: Vec<_> = untrusted.iter().map(ToString::to_string).collect();
        let files: Vec<_> = untrusted.iter().map(|file| file.file.display().to_string()).collect();
        Failure::not_trusted(told.join("; ")).hint(format!(
            "It would start commands on this machine. Look at it, then run: trunkline config trust {}",
            files.join(" ")
        ))
    }

    /// What beside the usable servers is worth a word: files that aren't trusted.
    pub(crate) fn tell(&self, screen: &Screen) {
        if self.clients.is_empty() {
            return; // an error says it
        }
        for file in self.config.untrusted() {
            let told = format!("{file} (trunkline config trust {})", file.file.display());
            screen.note(&format!("note: {}", escape::line(&told)));
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

/// The servers of the command line: `--stdio`, `--url`, and what stands after `--`.
fn typed(global: &Global, command: &[String]) -> Outcome<Option<Config>> {
    let mut servers: Vec<(String, Value)> = Vec::new();
    for text in &global.stdio {
        let (name, line) = named(text);
        let words = words::split(line)?;
        let Some(program) = words.first() else {
            return Err(Failure::usage(format!("--stdio '{text}' has no command")));
        };
        servers.push((name.map_or_else(|| label_of(program), str::to_owned), started(&words)));
    }
    let headers = headers(global)?;
    for text in &global.url {
        let (name, url) = named(text);
        let entry = json!({"url": literal(url), "headers": headers});
        servers.push((name.map_or_else(|| label_of_host(url), str::to_owned), entry));
    }
    if let Some(program) = command.first() {
        servers.push((label_of(program), started(command)));
    }
    for (at, (label, _)) in servers.iter().enumerate() {
        if servers[..at].iter().any(|(other, _)| other == label) {
            return Err(Failure::usage(format!("Two servers of the command line are named \"{label}\""))
                .hint("Name them: --stdio 'NAME=COMMAND ARGS', --url NAME=URL"));
        }
    }
    if servers.is_empty() { Ok(None) } else { entries(servers).map(Some) }
}

/// The headers for the servers of `--url`; the token is looked up when one connects.
fn headers(global: &Global) -> Outcome<Map<String, Value>> {
    if global.url.is_empty() && !(global.header.is_empty() && global.bearer_env.is_none()) {
        return Err(Failure::usage("--header and --bearer-env go with --url")
            .hint("A server of a config file has its own \"headers\""));
    }
    let mut headers = Map::new();
    for text in &global.header {
        let Some((name, value)) = text.split_once(':') else {
            return Err(Failure::usage("--header has no colon").hint("Write --header 'Name: value'"));
        };
        headers.insert(name.trim().to_owned(), literal(value.trim()));
    }
    if let Some(variable) = &global.bearer_env {
        headers.insert("Authorization".to_owned(), format!("Bearer ${{{variable}}}").into());
    }
    Ok(headers)
}

/// A name in front of a command line: `docs=npx server`.
fn named(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    match text.trim_start().split_once('=') {
        Some((name, rest)) if is_name(name) => (Some(name), rest),
        _ => (None, text),
    }
}

/// The command's base name, without its extension.
fn label_of(program: &str) -> String {
    let base = program.rsplit(['/', '\\']).next().unwrap_or_default();
    legal(base.rsplit_once('.').map_or(base, |(stem, _)| stem))
}

/// The name that the library gives a server at this URL; what is wrong with the URL is told when it is used.
fn label_of_host(url: &str) -> String {
    Client::http(url).build().map_or_else(|_| "server".to_owned(), |client| client.label().to_owned())
}

fn legal(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let label: String = name.chars().map(legal).collect();
    let label = label.trim_start_matches(['.', '-']).to_owned();
    if label.is_empty() { "server".to_owned() } else { label }
}

/// Text that is meant as it is, for a config that knows variables.
fn literal(text: &str) -> Value {
    text.replace("${", "$${").into()
}

/// The entry of a command that is meant literally.
fn started(words: &[String]) -> Value {
    let words: Vec<_> = words.iter().map(|word| literal(word)).collect();
    json!({"command": words[0], "args": words[1..]})
}

fn entries(servers: impl IntoIterator<Item = (String, Value)>) -> Outcome<Config> {
    let servers: Map<String, Value> = servers.into_iter().collect();
    let config = Config::parse(&json!({"mcpServers": servers}).to_string())?;
    match config.problems().first() {
        Some(problem) => Err(problem.to_error().into()),
        None => Ok(config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_of_the_command_line() {
        assert_eq!(named("docs=npx -y x"), (Some("docs"), "npx -y x"));
        assert_eq!(named("npx --key=a"), (None, "npx --key=a"));
        assert_eq!(named("/bin/x=y"), (None, "/bin/x=y"));
        assert_eq!(named("-=x"), (None, "-=x"));
        for (program, label) in
            [("/usr/bin/npx", "npx"), ("./server.py", "server"), ("my server", "my_server"), ("..", "server")]
        {
            assert_eq!(label_of(program), label);
        }
    }

    fn typed_by(words: &[&str]) -> Outcome<Option<Config>> {
        use clap::Parser as _;
        let cli = crate::args::Cli::parse_from(["trunkline", "list"].iter().chain(words));
        let crate::args::Command::List(list) = cli.command else { panic!("list") };
        typed(&cli.global, &list.command)
    }

    #[test]
    fn a_typed_server_is_taken_literally() {
        let config = typed_by(&["--stdio", "a=x '${HOME}' ~", "--", "y"]).unwrap().unwrap();
        let spec = config.entry("a").unwrap().resolve(&Environment::from_pairs([("HOME", "/h")])).unwrap();
        assert_eq!(spec.target(), "x '${HOME}' '~'".replace("'~'", "~"));
        assert!(config.entry("y").is_some());
        assert!(typed_by(&["--stdio", "x", "--", "x"]).is_err());
        assert!(typed_by(&["--stdio", "a= "]).is_err());
    }

    #[test]
    fn a_typed_url_has_a_name_and_the_headers_of_the_command_line() {
        let words = ["--url", "api=https://h/mcp?a=b", "--url", "http://127.0.0.1:9/x", "--header", "X-A: ${HOME}"];
        let config = typed_by(&[&words[..], &["--bearer-env", "TOKEN"]].concat()).unwrap().unwrap();
        let environment = Environment::from_pairs([("TOKEN", "t0ken")]);
        let spec = config.entry("api").unwrap().resolve(&environment).unwrap();
        let trunkline::TransportSpec::Http(http) = &spec.transport else { panic!("{spec:?}") };
        let headers: Vec<_> = http.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(headers, [("Authorization", "Bearer t0ken"), ("X-A", "${HOME}")]);
        assert!(http.guessed && http.url == "https://h/mcp?a=b");
        assert!(config.entry("127.0.0.1").is_some());
        assert!(typed_by(&["--header", "X-A: b"]).is_err());
        assert!(typed_by(&["--url", "http://h", "--header", "X-A"]).is_err());
    }
}
