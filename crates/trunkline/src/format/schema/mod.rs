//! Rewrites a tool's schema until a dialect takes it, step by step, each of which tells what it does. The tool's
//! own schema is never touched.

mod back;
mod choice;
mod enums;
mod flatten;
mod holds;
mod keywords;
mod merge;
mod names;
mod narrow;
mod references;
mod rules;
mod sound;
mod strict;
mod tree;
mod types;

pub(super) use back::Back;
pub(super) use rules::Rules;
pub(super) use tree::Json;

use std::collections::{HashMap, HashSet};

use self::rules::Unions;
use self::strict::Size;
use self::tree::Object;
use super::report::{Change, Effect};
use crate::protocol::RawJson;

/// The most schemas that a rewritten one may consist of. References are cut beyond.
const MOST_SCHEMAS: usize = 10_000;

/// A schema in the form that a dialect takes.
pub(super) struct Rewritten {
    pub(super) schema: RawJson,
    pub(super) changes: Vec<Change>,
    /// The way back for arguments, where there is something to undo.
    pub(super) back: Option<Back>,
    /// What counts towards the bounds of a whole request.
    pub(super) size: Size,
    /// Why it can't be had in a strict dialect after all.
    pub(super) unfit: Option<String>,
}

/// Rewrites a schema by the rules of a dialect.
pub(super) fn rewrite(schema: &RawJson, rules: &Rules) -> Rewritten {
    let mut pass = Pass::new(rules);
    let mut root = match Json::schema(schema) {
        Some(tree) => tree,
        None => pass.outline(schema),
    };
    pass.mend(&mut root, "");
    pass.resolve(&mut root);
    let mut root = match root {
        Json::Object(root) => root,
        _ => Object::new(""),
    };
    pass.flatten_root(&mut root);
    pass.narrow(&mut root);
    let (mut size, mut marks) = (Size::default(), back::Marks::default());
    if let Some(strict) = rules.strict {
        size = pass.strict(&mut root, strict, &mut marks);
    }
    pass.rename(&mut root, &mut marks);
    if rules.unions == Unions::OpenApi && !root.has("properties") {
        pass.tell("", "left out: it names no argument", "an object without properties isn't taken", Effect::Same);
    }
    let mut told = HashSet::new();
    pass.changes.retain(|change| told.insert((change.pointer.clone(), change.what.clone())));
    let root = Json::Object(root);
    let schema = if pass.changes.is_empty() { schema.clone() } else { root.write() };
    Rewritten { schema, changes: pass.changes, back: Back::new(root, marks), size, unfit: pass.unfit }
}

/// One schema on its way.
struct Pass<'a> {
    rules: &'a Rules,
    changes: Vec<Change>,
    /// So many more schemas may come of references.
    left: usize,
    /// How often each target of kept references was put into something.
    openings: HashMap<String, usize>,
    /// What kept references refer to.
    document: Json,
    /// Why the tool can't be had in the strict dialect.
    unfit: Option<String>,
    /// Whether forms of older drafts were written as today's.
    dated: bool,
    /// How deep the walk is.
    depth: usize,
    /// Whether the walk is where widening narrows.
    doubt: bool,
}

impl<'a> Pass<'a> {
    fn new(rules: &'a Rules) -> Self {
        let (changes, openings) = (Vec::new(), HashMap::new());
        Self {
            rules,
            changes,
            left: MOST_SCHEMAS,
            openings,
            document: Json::null(),
            unfit: None,
            dated: false,
            doubt: false,
            depth: 0,
        }
    }

    fn tell(&mut self, pointer: &str, what: impl Into<String>, why: &'static str, effect: Effect) {
        let effect = if self.doubt && effect != Effect::Same { Effect::Narrower } else { effect };
        self.changes.push(Change { pointer: pointer.to_owned(), what: what.into(), why, effect });
    }

    /// Whether what is taken in more widely under a keyword may take in less as a whole.
    fn is_doubtful(&self, key: &str) -> bool {
        matches!(key, "not" | "if" | "oneOf" | "contains") && self.rules.takes(key)
    }

    /// What is left of a schema that is too large to look at: the names of its arguments.
    fn outline(&mut self, schema: &RawJson) -> Json {
        const MOST_NAMES: usize = 100;
        let mut properties = Object::new("/properties");
        let given = schema.get("properties");
        for (name, _) in given.iter().flat_map(RawJson::members).take(MOST_NAMES) {
            let place = properties.place(&name);
            properties.set(&name, Json::Object(Object::new(place)));
        }
        self.tell(
            "",
            "everything but the names of the arguments removed",
            "it is too large or too deep",
            Effect::Wider,
        );
        let root = Object::new("").with("type", Json::text("object"));
        Json::Object(root.with("properties", Json::Object(properties)))
    }
}
