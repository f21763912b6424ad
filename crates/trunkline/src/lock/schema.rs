//! Two JSON Schemas compared: whether the new one takes (or gives) less or more than the old one. What it can't tell
//! counts as breaking.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Change, Severity};
use super::suspicion::step;
use crate::protocol::RawJson;

/// Whose values a schema describes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Arguments: to take less is breaking.
    Input,
    /// Results: to give more kinds is breaking.
    Output,
}

/// Which way a schema moved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Move {
    Narrower,
    Wider,
    Both,
    Neither,
}

impl Move {
    fn of(narrower: bool, wider: bool) -> Self {
        match (narrower, wider) {
            (true, true) => Self::Both,
            (true, false) => Self::Narrower,
            (false, true) => Self::Wider,
            (false, false) => Self::Neither,
        }
    }
}

type Members = BTreeMap<String, RawJson>;
type Pair<'a> = (Option<&'a RawJson>, Option<&'a RawJson>);

/// The changes from one schema to another; both in canonical form, nothing meaning that anything goes.
pub(super) fn changes(pointer: &str, old: Option<&RawJson>, new: Option<&RawJson>, side: Side) -> Vec<Change> {
    let mut comparing = Comparing { side, found: Vec::new() };
    comparing.schemas(pointer, (old, new));
    comparing.found
}

struct Comparing {
    side: Side,
    found: Vec<Change>,
}

impl Comparing {
    fn tell(&mut self, severity: Severity, pointer: &str, what: impl Into<String>, (old, new): Pair<'_>) {
        let (pointer, what) = (pointer.to_owned(), what.into());
        self.found.push(Change { severity, pointer, what, old: old.cloned(), new: new.cloned() });
    }

    fn moved(&mut self, moved: Move, pointer: &str, what: impl Into<String>, pair: Pair<'_>) {
        let breaking = match (moved, self.side) {
            (Move::Both, _) | (Move::Narrower, Side::Input) | (Move::Wider, Side::Output) => true,
            (Move::Neither, _) | (Move::Wider, Side::Input) | (Move::Narrower, Side::Output) => false,
        };
        let severity = if breaking { Severity::Breaking } else { Severity::Compatible };
        self.tell(severity, pointer, what, pair);
    }

    fn schemas(&mut self, pointer: &str, pair: Pair<'_>) {
        if pair.0 == pair.1 || is_any(pair.0) && is_any(pair.1) {
            return;
        }
        let is_schema = |schema: Option<&RawJson>| is_any(schema) || schema.is_some_and(RawJson::is_object);
        match (is_schema(pair.0), is_schema(pair.1)) {
            (true, true) => self.keywords(pointer, pair),
            (true, false) => self.moved(Move::Narrower, pointer, "takes nothing any more", pair),
            (false, true) => self.moved(Move::Wider, pointer, "takes something now", pair),
            (false, false) => self.moved(Move::Both, pointer, "changed", pair),
        }
    }

    fn keywords(&mut self, pointer: &str, (old, new): Pair<'_>) {
        let (old, new) = (members(old), members(new));
        for key in keys(&old, &new) {
            let pair = (old.get(key), new.get(key));
            if pair.0 == pair.1 {
                continue;
            }
            let at = step(pointer, key);
            match key.as_str() {
                "title" | "description" | "$comment" | "examples" => {
                    self.tell(Severity::Text, &at, format!("the {key} {}", came(pair)), pair);
                }
                "default" if pair.0.is_none() => self.tell(Severity::Compatible, &at, "has a default now", pair),
                "default" => self.tell(Severity::Breaking, &at, format!("the default {}", came(pair)), pair),
                "properties" => self.properties(&at, pair),
                "required" => self.required(&at, pair),
                "type" => self.types(&at, pair),
                "enum" => self.values(&at, pair),
                "$defs" | "definitions" => self.definitions(&at, pair),
                "patternProperties" | "dependentSchemas" => self.named_schemas(&at, pair),
                "items"
                | "additionalItems"
                | "additionalProperties"
                | "propertyNames"
                | "contains"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "then"
                | "else" => self.schemas(&at, pair),
                "anyOf" | "oneOf" if pair.0.is_none() => self.moved(Move::Narrower, &at, format!("{key} is new"), pair),
                "anyOf" | "oneOf" if pair.1.is_none() => self.moved(Move::Wider, &at, format!("{key} is gone"), pair),
                "anyOf" | "oneOf" => self.branches(&at, pair, Move::Wider, Move::Narrower),
                "allOf" => self.branches(&at, pair, Move::Narrower, Move::Wider),
                "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" | "minContains" => {
                    self.bound(&at, key, pair, |old, new| new > old);
                }
                "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" | "maxContains" => {
                    self.bound(&at, key, pair, |old, new| new < old);
                }
                "$schema" | "$id" | "$anchor" | "deprecated" | "readOnly" | "writeOnly" => {
                    self.tell(Severity::Compatible, &at, format!("{key} {}", came(pair)), pair);
                }
                key if key.starts_with("x-") => {
                    self.tell(Severity::Compatible, &at, format!("{key} {}", came(pair)), pair);
                }
                // const, not, if, pattern, format, $ref, ...: there it is a condition, and which one can't be told
                key => {
                    let moved = Move::of(pair.1.is_some(), pair.0.is_some());
                    self.moved(moved, &at, format!("{key} {}", came(pair)), pair);
                }
            }
        }
    }

    fn properties(&mut self, pointer: &str, (old, new): Pair<'_>) {
        let (old, new) = (members(old), members(new));
        for key in keys(&old, &new) {
            let (pair, at) = ((old.get(key), new.get(key)), step(pointer, key));
            match pair {
                (Some(_), Some(_)) => self.schemas(&at, pair),
                (None, _) => self.tell(Severity::Compatible, &at, format!("\"{key}\" is new"), pair),
                (_, None) => self.tell(Severity::Breaking, &at, format!("\"{key}\" is gone"), pair),
            }
        }
    }

    fn required(&mut self, pointer: &str, pair: Pair<'_>) {
        let (old, new) = (texts(pair.0), texts(pair.1));
        for (names, moved, now) in [
            (new.difference(&old), Move::Narrower, "is required now"),
            (old.difference(&new), Move::Wider, "is no longer required"),
        ] {
            let names: Vec<_> = names.map(|name| format!("\"{name}\"")).collect();
            if !names.is_empty() {
                self.moved(moved, pointer, format!("{} {now}", names.join(", ")), pair);
            }
        }
    }

    fn types(&mut self, pointer: &str, pair: Pair<'_>) {
        let sets = (pair.0.map(|set| texts(Some(set))), pair.1.map(|set| texts(Some(set))));
        let covered =
            |name: &String, by: &BTreeSet<String>| by.contains(name) || name == "integer" && by.contains("number");
        let less = |of: &Option<BTreeSet<String>>, by: &Option<BTreeSet<String>>| match (of, by) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(of), Some(by)) => !of.iter().all(|name| covered(name, by)),
        };
        let moved = Move::of(less(&sets.0, &sets.1), less(&sets.1, &sets.0));
        let what = match moved {
            Move::Narrower => "the type is narrower",
            Move::Wider => "the type is wider",
            Move::Both | Move::Neither => "the type is another",
        };
        self.moved(moved, pointer, what, pair);
    }

    fn values(&mut self, pointer: &str, pair: Pair<'_>) {
        let set =
            |raw: Option<&RawJson>| raw.map(|raw| raw.items().map(|item| item.to_string()).collect::<BTreeSet<_>>());
        let (old, new) = match (set(pair.0), set(pair.1)) {
            (Some(old), Some(new)) => (old, new),
            (None, _) => return self.moved(Move::Narrower, pointer, "only some values are left", pair),
            (_, None) => return self.moved(Move::Wider, pointer, "any value goes now", pair),
        };
        for (values, moved, now) in [
            (old.difference(&new), Move::Narrower, "is no value any more"),
            (new.difference(&old), Move::Wider, "is a value now"),
        ] {
            let values: Vec<_> = values.map(String::as_str).collect();
            if !values.is_empty() {
                self.moved(moved, pointer, format!("{} {now}", values.join(", ")), pair);
            }
        }
    }

    /// What is only defined has no effect until it is used.
    fn definitions(&mut self, pointer: &str, (old, new): Pair<'_>) {
        let (old, new) = (members(old), members(new));
        for key in keys(&old, &new) {
            let (pair, at) = ((old.get(key), new.get(key)), step(pointer, key));
            match pair {
                (Some(_), Some(_)) => self.schemas(&at, pair),
                _ => self.tell(Severity::Compatible, &at, format!("the definition {}", came(pair)), pair),
            }
        }
    }

    fn named_schemas(&mut self, pointer: &str, (old, new): Pair<'_>) {
        let (old, new) = (members(old), members(new));
        for key in keys(&old, &new) {
            self.schemas(&step(pointer, key), (old.get(key), new.get(key)));
        }
    }

    /// Lists of schemas: those that stand in both don't count, the others are compared in pairs.
    fn branches(&mut self, pointer: &str, (old, new): Pair<'_>, added: Move, removed: Move) {
        let items = |raw: Option<&RawJson>| raw.map(|raw| raw.items().collect::<Vec<_>>()).unwrap_or_default();
        let (all_old, all_new) = (items(old), items(new));
        let rest_old: Vec<_> = all_old.iter().filter(|item| !all_new.contains(item)).collect();
        let rest_new: Vec<_> = all_new.iter().enumerate().filter(|(_, item)| !all_old.contains(item)).collect();
        if rest_old.is_empty() && rest_new.is_empty() {
            return self.moved(Move::Neither, pointer, "the order changed", (old, new));
        }
        for at in 0..rest_old.len().max(rest_new.len()) {
            match (rest_old.get(at), rest_new.get(at)) {
                (Some(one), Some((index, other))) => {
                    self.schemas(&step(pointer, &index.to_string()), (Some(one), Some(other)));
                }
                (None, Some((index, other))) => {
                    let pointer = step(pointer, &index.to_string());
                    self.moved(added, &pointer, "a choice is new", (None, Some(other)));
                }
                (one, _) => self.moved(removed, pointer, "a choice is gone", (one.copied(), None)),
            }
        }
    }

    fn bound(&mut self, pointer: &str, key: &str, pair: Pair<'_>, tighter: impl Fn(f64, f64) -> bool) {
        let number = |raw: Option<&RawJson>| raw.and_then(|raw| raw.decode::<f64>().ok());
        let moved = match (pair, number(pair.0), number(pair.1)) {
            ((None, _), ..) => Move::Narrower,
            ((_, None), ..) => Move::Wider,
            (_, Some(old), Some(new)) if old != new => Move::of(tighter(old, new), !tighter(old, new)),
            _ => Move::Both,
        };
        self.moved(moved, pointer, format!("{key} {}", came(pair)), pair);
    }
}

/// Whether a schema takes anything.
fn is_any(schema: Option<&RawJson>) -> bool {
    schema.is_none_or(|schema| matches!(schema.as_bytes(), b"true" | b"{}"))
}

fn members(raw: Option<&RawJson>) -> Members {
    raw.map(|raw| raw.members().collect()).unwrap_or_default()
}

fn keys<'a>(old: &'a Members, new: &'a Members) -> BTreeSet<&'a String> {
    old.keys().chain(new.keys()).collect()
}

/// A text or a list of texts.
fn texts(raw: Option<&RawJson>) -> BTreeSet<String> {
    let Some(raw) = raw else { return BTreeSet::new() };
    raw.items().chain([raw.clone()]).filter_map(|item| item.as_text()).collect()
}

/// What became of a value.
pub(super) fn came(pair: Pair<'_>) -> &'static str {
    match pair {
        (None, _) => "is new",
        (_, None) => "is gone",
        _ => "changed",
    }
}
