//! `limits` of an entry: which bounds of the lower layers hold for its server, by the names of [`Limits`].

use std::time::Duration;

use jsonc_parser::ast::{Object, Value};
use serde_json::Map;

use super::duration::parse_duration;
use super::jsonc::kind;
use crate::limits::{Limits, Slot};
use crate::suggest;

/// The bounds that an entry sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds(Vec<(String, Bound)>);

#[derive(Debug, Clone, Copy)]
enum Bound {
    Number(usize),
    Time(Duration),
}

impl Bounds {
    /// Reads `{"maxMessage": "64MiB", "maxPages": 10, "exitGrace": "500ms"}`.
    pub(super) fn read(object: &Object<'_>) -> Result<Self, String> {
        let pairs = object.properties.iter().filter(|pair| !matches!(pair.value, Value::NullKeyword(_)));
        let bounds = pairs.map(|pair| {
            let key = pair.name.as_str();
            read(key, &pair.value).map(|bound| (key.to_owned(), bound))
        });
        bounds.collect::<Result<_, _>>().map(Self)
    }

    /// Sets them.
    pub(crate) fn apply(&self, limits: &mut Limits) {
        for (key, bound) in &self.0 {
            match (limits.slot(key), bound) {
                (Some(Slot::Bytes(slot) | Slot::Count(slot)), Bound::Number(number)) => *slot = *number,
                (Some(Slot::Time(slot)), Bound::Time(time)) => *slot = *time,
                _ => unreachable!("read checked what each of them takes"),
            }
        }
    }

    /// For people: sizes in bytes, times in seconds.
    pub(super) fn shown(&self) -> Option<serde_json::Value> {
        let shown = |(key, bound): &(String, Bound)| {
            let value = match bound {
                Bound::Number(number) => (*number).into(),
                Bound::Time(time) => time.as_secs_f64().into(),
            };
            (key.clone(), value)
        };
        let shown: Map<_, _> = self.0.iter().map(shown).collect();
        (!shown.is_empty()).then(|| shown.into())
    }
}

fn read(key: &str, value: &Value<'_>) -> Result<Bound, String> {
    let text = match value {
        Value::NumberLit(number) => number.value,
        Value::StringLit(text) => &*text.value,
        other => {
            return Err(format!("\"limits.{key}\" has to be a number or text such as \"64MiB\", not {}", kind(other)));
        }
    };
    let wrong = |why: String| format!("\"limits.{key}\": {why}");
    match Limits::default().slot(key) {
        None => {
            let meant = suggest::nearest(key, Limits::KEYS.iter().copied());
            let meant = meant.map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default();
            Err(format!("\"limits.{key}\" is no limit{meant}"))
        }
        Some(Slot::Bytes(_)) => parse_size(text).map(Bound::Number).map_err(wrong),
        Some(Slot::Count(_)) => match text.parse() {
            Ok(number) => Ok(Bound::Number(number)),
            Err(_) => Err(wrong(format!("{text:?} is no whole number"))),
        },
        Some(Slot::Time(_)) if text == "0" => Ok(Bound::Time(Duration::ZERO)),
        Some(Slot::Time(_)) => parse_duration(text).map(Bound::Time).map_err(wrong),
    }
}

/// Reads `4096`, `64KiB`, `32 MB` or `1GiB`; whichever way it is spelled, a step is 1024.
fn parse_size(text: &str) -> Result<usize, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" | "kb" | "kib" => Some(10),
        "m" | "mb" | "mib" => Some(20),
        "g" | "gb" | "gib" => Some(30),
        _ => None,
    };
    let size = number.parse::<usize>().ok().zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
    size.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        format!("{shown:?} is no size; write bytes such as 65536, or \"64KiB\", \"32MiB\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn limits(text: &str) -> Result<Limits, String> {
        let config =
            Config::parse(&format!(r#"{{"mcpServers": {{"s": {{"command": "x", "limits": {text}}}}}}}"#)).unwrap();
        let Some(entry) = config.entries().first() else { return Err(config.problems()[0].reason().to_owned()) };
        assert!(config.warnings().is_empty());
        let mut limits = Limits::default();
        entry.bounds().apply(&mut limits);
        Ok(limits)
    }

    #[test]
    fn an_entry_sets_sizes_counts_and_times_by_their_names() {
        let set = limits(
            r#"{"maxMessage": "64MiB", "maxHead": "8 kb", "maxPages": 2, "exitGrace": "500ms", "settle": 0, "maxList": null}"#,
        );
        let expected = Limits {
            max_message: 64 << 20,
            max_head: 8 << 10,
            max_pages: 2,
            exit_grace: Duration::from_millis(500),
            settle: Duration::ZERO,
            ..Limits::default()
        };
        assert_eq!(set, Ok(expected));
        assert_eq!(limits("null"), Ok(Limits::default()));
    }

    #[test]
    fn what_can_not_be_a_limit_is_told() {
        for (text, why) in [
            (r#"{"maxMesage": 1}"#, "\"limits.maxMesage\" is no limit; did you mean \"maxMessage\"?"),
            (r#"{"maxMessage": "64MibX"}"#, "\"64MibX\" is no size"),
            (r#"{"maxMessage": -1}"#, "\"-1\" is no size"),
            (r#"{"maxMessage": "99999999999999999999g"}"#, "is no size"),
            (r#"{"maxMessage": true}"#, "has to be a number or text"),
            (r#"{"maxPages": 1.5}"#, "\"1.5\" is no whole number"),
            (r#"{"exitGrace": "soon"}"#, "\"limits.exitGrace\": \"soon\" is no duration"),
            ("7", "\"limits\" has to be an object"),
        ] {
            let told = limits(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
