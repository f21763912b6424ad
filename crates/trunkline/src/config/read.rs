//! Reads the text of a config file into entries and problems. Each entry is read on its own, so a bad one
//! costs itself alone.

use std::path::Path;

use indexmap::IndexMap;
use jsonc_parser::ast::{Object, Value};

use super::Config;
use super::entry::Entry;
use super::fields::Fields;
use super::jsonc::{Document, Fault, kind, member};
use super::keys;
use super::problem::{Origin, Problem};
use crate::error::{Error, Result};
use crate::name::check_label;
use crate::suggest;

/// The keys that hold the entries, as most programs and as VS Code write it.
const SECTIONS: [&str; 2] = ["mcpServers", "servers"];

/// Reads `text`, which is said to be `file`. Relative paths of its entries are relative to `base`.
pub(crate) fn read(text: &str, file: &Path, base: Option<&Path>) -> Result<Config> {
    let document = Document::parse(text).map_err(|fault| broken(file, &fault))?;
    let root = match &document.root {
        Some(Value::Object(root)) => root,
        Some(other) => return Err(shape(file, &format!("is {}, not an object", kind(other)))),
        None => return Err(shape(file, "is empty")),
    };
    let mut config = Config::default();
    let reader = Reader { document: &document, file, base };
    let found = reader.found(root, &mut config)?;
    reader.entries(found, &mut config);
    config.problems.sort_by_key(|problem| problem.origin().line);
    Ok(config)
}

fn broken(file: &Path, fault: &Fault) -> Error {
    let Fault { line, column, reason } = fault;
    let origin = Origin::new(file, *line);
    let place = if origin.is_in_file() { format!("{origin}:{column}") } else { format!("{origin}, column {column}") };
    let error = Error::config(format!("{place}: this is no valid JSON: {reason}"))
        .with_hint("Correct that line; comments and trailing commas are allowed, all else is plain JSON");
    origin.placed(error)
}

fn shape(file: &Path, fault: &str) -> Error {
    whole(file, format!("{} {fault}", named(file)))
        .with_hint("It has to look like {\"mcpServers\": {\"NAME\": {\"command\": \"...\"}}}")
}

/// An error about a whole file.
fn whole(file: &Path, message: String) -> Error {
    let error = Error::config(message);
    if file.as_os_str().is_empty() { error } else { error.with_context("file", file.display().to_string()) }
}

fn named(file: &Path) -> String {
    if file.as_os_str().is_empty() { "The config".to_owned() } else { file.display().to_string() }
}

struct Reader<'a> {
    document: &'a Document<'a>,
    file: &'a Path,
    base: Option<&'a Path>,
}

/// All the entries of a file by label: each with its line.
type Found<'b, 'a> = IndexMap<&'b str, Vec<(usize, &'b Value<'a>)>>;

impl<'a> Reader<'a> {
    /// The entries of both sections together, so that a label given in both is seen.
    fn found<'b>(&self, root: &'b Object<'a>, config: &mut Config) -> Result<Found<'b, 'a>> {
        let mut found = Found::new();
        let present: Vec<_> = SECTIONS.iter().filter_map(|key| member(root, key)).collect();
        if present.is_empty() {
            return Err(self.no_section(root));
        }
        for section in &present {
            let key = section.name.as_str();
            match &section.value {
                Value::Object(object) => {
                    for entry in &object.properties {
                        let line = self.document.line(entry);
                        found.entry(entry.name.as_str()).or_default().push((line, &entry.value));
                    }
                }
                Value::NullKeyword(_) => {}
                other if present.len() > 1 => {
                    let reason = format!("\"{key}\" is {} and was passed over", kind(other));
                    config.warnings.push(Problem::new(self.origin(self.document.line(section)), None, reason));
                }
                other => return Err(shape(self.file, &format!("has {} as \"{key}\", not an object", kind(other)))),
            }
        }
        Ok(found)
    }

    fn no_section(&self, root: &Object<'_>) -> Error {
        let names = root.properties.iter().map(|found| found.name.as_str());
        let near = names.clone().find(|name| suggest::nearest(name, SECTIONS).is_some());
        let error = shape(self.file, "has no \"mcpServers\" (or \"servers\") object");
        let bare = root.properties.iter().any(|found| match &found.value {
            Value::Object(entry) => ["command", "url"].iter().any(|key| member(entry, key).is_some()),
            _ => false,
        });
        let message = error.message().to_owned();
        let renewed = whole(self.file, message);
        match near {
            Some(name) => renewed.with_hint(format!("Rename \"{name}\" to \"mcpServers\"")),
            None if bare => renewed.with_hint("Put the entries inside: {\"mcpServers\": { ... }}"),
            None => error,
        }
    }

    fn entries(&self, found: Found<'_, 'a>, config: &mut Config) {
        for (label, places) in found {
            let origin = self.origin(places[0].0);
            config.claims.push((label.to_owned(), origin.clone()));
            let outcome = match places.as_slice() {
                [(_, value)] => self.entry(label, origin.clone(), value, config),
                several => {
                    let lines: Vec<_> = several.iter().map(|(line, _)| line.to_string()).collect();
                    let reason = format!("it is there {} times, in lines {}", several.len(), lines.join(" and "));
                    Err(Problem::new(origin, Some(label), reason)
                        .with_hint(Some("Keep one of them, or rename the others")))
                }
            };
            match outcome {
                Ok(Some(entry)) => config.entries.push(entry),
                Ok(None) => {}
                Err(problem) => config.problems.push(problem),
            }
        }
    }

    /// Reads one entry. A bad one that is switched off is only odd, and gives nothing.
    fn entry(
        &self,
        label: &str,
        origin: Origin,
        value: &Value<'a>,
        config: &mut Config,
    ) -> Result<Option<Entry>, Problem> {
        let bad = |reason: String| Problem::new(origin.clone(), Some(label), reason);
        check_label(label).map_err(|error| bad(error.message().to_owned()).with_hint(error.hint()))?;
        let Value::Object(object) = value else {
            return Err(bad(format!("it has to be an object, not {}", kind(value))));
        };
        let mut odd = keys::odd_keys(object, |member| self.document.line(member));
        let disabled = keys::is_disabled(object);
        let fields = match keys::check_switches(object).and_then(|()| Fields::read(object, &mut odd)) {
            Ok(fields) => Some(fields),
            Err(reason) if disabled => {
                odd.push(format!("it is switched off, and couldn't be used: {reason}"));
                None
            }
            Err(reason) => return Err(bad(reason)),
        };
        config.warnings.extend(odd.into_iter().map(bad));
        Ok(fields.map(|fields| Entry::new(label, origin.clone(), self.base, disabled, fields)))
    }

    fn origin(&self, line: usize) -> Origin {
        Origin::new(self.file, line)
    }
}
