//! Makes of whatever a server calls a schema one that is valid JSON Schema (2020-12): members of a wrong shape are
//! mended or removed, older drafts' forms written as today's, boolean schemas as objects.

use std::collections::HashSet;

use super::Pass;
use super::holds::Holds;
use super::tree::{Json, Object, join};
use crate::format::report::Effect::{Same, Wider};

const INVALID: &str = "it is no valid JSON Schema";
const OLDER: &str = "an older draft's form";
const BOOLEAN: &str = "not every model takes true or false as a schema";

const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// What a keyword's value has to be.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Positive,
    Count,
    Bool,
    List,
    Names,
    NameLists,
}

fn shape(keyword: &str) -> Option<Shape> {
    Some(match keyword {
        "$schema" | "$id" | "$ref" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$comment" | "title"
        | "description" | "format" | "pattern" | "contentEncoding" | "contentMediaType" => Shape::Text,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Shape::Number,
        "multipleOf" => Shape::Positive,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minContains" | "maxContains" | "minProperties"
        | "maxProperties" => Shape::Count,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" | "nullable" => Shape::Bool,
        "enum" | "examples" => Shape::List,
        "required" => Shape::Names,
        "dependentRequired" => Shape::NameLists,
        _ => return None,
    })
}

impl Pass<'_> {
    /// Mends a schema and all in it. A boolean one becomes an object.
    pub(super) fn mend(&mut self, schema: &mut Json, at: &str) {
        if let Some(accepts) = schema.as_bool() {
            let mut open = Object::new(at);
            if !accepts {
                open.set("not", Json::Object(Object::new(at)));
            }
            *schema = Json::Object(open);
            self.tell(at, format!("{accepts} written as an object"), BOOLEAN, Same);
        }
        let Some(object) = schema.as_object_mut() else {
            self.tell(at, "replaced by one that takes anything", INVALID, Wider);
            *schema = Json::Object(Object::new(at));
            return;
        };
        self.mend_types(object);
        self.mend_limits(object);
        self.mend_members(object);
        self.mend_tuple(object);
        self.mend_properties(object);
        self.mend_parts(object);
    }

    fn mend_types(&mut self, object: &mut Object) {
        let Some(given) = object.get("type").cloned() else { return };
        let listed = match &given {
            Json::Array(items) => items.clone(),
            one => vec![one.clone()],
        };
        let mut types: Vec<String> = Vec::new();
        for word in listed.iter().filter_map(Json::as_text).filter_map(known_type) {
            if !types.iter().any(|known| known == word) {
                types.push(word.to_owned());
            }
        }
        let any = listed.iter().any(|word| word.as_text().is_none_or(|word| known_type(word).is_none()));
        let sound = !any && types.len() == listed.len();
        let unchanged = sound && listed.iter().zip(&types).all(|(word, kind)| word.as_text() == Some(kind));
        if unchanged && !types.is_empty() {
            return;
        }
        let types = if any { Vec::new() } else { types }; // a word that means nothing allows anything
        self.tell(&object.place("type"), format!("type {} {}", given.write(), now(&types)), INVALID, Wider);
        object.set_types(&types);
    }

    /// `exclusiveMinimum: true` beside a `minimum`, as draft 4 had it.
    fn mend_limits(&mut self, object: &mut Object) {
        for (exclusive, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            let Some(is_exclusive) = object.get(exclusive).and_then(Json::as_bool) else { continue };
            object.take(exclusive);
            self.dated = true;
            self.tell(&object.place(exclusive), format!("{exclusive} written as a number"), OLDER, Same);
            if is_exclusive && let Some(bound) = object.take(limit) {
                object.set(exclusive, bound);
            }
        }
    }

    fn mend_members(&mut self, object: &mut Object) {
        for (key, value) in std::mem::take(&mut object.members) {
            match mended(&key, &value) {
                Mended::Fine => drop(object.members.insert(key, value)),
                Mended::Into(other, what) => {
                    self.tell(&object.place(&key), format!("{key} {what}"), INVALID, Same);
                    object.members.insert(key, other);
                }
                Mended::Nothing => {
                    // a `null` in place of nothing says nothing
                    let effect = if value.is_null() { Same } else { Wider };
                    self.tell(&object.place(&key), format!("{key} removed"), INVALID, effect);
                }
            }
        }
    }

    /// A list of schemas under `items`, as drafts up to 2019-09 had it, and `items: false`.
    fn mend_tuple(&mut self, object: &mut Object) {
        if let Some(Json::Array(_)) = object.get("items") {
            let items = object.take("items");
            let place = object.place("items");
            object.members.extend(items.map(|items| ("prefixItems".to_owned(), items)));
            if let Some(rest) = object.take("additionalItems") {
                object.set("items", rest);
            }
            self.dated = true;
            if object.list("prefixItems").is_empty() {
                object.take("prefixItems");
            }
            self.tell(&place, "items written as prefixItems", OLDER, Same);
        }
        if object.get("items").and_then(Json::as_bool) == Some(false) {
            object.take("items");
            let most = object.list("prefixItems").len() as i64;
            if object.get("maxItems").and_then(Json::as_integer).is_none_or(|given| given > most) {
                object.set("maxItems", Json::number(most));
            }
            self.tell(&object.place("items"), "items: false written as maxItems", BOOLEAN, Same);
        }
    }

    /// Properties that may not be given, and `required: true` inside a property, as draft 3 had it.
    fn mend_properties(&mut self, object: &mut Object) {
        let closed = object.get("additionalProperties").and_then(Json::as_bool) == Some(false);
        let mut required = object.names("required");
        let Some(Json::Object(properties)) = object.members.get_mut("properties") else { return };
        let at = properties.at.clone();
        properties.members.retain(|name, schema| {
            let place = join(&at, name);
            if schema.as_bool() == Some(false) {
                let effect = if closed { Same } else { Wider };
                self.tell(&place, format!("{name} removed, which may not be given"), BOOLEAN, effect);
                return false;
            }
            let Some(property) = schema.as_object_mut() else { return true };
            if let Some(needed) = property.get("required").and_then(Json::as_bool) {
                property.take("required");
                self.tell(&place, "required written where the object says it", OLDER, Same);
                if needed && !required.contains(name) {
                    required.push(name.clone());
                }
            }
            true
        });
        if required != object.names("required") {
            object.set_names("required", &required);
        }
    }

    fn mend_parts(&mut self, object: &mut Object) {
        let at = object.at.clone();
        for (key, value) in &mut object.members {
            let place = join(&at, key);
            let doubt = self.doubt;
            self.doubt |= self.is_doubtful(key);
            match (Holds::of(key), value) {
                (Holds::List, Json::Array(items)) => {
                    for (n, item) in items.iter_mut().enumerate() {
                        self.mend(item, &join(&place, &n.to_string()));
                    }
                }
                (Holds::Map, Json::Object(map)) => {
                    for (name, schema) in &mut map.members {
                        self.mend(schema, &join(&place, name));
                    }
                }
                // where true and false are what everybody writes
                (_, value) if value.as_bool().is_some() && key.ends_with("Properties") => {}
                (Holds::Schema, value) => self.mend(value, &place),
                _ => {}
            }
            self.doubt = doubt;
        }
    }
}

fn known_type(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let meant = match word.as_str() {
        "str" | "text" => "string",
        "int" => "integer",
        "float" | "double" => "number",
        "bool" => "boolean",
        "dict" | "map" => "object",
        "list" => "array",
        "none" => "null",
        other => other,
    };
    TYPES.into_iter().find(|known| *known == meant)
}

fn now(types: &[String]) -> String {
    if types.is_empty() { "removed".to_owned() } else { format!("read as {}", types.join(", ")) }
}

enum Mended {
    Fine,
    Into(Json, &'static str),
    Nothing,
}

/// What becomes of a member that may have the wrong shape.
fn mended(key: &str, value: &Json) -> Mended {
    let fine = |is_fine: bool| if is_fine { Mended::Fine } else { Mended::Nothing };
    let is_schema = |value: &Json| value.as_object().is_some() || value.as_bool().is_some();
    match Holds::of(key) {
        Holds::List => return fine(value.as_array().is_some_and(|items| !items.is_empty())),
        Holds::Map => return fine(value.as_object().is_some()),
        Holds::Schema => return fine(is_schema(value) || key == "items" && value.as_array().is_some()),
        Holds::Data => {}
    }
    let Some(shape) = shape(key) else { return Mended::Fine };
    match shape {
        Shape::Text if key == "pattern" => fine(value.as_text().is_some_and(crate::schema::is_pattern)),
        Shape::Text => fine(value.as_text().is_some()),
        Shape::Number => fine(value.as_number().is_some()),
        Shape::Positive => fine(value.as_number().is_some_and(|number| number > 0.0)),
        Shape::Count => fine(value.as_number().is_some_and(|number| number >= 0.0 && number.fract() == 0.0)),
        Shape::Bool => fine(value.as_bool().is_some()),
        Shape::List => mended_list(key, value),
        Shape::Names => mended_names(value),
        Shape::NameLists => {
            let lists = value.as_object().map(|map| map.members.values());
            fine(lists.is_some_and(|mut lists| lists.all(|list| matches!(mended_names(list), Mended::Fine))))
        }
    }
}

fn mended_list(key: &str, value: &Json) -> Mended {
    let Some(items) = value.as_array() else { return Mended::Nothing };
    if key != "enum" {
        return Mended::Fine;
    }
    let mut seen = HashSet::new();
    let single: Vec<Json> = items.iter().filter(|item| seen.insert(item.key())).cloned().collect();
    match single.len() {
        0 => Mended::Nothing,
        count if count == items.len() => Mended::Fine,
        _ => Mended::Into(Json::Array(single), "without repeats"),
    }
}

fn mended_names(value: &Json) -> Mended {
    let Some(items) = value.as_array() else { return Mended::Nothing };
    let mut seen = HashSet::new();
    let names: Vec<&str> = items.iter().filter_map(Json::as_text).filter(|name| seen.insert(*name)).collect();
    if names.len() == items.len() {
        return Mended::Fine;
    }
    Mended::Into(Json::Array(names.into_iter().map(Json::text).collect()), "without repeats and what is no name")
}
