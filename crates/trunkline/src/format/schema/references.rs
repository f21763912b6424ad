//! References: resolved inside the schema, kept where the dialect takes them, else what they refer to is put in
//! their place. Nothing is ever fetched.

use std::collections::HashMap;

use super::Pass;
use super::tree::{Json, Object, join};
use crate::format::report::Effect::{Same, Wider};

/// How deep what references lead to may nest.
const DEEPEST: usize = 48;

const NOWHERE: &str = "it refers to nothing inside this schema";
const RECURSION: &str = "models get no schema that contains itself";
const SIZE: &str = "the schema would become too large";
const INLINE: &str = "references aren't taken, or not in this form";

/// Members that only describe.
const NOTES: [&str; 10] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$id",
    "$schema",
];

/// Where in the document the walk is.
struct Walk<'a> {
    document: &'a Json,
    /// The places of anchors by their names.
    anchors: HashMap<String, String>,
    /// What is being put in place right now.
    active: Vec<String>,
}

impl Pass<'_> {
    /// Resolves every reference in a mended schema.
    pub(super) fn resolve(&mut self, root: &mut Json) {
        let document = root.clone();
        let mut anchors = HashMap::new();
        note_anchors(&document, "", &mut anchors);
        let mut walk = Walk { document: &document, anchors, active: Vec::new() };
        self.resolve_in(root, &mut walk, 0);
        if self.rules.references {
            self.document = root.clone();
        }
        if let Some(root) = root.as_object_mut()
            && self.dated
            && let Some(draft) = root.take("$schema")
        {
            self.tell("/$schema", format!("{} removed", draft.write()), "it names an older draft", Same);
        }
    }

    fn resolve_in(&mut self, schema: &mut Json, walk: &mut Walk<'_>, depth: usize) {
        let Some(object) = schema.as_object_mut() else { return };
        self.left = self.left.saturating_sub(1);
        let put = self.resolve_here(object, walk, depth);
        if !self.rules.references {
            for key in ["$defs", "definitions"] {
                if object.take(key).is_some() {
                    self.tell(&object.place(key), "put where it is referred to", INLINE, Same);
                }
            }
        }
        for key in ["$dynamicRef", "$recursiveRef"] {
            if object.take(key).is_some() {
                self.tell(&object.place(key), format!("{key} removed"), INLINE, Wider);
            }
        }
        for (key, inner) in object.schemas_mut() {
            let doubt = self.doubt;
            self.doubt |= self.is_doubtful(key) && (depth > 0 || key != "oneOf");
            self.resolve_in(inner, walk, depth + 1);
            self.doubt = doubt;
        }
        walk.active.truncate(walk.active.len() - put);
    }

    /// Resolves the references of one schema; returns how many targets it put in place.
    fn resolve_here(&mut self, object: &mut Object, walk: &mut Walk<'_>, depth: usize) -> usize {
        let mut put = 0;
        while let Some(reference) = object.text("$ref").map(str::to_owned) {
            let place = object.place("$ref");
            let Some((pointer, target)) = walk.find(&reference) else {
                object.take("$ref");
                self.tell(&place, format!("$ref {reference:?} removed"), NOWHERE, Wider);
                break;
            };
            let seen = walk.active.contains(&pointer);
            if self.keeps(object, &pointer, depth) && !leads_to_itself(walk.document, &pointer) {
                self.write_plain(object, &reference, &pointer);
                break;
            }
            if seen && self.rules.references && is_plain(&pointer) && !leads_to_itself(walk.document, &pointer) {
                self.bare(object, &pointer);
                break;
            }
            object.take("$ref");
            if seen || depth >= DEEPEST || self.left == 0 {
                let why = if seen { RECURSION } else { SIZE };
                if self.rules.strict.is_some() {
                    self.unfit(&place, if seen { "it contains itself" } else { "it is too large" });
                }
                self.tell(&place, format!("{reference} not followed any further"), why, Wider);
                stand_in(object, target);
                break;
            }
            self.tell(&pointer, "put where it is referred to", INLINE, Same);
            self.put(object, target.clone(), walk.document);
            walk.active.push(pointer);
            put += 1;
        }
        put
    }

    /// Whether the reference may stay.
    fn keeps(&self, object: &Object, pointer: &str, depth: usize) -> bool {
        let alone = object.members.keys().all(|key| key == "$ref");
        self.rules.references && depth > 0 && is_plain(pointer) && (alone || self.rules.strict.is_none())
    }

    /// Writes a kept reference as everybody knows it.
    fn write_plain(&mut self, object: &mut Object, reference: &str, pointer: &str) {
        if reference.starts_with("#/") || reference == "#" {
            return;
        }
        object.set("$ref", Json::text(format!("#{pointer}")));
        self.tell(&object.place("$ref"), format!("{reference:?} written as \"#{pointer}\""), INLINE, Same);
    }

    /// Leaves a recursive reference alone with nothing beside it.
    fn bare(&mut self, object: &mut Object, pointer: &str) {
        let lost: Vec<_> = object.members.keys().filter(|key| *key != "$ref").cloned().collect();
        for key in lost {
            object.take(&key);
            let effect = if NOTES.contains(&key.as_str()) { Same } else { Wider };
            self.tell(
                &object.place(&key),
                format!("{key} beside $ref removed"),
                "a reference has to stand alone",
                effect,
            );
        }
        object.set("$ref", Json::text(format!("#{pointer}")));
    }

    /// Puts the target in place of a reference, together with what stood beside it.
    fn put(&mut self, object: &mut Object, target: Object, document: &Json) {
        if object.members.is_empty() {
            *object = target;
            return;
        }
        if is_old(document) {
            // drafts up to 7 ignore what constrains beside a reference
            object
                .members
                .retain(|key, _| NOTES.contains(&key.as_str()) || matches!(key.as_str(), "$defs" | "definitions"));
        }
        let beside = std::mem::replace(object, target);
        for key in NOTES {
            if beside.has(key) {
                object.take(key); // the words at the reference are meant for it
            }
        }
        self.merge(object, beside);
    }
}

/// What can be said of a target without going into it.
fn stand_in(object: &mut Object, target: &Object) {
    for key in ["type", "description"] {
        if let Some(value) = target.get(key)
            && !object.has(key)
        {
            object.set(key, value.clone());
        }
    }
}

/// `#`, `#/$defs/name` and `#/definitions/name` are known to everybody.
fn is_plain(pointer: &str) -> bool {
    let in_map = |map: &str| pointer.strip_prefix(map).is_some_and(|name| !name.contains('/'));
    pointer.is_empty() || in_map("/$defs/") || in_map("/definitions/")
}

/// Whether a target is nothing but references in a circle.
fn leads_to_itself(document: &Json, pointer: &str) -> bool {
    const MOST_STEPS: usize = 64;
    let mut seen = vec![pointer.to_owned()];
    let mut at = pointer.to_owned();
    while let Some((next, _)) = locate(document, &format!("#{at}"))
        .and_then(|(_, target)| target.text("$ref").and_then(|reference| locate(document, reference)))
    {
        if seen.contains(&next) || seen.len() > MOST_STEPS {
            return true;
        }
        seen.push(next.clone());
        at = next;
    }
    false
}

fn is_old(document: &Json) -> bool {
    let draft = document.as_object().and_then(|root| root.text("$schema")).unwrap_or_default();
    ["draft-03", "draft-04", "draft-05", "draft-06", "draft-07"].iter().any(|old| draft.contains(old))
}

impl<'a> Walk<'a> {
    fn find(&self, reference: &str) -> Option<(String, &'a Object)> {
        let anchored = || {
            let place = self.anchors.get(fragment(self.document, reference)?)?;
            locate(self.document, &format!("#{place}"))
        };
        locate(self.document, reference).or_else(anchored)
    }
}

/// What a reference names in the document; nothing where it is another one.
fn fragment<'a>(document: &Json, reference: &'a str) -> Option<&'a str> {
    let base = document.as_object()?.text("$id").unwrap_or_default().trim_end_matches('#');
    match reference.strip_prefix(base).filter(|_| !base.is_empty()) {
        Some("") => Some(""),
        Some(rest) if rest.starts_with('#') => Some(&rest[1..]),
        _ => reference.strip_prefix('#'),
    }
}

/// The schema that a reference by JSON pointer means, and that pointer.
pub(super) fn locate<'a>(document: &'a Json, reference: &str) -> Option<(String, &'a Object)> {
    let fragment = fragment(document, reference)?;
    let fragment = percent_decoded(fragment)?;
    if !fragment.is_empty() && !fragment.starts_with('/') {
        return None;
    }
    let mut found = document;
    for step in fragment.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        found = match found {
            Json::Object(object) => object.get(&step)?,
            Json::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some((fragment, found.as_object()?))
}

/// Notes every `$anchor`, and `$id` of the same meaning in older drafts.
fn note_anchors(schema: &Json, at: &str, into: &mut HashMap<String, String>) {
    match schema {
        Json::Object(object) => {
            let old = object.text("$id").and_then(|id| id.strip_prefix('#'));
            for name in object.text("$anchor").into_iter().chain(old) {
                into.entry(name.to_owned()).or_insert_with(|| at.to_owned());
            }
            object.members.iter().for_each(|(key, value)| note_anchors(value, &join(at, key), into));
        }
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| note_anchors(item, &join(at, &n.to_string()), into));
        }
        _ => {}
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let decoded = match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        };
        out.push(decoded);
    }
    String::from_utf8(out).ok()
}
