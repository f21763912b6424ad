//! What a form or a query holds.

use url::form_urlencoded;

use super::refusal::{Checked, Refusal, refused};

/// The fields of a form, each with the only value that it may have.
#[derive(Debug)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(crate) fn parse(text: &[u8]) -> Fields {
        Fields(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The value; none where it is empty, as OAuth has it. A field that comes twice is an error.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(crate) fn need(&self, name: &str) -> Checked<&str> {
        self.get(name).ok_or_else(|| Refusal::new(400, "invalid_request", format!("there is no {name}")))
    }

    /// Nothing may come twice.
    pub(crate) fn once(&self) -> Checked {
        for (at, (name, _)) in self.0.iter().enumerate() {
            if self.0[..at].iter().any(|(other, _)| other == name) {
                return refused("invalid_request", format!("{name} comes twice"));
            }
        }
        Ok(())
    }
}
