//! Masks the secrets of the servers' configs and the API key in whatever leaves for the model, the screen or the
//! transcript.

use serde_json::Value;
use trunkline::{RawJson, Redactor};

/// Knows all secrets of this call of the program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mask(Vec<Redactor>);

impl Mask {
    pub(crate) fn new(redactors: Vec<Redactor>) -> Self {
        Self(redactors)
    }

    pub(crate) fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, redactor| redactor.redact(&text).into_owned())
    }

    /// The same value with every secret in it masked; to the byte the same where there is none.
    pub(crate) fn json(&self, value: &RawJson) -> RawJson {
        let text = value.to_string();
        let masked = self.text(&text);
        if masked == text {
            return value.clone();
        }
        // a secret of digits may stand as a number: then the mask becomes a text of its own
        RawJson::parse(masked).unwrap_or_else(|_| self.value(&value.to_value()).into())
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| (self.text(key), self.value(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            other => {
                let text = other.to_string();
                let masked = self.text(&text);
                if masked == text { other.clone() } else { masked.into() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_json_stays_json() {
        let mask = Mask::new(vec![Redactor::new(["12345678"]), Redactor::new(["s3\"cret-x"])]);
        let shown = |text: &'static str| mask.json(&RawJson::parse(text).unwrap()).to_string();
        assert_eq!(shown(r#"{"b":1.0, "a":"plain"}"#), r#"{"b":1.0, "a":"plain"}"#);
        assert_eq!(shown(r#"{"b":1.0,"a":"<s3\"cret-x>"}"#), r#"{"b":1.0,"a":"<***>"}"#);
        assert_eq!(shown(r#"{"n":12345678,"t":"12345678","f":1.5}"#), r#"{"f":1.5,"n":"***","t":"***"}"#);
        assert_eq!(mask.text("12345678 s3\"cret-x"), "*** ***");
    }
}
