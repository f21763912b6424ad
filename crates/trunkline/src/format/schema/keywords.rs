//! Keywords that a dialect doesn't take: removed, and put into the description where that helps a model.

use super::Pass;
use super::merge::short;
use super::rules::Patterns;
use super::tree::{Json, Object, join};
use crate::format::report::Effect::{self, Same, Wider};

const NOT_TAKEN: &str = "the keyword isn't taken";
const VALUE_NOT_TAKEN: &str = "this value isn't taken";

/// Adds a sentence to a schema's description.
pub(super) fn describe(object: &mut Object, words: &str) {
    let text = match object.text("description") {
        Some(given) if !given.trim().is_empty() => format!("{} {words}", given.trim_end()),
        _ => words.to_owned(),
    };
    object.set("description", Json::text(text));
}

impl Pass<'_> {
    /// Patterns, formats and limits that are taken only in part.
    pub(super) fn words(&mut self, object: &mut Object) {
        let mut notes = Vec::new();
        let bad_pattern =
            self.rules.patterns == Patterns::Plain && object.text("pattern").is_some_and(|text| !is_plain(text));
        if bad_pattern && self.rules.takes("pattern") {
            notes.extend(self.remove(object, "pattern", VALUE_NOT_TAKEN, Wider));
        }
        let formats = self.rules.formats.unwrap_or_default();
        let bad_format =
            self.rules.formats.is_some() && object.text("format").is_some_and(|text| !formats.contains(&text));
        if bad_format && self.rules.takes("format") {
            notes.extend(self.remove(object, "format", VALUE_NOT_TAKEN, Same));
        }
        if self.rules.patterns == Patterns::Plain && self.rules.takes("patternProperties") {
            self.pattern_properties(object);
        }
        note(object, &notes);
    }

    fn pattern_properties(&mut self, object: &mut Object) {
        let place = object.place("patternProperties");
        let closed = object.get("additionalProperties").is_some_and(|rest| rest.as_bool() != Some(true));
        let Some(Json::Object(map)) = object.members.get_mut("patternProperties") else { return };
        let bad: Vec<_> = map.members.keys().filter(|pattern| !is_plain(pattern)).cloned().collect();
        for pattern in &bad {
            map.take(pattern);
            self.tell(&join(&place, pattern), "removed", VALUE_NOT_TAKEN, Wider);
        }
        if !bad.is_empty() && closed {
            object.take("additionalProperties");
            self.tell(
                &object.place("additionalProperties"),
                "removed, since names by that pattern are taken",
                VALUE_NOT_TAKEN,
                Wider,
            );
        }
    }

    /// Removes whatever the dialect doesn't know.
    pub(super) fn keywords(&mut self, object: &mut Object) {
        if self.rules.keywords.is_none() {
            return;
        }
        let unknown: Vec<String> = object.members.keys().filter(|key| !self.rules.takes(key)).cloned().collect();
        let mut notes = Vec::new();
        for key in unknown {
            if key == "patternProperties" {
                self.open(object);
            }
            if key == "title" && !object.has("description") {
                let title = object.text("title").unwrap_or_default().to_owned();
                object.set("description", Json::text(title));
            }
            let effect = effect(&key, object.get(&key));
            notes.extend(self.remove(object, &key, NOT_TAKEN, effect));
        }
        note(object, &notes);
    }

    /// An object that takes names by a pattern can't stay closed without it.
    fn open(&mut self, object: &mut Object) {
        let patterns = object.object("patternProperties").is_some_and(|map| !map.members.is_empty());
        let closed = object.get("additionalProperties").is_some_and(|rest| rest.as_bool() != Some(true));
        if patterns && self.rules.strict.is_some() {
            self.unfit(&object.place("patternProperties"), "its names are told by a pattern");
        }
        if patterns && closed && self.rules.takes("additionalProperties") {
            object.take("additionalProperties");
            let what = "removed, since names by a pattern are taken";
            self.tell(&object.place("additionalProperties"), what, NOT_TAKEN, Wider);
        }
    }

    /// Removes a member and tells; gives the words for the description, where a model should know.
    pub(super) fn remove(
        &mut self,
        object: &mut Object,
        key: &str,
        why: &'static str,
        effect: Effect,
    ) -> Option<String> {
        let value = object.take(key)?;
        self.tell(&object.place(key), format!("{key} removed: {}", short(&value)), why, effect);
        is_telling(key, &value).then(|| match value.as_text() {
            Some(text) => format!("{key}: {text}"),
            None => format!("{key}: {}", short(&value)),
        })
    }

    /// Exclusive limits of whole numbers, written as inclusive ones.
    pub(super) fn limits(&mut self, object: &mut Object) {
        if object.types() != ["integer"] {
            return;
        }
        for (exclusive, inclusive, step) in [("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)] {
            let next = object.get(exclusive).and_then(Json::as_integer).and_then(|limit| limit.checked_add(step));
            let (Some(next), false) = (next, self.rules.takes(exclusive)) else { continue };
            object.take(exclusive);
            let given = object.get(inclusive).and_then(Json::as_number);
            let tighter = given.is_none_or(|given| (next as f64 - given) * step as f64 > 0.0);
            if tighter {
                object.set(inclusive, Json::number(next));
            }
            self.tell(&object.place(exclusive), format!("{exclusive} written as {inclusive}"), NOT_TAKEN, Same);
        }
    }

    /// Notes why a tool can't be had in a strict dialect.
    pub(super) fn unfit(&mut self, place: &str, why: &str) {
        let place = if place.is_empty() { "/" } else { place };
        self.unfit.get_or_insert_with(|| format!("{place}: {why}"));
    }
}

/// Puts what was removed into the description.
pub(super) fn note(object: &mut Object, notes: &[String]) {
    if !notes.is_empty() {
        describe(object, &format!("({})", notes.join("; ")));
    }
}

/// What the loss of a keyword does.
fn effect(key: &str, value: Option<&Json>) -> Effect {
    let takes_anything = |value: &Json| {
        value.as_bool() == Some(true) || value.as_object().is_some_and(|schema| schema.members.is_empty())
    };
    match key {
        "minLength" | "maxLength" | "pattern" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"
        | "multipleOf" | "minItems" | "maxItems" | "contains" | "minContains" | "maxContains" | "minProperties"
        | "maxProperties" | "propertyNames" | "patternProperties" | "dependentRequired" | "dependentSchemas"
        | "dependencies" | "not" | "if" | "then" | "else" | "enum" | "const" | "$ref" => Wider,
        "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" => match value {
            Some(value) if takes_anything(value) => Same,
            _ => Wider,
        },
        "uniqueItems" if value.and_then(Json::as_bool) == Some(true) => Wider,
        _ => Same,
    }
}

/// Whether a model should be told of a keyword that it can't be shown.
fn is_telling(key: &str, value: &Json) -> bool {
    let only_for_programs = key.starts_with('$')
        || key.starts_with("x-")
        || matches!(
            key,
            "title"
                | "deprecated"
                | "readOnly"
                | "writeOnly"
                | "nullable"
                | "discriminator"
                | "xml"
                | "externalDocs"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "definitions"
                | "id"
        );
    match value {
        _ if only_for_programs => {
            key == "additionalProperties" && value.as_object().is_some_and(|rest| !rest.members.is_empty())
        }
        value => !value.is_null() && value.as_bool() != Some(false) || key == "default",
    }
}

/// Whether both Python and an engine without backtracking take a pattern.
fn is_plain(pattern: &str) -> bool {
    // their forms for the Unicode properties and for named groups differ
    let foreign = ["\\p", "\\P", "(?<", "(?P", "\\z", "\\A", "\\x{", "\\u{", "&&", "--", "~~"];
    let escaped = pattern.replace("\\\\", "");
    !foreign.iter().any(|form| escaped.contains(form)) && regex::Regex::new(pattern).is_ok()
}
