//! A view of a tool's JSON Schema as far as the command line needs one: which types an argument may have, and how
//! it is written in a signature. Checking values against the whole schema is left to the library.

use trunkline::RawJson;

use crate::render::json::quote;

/// How deep references and alternatives are followed.
pub(crate) const DEEPEST: usize = 8;

/// How many alternatives are looked at for one answer: servers may refer from each to all of them.
const MOST: usize = 200;

/// A schema inside the document it refers to. Kept raw, so that the server's order and numbers show.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    root: RawJson,
    schema: RawJson,
}

/// A property of an object.
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
}

/// The JSON types a value may have; one that says nothing may have any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const STRING: Self = Self(1);
    pub(crate) const INTEGER: Self = Self(2);
    pub(crate) const NUMBER: Self = Self(4 | 2);
    pub(crate) const BOOLEAN: Self = Self(8);
    pub(crate) const ARRAY: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);
    pub(crate) const NULL: Self = Self(64);
    pub(crate) const ANY: Self = Self(127);

    /// Whether a value of this type will do.
    pub(crate) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 == kind.0
    }

    fn of_name(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "boolean" => Self::BOOLEAN,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            "null" => Self::NULL,
            _ => Self::ANY,
        }
    }

    pub(crate) fn of_value(value: &RawJson) -> Self {
        match value.as_bytes().trim_ascii_start().first() {
            Some(b'"') => Self::STRING,
            Some(b't' | b'f') => Self::BOOLEAN,
            Some(b'[') => Self::ARRAY,
            Some(b'{') => Self::OBJECT,
            Some(b'n') => Self::NULL,
            _ => Self::NUMBER,
        }
    }

    fn union(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self(0), |one, other| Self(one.0 | other.0))
    }

    /// What it is, in words: "a whole number or null".
    pub(crate) fn words(self) -> String {
        let names = [
            (Self::STRING, "text"),
            (Self::NUMBER, "a number"),
            (Self::INTEGER, "a whole number"),
            (Self::BOOLEAN, "true or false"),
            (Self::ARRAY, "a list"),
            (Self::OBJECT, "an object"),
            (Self::NULL, "null"),
        ];
        let is_told = |kind: Self| self.has(kind) && (kind != Self::INTEGER || !self.has(Self::NUMBER));
        names.iter().filter(|(kind, _)| is_told(*kind)).map(|(_, name)| *name).collect::<Vec<_>>().join(" or ")
    }
}

impl Shape {
    pub(crate) fn new(root: RawJson) -> Self {
        Self { schema: root.clone(), root }
    }

    fn at(&self, schema: RawJson) -> Self {
        Self { root: self.root.clone(), schema }
    }

    fn text(&self, key: &str) -> Option<String> {
        self.schema.get(key)?.as_text()
    }

    /// The schema itself where it is only a reference, or one single part of a whole.
    fn resolved(&self) -> Self {
        let mut shape = self.clone();
        for _ in 0..DEEPEST {
            let target = match (shape.text("$ref"), shape.schema.get("allOf")) {
                (Some(reference), _) => reference.strip_prefix('#').and_then(|path| shape.pointed_at(path)),
                (None, Some(parts)) if shape.schema.get("type").is_none() && parts.items().count() == 1 => {
                    parts.items().next()
                }
                _ => return shape,
            };
            match target {
                Some(target) => shape = shape.at(target),
                None => return shape,
            }
        }
        shape
    }

    fn pointed_at(&self, path: &str) -> Option<RawJson> {
        let steps = path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
        steps.into_iter().try_fold(self.root.clone(), |value, step| value.get(&step))
    }

    /// The properties of an object, in the server's order.
    pub(crate) fn properties(&self) -> Vec<Property> {
        let shape = self.resolved();
        let list = shape.schema.get("required");
        let required: Vec<_> = list.iter().flat_map(RawJson::items).filter_map(|name| name.as_text()).collect();
        let properties = shape.schema.get("properties");
        let properties = properties.iter().flat_map(RawJson::members);
        let one = |(name, schema): (String, RawJson)| {
            let required = required.contains(&name);
            Property { name, shape: shape.at(schema), required }
        };
        properties.map(one).collect()
    }

    /// Whether a property that isn't listed makes sense.
    pub(crate) fn is_open(&self) -> bool {
        let schema = self.resolved().schema;
        let has = |key: &str| schema.get(key).is_some_and(|map| map.members().next().is_some());
        match schema.get("additionalProperties") {
            Some(allowed) => allowed.as_bytes() != b"false",
            None => !has("properties") || has("patternProperties"),
        }
    }

    /// The schema of a list's items.
    pub(crate) fn items(&self) -> Option<Self> {
        self.items_within(DEEPEST, &mut { MOST })
    }

    fn items_within(&self, depth: usize, left: &mut usize) -> Option<Self> {
        let shape = self.resolved();
        if let Some(items) = shape.schema.get("items") {
            return Some(shape.at(items));
        }
        let depth = depth.checked_sub(1)?;
        shape.alternatives().iter().find_map(|shape| {
            *left = left.checked_sub(1)?;
            shape.items_within(depth, left)
        })
    }

    fn alternatives(&self) -> Vec<Self> {
        let lists = ["anyOf", "oneOf"].iter().filter_map(|key| self.schema.get(key));
        lists.flat_map(|list| list.items().map(|schema| self.at(schema)).collect::<Vec<_>>()).collect()
    }

    /// The types that are allowed.
    pub(crate) fn types(&self) -> Types {
        self.types_within(DEEPEST, &mut { MOST })
    }

    fn types_within(&self, depth: usize, left: &mut usize) -> Types {
        if depth == 0 || *left == 0 {
            return Types::ANY;
        }
        *left -= 1;
        let shape = self.resolved();
        let schema = &shape.schema;
        if let Some(value) = schema.get("const") {
            return Types::of_value(&value);
        }
        if let Some(values) = schema.get("enum") {
            return Types::union(values.items().map(|value| Types::of_value(&value)));
        }
        if let Some(kind) = schema.get("type") {
            return match kind.as_text() {
                Some(name) => Types::of_name(&name),
                None => Types::union(kind.items().filter_map(|name| name.as_text()).map(|name| Types::of_name(&name))),
            };
        }
        let alternatives = shape.alternatives();
        match alternatives.as_slice() {
            [] if schema.get("properties").is_some() => Types::OBJECT,
            [] if schema.get("items").is_some() => Types::ARRAY,
            [] => Types::ANY,
            several => Types::union(several.iter().map(|shape| shape.types_within(depth - 1, left))),
        }
    }

    /// The type as a signature shows it.
    pub(crate) fn written(&self) -> String {
        self.written_within(3, &mut { MOST })
    }

    fn written_within(&self, depth: usize, left: &mut usize) -> String {
        if *left == 0 {
            return "any".to_owned();
        }
        *left -= 1;
        let shape = self.resolved();
        let schema = &shape.schema;
        if let Some(value) = schema.get("const") {
            return value.to_string();
        }
        if let Some(values) = schema.get("enum") {
            return choices(&values);
        }
        if let Some(kind) = schema.get("type") {
            let names: Vec<_> = match kind.as_text() {
                Some(name) => vec![name],
                None => kind.items().filter_map(|name| name.as_text()).collect(),
            };
            return names.iter().map(|name| shape.written_as(name, depth, left)).collect::<Vec<_>>().join(" | ");
        }
        let alternatives = shape.alternatives();
        if !alternatives.is_empty() && depth > 0 {
            let mut names: Vec<String> = Vec::new();
            for name in alternatives.iter().map(|shape| shape.written_within(depth - 1, left)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            return names.join(" | ");
        }
        match shape.types() {
            Types::OBJECT => shape.written_as("object", depth, left),
            Types::ARRAY => shape.written_as("array", depth, left),
            _ => "any".to_owned(),
        }
    }

    fn written_as(&self, name: &str, depth: usize, left: &mut usize) -> String {
        match name {
            "array" => match self.items().filter(|_| depth > 0).map(|items| items.written_within(depth - 1, left)) {
                Some(item) if item.contains(' ') && !item.starts_with('{') => format!("({item})[]"),
                Some(item) => format!("{item}[]"),
                None => "array".to_owned(),
            },
            "object" => {
                let properties = self.properties();
                if properties.is_empty() || depth < 2 || properties.len() > 6 {
                    return "object".to_owned();
                }
                let mut one = |property: &Property| {
                    let mark = if property.required { "" } else { "?" };
                    format!("{}{mark}: {}", key(&property.name), property.shape.written_within(depth - 1, left))
                };
                format!("{{{}}}", properties.iter().map(&mut one).collect::<Vec<_>>().join(", "))
            }
            name => name.to_owned(),
        }
    }

    /// The value that holds where none is given.
    pub(crate) fn default(&self) -> Option<RawJson> {
        let own = self.schema.get("default");
        own.or_else(|| self.resolved().schema.get("default")).filter(|value| !value.is_null())
    }
}

fn choices(values: &RawJson) -> String {
    let mut told: Vec<_> = values.items().take(9).map(|value| value.to_string()).collect();
    if told.len() > 8 {
        told[8] = "...".to_owned();
    }
    told.join(" | ")
}

/// A name as it stands in a signature: quoted where it wouldn't read as one word.
pub(crate) fn key(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.$".contains(c));
    if plain { name.to_owned() } else { quote(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn types_are_seen_through_references_and_alternatives() {
        let root = json!({"$defs": {
            "Mode": {"enum": ["r", "w"]},
            "Loop": {"$ref": "#/$defs/Loop"},
            "Nested": {"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}]}
        }});
        let types = |schema: &Value| Shape { root: (&root).into(), schema: schema.into() }.types();
        for (schema, expected) in [
            (json!({"type": "string"}), Types::STRING),
            (json!({"type": "number"}), Types::NUMBER),
            (json!({"type": ["integer", "null"]}), Types(Types::INTEGER.0 | Types::NULL.0)),
            (json!({"$ref": "#/$defs/Mode"}), Types::STRING),
            (json!({"allOf": [{"$ref": "#/$defs/Mode"}], "default": "r"}), Types::STRING),
            (json!({"$ref": "#/$defs/Nested"}), Types(Types::STRING.0 | Types::NULL.0)),
            (json!({"$ref": "#/$defs/Loop"}), Types::ANY),
            (json!({"$ref": "#/$defs/absent"}), Types::ANY),
            (json!({"enum": [1, "a"]}), Types(Types::NUMBER.0 | Types::STRING.0)),
            (json!({"const": true}), Types::BOOLEAN),
            (json!({"properties": {}}), Types::OBJECT),
            (json!({"items": {}}), Types::ARRAY),
            (json!({}), Types::ANY),
            (json!(true), Types::ANY),
        ] {
            assert_eq!(types(&schema), expected, "{schema}");
        }
        assert_eq!(Types(Types::INTEGER.0 | Types::NULL.0).words(), "a whole number or null");
        assert_eq!(Types::NUMBER.words(), "a number");
    }
}
