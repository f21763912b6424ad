//! Names of properties that a provider doesn't take, and the way back.

use std::collections::{HashMap, HashSet};

use super::Pass;
use super::back::Marks;
use super::holds::Holds;
use super::tree::{Json, Object, join};
use crate::format::report::Effect::Same;
use crate::name::NameRule;

const NOT_TAKEN: &str = "the name isn't taken";

impl Pass<'_> {
    /// Renames what has to be.
    pub(super) fn rename(&mut self, root: &mut Object, marks: &mut Marks) {
        if let Some(rule) = self.rules.properties {
            self.rename_in(root, "", &rule, marks);
        }
    }

    fn rename_in(&mut self, object: &mut Object, pointer: &str, rule: &NameRule, marks: &mut Marks) {
        self.rename_here(object, pointer, rule, marks);
        for (key, value) in &mut object.members {
            let place = join(pointer, key);
            match (Holds::of(key), value) {
                (Holds::List, Json::Array(items)) => {
                    for (n, item) in items.iter_mut().enumerate() {
                        self.rename_at(item, &join(&place, &n.to_string()), rule, marks);
                    }
                }
                (Holds::Map, Json::Object(map)) => {
                    for (name, schema) in &mut map.members {
                        self.rename_at(schema, &join(&place, name), rule, marks);
                    }
                }
                (Holds::Schema, value) => self.rename_at(value, &place, rule, marks),
                _ => {}
            }
        }
    }

    fn rename_at(&mut self, schema: &mut Json, pointer: &str, rule: &NameRule, marks: &mut Marks) {
        if let Some(object) = schema.as_object_mut() {
            self.rename_in(object, pointer, rule, marks);
        }
    }

    fn rename_here(&mut self, object: &mut Object, pointer: &str, rule: &NameRule, marks: &mut Marks) {
        let Some(Json::Object(properties)) = object.members.get_mut("properties") else { return };
        let bad: Vec<_> = properties.members.keys().filter(|name| !rule.takes(name)).cloned().collect();
        if bad.is_empty() {
            return;
        }
        let (mut renamed, mut given) = (HashMap::new(), HashSet::new());
        for name in bad {
            let taken = |other: &str| properties.has(other) || given.contains(other);
            let other = rule.instead(&name, taken);
            marks.rename(&join(&join(pointer, "properties"), &other), &name);
            self.tell(&join(&properties.at, &name), format!("{name:?} written as {other:?}"), NOT_TAKEN, Same);
            given.insert(other.clone());
            renamed.insert(name, other);
        }
        let new_name = |name: &str| renamed.get(name).cloned();
        properties.members = std::mem::take(&mut properties.members)
            .into_iter()
            .map(|(name, schema)| (new_name(&name).unwrap_or(name), schema))
            .collect();
        for key in ["required", "propertyOrdering"] {
            if object.has(key) {
                let names: Vec<_> = object.names(key).into_iter().map(|name| new_name(&name).unwrap_or(name)).collect();
                object.set_names(key, &names);
            }
        }
        for key in ["dependentRequired", "dependentSchemas"] {
            let Some(Json::Object(map)) = object.members.get_mut(key) else { continue };
            map.members = std::mem::take(&mut map.members)
                .into_iter()
                .map(|(name, value)| (new_name(&name).unwrap_or(name), renamed_list(value, &new_name)))
                .collect();
        }
    }
}

fn renamed_list(value: Json, new_name: &impl Fn(&str) -> Option<String>) -> Json {
    match value {
        Json::Array(names) => Json::Array(
            names.into_iter().map(|name| name.as_text().and_then(new_name).map_or(name.clone(), Json::Text)).collect(),
        ),
        other => other,
    }
}
