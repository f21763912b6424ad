//! The schema that says what two schemas say together, as near as one can.

use super::Pass;
use super::keywords::note;
use super::tree::{Json, Object};
use crate::format::report::Effect::Wider;

const BOTH: &str = "one schema can't say both";

/// How two values of one keyword become one.
enum Joined {
    Kept,
    Into(Json),
    /// The second is lost.
    Lost,
}

impl Pass<'_> {
    /// Adds to `object` what `other` demands.
    pub(super) fn merge(&mut self, object: &mut Object, mut other: Object) {
        self.merge_closed(object, &other);
        for group in [["if", "then", "else"], ["contains", "minContains", "maxContains"]] {
            if object.has(group[0]) && other.has(group[0]) && object.get(group[0]) != other.get(group[0]) {
                self.tell(&other.place(group[0]), format!("{} left out", group[0]), BOTH, Wider);
                other.members.retain(|key, _| !group.contains(&key.as_str()));
            }
        }
        let mut notes = Vec::new();
        for (key, theirs) in other.members {
            let place = super::tree::join(&other.at, &key);
            let Some(ours) = object.members.get_mut(&key) else {
                object.members.insert(key, theirs);
                continue;
            };
            if *ours == theirs {
                continue;
            }
            match (key.as_str(), &mut *ours, theirs) {
                (
                    "properties" | "patternProperties" | "$defs" | "definitions",
                    Json::Object(ours),
                    Json::Object(theirs),
                ) => {
                    self.merge_maps(ours, theirs);
                }
                ("items" | "additionalProperties", Json::Object(ours), Json::Object(theirs)) => {
                    self.merge(ours, theirs)
                }
                (key, ours, theirs) => match joined(key, ours, &theirs) {
                    Joined::Kept => {}
                    Joined::Into(both) => *ours = both,
                    Joined::Lost => {
                        self.tell(&place, format!("{key} {} left out", short(&theirs)), BOTH, Wider);
                        if matches!(key, "pattern" | "format" | "multipleOf") {
                            notes.push(format!("{key} also {}", short(&theirs)));
                        }
                    }
                },
            }
        }
        note(object, &notes);
    }

    fn merge_maps(&mut self, ours: &mut Object, theirs: Object) {
        for (name, theirs) in theirs.members {
            match (ours.members.get_mut(&name), theirs) {
                (Some(Json::Object(ours)), Json::Object(theirs)) => self.merge(ours, theirs),
                (Some(_), _) => {}
                (None, theirs) => drop(ours.members.insert(name, theirs)),
            }
        }
    }

    /// An object that takes no other properties than its own, beside one that has others: both get all.
    fn merge_closed(&mut self, object: &Object, other: &Object) {
        let opens = |closed: &Object, open: &Object| {
            let limits = closed.get("additionalProperties").is_some_and(|rest| rest.as_bool() != Some(true));
            let known = |name: &String| closed.object("properties").is_some_and(|map| map.has(name));
            let patterns =
                open.has("patternProperties") && open.get("patternProperties") != closed.get("patternProperties");
            limits && (patterns || open.properties().any(|(name, _)| !known(name)))
        };
        if opens(object, other) || opens(other, object) {
            let place = other.place("additionalProperties");
            self.tell(&place, "takes the properties of the other part too", BOTH, Wider);
        }
        let items = |a: &Object, b: &Object| a.has("prefixItems") && b.has("items") && !b.has("prefixItems");
        if items(object, other) || items(other, object) {
            self.tell(&other.place("items"), "says only what comes after prefixItems", BOTH, Wider);
        }
    }
}

fn joined(key: &str, ours: &Json, theirs: &Json) -> Joined {
    match key {
        "type" => types(ours, theirs),
        "required" => Joined::Into(united(ours, theirs)),
        "enum" => common(ours, theirs),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" | "minContains" => {
            bound(ours, theirs, |ours, theirs| theirs > ours)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" | "maxContains" => {
            bound(ours, theirs, |ours, theirs| theirs < ours)
        }
        "additionalProperties" => match (ours.as_bool(), theirs.as_bool()) {
            (Some(false), _) | (_, Some(true)) => Joined::Kept,
            _ => Joined::Into(theirs.clone()),
        },
        "uniqueItems" => Joined::Into(Json::bool(true)),
        "description" => match (ours.as_text(), theirs.as_text()) {
            (Some(ours), Some(theirs)) if !ours.contains(theirs) => {
                Joined::Into(Json::text(format!("{ours} {theirs}")))
            }
            _ => Joined::Kept,
        },
        "allOf" => match (ours, theirs) {
            (Json::Array(ours), Json::Array(theirs)) => Joined::Into(Json::Array([&ours[..], theirs].concat())),
            _ => Joined::Kept,
        },
        "title" | "default" | "examples" | "example" | "$comment" | "$id" | "$schema" | "$anchor" | "deprecated"
        | "readOnly" | "writeOnly" => Joined::Kept,
        _ => Joined::Lost,
    }
}

fn types(ours: &Json, theirs: &Json) -> Joined {
    let read = |types: &Json| Object::new("").with("type", types.clone()).types();
    let (ours, theirs) = (read(ours), read(theirs));
    let has = |types: &[String], kind: &str| types.iter().any(|known| known == kind);
    let mut both: Vec<String> = Vec::new();
    for kind in &ours {
        if has(&theirs, kind) || kind == "integer" && has(&theirs, "number") {
            both.push(kind.clone());
        } else if kind == "number" && has(&theirs, "integer") {
            both.push("integer".to_owned());
        }
    }
    if both.is_empty() {
        return Joined::Lost;
    }
    let mut out = Object::new("");
    out.set_types(&both);
    out.take("type").map_or(Joined::Lost, Joined::Into)
}

fn united(ours: &Json, theirs: &Json) -> Json {
    let mut all = ours.as_array().unwrap_or_default().to_vec();
    for name in theirs.as_array().unwrap_or_default() {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    Json::Array(all)
}

fn common(ours: &Json, theirs: &Json) -> Joined {
    let (ours, theirs) = (ours.as_array().unwrap_or_default(), theirs.as_array().unwrap_or_default());
    let both: Vec<_> = ours.iter().filter(|value| theirs.contains(value)).cloned().collect();
    if both.is_empty() { Joined::Lost } else { Joined::Into(Json::Array(both)) }
}

fn bound(ours: &Json, theirs: &Json, tighter: impl Fn(f64, f64) -> bool) -> Joined {
    match (ours.as_number(), theirs.as_number()) {
        (Some(a), Some(b)) if tighter(a, b) => Joined::Into(theirs.clone()),
        _ => Joined::Kept,
    }
}

/// A value in so many words.
pub(super) fn short(value: &Json) -> String {
    const LONGEST: usize = 120;
    let text = value.write().to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
