//! Looks up what one entry refers to: variables, the home directory, relative paths. What comes out is checked
//! like what is written, and an error names the field, the entry and its line.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::check::{check_header, check_url};
use super::expand::Template;
use super::problem::Origin;
use crate::environment::{Environment, Platform};
use crate::error::{Error, Result};
use crate::redact::{self, Redactor, Secret};

/// Looks up the references of one entry and remembers the values that may be secret.
pub(super) struct Lookup<'a> {
    label: &'a str,
    origin: &'a Origin,
    base: Option<&'a Path>,
    environment: &'a Environment,
    secrets: RefCell<Vec<String>>,
}

impl<'a> Lookup<'a> {
    /// For the entry `label` at `origin`, whose relative paths are relative to `base`.
    pub(super) fn new(
        label: &'a str,
        origin: &'a Origin,
        base: Option<&'a Path>,
        environment: &'a Environment,
    ) -> Self {
        Self { label, origin, base, environment, secrets: RefCell::default() }
    }

    /// The values of variables that may be secret.
    pub(super) fn into_secrets(self) -> Vec<String> {
        self.secrets.into_inner()
    }

    /// The text of a field with its values, and the values of variables in it.
    fn expand(&self, field: &str, text: &Template) -> Result<(String, Vec<(String, String)>)> {
        let mut used = Vec::new();
        match text.expand(&|name: &str| self.variable(name), &mut used) {
            Ok(value) => Ok((value, used)),
            Err(name) => Err(self.missing(field, &name)),
        }
    }

    /// The same; the values are taken for secrets.
    pub(super) fn text(&self, field: &str, text: &Template) -> Result<String> {
        let (value, used) = self.expand(field, text)?;
        if value.contains('\0') {
            return Err(self.fault(field, format!("\"{field}\" holds a NUL character")));
        }
        let secret = used.into_iter().filter(|(name, _)| !redact::is_plain_variable(name));
        self.secrets.borrow_mut().extend(secret.map(|(_, value)| value));
        Ok(value)
    }

    /// A variable, or one of the two names that stand for a directory in files shared with an editor.
    fn variable(&self, name: &str) -> Option<String> {
        let text = |path: PathBuf| path.to_str().map(str::to_owned);
        match self.environment.get(name) {
            Some(value) => Some(value.to_owned()),
            None if name == "workspaceFolder" => self.base.map(Path::to_owned).and_then(text),
            None if name == "userHome" => self.environment.home().and_then(text),
            None => None,
        }
    }

    /// Takes a value for a secret.
    pub(super) fn learn(&self, value: &str) {
        self.secrets.borrow_mut().push(value.to_owned());
    }

    /// The words of a list.
    pub(super) fn words(&self, field: &str, words: &[Template]) -> Result<Vec<String>> {
        words.iter().enumerate().map(|(at, word)| self.text(&format!("{field}[{at}]"), word)).collect()
    }

    pub(super) fn texts(&self, field: &str, texts: &IndexMap<String, Template>) -> Result<IndexMap<String, String>> {
        let one = |(name, text): (&String, &Template)| Ok((name.clone(), self.text(&format!("{field}.{name}"), text)?));
        texts.iter().map(one).collect()
    }

    pub(super) fn headers(&self, headers: &IndexMap<String, Template>) -> Result<Vec<(String, Secret)>> {
        let mut out = Vec::new();
        for (name, value) in self.texts("headers", headers)? {
            check_header(&name, &value).map_err(|why| self.fault(&format!("headers.{name}"), why))?;
            out.push((name, Secret::new(value)));
        }
        Ok(out)
    }

    pub(super) fn url(&self, text: &Template) -> Result<String> {
        let (url, used) = self.expand("url", text)?;
        self.take_url_secrets(&url, used);
        check_url(&url).map_err(|why| self.fault("url", why))?;
        Ok(url)
    }

    fn take_url_secrets(&self, url: &str, used: Vec<(String, String)>) {
        let mut secrets = self.secrets.borrow_mut();
        for (name, value) in used {
            // A whole URL in a variable is no secret, nor is a host or a port.
            if value.contains("://") {
                secrets.extend(redact::url_secrets(&value));
            } else if !redact::is_plain_variable(&name) && !host(url).contains(&value) {
                secrets.push(value);
            }
        }
    }

    pub(super) fn command(&self, text: &Template) -> Result<PathBuf> {
        let windows = self.environment.platform() == Platform::Windows;
        let has_separator = |text: &str| text.contains('/') || (windows && text.contains('\\'));
        let path = self.path("command", text)?;
        Ok(if path.is_relative() && path.to_str().is_some_and(has_separator) { self.absolute(&path) } else { path })
    }

    pub(super) fn cwd(&self, text: &Template) -> Result<PathBuf> {
        let path = self.absolute(&self.path("cwd", text)?);
        if path.is_dir() {
            return Ok(path);
        }
        let fault = if path.exists() { "is no directory" } else { "doesn't exist" };
        let error = self.fault("cwd", format!("its \"cwd\" {} {fault}", path.display()));
        Err(error.with_hint("Create it, or correct \"cwd\""))
    }

    /// The path of a file.
    pub(super) fn file(&self, field: &str, text: &Template) -> Result<PathBuf> {
        Ok(self.absolute(&self.path(field, text)?))
    }

    /// A path with its variables, and the home directory for a leading `~` that the file itself has. Paths are made of
    /// variables that are no secret; but a command may be written with its arguments.
    fn path(&self, field: &str, text: &Template) -> Result<PathBuf> {
        let (value, used) = self.expand(field, text)?;
        let secret = used.into_iter().filter(|(name, _)| redact::is_telling_variable(name));
        self.secrets.borrow_mut().extend(secret.map(|(_, value)| value));
        if value.contains('\0') {
            return Err(self.fault(field, format!("\"{field}\" holds a NUL character")));
        }
        let at_home = text.written().starts_with('~').then(|| self.environment.expand_home(&value)).flatten();
        Ok(at_home.unwrap_or_else(|| value.into()))
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        let base = self.base.unwrap_or_else(|| self.environment.current_dir());
        base.join(path).components().collect()
    }

    fn missing(&self, field: &str, variable: &str) -> Error {
        let fault = match self.environment.get_os(variable) {
            Some(_) => "whose value is no text",
            None => "which is not set",
        };
        let place = if self.origin.is_in_file() { format!(" in {}", self.origin) } else { String::new() };
        self.fault(field, format!("\"{field}\" needs the variable {variable}, {fault}"))
            .with_context("variable", variable)
            .with_hint(format!("Set {variable}, or give it a default: \"${{{variable}:-...}}\"{place}"))
    }

    fn fault(&self, field: &str, reason: String) -> Error {
        let reason = Redactor::new(&*self.secrets.borrow()).redact(&reason).into_owned();
        let error = Error::config(format!("Server \"{}\" can't be used: {reason}", self.label));
        self.origin.placed(error.with_context("server", self.label).with_context("field", field))
    }
}

/// Host and port of a URL.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}
