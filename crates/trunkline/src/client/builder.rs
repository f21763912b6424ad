//! How a client is set up. Nothing here does I/O.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use super::Client;
use crate::auth::{SharedTokenSource, TokenSource};
use crate::cassette::{Tape, Track};
use crate::config::{self, Config, HttpPlan, ServerSpec, Shown, StdioPlan};
use crate::connection::{Connection, Handler, SharedConnection, SharedHandler};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::lock::{Lock, Pin};
use crate::managed::{Identity, Logins, Managed, Plan, Planned, Setup, Spoken};
use crate::name;
#[cfg(feature = "oauth")]
use crate::oauth::OAuth;
use crate::protocol::Protocol;
use crate::redact::Secret;

/// Sets up a [`Client`]. Building checks everything and does no I/O.
#[derive(Debug, Default, Clone)]
#[must_use = "a builder does nothing until it is built"]
pub struct ClientBuilder {
    transports: Vec<Transport>,
    label: Option<String>,
    namespaced: bool,
    timeout: Option<Duration>,
    start_timeout: Option<Duration>,
    max_timeout: Option<Duration>,
    env: IndexMap<String, String>,
    inherit_env: bool,
    cwd: Option<PathBuf>,
    headers: Vec<(String, String)>,
    bearer: Option<Bearer>,
    ca_file: Option<PathBuf>,
    #[cfg(feature = "oauth")]
    oauth: Option<OAuth>,
    handler: Option<SharedHandler>,
    identity: Option<Identity>,
    limits: Option<Limits>,
    strict_output: bool,
    protocol: Option<Protocol>,
    memory_dir: Option<PathBuf>,
    pub(super) environment: Option<Environment>,
    tape: Option<Tape>,
    lock: Option<Lock>,
}

/// Where the bearer token comes from.
#[derive(Debug, Clone)]
enum Bearer {
    Value(Secret),
    Variable(String),
    Source(SharedTokenSource),
}

#[derive(Debug, Clone)]
enum Transport {
    Stdio { command: String, args: Vec<String> },
    Http { url: String },
    Sse { url: String },
    Config(Config),
    Connection(SharedConnection),
    Memory(SharedConnection),
}

impl ClientBuilder {
    /// Nothing set; one transport has to be given.
    pub fn new() -> Self {
        Self::default()
    }

    /// See [`Client::stdio`].
    pub fn stdio<A: Into<String>>(self, command: impl Into<String>, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        self.over(Transport::Stdio { command: command.into(), args })
    }

    /// See [`Client::http`].
    pub fn http(self, url: impl Into<String>) -> Self {
        self.over(Transport::Http { url: url.into() })
    }

    /// See [`Client::sse`].
    pub fn sse(self, url: impl Into<String>) -> Self {
        self.over(Transport::Sse { url: url.into() })
    }

    /// See [`Client::from_config`].
    pub fn config(self, config: &Config) -> Self {
        self.over(Transport::Config(config.clone()))
    }

    /// See [`Client::from_connection`].
    pub fn connection(self, connection: impl Connection) -> Self {
        self.over(Transport::Connection(SharedConnection::new(connection)))
    }

    /// See [`Client::in_memory`].
    pub fn in_memory(self, server: impl Connection) -> Self {
        self.over(Transport::Memory(SharedConnection::new(server)))
    }

    fn over(mut self, transport: Transport) -> Self {
        self.transports.push(transport);
        self
    }

    /// The label in logs, errors and exposed names. By default the command's base name, the host, or `static`.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Whether tool names carry the label in front, so that two servers that offer `search` don't collide.
    /// Off by default.
    pub fn namespaced(mut self, namespaced: bool) -> Self {
        self.namespaced = namespaced;
        self
    }

    /// How long a call may take; progress starts the wait anew. 30 s by default, no limit over a connection that
    /// exists already; zero: no limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long the server may take from its start to the end of the handshake. 60 s by default, since a first
    /// `npx` or `uvx` run downloads packages.
    pub fn start_timeout(mut self, start_timeout: Duration) -> Self {
        self.start_timeout = Some(start_timeout);
        self
    }

    /// How long a call may take in all, whatever progress it reports. 10 min by default, no limit over a connection
    /// that exists already; zero: no limit.
    pub fn max_timeout(mut self, max_timeout: Duration) -> Self {
        self.max_timeout = Some(max_timeout);
        self
    }

    /// Sets a variable in the environment of a stdio server, beside the safe inherited ones (`PATH`, `HOME`,
    /// `LANG`, proxy variables, ...).
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Whether a stdio server inherits the whole environment of this process, secrets included. Off by default.
    pub fn inherit_env(mut self, inherit_env: bool) -> Self {
        self.inherit_env = inherit_env;
        self
    }

    /// The working directory of a stdio server.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Adds a header to every HTTP request.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends this bearer token with every HTTP request.
    pub fn bearer(mut self, token: impl Into<Secret>) -> Self {
        self.bearer = Some(Bearer::Value(token.into()));
        self
    }

    /// Sends the value of this environment variable as the bearer token. It is looked up when the client connects.
    pub fn bearer_env(mut self, variable: impl Into<String>) -> Self {
        self.bearer = Some(Bearer::Variable(variable.into()));
        self
    }

    /// Where the bearer token of an HTTP server comes from: something that renews it, a
    /// [`TokenCommand`](crate::TokenCommand).
    pub fn token_source(mut self, source: impl TokenSource) -> Self {
        self.bearer = Some(Bearer::Source(SharedTokenSource::new(source)));
        self
    }

    /// Logs in where an HTTP server wants it (MCP specification, Authorization). For a configuration, to each server that
    /// isn't let in otherwise: by a bearer token or an `Authorization` header; what an entry says in `"auth"` comes before
    /// what is said here.
    ///
    /// ```
    /// use trunkline::{Client, OAuth};
    ///
    /// let oauth = OAuth::new().client_name("My agent").scopes(["files:read"]);
    /// let client = Client::http("https://example.com/mcp").oauth(oauth).build()?;
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    #[cfg(feature = "oauth")]
    pub fn oauth(mut self, oauth: OAuth) -> Self {
        self.oauth = Some(oauth);
        self
    }

    /// A file of certificates (PEM) that are trusted beside the system's, for an HTTP server with a certificate of an
    /// authority of its own.
    pub fn ca_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(file.into());
        self
    }

    /// Who answers what the server asks (sampling, elicitation, roots). Its capabilities are declared in the
    /// handshake.
    pub fn handler(mut self, handler: impl Handler) -> Self {
        self.handler = Some(SharedHandler::new(handler));
        self
    }

    /// Who this client says it is. `trunkline` and its version by default.
    pub fn client_info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.identity = Some(Identity { name: name.into(), version: version.into() });
        self
    }

    /// Which revisions of the protocol the server is spoken to in. What its entry in the configuration says by default, else
    /// [`Protocol::Auto`]. Over the HTTP+SSE of 2024-11-05, and in this process, it is always the handshake.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// Where to keep, from one run to the next, which era of the protocol a server speaks, so that it isn't asked again
    /// ([`Protocol::Auto`]); one small file for each command or URL. Nowhere by default. A directory that can't be used
    /// costs no more than the question.
    ///
    /// ```
    /// use trunkline::{Client, Environment};
    ///
    /// let cache = Environment::from_process().cache_dir().unwrap_or_default();
    /// let client = Client::http("https://example.com/mcp").memory_dir(cache.join("eras")).build()?;
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    pub fn memory_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.memory_dir = Some(dir.into());
        self
    }

    /// The bounds of the lower layers.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Whether a result whose structured content doesn't fit its tool's output schema is an error, of kind
    /// [`Protocol`](crate::ErrorKind::Protocol), that holds the whole result. Off by default: such a result is delivered
    /// ([`schema_mismatch`](crate::ToolResult::schema_mismatch)) and told in [`warnings`](Client::warnings). Error results are
    /// never checked, and neither is a tool whose schema can't be used.
    pub fn strict_output(mut self, strict_output: bool) -> Self {
        self.strict_output = strict_output;
        self
    }

    /// The environment that variables of a configuration and inherited ones are taken from. This process's own
    /// by default, as it is when the client is built.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Records every call on `tape`, under this client's label; each server of a configuration under its own. Where
    /// another client has the label, `label_2` and so on is taken. The server's secrets are left out.
    pub fn record(mut self, tape: &Tape) -> Self {
        self.tape = Some(tape.clone());
        self
    }

    /// Calls the tools of this server only as they were agreed to; each server of a configuration is found in the lock by
    /// its own label. See [`Locked`](crate::Locked) for what that means.
    ///
    /// ```no_run
    /// use trunkline::{Client, Lock};
    ///
    /// let lock = Lock::open("trunkline.lock")?;
    /// let files = Client::stdio("mcp-server-files", ["."]).label("files").lock(&lock).build()?;
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    pub fn lock(mut self, lock: &Lock) -> Self {
        self.lock = Some(lock.clone());
        self
    }

    /// Builds the client without connecting.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) when no transport or more than one was given, or something set
    /// can't work.
    pub fn build(mut self) -> Result<Client> {
        if self.transports.len() > 1 {
            return Err(Error::config("A client has one transport, but several were given")
                .with_hint("Use one client for each server, and a MultiServer to unite them"));
        }
        let Some(transport) = self.transports.pop() else {
            return Err(Error::config("A client needs a transport").with_hint(
                "Give a command (Client::stdio), a URL (Client::http), a configuration (Client::from_config) or a \
                 connection (Client::from_connection)",
            ));
        };
        self.check(&transport)?;
        let namespaced = self.namespaced;
        Ok(Client::new(Managed::new(self.setup(transport)?), namespaced))
    }

    /// Builds the client and connects it.
    ///
    /// # Errors
    /// As [`build`](Self::build) and [`Client::connect`].
    pub async fn connect(self) -> Result<Client> {
        let client = self.build()?;
        client.connect().await?;
        Ok(client)
    }

    fn check(&self, transport: &Transport) -> Result<()> {
        if let Some(label) = &self.label {
            name::check_label(label)?;
        }
        if self.start_timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(Error::config("start_timeout is zero: no server can start in that time"));
        }
        let stdio = matches!(transport, Transport::Stdio { .. });
        if !stdio && (!self.env.is_empty() || self.cwd.is_some() || self.inherit_env) {
            return Err(Error::config("env, cwd and inherit_env go with a stdio server only"));
        }
        let http = matches!(transport, Transport::Http { .. } | Transport::Sse { .. });
        if !http && (!self.headers.is_empty() || self.bearer.is_some() || self.ca_file.is_some()) {
            return Err(Error::config("Headers, bearer tokens and a file of certificates go with an HTTP server only"));
        }
        #[cfg(feature = "oauth")]
        if self.oauth.is_some() && !http && !matches!(transport, Transport::Config(_)) {
            return Err(Error::config("A login goes with an HTTP server only"));
        }
        match transport {
            Transport::Stdio { command, .. } if command.trim().is_empty() => {
                Err(Error::config("The command of a stdio server is empty"))
            }
            Transport::Http { url } | Transport::Sse { url } => config::check_endpoint(url, &self.headers),
            _ => Ok(()),
        }
    }

    fn setup(self, transport: Transport) -> Result<Setup> {
        let (planned, default_label, shown) = match transport {
            Transport::Connection(connection) => return Ok(self.setup_of_existing(connection, "static")),
            Transport::Memory(server) => (Planned::Memory(server), "memory".to_owned(), None),
            Transport::Stdio { command, args } => {
                let label = name::label_from_command(&command);
                let (env, inherit_env, cwd) = (self.env.clone(), self.inherit_env, self.cwd.clone());
                let plan = StdioPlan { command: command.into(), args, env, inherit_env, cwd };
                let spec = ServerSpec::stdio(
                    &label,
                    plan,
                    &self.environment.clone().unwrap_or_else(Environment::from_process),
                );
                let shown = Some(spec.shown());
                (Planned::Server(spec), label, shown)
            }
            Transport::Config(config) => return self.configured(&config),
            Transport::Http { url } => return Ok(self.setup_of_http(url, false)),
            Transport::Sse { url } => return Ok(self.setup_of_http(url, true)),
        };
        let plan: Plan = Arc::new(move || Ok(planned.clone()));
        Ok(self.setup_of(default_label, plan, shown))
    }

    fn setup_of_http(self, url: String, sse: bool) -> Setup {
        let label = name::label_from_url(&url);
        let environment = self.environment.clone().unwrap_or_else(Environment::from_process);
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let plan = HttpPlan { url, headers, sse, guessed: !sse, ca_file: self.ca_file.clone(), ..HttpPlan::default() };
        let shown = ServerSpec::http(&label, plan.clone(), &environment).shown();
        let (bearer, of_server) = (self.bearer.clone(), label.clone());
        let planned: Plan = Arc::new(move || {
            let mut plan = plan.clone();
            match &bearer {
                None => {}
                Some(Bearer::Value(token)) => plan.add_bearer(token.expose()),
                Some(Bearer::Variable(name)) => plan.add_bearer(environment.need(name)?),
                Some(Bearer::Source(source)) => plan.tokens = Some(source.clone()),
            }
            Ok(Planned::Server(ServerSpec::http(&of_server, plan, &environment)))
        });
        self.setup_of(label, planned, Some(shown))
    }

    pub(super) fn check_shared(&self) -> Result<()> {
        if self.transports.is_empty() && self.label.is_none() {
            return Ok(());
        }
        Err(Error::config("Transport and label come from the configuration's entries, but this builder has its own"))
    }

    pub(super) fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    pub(super) fn is_strict(&self) -> bool {
        self.strict_output
    }

    pub(super) fn own_label(&self) -> Option<String> {
        self.label.clone()
    }

    /// The same, recording and comparing nothing: its servers do so themselves.
    pub(super) fn off_the_record(mut self) -> Self {
        self.tape = None;
        self.lock = None;
        self
    }

    pub(super) fn own_limits(&self) -> Limits {
        self.limits.clone().unwrap_or_default()
    }

    /// What an entry says, where this builder says nothing.
    pub(super) fn with_entry_timeouts(
        mut self,
        timeout: Option<Duration>,
        start_timeout: Option<Duration>,
        max_timeout: Option<Duration>,
    ) -> Self {
        self.timeout = self.timeout.or(timeout);
        self.start_timeout = self.start_timeout.or(start_timeout);
        self.max_timeout = self.max_timeout.or(max_timeout);
        self
    }

    /// A connection that exists already keeps its own deadlines: there are none here unless they were asked for.
    pub(super) fn setup_of_existing(mut self, connection: SharedConnection, default_label: &str) -> Setup {
        self.timeout.get_or_insert(Duration::ZERO);
        self.max_timeout.get_or_insert(Duration::ZERO);
        let planned = Planned::Existing(connection);
        self.setup_of(default_label.to_owned(), Arc::new(move || Ok(planned.clone())), None)
    }

    pub(super) fn setup_of(self, default_label: String, plan: Plan, shown: Option<Shown>) -> Setup {
        let label = self.label.unwrap_or(default_label);
        let track = self.tape.as_ref().map(|tape| Track::new(tape, &label));
        Setup {
            label,
            plan,
            shown,
            timeout: self.timeout.unwrap_or(DEFAULT_TIMEOUT),
            start_timeout: self.start_timeout.unwrap_or(DEFAULT_START_TIMEOUT),
            max_timeout: self.max_timeout.unwrap_or(DEFAULT_MAX_TIMEOUT),
            handler: self.handler,
            identity: self.identity.unwrap_or_default(),
            limits: Arc::new(self.limits.unwrap_or_default()),
            required: false,
            strict_output: self.strict_output,
            protocol: self.protocol,
            origin: None,
            spoken: Spoken::kept_in(self.memory_dir),
            #[cfg(feature = "oauth")]
            login: Logins::new(self.oauth),
            #[cfg(not(feature = "oauth"))]
            login: Logins::default(),
            track,
            lock: self.lock.as_ref().map(Pin::new),
        }
    }
}

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_START_TIMEOUT: Duration = Duration::from_secs(60);
const DEFAULT_MAX_TIMEOUT: Duration = Duration::from_secs(600);
