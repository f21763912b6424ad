//! What is kept out of a cassette.

use super::MASK;
use crate::protocol::RawJson;
use crate::redact::Redactor;

/// Values, patterns and fields that must not be written.
#[derive(Debug, Clone, Default)]
pub(super) struct Scrub {
    pub(super) redactor: Redactor,
    /// In lower case.
    pub(super) fields: Vec<String>,
}

impl Scrub {
    /// The JSON without what is secret: by these rules, and by what `server` knows of its own.
    pub(super) fn clean(&self, server: &Redactor, raw: &RawJson) -> RawJson {
        if self.fields.is_empty() && self.redactor.is_empty() && server.is_empty() {
            return raw.clone();
        }
        raw.replacing(&|field, text| {
            if field.is_some_and(|field| self.hides(field)) {
                return Some(MASK.to_owned());
            }
            let known = server.redact(text);
            let clean = self.redactor.redact(&known);
            (clean != text).then(|| clean.into_owned())
        })
    }

    fn hides(&self, field: &str) -> bool {
        !self.fields.is_empty() && self.fields.contains(&field.to_lowercase())
    }
}
