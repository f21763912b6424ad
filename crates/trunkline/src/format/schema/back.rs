//! The way back for arguments: names as the tool knows them, and no `null` where it knows of none.

use std::collections::HashMap;

use super::references::locate;
use super::tree::{Json, Object, join};
use crate::protocol::{Arguments, RawJson};

/// How deep unions and references at one place are opened.
const DEEPEST: usize = 16;

/// What was done to properties, by their place in the rewritten schema.
#[derive(Debug, Default)]
pub(super) struct Marks(HashMap<String, Mark>);

#[derive(Debug, Default)]
struct Mark {
    name: Option<String>,
    /// It is null in place of missing.
    null: bool,
}

impl Marks {
    pub(super) fn rename(&mut self, place: &str, name: &str) {
        self.0.entry(place.to_owned()).or_default().name = Some(name.to_owned());
    }

    pub(super) fn null(&mut self, place: &str) {
        self.0.entry(place.to_owned()).or_default().null = true;
    }
}

/// Turns arguments that fit the rewritten schema into ones for the tool.
#[derive(Debug)]
pub(in crate::format) struct Back {
    schema: Json,
    marks: Marks,
}

/// A schema that a value may have been written by, and its place.
type Candidate<'a> = (&'a Object, String);

impl Back {
    pub(super) fn new(schema: Json, marks: Marks) -> Option<Self> {
        (!marks.0.is_empty()).then_some(Self { schema, marks })
    }

    pub(in crate::format) fn restore(&self, arguments: &Arguments) -> Arguments {
        let mut value = Json::value(arguments.raw());
        let root = self.schema.as_object().map(|root| (root, String::new()));
        self.restore_in(&mut value, root.into_iter().collect());
        let restored: RawJson = value.write();
        Arguments::from_raw(restored).unwrap_or_else(|_| arguments.clone())
    }

    fn restore_in(&self, value: &mut Json, candidates: Vec<Candidate<'_>>) {
        let mut open = Vec::new();
        candidates.into_iter().for_each(|candidate| self.open(candidate, DEEPEST, &mut open));
        if open.is_empty() {
            return;
        }
        match value {
            Json::Object(object) => self.restore_object(object, &open),
            Json::Array(items) => {
                for (n, item) in items.iter_mut().enumerate() {
                    let inner = open.iter().filter_map(|(schema, place)| item_schema(schema, place, n)).collect();
                    self.restore_in(item, inner);
                }
            }
            _ => {}
        }
    }

    fn restore_object(&self, object: &mut Object, schemas: &[Candidate<'_>]) {
        let mut restored = Object::new("");
        for (key, mut value) in std::mem::take(&mut object.members) {
            let mut inner = Vec::new();
            let (mut name, mut declared, mut null) = (None, 0, 0);
            for (schema, place) in schemas {
                if let Some(property) = schema.object("properties").and_then(|map| map.get(&key)) {
                    let place = join(&join(place, "properties"), &key);
                    let mark = self.marks.0.get(&place);
                    name = name.or_else(|| mark.and_then(|mark| mark.name.clone()));
                    declared += 1;
                    null += usize::from(mark.is_some_and(|mark| mark.null));
                    inner.extend(property.as_object().map(|property| (property, place)));
                } else if let Some(rest) = schema.object("additionalProperties") {
                    inner.push((rest, join(place, "additionalProperties")));
                }
            }
            if value.is_null() && null > 0 && null == declared {
                continue;
            }
            self.restore_in(&mut value, inner);
            restored.members.insert(name.unwrap_or(key), value);
        }
        object.members = restored.members;
    }

    /// The schemas that apply at one place: itself, what it refers to, its branches.
    fn open<'a>(&'a self, candidate: Candidate<'a>, deeper: usize, into: &mut Vec<Candidate<'a>>) {
        if deeper == 0 || into.iter().any(|(_, place)| *place == candidate.1) {
            return;
        }
        into.push(candidate.clone());
        let (schema, place) = candidate;
        if let Some((pointer, target)) = schema.text("$ref").and_then(|reference| locate(&self.schema, reference)) {
            self.open((target, pointer), deeper - 1, into);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            for (n, branch) in schema.list(key).iter().enumerate() {
                if let Some(branch) = branch.as_object() {
                    self.open((branch, join(&join(&place, key), &n.to_string())), deeper - 1, into);
                }
            }
        }
    }
}

fn item_schema<'a>(schema: &'a Object, place: &str, n: usize) -> Option<Candidate<'a>> {
    if let Some(item) = schema.list("prefixItems").get(n) {
        return Some((item.as_object()?, join(&join(place, "prefixItems"), &n.to_string())));
    }
    Some((schema.object("items")?, join(place, "items")))
}
