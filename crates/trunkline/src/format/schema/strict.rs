//! What the strict modes ask for on top: closed objects, everything required, bounded size. Tells why a tool can't
//! be had that way.

use std::collections::HashSet;

use super::Pass;
use super::back::Marks;
use super::rules::Strict;
use super::tree::{Json, Object, join};
use crate::format::report::Effect::{Narrower, Same, Wider};

const CLOSED: &str = "strict objects are closed";
const REQUIRED: &str = "strict objects require everything";
const BOUND: &str = "the strict mode doesn't take it";

/// What counts towards a provider's bounds.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::format) struct Size {
    pub(in crate::format) properties: usize,
    pub(in crate::format) optional: usize,
    pub(in crate::format) unions: usize,
    values: usize,
    text: usize,
    deepest: usize,
}

/// OpenAI's bounds on one schema (guide "Structured outputs").
const MOST_PROPERTIES: usize = 5_000;
const DEEPEST: usize = 10;
const MOST_TEXT: usize = 120_000;
const MOST_VALUES: usize = 1_000;
const LONG_ENUM: usize = 250;
const MOST_TEXT_OF_LONG_ENUM: usize = 15_000;

impl Pass<'_> {
    /// Makes a narrowed schema strict, or notes why it can't be.
    pub(super) fn strict(&mut self, root: &mut Object, strict: Strict, marks: &mut Marks) -> Size {
        let mut size = Size::default();
        self.strict_in(root, strict, "", 1, &mut size);
        if strict == Strict::OpenAi {
            self.require_all(root, "", marks);
            self.measure(&size);
        }
        size
    }

    fn strict_in(&mut self, object: &mut Object, strict: Strict, name: &str, depth: usize, size: &mut Size) {
        size.text += name.len();
        size.unions += usize::from(object.has("anyOf") || matches!(object.get("type"), Some(Json::Array(_))));
        self.count_values(object, size);
        let is_object = object.types().iter().any(|kind| kind == "object");
        size.deepest = size.deepest.max(if is_object { depth } else { 0 });
        if is_object {
            self.close(object, depth);
            let required: HashSet<_> = object.names("required").into_iter().collect();
            size.properties += object.properties().count();
            size.optional += object.properties().filter(|(name, _)| !required.contains(*name)).count();
        }
        if strict == Strict::Anthropic {
            self.min_items(object);
        }
        let deeper = depth + usize::from(is_object);
        let at = object.at.clone();
        for key in ["properties", "$defs", "definitions"] {
            let Some(Json::Object(map)) = object.members.get_mut(key) else { continue };
            for (name, inner) in &mut map.members {
                let Some(inner) = inner.as_object_mut() else { continue };
                let depth = if key == "properties" { deeper } else { 1 };
                self.strict_in(inner, strict, name, depth, size);
            }
        }
        for key in ["items", "anyOf"] {
            match object.members.get_mut(key) {
                Some(Json::Object(inner)) => self.strict_in(inner, strict, "", deeper, size),
                Some(Json::Array(branches)) => {
                    for branch in branches.iter_mut().filter_map(Json::as_object_mut) {
                        self.strict_in(branch, strict, "", deeper, size);
                    }
                }
                _ => {}
            }
        }
        if depth > 100 {
            self.unfit(&at, "it nests too deep");
        }
    }

    fn close(&mut self, object: &mut Object, depth: usize) {
        let place = object.place("additionalProperties");
        match object.get("additionalProperties") {
            Some(rest) if rest.as_bool() == Some(false) => {}
            Some(_) => self.unfit(&object.at.clone(), "it takes properties of any name"),
            None if object.properties().next().is_none() && depth > 1 => {
                self.unfit(&object.at.clone(), "it takes properties of any name");
            }
            None => {
                object.set("additionalProperties", Json::bool(false));
                self.tell(&place, "closed to properties that it doesn't name", CLOSED, Narrower);
            }
        }
        if object.object("properties").is_none() {
            object.set("properties", Json::Object(Object::new(object.place("properties"))));
            self.tell(&object.at.clone(), "empty properties added", CLOSED, Same);
        }
    }

    /// Anthropic knows `minItems` of 0 and 1 only.
    fn min_items(&mut self, object: &mut Object) {
        if object.get("minItems").and_then(Json::as_integer).is_some_and(|least| least > 1) {
            let notes: Vec<_> = self.remove(object, "minItems", BOUND, Wider).into_iter().collect();
            super::keywords::note(object, &notes);
        }
    }

    fn count_values(&mut self, object: &Object, size: &mut Size) {
        let values = object.list("enum");
        let text = |value: &Json| value.as_text().map_or(0, str::len);
        let length: usize = values.iter().map(text).sum();
        size.values += values.len();
        size.text += length + object.get("const").map_or(0, text);
        if values.len() > LONG_ENUM && length > MOST_TEXT_OF_LONG_ENUM && self.rules.strict == Some(Strict::OpenAi) {
            self.unfit(&object.place("enum"), "its values are too long altogether");
        }
    }

    fn measure(&mut self, size: &Size) {
        for (is, most, what) in [
            (size.properties, MOST_PROPERTIES, "properties"),
            (size.deepest, DEEPEST, "levels of nesting"),
            (size.values, MOST_VALUES, "values of enums"),
            (size.text, MOST_TEXT, "characters in names and values"),
        ] {
            if is > most {
                self.unfit("", &format!("{is} {what}, and {most} are the most"));
            }
        }
    }

    /// Requires every property; one that was optional may be null instead.
    fn require_all(&mut self, object: &mut Object, pointer: &str, marks: &mut Marks) {
        let required: HashSet<_> = object.names("required").into_iter().collect();
        let mut all = Vec::new();
        if let Some(Json::Object(properties)) = object.members.get_mut("properties") {
            for (name, property) in &mut properties.members {
                let optional = !required.contains(name);
                all.push(name.clone());
                let place = join(&join(pointer, "properties"), name);
                let Some(property) = property.as_object_mut() else { continue };
                self.require_all(property, &place, marks);
                if optional && !may_be_null(property) {
                    let before = property.at.to_string();
                    make_nullable(property);
                    marks.null(&place);
                    self.tell(
                        &before,
                        format!("{name}, which is optional, may be null instead of missing"),
                        REQUIRED,
                        Same,
                    );
                } else if optional {
                    self.tell(
                        &property.at.clone(),
                        format!("{name}, which is optional, has to be null instead of missing"),
                        REQUIRED,
                        Narrower,
                    );
                }
            }
        }
        if object.has("properties") && (required.len() != all.len() || !object.has("required")) {
            object.set_names("required", &all);
            if all.is_empty() {
                self.tell(&object.at.clone(), "empty required added", REQUIRED, Same);
            }
        }
        for key in ["$defs", "definitions", "items", "anyOf"] {
            let place = join(pointer, key);
            match object.members.get_mut(key) {
                Some(Json::Object(map)) if key != "items" => {
                    for (name, inner) in &mut map.members {
                        if let Some(inner) = inner.as_object_mut() {
                            self.require_all(inner, &join(&place, name), marks);
                        }
                    }
                }
                Some(Json::Object(items)) => self.require_all(items, &place, marks),
                Some(Json::Array(branches)) => {
                    for (n, branch) in branches.iter_mut().enumerate() {
                        if let Some(branch) = branch.as_object_mut() {
                            self.require_all(branch, &join(&place, &n.to_string()), marks);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

fn may_be_null(schema: &Object) -> bool {
    let types = schema.types();
    let branches = schema.list("anyOf").iter().filter_map(Json::as_object);
    types.iter().any(|kind| kind == "null") || branches.into_iter().any(may_be_null)
}

fn make_nullable(schema: &mut Object) {
    if schema.has("$ref") || schema.has("const") {
        let inner = std::mem::replace(schema, Object::new(schema.at.clone()));
        schema.set("anyOf", Json::Array(vec![Json::Object(inner)]));
    }
    if let Some(Json::Array(branches)) = schema.members.get_mut("anyOf") {
        let null = Object::new(schema.at.clone()).with("type", Json::text("null"));
        branches.push(Json::Object(null));
        return;
    }
    let mut types = schema.types();
    types.push("null".to_owned());
    schema.set_types(&types);
    if let Some(Json::Array(values)) = schema.members.get_mut("enum") {
        values.push(Json::null());
    }
}
