//! Whether the params of a call are the recorded ones, and where they differ.

use std::collections::BTreeMap;

use super::MASK;
use crate::protocol::RawJson;

/// What counts as the same call.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    /// In the recorded order, each call as often as it was recorded, numbers spelt as they were.
    pub(super) strict: bool,
    /// Places whose values don't count, as JSON pointers split at their slashes; `*` is any key or index.
    pub(super) ignored: Vec<Vec<String>>,
}

/// A place where two values differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// A JSON pointer (RFC 6901) without its escapes.
    pub(super) path: String,
    pub(super) recorded: Option<RawJson>,
    pub(super) given: Option<RawJson>,
}

impl Rules {
    /// Adds a place that doesn't count.
    pub(super) fn ignore(&mut self, pointer: &str) {
        self.ignored.push(pointer.trim_matches('/').split('/').map(str::to_owned).collect());
    }

    /// Where `given` differs from what was recorded. A mask in the recorded text stands for anything.
    pub(super) fn differences(&self, recorded: &RawJson, given: &RawJson) -> Vec<Difference> {
        self.compare(recorded, given, usize::MAX, true)
    }

    /// Whether there is no difference.
    pub(super) fn fits(&self, recorded: &RawJson, given: &RawJson) -> bool {
        self.compare(recorded, given, 1, true).is_empty()
    }

    /// Whether there is no difference even if a mask stands for itself alone.
    pub(super) fn are_equal(&self, recorded: &RawJson, given: &RawJson) -> bool {
        self.compare(recorded, given, 1, false).is_empty()
    }

    fn compare(&self, recorded: &RawJson, given: &RawJson, enough: usize, masks: bool) -> Vec<Difference> {
        let mut comparing = Comparing { rules: self, masks, enough, path: Vec::new(), found: Vec::new() };
        comparing.values(recorded, given);
        comparing.found
    }
}

struct Comparing<'a> {
    rules: &'a Rules,
    masks: bool,
    /// With so many differences there is no need to look for more.
    enough: usize,
    path: Vec<String>,
    found: Vec<Difference>,
}

impl Comparing<'_> {
    fn values(&mut self, recorded: &RawJson, given: &RawJson) {
        if self.masks && stands_for(recorded, given) {
            return;
        }
        if recorded.is_object() && given.is_object() {
            return self.objects(recorded.members().collect(), given.members().collect());
        }
        if recorded.is_array() && given.is_array() {
            return self.arrays(recorded.items().collect(), given.items().collect());
        }
        if !self.same_scalar(recorded, given) {
            self.differ(Some(recorded), Some(given));
        }
    }

    fn objects(&mut self, recorded: BTreeMap<String, RawJson>, mut given: BTreeMap<String, RawJson>) {
        let mut missing = Vec::new();
        for (key, recorded) in recorded {
            match given.remove(&key) {
                Some(given) => self.at(key, Some(&recorded), Some(&given)),
                None => missing.push((key, recorded)),
            }
        }
        for (key, recorded) in missing {
            let masked = self.masks && key.contains(MASK);
            match given.keys().find(|other| masked && text_stands_for(&key, other)).cloned() {
                Some(other) => self.at(key, Some(&recorded), given.remove(&other).as_ref()),
                None => self.at(key, Some(&recorded), None),
            }
        }
        for (key, given) in given {
            self.at(key, None, Some(&given));
        }
    }

    fn arrays(&mut self, recorded: Vec<RawJson>, given: Vec<RawJson>) {
        for at in 0..recorded.len().max(given.len()) {
            self.at(at.to_string(), recorded.get(at), given.get(at));
        }
    }

    /// Compares what stands at a key or index, unless that doesn't count.
    fn at(&mut self, key: String, recorded: Option<&RawJson>, given: Option<&RawJson>) {
        if self.found.len() >= self.enough {
            return;
        }
        self.path.push(key);
        if !self.is_ignored() {
            match (recorded, given) {
                (Some(recorded), Some(given)) => self.values(recorded, given),
                (recorded, given) => self.differ(recorded, given),
            }
        }
        self.path.pop();
    }

    fn is_ignored(&self) -> bool {
        let fits = |ignored: &Vec<String>| {
            ignored.len() == self.path.len() && ignored.iter().zip(&self.path).all(|(i, key)| i == "*" || i == key)
        };
        self.rules.ignored.iter().any(fits)
    }

    fn differ(&mut self, recorded: Option<&RawJson>, given: Option<&RawJson>) {
        let path = self.path.iter().fold(String::new(), |path, key| path + "/" + key);
        self.found.push(Difference { path, recorded: recorded.cloned(), given: given.cloned() });
    }

    fn same_scalar(&self, recorded: &RawJson, given: &RawJson) -> bool {
        if recorded.as_bytes().trim_ascii() == given.as_bytes().trim_ascii() {
            return true;
        }
        match (recorded.as_text(), given.as_text()) {
            (Some(recorded), Some(given)) => recorded == given,
            (None, None) => !self.rules.strict && same_number(recorded, given),
            _ => false,
        }
    }
}

/// Whether two numbers are the same, as far as `f64` can tell: `1`, `1.0` and `1e0` are.
fn same_number(recorded: &RawJson, given: &RawJson) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0; // up to here every integer is an f64
    match (recorded.decode::<f64>(), given.decode::<f64>()) {
        (Ok(recorded), Ok(given)) => recorded == given && recorded.abs() < EXACT,
        _ => false,
    }
}

/// Whether the recorded text has a mask that can stand for what is given: a mask alone for any value.
fn stands_for(recorded: &RawJson, given: &RawJson) -> bool {
    let Some(pattern) = recorded.as_text().filter(|text| text.contains(MASK)) else { return false };
    pattern == MASK || given.as_text().is_some_and(|text| text_stands_for(&pattern, &text))
}

fn text_stands_for(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once(MASK) else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<_> = rest.split(MASK).collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rules: &Rules, recorded: &'static str, given: &'static str) -> Vec<String> {
        let raw = |text: &'static str| RawJson::parse(text).unwrap();
        let told = |value: &Option<RawJson>| value.as_ref().map_or("-".to_owned(), ToString::to_string);
        let differences = rules.differences(&raw(recorded), &raw(given));
        differences.iter().map(|d| format!("{} {} {}", d.path, told(&d.recorded), told(&d.given))).collect()
    }

    #[test]
    fn json_is_compared_by_what_it_says() {
        let loose = Rules::default();
        for (recorded, given) in [
            (r#"{"a":1,"b":[true,null]}"#, r#"{ "b" : [true, null], "a" : 1.0 }"#),
            (r#"{"a":"\u00e9\/"}"#, r#"{"a":"é/"}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            ("1e2", "100"),
            (r#"{"a":123456789012345678901234567890}"#, r#"{"a":123456789012345678901234567890}"#),
        ] {
            assert_eq!(found(&loose, recorded, given), [""; 0], "{recorded} {given}");
        }
        for (recorded, given, difference) in [
            (r#"{"a":{"b":[1,2]}}"#, r#"{"a":{"b":[1,3]}}"#, "/a/b/1 2 3"),
            (r#"{"a":[1]}"#, r#"{"a":[1,2]}"#, "/a/1 - 2"),
            (r#"{"a":1}"#, r#"{}"#, "/a 1 -"),
            (r#"{}"#, r#"{"a":null}"#, "/a - null"),
            (r#"{"a":1}"#, r#"{"a":"1"}"#, "/a 1 \"1\""),
            (r#"{"a":true}"#, r#"{"a":1}"#, "/a true 1"),
            ("9007199254740993", "9007199254740992", " 9007199254740993 9007199254740992"),
        ] {
            assert_eq!(found(&loose, recorded, given), [difference]);
        }
        let strict = Rules { strict: true, ..Rules::default() };
        assert_eq!(found(&strict, r#"{"a":1}"#, r#"{"a":1.0}"#), ["/a 1 1.0"]);
        assert_eq!(found(&strict, r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#), [""; 0]);
    }

    #[test]
    fn ignored_places_do_not_count_there_or_not() {
        let mut rules = Rules::default();
        rules.ignore("/arguments/now");
        rules.ignore("list/*/id");
        assert_eq!(found(&rules, r#"{"arguments":{"now":1}}"#, r#"{"arguments":{"now":{"x":2}}}"#), [""; 0]);
        assert_eq!(found(&rules, r#"{"arguments":{"now":1}}"#, r#"{"arguments":{}}"#), [""; 0]);
        assert_eq!(found(&rules, r#"{"list":[{"id":1},{"id":2}]}"#, r#"{"list":[{"id":3},{}]}"#), [""; 0]);
        assert_eq!(found(&rules, r#"{"now":1}"#, r#"{"now":2}"#), ["/now 1 2"]);
    }

    #[test]
    fn a_mask_stands_for_what_was_secret() {
        let rules = Rules::default();
        for given in [r#"{"t":"Bearer abc"}"#, r#"{"t":"Bearer ***"}"#, r#"{"t":"Bearer "}"#] {
            assert_eq!(found(&rules, r#"{"t":"Bearer ***"}"#, given), [""; 0]);
        }
        assert_eq!(found(&rules, r#"{"t":"***"}"#, r#"{"t":123}"#), [""; 0]);
        assert_eq!(found(&rules, r#"{"***":1}"#, r#"{"abc":1}"#), [""; 0]);
        assert_eq!(found(&rules, r#"{"t":"a***b***c"}"#, r#"{"t":"axbycbc"}"#), [""; 0]);
        for given in ["\"axb\"", "\"xbc\"", "\"a\"", "7"] {
            assert_eq!(found(&rules, "\"a***b***c\"", given).len(), 1, "{given}");
        }
        let raw = |text: &'static str| RawJson::parse(text).unwrap();
        assert!(!rules.are_equal(&raw("\"***\""), &raw("\"x\"")));
        assert!(rules.are_equal(&raw("\"***\""), &raw("\"***\"")));
    }
}
