//! What holds of config files, whatever is in them.

use std::collections::HashSet;
use std::path::Path;

use regex::Regex;

use super::expand::Template;
use super::{Config, Environment};
use crate::name::check_label;

/// What no entry may show of itself.
const SECRET: &str = "s3cr3t-0f-a-variable";

/// Any content is entries and reports, each with its place, or one error that names the file. Each label is one of them.
pub(crate) fn files(content: &[u8]) {
    let config = match Config::from_content(content, Path::new("/project/mcp.json")) {
        Ok(config) => config,
        Err(error) => {
            assert!(error.message().contains("/project/mcp.json"), "{error}");
            return;
        }
    };
    let lines = content.split(|byte| *byte == b'\n').count();
    let mut labels = HashSet::new();
    for entry in config.entries() {
        check_label(entry.label()).unwrap();
        assert!(labels.insert(entry.label()), "{} twice", entry.label());
    }
    for problem in config.problems() {
        assert!(!problem.reason().is_empty());
        assert!(problem.label().is_none_or(|label| !labels.contains(label)), "used and refused: {problem:?}");
    }
    for told in config.problems().iter().chain(config.warnings()) {
        assert!((1..=lines).contains(&told.origin().line), "{told:?} in a file of {lines} lines");
    }
    let odd = config.problems().iter().chain(config.warnings());
    let told: HashSet<_> = labels.iter().copied().chain(odd.filter_map(|told| told.label())).collect();
    assert!(config.claims.iter().all(|(label, _)| told.contains(label.as_str())), "a label vanished");

    let environment = Environment::from_pairs([("HOME", "/h"), ("A", "1"), ("TOKEN", SECRET), ("EMPTY", "")]);
    for entry in config.entries() {
        let shown = entry.masked().to_string();
        assert!(!shown.contains(SECRET));
        match entry.resolve(&environment) {
            Ok(spec) => assert!(spec.label == entry.label() && !format!("{spec:?}").contains(SECRET)),
            Err(error) => assert!(!error.to_string().contains(SECRET), "{error}"),
        }
    }
    let twice = Config::merge([config.clone(), config.clone()]);
    assert_eq!(twice.entries().len(), config.entries().len());
    assert_eq!(twice.losers().len(), config.losers().len() * 2 + config.claims.len());
}

/// References are replaced and nothing else, and what is put in isn't looked at again.
pub(crate) fn variables(text: &str) {
    let lookup = |name: &str| match name.len() % 3 {
        0 => None,
        1 => Some("${A}$${".to_owned()),
        _ => Some(String::new()),
    };
    let Ok(template) = Template::parse(text) else {
        assert!(text.contains("${"), "{text:?} was refused");
        return;
    };
    assert_eq!(template.written(), text);
    // a "$" before "${" takes its meaning away, so each is looked at with what stands before it
    let reference = Regex::new(r"\$\$\{|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}").unwrap();
    let mut missing = None;
    let wanted = reference.replace_all(text, |found: &regex::Captures<'_>| {
        let Some(name) = found.get(1) else { return "${".to_owned() };
        let default = found.get(2).map(|_| found.get(3).map_or("", |default| default.as_str()).to_owned());
        let value = lookup(name.as_str()).filter(|value| default.is_none() || !value.is_empty());
        value.or(default).unwrap_or_else(|| {
            missing.get_or_insert_with(|| name.as_str().to_owned());
            String::new()
        })
    });
    let wanted = wanted.into_owned();
    match (template.expand(&lookup, &mut Vec::new()), missing) {
        (Ok(found), None) => assert_eq!(found, wanted),
        (Err(name), Some(missing)) => assert_eq!(name, missing),
        (found, missing) => panic!("{found:?}, though {missing:?} is missing"),
    }
}
