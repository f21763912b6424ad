//! Types and unions for dialects that want one type at a time and nothing beside a union.

use super::Pass;
use super::flatten::Of;
use super::keywords::describe;
use super::rules::Unions;
use super::tree::{Json, Object};
use crate::format::report::Effect::{Narrower, Same, Wider};

const UNION: &str = "a union has to stand alone";
const ONE_TYPE: &str = "there can be only one type";
const SIZE: &str = "the schema would become too large";
const TYPE: &str = "a type has to be said";

/// So many bytes of description may be repeated in the branches of a union.
const MOST_WORDS: usize = 16 << 10;

/// Members that only describe.
const NOTES: [&str; 9] =
    ["title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment"];

/// Members that have nothing to do with the value.
const APART: [&str; 6] = ["$schema", "$id", "$defs", "definitions", "$anchor", "nullable"];

/// The keywords that concern one type alone.
fn concerns(keyword: &str) -> Option<&'static [&'static str]> {
    Some(match keyword {
        "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding" | "contentMediaType" => &["string"],
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => &["integer", "number"],
        "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" | "contains" | "minContains"
        | "maxContains" | "unevaluatedItems" => &["array"],
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties"
        | "propertyOrdering" => &["object"],
        _ => return None,
    })
}

impl Pass<'_> {
    /// Sees to it that nothing constrains beside `anyOf`. Returns whether branches were merged into the object.
    pub(super) fn stand_alone(&mut self, object: &mut Object) -> bool {
        if !object.has("anyOf") {
            return false;
        }
        let constrains = |key: &str| key != "anyOf" && !NOTES.contains(&key) && !APART.contains(&key);
        let beside: Vec<String> = object.members.keys().filter(|key| constrains(key)).cloned().collect();
        if object.has("properties") || object.has("required") || object.types() == ["object"] {
            self.flatten_union(object, "anyOf", Of::Value, 4);
            return true;
        }
        if self.rules.unions == Unions::OpenApi && self.lone_branch(object) {
            return true;
        }
        if !beside.is_empty() {
            self.distribute(object, &beside);
        }
        false
    }

    /// Puts the one branch that isn't `null` in place of a union.
    fn lone_branch(&mut self, object: &mut Object) -> bool {
        let (nulls, others): (Vec<_>, Vec<_>) = object.list("anyOf").iter().cloned().partition(is_null);
        let [Json::Object(only)] = others.as_slice() else { return false };
        let types = object.types();
        let may_be_null = types.is_empty() || types.iter().any(|kind| kind == "null");
        object.take("anyOf");
        self.merge(object, only.clone());
        self.tell(&object.place("anyOf"), "the one branch put in place of the union", UNION, Same);
        if !nulls.is_empty() && may_be_null {
            object.set("nullable", Json::bool(true));
            self.tell(&object.place("anyOf"), "null written as nullable", ONE_TYPE, Same);
        }
        true
    }

    fn distribute(&mut self, object: &mut Object, beside: &[String]) {
        let mut base = Object::new(object.at.clone());
        for key in beside {
            if let Some(value) = object.take(key) {
                base.set(key, value);
            }
        }
        let Some(Json::Array(branches)) = object.take("anyOf") else { return };
        let copied = Json::Object(base.clone()).count() * branches.len();
        let Some(left) = self.left.checked_sub(copied) else {
            self.tell(&object.place("anyOf"), "anyOf removed", SIZE, Wider);
            object.members.extend(base.members);
            return;
        };
        self.left = left;
        let mut merged = Vec::new();
        for branch in branches {
            let Json::Object(branch) = branch else { continue };
            let Some(branch) = self.opened(branch, &mut Vec::new()) else { continue };
            let mut whole = base.clone();
            self.merge(&mut whole, branch);
            merged.push(Json::Object(whole));
        }
        self.tell(&object.place("anyOf"), "what stood beside anyOf put into its branches", UNION, Same);
        object.set("anyOf", Json::Array(merged));
    }

    /// Several types become branches; `null` too, or `nullable` where that is the way.
    pub(super) fn one_type_at_a_time(&mut self, object: &mut Object) {
        let types = object.types();
        let null = types.iter().any(|kind| kind == "null");
        let others: Vec<_> = types.iter().filter(|kind| *kind != "null").cloned().collect();
        let open_api = self.rules.unions == Unions::OpenApi;
        if types.len() == 1 && object.get("type").is_some_and(|given| given.as_text().is_none()) {
            object.set_types(&types);
            self.tell(&object.place("type"), "a list of one type written as that type", ONE_TYPE, Same);
        }
        match others.as_slice() {
            [] if null && open_api => {
                object.set_types(&["string".to_owned()]);
                object.set("nullable", Json::bool(true));
                self.tell(&object.place("type"), "null written as a text that may be null", ONE_TYPE, Wider);
            }
            [_] if null && open_api => {
                object.set_types(&others);
                object.set("nullable", Json::bool(true));
                self.tell(&object.place("type"), "null written as nullable", ONE_TYPE, Same);
            }
            [] | [_] => {}
            _ => self.split(object, &types),
        }
        if open_api && object.has("anyOf") {
            self.open_api_union(object);
        }
    }

    fn split(&mut self, object: &mut Object, types: &[String]) {
        let mut branches = Vec::new();
        for kind in types {
            let mut branch = Object::new(object.at.clone());
            branch.set("type", Json::text(kind));
            for (key, value) in &object.members {
                let fits = concerns(key).is_none_or(|types| types.contains(&kind.as_str()));
                if fits && key != "type" && !NOTES.contains(&key.as_str()) && !APART.contains(&key.as_str()) {
                    branch.set(key, value.clone());
                }
            }
            let fitting: Vec<_> = branch.list("enum").iter().filter(|value| is_of(value, kind)).cloned().collect();
            match (branch.has("enum"), fitting.is_empty()) {
                (true, true) => continue, // no value of this type is among them
                (true, false) => branch.set("enum", Json::Array(fitting)),
                (false, _) => {}
            }
            branches.push(Json::Object(branch));
        }
        if branches.is_empty() {
            object.take("enum");
            self.tell(&object.place("enum"), "enum removed, none of whose values is of the type", ONE_TYPE, Wider);
            return self.split(object, types);
        }
        object.members.retain(|key, _| NOTES.contains(&key.as_str()) || APART.contains(&key.as_str()));
        self.tell(&object.place("type"), format!("{} written as branches of anyOf", types.join(", ")), ONE_TYPE, Same);
        if let [Json::Object(only)] = branches.as_mut_slice() {
            object.members.extend(std::mem::take(&mut only.members));
        } else {
            object.set("anyOf", Json::Array(branches));
        }
    }

    /// `anyOf` as OpenAPI has it here: alone, its words and `nullable` in the branches.
    fn open_api_union(&mut self, object: &mut Object) {
        let Some(Json::Array(branches)) = object.take("anyOf") else { return };
        let place = object.place("anyOf");
        let nullable = branches.iter().any(is_null) || object.get("nullable").and_then(Json::as_bool) == Some(true);
        let mut branches: Vec<_> = branches.into_iter().filter(|branch| !is_null(branch)).collect();
        object.take("nullable");
        if branches.is_empty() {
            object.set("type", Json::text("string"));
            object.set("nullable", Json::bool(true));
            self.tell(&place, "null written as a text that may be null", ONE_TYPE, Wider);
            return;
        }
        if nullable {
            self.tell(&place, "null written as nullable", ONE_TYPE, Same);
        }
        let notes: Vec<_> = object.members.keys().filter(|key| NOTES.contains(&key.as_str())).cloned().collect();
        if !notes.is_empty() {
            self.tell(&place, "what describes the union put into its branches", UNION, Same);
        }
        let default = object.take("default").map(|value| format!("(default: {})", super::merge::short(&value)));
        let words = [object.text("description").map(str::to_owned), default];
        let words = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let repeated = if words.len() * branches.len() < MOST_WORDS { branches.len() } else { 1 };
        for (n, branch) in branches.iter_mut().filter_map(Json::as_object_mut).enumerate() {
            if n < repeated && !words.is_empty() && branch.text("description") != Some(&words) {
                describe(branch, &words);
            }
            if nullable {
                branch.set("nullable", Json::bool(true));
            }
        }
        object.members.retain(|key, _| !NOTES.contains(&key.as_str()));
        object.set("anyOf", Json::Array(branches));
    }

    /// Says the type where the schema doesn't.
    pub(super) fn say_the_type(&mut self, object: &mut Object) {
        if object.has("type") || object.has("anyOf") || object.has("$ref") {
            return;
        }
        let place = object.place("type");
        let values = [object.list("enum"), object.get("const").map(std::slice::from_ref).unwrap_or_default()].concat();
        if !values.is_empty() {
            let mut kinds: Vec<String> = values.iter().map(|value| value.kind().to_owned()).collect();
            kinds.sort_unstable();
            kinds.dedup();
            object.set_types(&kinds);
            self.tell(&place, format!("{} said to be the type", kinds.join(", ")), TYPE, Same);
            self.one_type_at_a_time(object);
            return;
        }
        let kind = object.members.keys().find_map(|key| concerns(key)).map(|types| types[types.len() - 1]);
        match kind {
            Some(kind) => {
                object.set("type", Json::text(kind));
                self.tell(&place, format!("{kind} said to be the type"), TYPE, Narrower);
            }
            None if self.rules.strict.is_some() => self.unfit(&object.at.clone(), "it takes any value"),
            None => self.any_value(object),
        }
    }

    /// Removes what says nothing about the types there are. Some providers refuse it.
    pub(super) fn only_fitting(&mut self, object: &mut Object) {
        let types = object.types();
        if types.is_empty() {
            return;
        }
        let idle =
            |key: &String| concerns(key).is_some_and(|kinds| !types.iter().any(|kind| kinds.contains(&kind.as_str())));
        let idle: Vec<String> = object.members.keys().filter(|key| idle(key)).cloned().collect();
        for key in idle {
            // `format` of a number is a dialect's own
            if key != "format" || self.rules.unions != Unions::OpenApi {
                object.take(&key);
                self.tell(&object.place(&key), format!("{key} removed"), "it says nothing about this type", Same);
            }
        }
    }

    /// Any value, in a dialect that has no word for it.
    fn any_value(&mut self, object: &mut Object) {
        let at = object.at.clone();
        let branch = |kind: &str| Object::new(at.clone()).with("type", Json::text(kind));
        let items = Json::Object(branch("string"));
        let mut branches: Vec<_> = ["string", "number", "boolean", "object"].map(branch).to_vec();
        branches.push(branch("array").with("items", items));
        branches.iter_mut().for_each(|branch| branch.set("nullable", Json::bool(true)));
        object.set("anyOf", Json::Array(branches.into_iter().map(Json::Object).collect()));
        self.tell(&object.at.clone(), "any value written as a union; lists are of texts", TYPE, Narrower);
        self.open_api_union(object);
    }
}

fn is_null(schema: &Json) -> bool {
    schema.as_object().is_some_and(|schema| schema.types() == ["null"])
}

pub(super) fn is_of(value: &Json, kind: &str) -> bool {
    value.kind() == kind || kind == "number" && value.kind() == "integer"
}
