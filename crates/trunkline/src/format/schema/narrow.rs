//! Leaves of a schema what the dialect takes, schema by schema from the root down.

use super::Pass;
use super::flatten::Of;
use super::rules::Unions;
use super::tree::{Json, Object};
use crate::format::report::Effect::{Same, Wider};

const UNION: &str = "of unions only anyOf is taken";
const ITEMS: &str = "a list has to say what its items are";

impl Pass<'_> {
    pub(super) fn narrow(&mut self, object: &mut Object) {
        self.depth += 1;
        loop {
            if !self.rules.takes("allOf") {
                self.merge_all(object, Of::Value);
            }
            self.one_of(object);
            // what is merged into the schema may hold parts and unions again
            if self.rules.unions == Unions::Beside || !self.stand_alone(object) {
                break;
            }
        }
        self.tuple(object);
        self.values(object);
        self.limits(object);
        if self.rules.unions != Unions::Beside {
            self.one_type_at_a_time(object);
        }
        self.words(object);
        self.keywords(object);
        self.complete(object);
        for (key, inner) in object.schemas_mut() {
            let doubt = self.doubt;
            self.doubt |= self.is_doubtful(key);
            if let Some(inner) = inner.as_object_mut() {
                self.narrow(inner);
            }
            self.doubt = doubt;
        }
        self.depth -= 1;
    }

    fn one_of(&mut self, object: &mut Object) {
        if self.rules.takes("oneOf") {
            return;
        }
        let Some(branches) = object.take("oneOf") else { return };
        let place = object.place("oneOf");
        if object.has("anyOf") {
            self.tell(&place, "oneOf beside anyOf left out", UNION, Wider);
            return;
        }
        object.set("anyOf", branches);
        self.tell(&place, "oneOf written as anyOf", UNION, Wider);
    }

    /// A list whose items are told one by one becomes one of any of them.
    fn tuple(&mut self, object: &mut Object) {
        if self.rules.takes("prefixItems") || !object.has("prefixItems") {
            return;
        }
        let Some(Json::Array(mut items)) = object.take("prefixItems") else { return };
        let place = object.place("prefixItems");
        let most = object.get("maxItems").and_then(Json::as_integer);
        let closed = most.is_some_and(|most| most <= items.len() as i64);
        match object.take("items") {
            Some(rest) if !closed => items.push(rest),
            None if !closed => items.push(Json::Object(Object::new(place.as_str()))),
            _ => {}
        }
        let mut single: Vec<Json> = Vec::new();
        for item in items {
            if !single.contains(&item) {
                single.push(item);
            }
        }
        let any = single.iter().any(|item| item.as_object().is_some_and(|item| item.members.is_empty()));
        let items = match single.len() {
            _ if any => Json::Object(Object::new(place.as_str())),
            1 => single.remove(0),
            _ => Json::Object(Object::new(place.as_str()).with("anyOf", Json::Array(single))),
        };
        object.set("items", items);
        self.tell(&place, "any of the items may stand at any place", "items can't be told one by one", Wider);
    }

    /// What has to be said although JSON Schema doesn't ask for it.
    fn complete(&mut self, object: &mut Object) {
        let is = |object: &Object, kind: &str| object.types().iter().any(|known| known == kind);
        if self.rules.types {
            self.say_the_type(object);
            self.only_fitting(object);
        }
        if self.rules.items && (is(object, "array") || object.has("prefixItems")) && !object.has("items") {
            let items = Object::new(object.place("items"));
            object.set("items", Json::Object(items));
            self.tell(&object.at.clone(), "items of any kind said", ITEMS, Same);
        }
        if self.rules.required_are_properties && object.has("required") {
            self.add_required(object);
        }
        let empty = object.object("properties").is_some_and(|map| map.members.is_empty());
        if empty && self.rules.unions == Unions::OpenApi {
            object.take("properties");
            self.tell(&object.place("properties"), "empty properties removed", "they have to be left out", Same);
        }
    }

    fn add_required(&mut self, object: &mut Object) {
        let required = object.names("required");
        let place = object.place("properties");
        let closed = object.get("additionalProperties").is_some_and(|rest| rest.as_bool() != Some(true));
        let mut properties = match object.get("properties") {
            Some(Json::Object(properties)) => properties.clone(),
            _ => Object::new(place.as_str()),
        };
        let missing: Vec<_> = required.into_iter().filter(|name| !properties.has(name)).collect();
        if missing.is_empty() && object.has("properties") {
            return;
        }
        for name in &missing {
            properties.set(name, Json::Object(Object::new(super::tree::join(&place, name))));
        }
        object.set("properties", Json::Object(properties));
        let effect = if closed { Wider } else { Same };
        let what = match missing.as_slice() {
            [] => "empty properties added".to_owned(),
            missing => format!("{} added to the properties", missing.join(", ")),
        };
        self.tell(&place, what, "what is required has to be one of them", effect);
    }
}
