//! Unions and intersections of objects, written as one object: for the root, where providers take nothing else, and
//! for dialects without them.

use super::Pass;
use super::choice::{in_all, tell_of_the_choice};
use super::merge::short;
use super::references::locate;
use super::tree::{Json, Object};
use crate::format::report::Effect::{Narrower, Same, Wider};

/// Whose parts are united.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// The arguments, which are an object in any case.
    Arguments,
    /// Something inside them.
    Value,
}

impl Of {
    fn why(self) -> &'static str {
        match self {
            Self::Arguments => "the arguments have to be one plain object",
            Self::Value => "an object made of parts isn't taken",
        }
    }
}

/// How often one target may be opened. A schema that contains itself would never end.
const MOST_OPENINGS: usize = 32;

/// How deep inside a schema one may be opened.
const DEEPEST_OPENING: usize = 48;

/// How deep unions within unions are opened.
const DEEPEST: u32 = 8;

impl Pass<'_> {
    /// Makes the root a plain object.
    pub(super) fn flatten_root(&mut self, root: &mut Object) {
        self.root_type(root);
        self.merge_all(root, Of::Arguments);
        for key in ["anyOf", "oneOf"] {
            self.flatten_union(root, key, Of::Arguments, DEEPEST);
        }
        for key in self.rules.not_at_root {
            if let Some(lost) = root.take(key) {
                self.tell(&root.place(key), format!("{key} {} removed", short(&lost)), Of::Arguments.why(), Wider);
            }
        }
        if self.rules.root_properties && root.object("properties").is_none() {
            root.set("properties", Json::Object(Object::new(root.place("properties"))));
            self.tell("", "empty properties added", Of::Arguments.why(), Same);
        }
    }

    fn root_type(&mut self, root: &mut Object) {
        let types = root.types();
        if types == ["object"] {
            return;
        }
        let effect = if types.is_empty() || types.iter().any(|kind| kind == "object") { Same } else { Wider };
        let was = root.get("type").map_or_else(|| "missing type".to_owned(), |given| format!("type {}", given.write()));
        self.tell("/type", format!("{was} written as \"object\""), Of::Arguments.why(), effect);
        root.set("type", Json::text("object"));
        root.take("nullable");
    }

    /// Puts the parts of `allOf` into the object itself.
    pub(super) fn merge_all(&mut self, object: &mut Object, of: Of) {
        let mut opened = Vec::new();
        while let Some(Json::Array(parts)) = object.take("allOf") {
            self.tell(&object.place("allOf"), "allOf merged into one schema", of.why(), Same);
            for part in parts {
                let Json::Object(part) = part else { continue };
                if let Some(part) = self.opened(part, &mut opened) {
                    self.merge(object, part);
                }
            }
        }
    }

    /// A part with what it refers to in its place; nothing for one that was opened here before.
    pub(super) fn opened(&mut self, mut part: Object, seen: &mut Vec<String>) -> Option<Object> {
        while let Some(reference) = part.text("$ref").map(str::to_owned) {
            let document = std::mem::replace(&mut self.document, Json::null());
            let target = locate(&document, &reference).map(|(pointer, target)| (pointer, target.clone()));
            self.document = document;
            let place = part.place("$ref");
            part.take("$ref");
            let Some((pointer, mut target)) = target else { break };
            let count = self.openings.entry(pointer.clone()).or_default();
            *count += 1;
            if *count > MOST_OPENINGS || self.depth > DEEPEST_OPENING {
                self.unfit(&place, "it contains itself");
                self.tell(&place, format!("{reference} not followed any further"), Of::Value.why(), Wider);
                break;
            }
            if seen.contains(&pointer) {
                return (!part.members.is_empty()).then_some(part);
            }
            seen.push(pointer);
            target.take("$defs");
            target.take("definitions");
            self.merge(&mut target, part);
            part = target;
        }
        Some(part)
    }

    /// Puts the branches of a union into the object itself: all their properties, and as required what all require.
    pub(super) fn flatten_union(&mut self, object: &mut Object, key: &'static str, of: Of, deeper: u32) {
        let Some(Json::Array(branches)) = object.take(key) else { return };
        let (place, why) = (object.place(key), of.why());
        let (objects, others) = self.object_branches(branches, of, deeper);
        if of == Of::Value {
            self.settle_type(object, &place, &others);
        }
        match objects.len() {
            0 => self.tell(&place, format!("{key} removed: no branch is an object"), why, Wider),
            1 => {
                self.tell(&place, format!("the one branch of {key} that is an object merged into it"), why, Same);
                objects.into_iter().for_each(|branch| self.merge(object, branch));
            }
            count => {
                self.tell(&place, format!("the {count} branches of {key} merged into one object"), why, Wider);
                tell_of_the_choice(object, &objects);
                self.unite(object, &objects, why);
            }
        }
    }

    /// The branches that may be objects, opened, and the types of the others.
    fn object_branches(&mut self, branches: Vec<Json>, of: Of, deeper: u32) -> (Vec<Object>, Vec<String>) {
        let (mut objects, mut others) = (Vec::new(), Vec::new());
        for branch in branches {
            let Json::Object(branch) = branch else { continue };
            let Some(mut branch) = self.opened(branch, &mut Vec::new()) else { continue };
            self.merge_all(&mut branch, of);
            if deeper > 0 {
                self.flatten_union(&mut branch, "anyOf", of, deeper - 1);
                self.flatten_union(&mut branch, "oneOf", of, deeper - 1);
            }
            let mut types = branch.types();
            if types.is_empty() || types.iter().any(|kind| kind == "object") {
                branch.take("type");
                objects.push(branch);
            }
            types.retain(|kind| kind != "object");
            others.extend(types);
        }
        (objects, others)
    }

    /// The type of what is made of branches, some of which may have been no objects.
    fn settle_type(&mut self, object: &mut Object, place: &str, others: &[String]) {
        let mut types = vec!["object".to_owned()];
        let null = object.types().is_empty() || object.types().iter().any(|kind| kind == "null");
        if null && others.iter().any(|kind| kind == "null") {
            types.push("null".to_owned());
        }
        if others.iter().any(|kind| kind != "null") || object.types().is_empty() {
            self.tell(place, "only objects are taken", Of::Value.why(), Narrower);
        }
        object.set_types(&types);
    }

    fn unite(&mut self, object: &mut Object, branches: &[Object], why: &'static str) {
        self.unite_properties(object, branches, why);
        let mut required = object.names("required");
        required.extend(in_all(branches));
        let mut seen = Vec::new();
        required.retain(|name| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
        if !required.is_empty() {
            object.set_names("required", &required);
        }
        let closed = branches.iter().all(|branch| {
            branch.get("additionalProperties").and_then(Json::as_bool) == Some(false)
                && !branch.has("patternProperties")
        });
        if closed && !object.has("additionalProperties") {
            object.set("additionalProperties", Json::bool(false));
        }
        for branch in branches {
            for key in ["$defs", "definitions"] {
                if let Some(defs) = branch.get(key) {
                    let defs = Object::new(branch.place(key)).with(key, defs.clone());
                    self.merge(object, defs);
                }
            }
        }
    }

    fn unite_properties(&mut self, object: &mut Object, branches: &[Object], why: &'static str) {
        let mut names: Vec<&String> = Vec::new();
        for (name, _) in branches.iter().flat_map(Object::properties) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut properties = match object.get("properties") {
            Some(Json::Object(properties)) => properties.clone(),
            _ => Object::new(object.place("properties")),
        };
        for name in names {
            let given: Vec<&Json> =
                branches.iter().filter_map(|branch| branch.object("properties")?.get(name)).collect();
            let silent = |branch: &&Object| branch.object("properties").is_none_or(|map| !map.has(name));
            let open = |branch: &Object| branch.get("additionalProperties").and_then(Json::as_bool) != Some(false);
            let place = given[0].as_object().map(|schema| schema.at.to_string()).unwrap_or_default();
            match properties.members.get_mut(name) {
                // what a branch adds to a property that the object has anyway only narrows the choice of the branch
                Some(_) => {}
                None => {
                    if branches.iter().filter(silent).any(open) {
                        let what = format!("{name} has to fit one of its schemas wherever it is given");
                        self.tell(&place, what, why, Narrower);
                    }
                    properties.set(name, united(&given));
                }
            }
        }
        object.set("properties", Json::Object(properties));
    }
}

/// The schema that takes what any of these does.
fn united(schemas: &[&Json]) -> Json {
    let mut single: Vec<&Json> = Vec::new();
    for schema in schemas {
        if !single.contains(schema) {
            single.push(schema);
        }
    }
    if let [one] = single.as_slice() {
        return (*one).clone();
    }
    let at = single[0].as_object().map(|schema| schema.at.clone()).unwrap_or_default();
    if let Some(values) = single.iter().map(|schema| values(schema)).collect::<Option<Vec<_>>>() {
        let mut all: Vec<Json> = Vec::new();
        let mut types: Vec<String> = Vec::new();
        for value in values.into_iter().flatten() {
            if !types.iter().any(|known| known == value.kind()) {
                types.push(value.kind().to_owned());
            }
            if !all.contains(&value) {
                all.push(value);
            }
        }
        let mut one = Object::new(at);
        one.set_types(&types);
        let words: Vec<_> = single.iter().filter_map(|schema| schema.as_object()?.text("description")).collect();
        if !words.is_empty() {
            one.set("description", Json::text(words.join(" ")));
        }
        return Json::Object(one.with("enum", Json::Array(all)));
    }
    Json::Object(Object::new(at).with("anyOf", Json::Array(single.into_iter().cloned().collect())))
}

/// The values of a schema that is nothing but a choice of values.
fn values(schema: &Json) -> Option<Vec<Json>> {
    let schema = schema.as_object()?;
    let plain = |key: &String| matches!(key.as_str(), "type" | "enum" | "const" | "title" | "description");
    if !schema.members.keys().all(plain) {
        return None;
    }
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), None) => Some(vec![value.clone()]),
        (None, Some(Json::Array(values))) => Some(values.clone()),
        _ => None,
    }
}
