//! Says in words what a union of objects leaves to choose, once its branches are one object.

use super::keywords::describe;
use super::merge::short;
use super::tree::{Json, Object};

/// Says in the description which arguments belong together.
pub(super) fn tell_of_the_choice(object: &mut Object, branches: &[Object]) {
    const LONGEST: usize = 600;
    let common = in_all(branches);
    let tag = tag(branches);
    let mut sets: Vec<String> = Vec::new();
    for branch in branches {
        let more: Vec<_> = branch.names("required").into_iter().filter(|name| !common.contains(name)).collect();
        let set = if more.is_empty() { "nothing more".to_owned() } else { more.join(" and ") };
        let value = tag.as_ref().and_then(|tag| fixed(branch.object("properties")?.get(tag)?));
        sets.push(match (&tag, value) {
            (Some(tag), Some(value)) => format!("{set} where {tag} is {}", short(value)),
            _ => set,
        });
    }
    let choice = format!("Give either {}.", sets.join(", or "));
    if sets.iter().any(|set| *set != sets[0]) && choice.len() <= LONGEST {
        describe(object, &choice);
    }
}

/// The property that tells the branches apart.
fn tag(branches: &[Object]) -> Option<String> {
    let is_fixed = |branch: &Object, name: &str| {
        branch.object("properties").and_then(|map| map.get(name)).is_some_and(|schema| fixed(schema).is_some())
    };
    let mut names = branches.first()?.properties().map(|(name, _)| name);
    names.find(|name| branches.iter().all(|branch| is_fixed(branch, name))).cloned()
}

/// The one value that a schema takes.
fn fixed(schema: &Json) -> Option<&Json> {
    let schema = schema.as_object()?;
    schema.get("const").or_else(|| match schema.list("enum") {
        [only] => Some(only),
        _ => None,
    })
}

/// The names that every branch requires.
pub(super) fn in_all(branches: &[Object]) -> Vec<String> {
    let mut names = branches.first().map(|branch| branch.names("required")).unwrap_or_default();
    names.retain(|name| branches.iter().all(|branch| branch.names("required").contains(name)));
    names
}
