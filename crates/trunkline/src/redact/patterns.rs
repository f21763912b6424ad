//! Secrets that are known by what they look like.

use std::ops::Range;
use std::sync::Arc;

use regex::Regex;

use crate::error::{Error, Result};

/// Regular expressions that find secrets.
#[derive(Clone, Default)]
pub(super) struct Patterns(Arc<[Regex]>);

impl Patterns {
    pub(super) fn with<S: AsRef<str>>(&self, more: impl IntoIterator<Item = S>) -> Result<Self> {
        let more = more.into_iter().map(|pattern| compile(pattern.as_ref()));
        self.0.iter().cloned().map(Ok).chain(more).collect::<Result<Arc<[_]>>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds the places of what they find: of the first group, where there is one.
    pub(super) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        for pattern in self.0.iter() {
            let places = pattern.captures_iter(text).filter_map(|groups| groups.get(1).or(groups.get(0)));
            found.extend(places.map(|place| place.range()).filter(|place| !place.is_empty()));
        }
    }
}

fn compile(pattern: &str) -> Result<Regex> {
    Regex::new(pattern).map_err(|error| {
        Error::config(format!("\"{pattern}\" is no regular expression: {error}"))
            .with_hint("Put a backslash in front of what is meant literally: \\. \\$ \\( \\[")
            .with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use crate::redact::Redactor;

    #[test]
    fn patterns_add_to_values_and_to_one_another() {
        let redactor =
            Redactor::new(["hunter22"]).matching(["a+b"]).unwrap().matching(["x*", "(?:no )?id=(\\w+)"]).unwrap();
        let redactor = redactor.with(["another1"]);
        assert_eq!(redactor.redact("hunter22 aab another1 no id=77, xx"), "*** *** *** no id=***, ***");
        assert_eq!(format!("{redactor:?}"), "Redactor(2 values, 3 patterns)");
        assert!(Redactor::default().matching(["("]).unwrap_err().message().contains("no regular expression"));
        assert!(!Redactor::default().matching(["a"]).unwrap().is_empty());
    }
}
