//! One entry of a config: what it is called, where it stands, and how it becomes a [`ServerSpec`] once the
//! variables, the home directory and relative paths are looked up.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::bounds::Bounds;
use super::expand::Template;
use super::fields::{Fields, HttpKind, Written};
use super::lookup::Lookup;
use super::problem::Origin;
use super::spec::{HttpPlan, ServerSpec, StdioPlan};
use crate::environment::Environment;
use crate::error::Result;
use crate::protocol::era::Protocol;
use crate::redact::{self, MASK, Redactor, mask_url};

/// A server as a config describes it. Nothing is looked up before [`resolve`](Self::resolve).
#[derive(Debug, Clone)]
pub struct Entry {
    label: String,
    origin: Origin,
    /// What relative paths are relative to.
    base: Option<PathBuf>,
    disabled: bool,
    fields: Fields,
}

impl Entry {
    pub(crate) fn new(label: &str, origin: Origin, base: Option<&Path>, disabled: bool, fields: Fields) -> Self {
        Self { label: label.to_owned(), origin, base: base.map(Path::to_owned), disabled, fields }
    }

    /// The server's name: its key in the file.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Where the entry stands.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The directory that relative paths are relative to; nothing for an entry of no file.
    pub fn base(&self) -> Option<&Path> {
        self.base.as_deref()
    }

    /// Whether it is switched off (`"disabled": true`).
    pub fn disabled(&self) -> bool {
        self.disabled
    }

    /// Whether nothing works without this server (`"required": true`).
    pub fn required(&self) -> bool {
        self.fields.required
    }

    /// Whether a result that doesn't fit its tool's output schema is an error (`"strictOutput": true`).
    pub fn strict_output(&self) -> bool {
        self.fields.strict_output
    }

    /// Looks up everything the entry refers to.
    ///
    /// # Errors
    /// Kind [`Config`](crate::ErrorKind::Config): a variable that isn't set, a `cwd` that doesn't exist, a
    /// value that makes no URL or header. It names the field, and the entry's file and line.
    ///
    /// ```
    /// use trunkline::{Config, Environment};
    ///
    /// let config = Config::parse(r#"{"mcpServers": {"api": {
    ///     "url": "https://example.com/mcp",
    ///     "headers": {"Authorization": "Bearer ${API_TOKEN}"}
    /// }}}"#)?;
    /// let entry = config.entry("api").unwrap();
    ///
    /// let error = entry.resolve(&Environment::from_pairs([("HOME", "/home/me")])).unwrap_err();
    /// assert_eq!(error.get("variable"), Some("API_TOKEN"));
    /// assert_eq!(error.get("field"), Some("headers.Authorization"));
    ///
    /// let spec = entry.resolve(&Environment::from_pairs([("API_TOKEN", "s3cr3t-token")]))?;
    /// assert_eq!(spec.redactor.redact("401 for Bearer s3cr3t-token"), "401 for ***");
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    pub fn resolve(&self, environment: &Environment) -> Result<ServerSpec> {
        let lookup = Lookup::new(&self.label, &self.origin, self.base.as_deref(), environment);
        let spec = match &self.fields.transport {
            Written::Stdio { command, args, env, cwd, inherit_env } => {
                let plan = StdioPlan {
                    command: lookup.command(command)?,
                    args: lookup.words("args", args)?,
                    env: lookup.texts("env", env)?,
                    inherit_env: *inherit_env,
                    cwd: cwd.as_ref().map(|cwd| lookup.cwd(cwd)).transpose()?,
                };
                ServerSpec::stdio(&self.label, plan, environment)
            }
            Written::Http { kind, url, headers, ca_file, bearer_command, auth } => {
                let plan = HttpPlan {
                    url: lookup.url(url)?,
                    headers: lookup.headers(headers)?,
                    sse: *kind == Some(HttpKind::Sse),
                    guessed: kind.is_none(),
                    ca_file: ca_file.as_ref().map(|file| lookup.file("caFile", file)).transpose()?,
                    bearer_command: lookup.words("bearerCommand", bearer_command)?,
                    tokens: None,
                    auth: auth.as_ref().map(|auth| auth.resolve(&lookup)).transpose()?,
                };
                ServerSpec::http(&self.label, plan, environment)
            }
        };
        let redactor = spec.redactor.with(lookup.into_secrets());
        Ok(self.finish(spec, redactor))
    }

    /// The bounds that it sets.
    pub(crate) fn bounds(&self) -> &Bounds {
        &self.fields.bounds
    }

    fn finish(&self, spec: ServerSpec, redactor: Redactor) -> ServerSpec {
        ServerSpec {
            protocol: self.fields.protocol,
            timeout: self.fields.timeout,
            start_timeout: self.fields.start_timeout,
            max_timeout: self.fields.max_timeout,
            required: self.fields.required,
            tools: self.fields.tools.clone(),
            origin: Some(self.origin.clone()),
            redactor,
            ..spec
        }
    }

    /// The entry for people to read: as it is written, with whatever may be a secret masked. References such
    /// as `${TOKEN}` are shown, since they are none.
    pub fn masked(&self) -> Value {
        self.shown(false)
    }

    /// What using the entry would start or contact, for the person who has to agree to it: as it is written, with
    /// command lines and URL in full. Masked are only values of headers, and of variables whose names announce a
    /// secret; the variables of this machine that they refer to are shown.
    ///
    /// ```
    /// use trunkline::Config;
    ///
    /// let config = Config::parse(r#"{"mcpServers": {"a": {"url": "https://h/?k=1", "headers": {"X": "s-${HOME}"}}}}"#)?;
    /// let full = config.entry("a").unwrap().in_full();
    /// assert_eq!(full, serde_json::json!({"url": "https://h/?k=1", "headers": {"X": "***${HOME}"}}));
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    pub fn in_full(&self) -> Value {
        self.shown(true)
    }

    fn shown(&self, full: bool) -> Value {
        let mut out = self.fields.transport.shown(full);
        let mut add = |key: &str, value: Value| out.insert(key.to_owned(), value);
        let durations = [
            ("timeout", self.fields.timeout),
            ("startTimeout", self.fields.start_timeout),
            ("maxTimeout", self.fields.max_timeout),
        ];
        for (key, duration) in durations {
            if let Some(duration) = duration {
                add(key, duration.as_secs_f64().into());
            }
        }
        if self.fields.protocol != Protocol::Auto {
            add("protocol", self.fields.protocol.to_string().into());
        }
        if self.disabled {
            add("disabled", true.into());
        }
        if self.fields.strict_output {
            add("strictOutput", true.into());
        }
        if self.fields.required {
            add("required", true.into());
        }
        if let Some(bounds) = self.fields.bounds.shown() {
            add("limits", bounds);
        }
        if !self.fields.tools.is_open() {
            add("tools", json!({"allow": self.fields.tools.allow(), "deny": self.fields.tools.deny()}));
        }
        Value::Object(out)
    }
}

impl Written {
    fn shown(&self, full: bool) -> Map<String, Value> {
        let words = |args: &[Template]| match full {
            true => args.iter().map(|arg| arg.written().to_owned()).collect(),
            false => masked_args(args),
        };
        let mut out = Map::new();
        let mut add = |key: &str, value: Value| out.insert(key.to_owned(), value);
        match self {
            Written::Stdio { command, args, env, cwd, inherit_env } => {
                add("command", command.written().into());
                if !args.is_empty() {
                    add("args", words(args).into());
                }
                if !env.is_empty() {
                    let plain = |name: &str| {
                        if full { !redact::is_telling_variable(name) } else { redact::is_plain_variable(name) }
                    };
                    add("env", masked_texts(env, plain, full));
                }
                if let Some(cwd) = cwd {
                    add("cwd", cwd.written().into());
                }
                if *inherit_env {
                    add("inheritEnv", true.into());
                }
            }
            Written::Http { kind, url, headers, ca_file, bearer_command, auth } => {
                match kind {
                    Some(HttpKind::Sse) => add("type", "sse".into()),
                    Some(HttpKind::Streamable) => add("type", "http".into()),
                    None => None,
                };
                let plain = full || is_reference(url);
                add("url", if plain { url.written().into() } else { mask_url(url.written()).into() });
                if !headers.is_empty() {
                    add("headers", masked_texts(headers, redact::is_plain_header, full));
                }
                if let Some(file) = ca_file {
                    add("caFile", file.written().into());
                }
                if !bearer_command.is_empty() {
                    add("bearerCommand", words(bearer_command).into());
                }
                if let Some(auth) = auth {
                    add("auth", auth.shown());
                }
            }
        }
        out
    }
}

fn masked_args(args: &[Template]) -> Vec<String> {
    let written: Vec<String> = args.iter().map(|arg| arg.written().to_owned()).collect();
    let masked = redact::mask_arguments(&written);
    let announces = |arg: &str| arg.trim_end_matches(['=', ' ', ':']).len() < arg.len();
    let shown = |(arg, masked): (&Template, String)| {
        let literal = arg.literal();
        if !arg.is_plain() && (is_reference(arg) || announces(&literal)) { arg.written().to_owned() } else { masked }
    };
    args.iter().zip(masked).map(shown).collect()
}

/// The texts that are plain as they are written, the others masked; `references` in them are shown where that is asked for.
fn masked_texts(texts: &IndexMap<String, Template>, is_plain: impl Fn(&str) -> bool, references: bool) -> Value {
    let shown = |(name, text): (&String, &Template)| {
        let value = match is_plain(name) || is_reference(text) {
            true => text.written().to_owned(),
            false if references => text.masked(MASK),
            false => MASK.to_owned(),
        };
        (name.clone(), Value::from(value))
    };
    Value::Object(texts.iter().map(shown).collect())
}

/// Whether a text is a reference and nothing more, but for a scheme such as `Bearer`.
fn is_reference(text: &Template) -> bool {
    let literal = text.literal();
    let literal = literal.trim();
    !text.is_plain() && ["", "bearer", "basic", "token"].contains(&literal.to_ascii_lowercase().as_str())
}
