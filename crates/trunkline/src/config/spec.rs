//! What is needed to reach one server, with everything looked up: made from an entry of a config, or from
//! what a builder was told. Starting and connecting is left to others.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;

use super::auth::AuthSpec;
use super::filter::ToolFilter;
use super::problem::Origin;
use crate::auth::SharedTokenSource;
use crate::environment::Environment;
use crate::protocol::era::Protocol;
use crate::redact::{self, Redactor, Secret, mask_url};

/// Everything needed to reach a server. `Debug` shows no secret.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerSpec {
    /// The name of the server here.
    pub label: String,
    /// How to reach it.
    pub transport: TransportSpec,
    /// Which revisions of the protocol it is spoken to in.
    pub protocol: Protocol,
    /// How long a call may take without a sign of progress.
    pub timeout: Option<Duration>,
    /// How long the server may take to start.
    pub start_timeout: Option<Duration>,
    /// How long a call may take in all.
    pub max_timeout: Option<Duration>,
    /// Whether nothing works without this server.
    pub required: bool,
    /// Which of its tools may be used.
    pub tools: ToolFilter,
    /// Where it is configured.
    pub origin: Option<Origin>,
    /// Masks the server's secrets in text.
    pub redactor: Redactor,
}

/// `command` or `url`, and which, without secrets.
pub(crate) type Shown = (&'static str, String);

/// How a server is reached.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum TransportSpec {
    /// A process of ours, over its standard input and output.
    Stdio(StdioSpec),
    /// Streamable HTTP.
    Http(HttpSpec),
    /// HTTP with Server-Sent Events, as in revision 2024-11-05.
    Sse(HttpSpec),
}

impl TransportSpec {
    /// `stdio`, `http` or `sse`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
        }
    }
}

/// A process to start.
#[derive(Clone)]
#[non_exhaustive]
pub struct StdioSpec {
    /// The program: a path, or a name to be searched in [`path`](Self::path).
    pub command: PathBuf,
    /// Its arguments, passed as they are; no shell is involved.
    pub args: Vec<String>,
    /// Its complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory; nothing for the current one.
    pub cwd: Option<PathBuf>,
}

impl StdioSpec {
    /// The `PATH` that the command is searched in: the one the process will have.
    pub fn path(&self) -> Option<&OsStr> {
        let is_path = |name: &OsStr| name == "PATH" || (cfg!(windows) && name.eq_ignore_ascii_case("PATH"));
        self.env.iter().find(|(name, _)| is_path(name)).map(|(_, value)| value.as_os_str())
    }
}

impl fmt::Debug for StdioSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        let mut out = f.debug_struct("StdioSpec");
        out.field("command", &self.command).field("args", &format_args!("{} of them", self.args.len()));
        out.field("env", &names).field("cwd", &self.cwd).finish()
    }
}

/// A URL to connect to.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpSpec {
    /// The URL of the endpoint. It may hold secrets.
    pub url: String,
    /// Headers to send with every request.
    pub headers: Vec<(String, Secret)>,
    /// Whether the kind of server is a guess: where Streamable HTTP isn't spoken, HTTP with SSE is tried.
    pub guessed: bool,
    /// A file of certificates (PEM) to trust beside the system's.
    pub ca_file: Option<PathBuf>,
    /// A command that prints the bearer token, and its arguments.
    pub bearer_command: Vec<String>,
    /// The proxies that the environment names.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "nothing connects"))]
    pub(crate) proxies: ProxySettings,
    /// Another source of bearer tokens.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "nothing connects"))]
    pub(crate) tokens: Option<SharedTokenSource>,
    /// How a token is to be got, where the entry says so.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "nothing connects"))]
    pub(crate) auth: Option<AuthSpec>,
}

/// The proxies that the environment names, as it writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProxySettings {
    pub(crate) http: Option<Secret>,
    pub(crate) https: Option<Secret>,
    /// Hosts that are reached directly.
    pub(crate) none: Option<String>,
}

impl ProxySettings {
    fn of(environment: &Environment) -> Self {
        let set = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        let either = |name: &str| set(&name.to_ascii_lowercase()).or_else(|| set(name));
        // a web server hands its clients' headers to a CGI program as HTTP_*, Proxy among them
        let http =
            set("http_proxy").or_else(|| set("HTTP_PROXY").filter(|_| environment.get("REQUEST_METHOD").is_none()));
        let all = either("ALL_PROXY");
        Self {
            http: http.or(all).map(Secret::new),
            https: either("HTTPS_PROXY").or(all).map(Secret::new),
            none: either("NO_PROXY").map(str::to_owned),
        }
    }
}

impl fmt::Debug for HttpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A path can hold a secret that only the server's redactor knows.
        let masked = mask_url(&self.url);
        let end = masked.find("://").and_then(|at| masked[at + 3..].find(['/', '?', '#']).map(|end| at + 3 + end));
        let shown = &masked[..end.unwrap_or(masked.len())];
        f.debug_struct("HttpSpec").field("url", &shown).field("headers", &self.headers).finish()
    }
}

/// An HTTP server as it was asked for: by an entry after look-up, or by a builder.
#[derive(Clone, Default)]
pub(crate) struct HttpPlan {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Secret)>,
    /// HTTP with SSE instead of Streamable HTTP.
    pub(crate) sse: bool,
    /// Whether the kind is a guess.
    pub(crate) guessed: bool,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) bearer_command: Vec<String>,
    pub(crate) tokens: Option<SharedTokenSource>,
    pub(crate) auth: Option<AuthSpec>,
}

impl HttpPlan {
    /// Sends this bearer token with every request.
    pub(crate) fn add_bearer(&mut self, token: &str) {
        self.headers.push(("Authorization".to_owned(), Secret::new(format!("Bearer {token}"))));
    }
}

/// A process as it was asked for: by an entry after look-up, or by a builder.
#[derive(Clone, Default)]
pub(crate) struct StdioPlan {
    pub(crate) command: PathBuf,
    pub(crate) args: Vec<String>,
    /// The server's own variables.
    pub(crate) env: IndexMap<String, String>,
    pub(crate) inherit_env: bool,
    pub(crate) cwd: Option<PathBuf>,
}

impl ServerSpec {
    /// A process, with the environment it will have.
    pub(crate) fn stdio(label: &str, plan: StdioPlan, environment: &Environment) -> Self {
        let values = plan.env.iter().filter_map(|(name, value)| redact::env_secrets(name, value));
        let redactor = Redactor::new(values).with(redact::argument_secrets(&plan.args));
        let env = environment.child_environment(&plan.env, plan.inherit_env);
        let spec = StdioSpec { command: plan.command, args: plan.args, env, cwd: plan.cwd };
        Self::new(label, TransportSpec::Stdio(spec), redactor)
    }

    /// Streamable HTTP, or the older HTTP with SSE.
    pub(crate) fn http(label: &str, plan: HttpPlan, environment: &Environment) -> Self {
        let HttpPlan { url, headers, sse, guessed, ca_file, bearer_command, tokens, auth } = plan;
        let values = headers.iter().flat_map(|(name, value)| redact::header_secrets(name, value.expose()));
        let proxies = ProxySettings::of(environment);
        let logins = [&proxies.http, &proxies.https].into_iter().flatten();
        let logins: Vec<_> = logins.flat_map(|proxy| redact::url_secrets(proxy.expose())).collect();
        let redactor = Redactor::new(values).with(redact::url_secrets(&url)).with(logins);
        let redactor = redactor.with(redact::argument_secrets(&bearer_command));
        let spec = HttpSpec { url, headers, guessed, ca_file, bearer_command, proxies, tokens, auth };
        let transport = if sse { TransportSpec::Sse(spec) } else { TransportSpec::Http(spec) };
        Self::new(label, transport, redactor)
    }

    fn new(label: &str, transport: TransportSpec, redactor: Redactor) -> Self {
        Self {
            label: label.to_owned(),
            transport,
            protocol: Protocol::Auto,
            timeout: None,
            start_timeout: None,
            max_timeout: None,
            required: false,
            tools: ToolFilter::default(),
            origin: None,
            redactor,
        }
    }

    /// What it is, for people: the key in an error's context, and the [`target`](Self::target).
    pub(crate) fn shown(&self) -> Shown {
        match &self.transport {
            TransportSpec::Stdio(_) => ("command", self.target()),
            TransportSpec::Http(_) | TransportSpec::Sse(_) => ("url", self.target()),
        }
    }

    /// The command line or URL, with secrets masked, for people to read.
    pub fn target(&self) -> String {
        let text = match &self.transport {
            TransportSpec::Stdio(spec) => {
                let args = redact::mask_arguments(&spec.args);
                let command = spec.command.to_string_lossy().into_owned();
                std::iter::once(command).chain(args).map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
            }
            TransportSpec::Http(spec) | TransportSpec::Sse(spec) => mask_url(&spec.url),
        };
        self.redactor.redact(&text).into_owned()
    }
}

/// A word of a command line as a shell would need it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,~*".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let mut out = String::from("'");
    for c in word.chars() {
        match c {
            '\'' => out.push_str("'\\''"),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out + "'"
}

impl fmt::Debug for ServerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("ServerSpec");
        out.field("label", &self.label).field("kind", &self.transport.kind()).field("target", &self.target());
        out.field("required", &self.required).field("origin", &self.origin).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdio(args: &[&str], env: &[(&str, &str)]) -> ServerSpec {
        let plan = StdioPlan {
            command: "npx".into(),
            args: args.iter().map(ToString::to_string).collect(),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..StdioPlan::default()
        };
        ServerSpec::stdio("s", plan, &Environment::from_pairs([("PATH", "/bin"), ("AWS_SECRET", "x")]))
    }

    #[test]
    fn a_process_s_secrets_are_known_and_never_shown() {
        let spec = stdio(&["-y", "it's", "--token=T1-aaaa", "see ENV-DDD"], &[("KEY", "ENV-DDD"), ("PATH", "/opt")]);
        assert_eq!(spec.target(), "npx -y 'it'\\''s' --token=*** 'see ***'");
        assert_eq!(spec.redactor.redact("T1-aaaa ENV-DDD /opt"), "*** *** /opt");
        let shown = format!("{spec:?} {:?}", spec.transport);
        for secret in ["T1-aaaa", "ENV-DDD"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        let TransportSpec::Stdio(process) = &spec.transport else { panic!("{spec:?}") };
        assert_eq!(process.path(), Some(OsStr::new("/opt")));
        assert_eq!(process.env.len(), 2);
    }

    #[test]
    fn a_url_s_secrets_are_known_and_never_shown() {
        let headers =
            vec![("Authorization".to_owned(), "Bearer s3cr3t-AAA".into()), ("Accept".to_owned(), "text/x".into())];
        let url = "http://u:pw-BBB@h:1/mcp?api_key=KEY-CCC".to_owned();
        let environment = Environment::from_pairs([("HTTPS_PROXY", "http://me:pw-DDD@proxy")]);
        let spec = ServerSpec::http("s", HttpPlan { url, headers, ..HttpPlan::default() }, &environment);
        assert_eq!(spec.target(), "http://***@h:1/mcp?api_key=***");
        let text = "s3cr3t-AAA pw-BBB KEY-CCC pw-DDD text/x";
        assert_eq!(spec.redactor.redact(text), "*** *** *** *** text/x");
        let shown = format!("{spec:?} {:?}", spec.transport);
        for secret in ["AAA", "BBB", "CCC"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[test]
    fn proxies_are_taken_from_the_environment_as_curl_does() {
        let of = |pairs: &[(&str, &str)]| {
            let settings = ProxySettings::of(&Environment::from_pairs(pairs.iter().copied()));
            let shown = |secret: Option<Secret>| secret.map_or(String::new(), |secret| secret.expose().to_owned());
            format!("{} {} {}", shown(settings.http), shown(settings.https), settings.none.unwrap_or_default())
        };
        assert_eq!(of(&[("HTTP_PROXY", "a"), ("https_proxy", "b"), ("NO_PROXY", "c")]), "a b c");
        assert_eq!(of(&[("ALL_PROXY", "a"), ("HTTPS_PROXY", "b"), ("http_proxy", "")]), "a b ");
        assert_eq!(of(&[("HTTP_PROXY", "evil"), ("REQUEST_METHOD", "GET")]), "  ", "as a CGI program");
    }

    #[test]
    fn words_are_quoted_as_a_shell_needs_them() {
        for (word, shown) in [
            ("a-b_c.d/e", "a-b_c.d/e"),
            ("", "''"),
            ("a b", "'a b'"),
            ("\"x\"", "'\"x\"'"),
            ("$(rm)", "'$(rm)'"),
            ("a\u{1b}b", "'a\\u{1b}b'"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
