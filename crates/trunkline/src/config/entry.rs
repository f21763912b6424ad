//! One entry of a config: what it is called, where it stands, and how it becomes a [`ServerSpec`] once the
//! variables, the home directory and relative paths are looked up.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::check::{check_header, check_url};
use super::environment::{Environment, Platform};
use super::expand::Template;
use super::fields::{Fields, Written};
use super::problem::Origin;
use super::spec::{ServerSpec, StdioPlan};
use crate::error::{Error, Result};
use crate::redact::{self, MASK, Redactor, Secret, mask_url};

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

    /// Whether it is switched off (`"disabled": true`).
    pub fn disabled(&self) -> bool {
        self.disabled
    }

    /// Whether nothing works without this server (`"required": true`).
    pub fn required(&self) -> bool {
        self.fields.required
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
        let lookup = Lookup { entry: self, environment, used: RefCell::default() };
        let spec = match &self.fields.transport {
            Written::Stdio { command, args, env, cwd, inherit_env } => {
                let plan = StdioPlan {
                    command: lookup.command(command)?,
                    args: lookup.args(args)?,
                    env: lookup.texts("env", env)?,
                    inherit_env: *inherit_env,
                    cwd: cwd.as_ref().map(|cwd| lookup.cwd(cwd)).transpose()?,
                };
                ServerSpec::stdio(&self.label, plan, environment)
            }
            Written::Http { sse, url, headers } => {
                ServerSpec::http(&self.label, lookup.url(url)?, lookup.headers(headers)?, *sse)
            }
        };
        let redactor = spec.redactor.with(lookup.used.into_inner());
        Ok(self.finish(spec, redactor))
    }

    fn finish(&self, spec: ServerSpec, redactor: Redactor) -> ServerSpec {
        ServerSpec {
            protocol: self.fields.protocol.clone(),
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
        let mut out = Map::new();
        let mut add = |key: &str, value: Value| out.insert(key.to_owned(), value);
        match &self.fields.transport {
            Written::Stdio { command, args, env, cwd, inherit_env } => {
                add("command", command.written().into());
                if !args.is_empty() {
                    add("args", masked_args(args).into());
                }
                if !env.is_empty() {
                    add("env", masked_texts(env, redact::is_plain_variable));
                }
                if let Some(cwd) = cwd {
                    add("cwd", cwd.written().into());
                }
                if *inherit_env {
                    add("inheritEnv", true.into());
                }
            }
            Written::Http { sse, url, headers } => {
                add("type", if *sse { "sse" } else { "http" }.into());
                add("url", if is_reference(url) { url.written().into() } else { mask_url(url.written()).into() });
                if !headers.is_empty() {
                    add("headers", masked_texts(headers, redact::is_plain_header));
                }
            }
        }
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
        if let Some(protocol) = &self.fields.protocol {
            add("protocol", protocol.as_str().into());
        }
        if self.disabled {
            add("disabled", true.into());
        }
        if self.fields.required {
            add("required", true.into());
        }
        if !self.fields.tools.is_open() {
            add("tools", json!({"allow": self.fields.tools.allow(), "deny": self.fields.tools.deny()}));
        }
        Value::Object(out)
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

fn masked_texts(texts: &IndexMap<String, Template>, is_plain: impl Fn(&str) -> bool) -> Value {
    let shown = |(name, text): (&String, &Template)| {
        let value = if is_plain(name) || is_reference(text) { text.written() } else { MASK };
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

/// Looks up the references of one entry and remembers the values that may be secret.
struct Lookup<'a> {
    entry: &'a Entry,
    environment: &'a Environment,
    used: RefCell<Vec<String>>,
}

impl Lookup<'_> {
    /// The text of a field with its values, and the values of variables in it.
    fn expand(&self, field: &str, text: &Template) -> Result<(String, Vec<(String, String)>)> {
        let mut used = Vec::new();
        match text.expand(&|name: &str| self.variable(name), &mut used) {
            Ok(value) => Ok((value, used)),
            Err(name) => Err(self.missing(field, &name)),
        }
    }

    /// The same; the values are taken for secrets.
    fn text(&self, field: &str, text: &Template) -> Result<String> {
        let (value, used) = self.expand(field, text)?;
        if value.contains('\0') {
            return Err(self.fault(field, format!("\"{field}\" holds a NUL character")));
        }
        let secret = used.into_iter().filter(|(name, _)| !redact::is_plain_variable(name));
        self.used.borrow_mut().extend(secret.map(|(_, value)| value));
        Ok(value)
    }

    /// A variable, or one of the two names that stand for a directory in files shared with an editor.
    fn variable(&self, name: &str) -> Option<String> {
        let text = |path: PathBuf| path.to_str().map(str::to_owned);
        match self.environment.get(name) {
            Some(value) => Some(value.to_owned()),
            None if name == "workspaceFolder" => self.entry.base.clone().and_then(text),
            None if name == "userHome" => self.environment.home().and_then(text),
            None => None,
        }
    }

    fn args(&self, args: &[Template]) -> Result<Vec<String>> {
        args.iter().enumerate().map(|(at, arg)| self.text(&format!("args[{at}]"), arg)).collect()
    }

    fn texts(&self, field: &str, texts: &IndexMap<String, Template>) -> Result<IndexMap<String, String>> {
        let one = |(name, text): (&String, &Template)| Ok((name.clone(), self.text(&format!("{field}.{name}"), text)?));
        texts.iter().map(one).collect()
    }

    fn headers(&self, headers: &IndexMap<String, Template>) -> Result<Vec<(String, Secret)>> {
        let mut out = Vec::new();
        for (name, value) in self.texts("headers", headers)? {
            check_header(&name, &value).map_err(|why| self.fault(&format!("headers.{name}"), why))?;
            out.push((name, Secret::new(value)));
        }
        Ok(out)
    }

    fn url(&self, text: &Template) -> Result<String> {
        let (url, used) = self.expand("url", text)?;
        check_url(&url).map_err(|why| self.fault("url", why))?;
        let mut secrets = self.used.borrow_mut();
        for (name, value) in used {
            // A whole URL in a variable is no secret, nor is a host or a port.
            if value.contains("://") {
                secrets.extend(redact::url_secrets(&value));
            } else if !redact::is_plain_variable(&name) && !host(&url).contains(&value) {
                secrets.push(value);
            }
        }
        Ok(url)
    }

    fn command(&self, text: &Template) -> Result<PathBuf> {
        let windows = self.environment.platform() == Platform::Windows;
        let has_separator = |text: &str| text.contains('/') || (windows && text.contains('\\'));
        let path = self.path("command", text)?;
        Ok(if path.is_relative() && path.to_str().is_some_and(has_separator) { self.absolute(&path) } else { path })
    }

    fn cwd(&self, text: &Template) -> Result<PathBuf> {
        let path = self.absolute(&self.path("cwd", text)?);
        if path.is_dir() {
            return Ok(path);
        }
        let fault = if path.exists() { "is no directory" } else { "doesn't exist" };
        Err(self.fault("cwd", format!("its \"cwd\" {} {fault}", path.display())))
    }

    /// A path with its variables, and the home directory for a leading `~` that the file itself has.
    fn path(&self, field: &str, text: &Template) -> Result<PathBuf> {
        let (value, _) = self.expand(field, text)?;
        if value.contains('\0') {
            return Err(self.fault(field, format!("\"{field}\" holds a NUL character")));
        }
        let at_home = text.written().starts_with('~').then(|| self.environment.expand_home(&value)).flatten();
        Ok(at_home.unwrap_or_else(|| value.into()))
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        let base = self.entry.base.as_deref().unwrap_or_else(|| self.environment.current_dir());
        base.join(path).components().collect()
    }

    fn missing(&self, field: &str, variable: &str) -> Error {
        let fault = match self.environment.get_os(variable) {
            Some(_) => "whose value is no text",
            None => "which is not set",
        };
        self.fault(field, format!("\"{field}\" needs the variable {variable}, {fault}"))
            .with_context("variable", variable)
            .with_hint(format!(
                "Set {variable}, or give it a default: \"${{{variable}:-...}}\" in {}",
                self.entry.origin
            ))
    }

    fn fault(&self, field: &str, reason: String) -> Error {
        Error::config(format!("Server \"{}\" can't be used: {reason}", self.entry.label))
            .with_context("server", &self.entry.label)
            .with_context("field", field)
            .with_context("file", self.entry.origin.to_string())
    }
}

/// Host and port of a URL.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}
