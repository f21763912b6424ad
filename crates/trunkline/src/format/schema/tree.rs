//! A schema as a tree that keeps the order of keys, the text of numbers, and where each part stood.

use std::sync::Arc;

use indexmap::IndexMap;

use super::holds::Holds;
use crate::protocol::RawJson;
use crate::protocol::raw::{ObjectWriter, array, quote};

/// The deepest nesting of a schema's JSON that is read.
const DEEPEST: usize = 128;

/// The most values of a schema's JSON that are read.
const MOST_VALUES: usize = 20_000;

#[derive(Debug, Clone)]
pub(in crate::format) enum Json {
    Object(Object),
    Array(Vec<Json>),
    Text(String),
    /// A number, a boolean or `null`.
    Other(RawJson),
}

#[derive(Debug, Clone)]
pub(in crate::format) struct Object {
    /// Where it stood in the tool's schema, as a JSON pointer.
    pub(in crate::format) at: Arc<str>,
    pub(in crate::format) members: IndexMap<String, Json>,
}

impl PartialEq for Json {
    /// Whether they say the same, wherever they stood.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(a), Self::Object(b)) => a.members == b.members,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Other(a), Self::Other(b)) => a == b || same_number(self, other),
            _ => false,
        }
    }
}

/// Beyond 2^53 it can't be told whether numbers are equal that are written differently.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether two numbers are equal though written differently.
fn same_number(a: &Json, b: &Json) -> bool {
    a.as_number().is_some_and(|number| Some(number) == b.as_number() && number.abs() < EXACT)
}

impl Json {
    /// Reads a schema; nothing where it is larger than any that makes sense.
    pub(in crate::format) fn schema(raw: &RawJson) -> Option<Self> {
        let mut left = MOST_VALUES;
        read(raw, "", DEEPEST, &mut left)
    }

    /// Reads a value of any size. The scanner has bounded its depth.
    pub(in crate::format) fn value(raw: &RawJson) -> Self {
        read(raw, "", usize::MAX, &mut usize::MAX.clone()).unwrap_or_else(Self::null)
    }

    pub(in crate::format) fn null() -> Self {
        Self::Other(RawJson::trusted("null".into()))
    }

    pub(in crate::format) fn bool(value: bool) -> Self {
        Self::Other(RawJson::trusted(if value { "true" } else { "false" }.into()))
    }

    pub(in crate::format) fn number(value: i64) -> Self {
        Self::Other(RawJson::trusted(value.to_string().into()))
    }

    pub(in crate::format) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(in crate::format) fn is_null(&self) -> bool {
        matches!(self, Self::Other(raw) if raw.is_null())
    }

    pub(in crate::format) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Other(raw) if raw.as_bytes() == b"true" => Some(true),
            Self::Other(raw) if raw.as_bytes() == b"false" => Some(false),
            _ => None,
        }
    }

    pub(in crate::format) fn as_number(&self) -> Option<f64> {
        match self {
            Self::Other(raw) => raw.to_string().parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }

    pub(in crate::format) fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Other(raw) => raw.to_string().parse().ok(),
            _ => None,
        }
    }

    pub(in crate::format) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(in crate::format) fn as_array(&self) -> Option<&[Json]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    fn as_array_mut(&mut self) -> Option<&mut Vec<Json>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(in crate::format) fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(in crate::format) fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The word of JSON Schema for what this value is.
    pub(in crate::format) fn kind(&self) -> &'static str {
        match self {
            Self::Object(_) => "object",
            Self::Array(_) => "array",
            Self::Text(_) => "string",
            Self::Other(_) if self.is_null() => "null",
            Self::Other(_) if self.as_bool().is_some() => "boolean",
            Self::Other(_) if self.as_number().is_some_and(|number| number.fract() == 0.0) => "integer",
            Self::Other(_) => "number",
        }
    }

    /// A text that is the same for equal values and no others.
    pub(in crate::format) fn key(&self) -> String {
        match self.as_number().filter(|number| number.abs() < EXACT) {
            Some(number) => number.to_string(),
            None => self.write().to_string(),
        }
    }

    /// How many values it consists of.
    pub(in crate::format) fn count(&self) -> usize {
        match self {
            Self::Object(object) => 1 + object.members.values().map(Self::count).sum::<usize>(),
            Self::Array(items) => 1 + items.iter().map(Self::count).sum::<usize>(),
            _ => 1,
        }
    }

    pub(in crate::format) fn write(&self) -> RawJson {
        match self {
            Self::Object(object) => object.write(),
            Self::Array(items) => array(&items.iter().map(Self::write).collect::<Vec<_>>()),
            Self::Text(text) => RawJson::trusted(quote(text).into()),
            Self::Other(raw) => raw.clone(),
        }
    }
}

impl Object {
    pub(in crate::format) fn new(at: impl Into<Arc<str>>) -> Self {
        Self { at: at.into(), members: IndexMap::new() }
    }

    pub(in crate::format) fn with(mut self, key: &str, value: Json) -> Self {
        self.set(key, value);
        self
    }

    pub(in crate::format) fn get(&self, key: &str) -> Option<&Json> {
        self.members.get(key)
    }

    pub(in crate::format) fn has(&self, key: &str) -> bool {
        self.members.contains_key(key)
    }

    /// Sets a member; one that is there keeps its place.
    pub(in crate::format) fn set(&mut self, key: &str, value: Json) {
        self.members.insert(key.to_owned(), value);
    }

    pub(in crate::format) fn take(&mut self, key: &str) -> Option<Json> {
        self.members.shift_remove(key)
    }

    pub(in crate::format) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    pub(in crate::format) fn object(&self, key: &str) -> Option<&Object> {
        self.get(key)?.as_object()
    }

    pub(in crate::format) fn list(&self, key: &str) -> &[Json] {
        self.get(key).and_then(Json::as_array).unwrap_or_default()
    }

    pub(in crate::format) fn properties(&self) -> impl Iterator<Item = (&String, &Json)> {
        self.object("properties").into_iter().flat_map(|map| &map.members)
    }

    /// The names in a list such as `required`.
    pub(in crate::format) fn names(&self, key: &str) -> Vec<String> {
        self.list(key).iter().filter_map(Json::as_text).map(str::to_owned).collect()
    }

    /// The types it allows; none where it doesn't say.
    pub(in crate::format) fn types(&self) -> Vec<String> {
        match self.get("type") {
            Some(Json::Text(one)) => vec![one.clone()],
            Some(Json::Array(_)) => self.names("type"),
            _ => Vec::new(),
        }
    }

    pub(in crate::format) fn set_types(&mut self, types: &[String]) {
        match types {
            [] => drop(self.take("type")),
            [one] => self.set("type", Json::text(one)),
            types => self.set("type", Json::Array(types.iter().map(Json::text).collect())),
        }
    }

    pub(in crate::format) fn set_names(&mut self, key: &str, names: &[String]) {
        self.set(key, Json::Array(names.iter().map(Json::text).collect()));
    }

    /// The schemas inside it, one level down, in their order, each with its keyword.
    pub(in crate::format) fn schemas_mut(&mut self) -> impl Iterator<Item = (&str, &mut Json)> {
        self.members.iter_mut().flat_map(|(key, value)| {
            let inside: Vec<&mut Json> = match Holds::of(key) {
                Holds::Schema => vec![value],
                Holds::List => value.as_array_mut().map(|items| items.iter_mut().collect()).unwrap_or_default(),
                Holds::Map => value.as_object_mut().map(|map| map.members.values_mut().collect()).unwrap_or_default(),
                Holds::Data => Vec::new(),
            };
            inside.into_iter().map(|schema| (key.as_str(), schema))
        })
    }

    /// The place of something inside it.
    pub(in crate::format) fn place(&self, key: &str) -> String {
        join(&self.at, key)
    }

    fn write(&self) -> RawJson {
        let mut out = ObjectWriter::new();
        for (key, value) in &self.members {
            out.member(key, &value.write());
        }
        out.finish()
    }
}

/// A JSON pointer (RFC 6901) one step further down.
pub(in crate::format) fn join(at: &str, step: &str) -> String {
    format!("{at}/{}", step.replace('~', "~0").replace('/', "~1"))
}

fn read(raw: &RawJson, at: &str, deeper: usize, left: &mut usize) -> Option<Json> {
    *left = left.checked_sub(1)?;
    let deeper = deeper.checked_sub(1)?;
    if raw.is_object() {
        let mut object = Object::new(at);
        for (key, value) in raw.members() {
            let value = read(&value, &join(at, &key), deeper, left)?;
            object.members.insert(key, value);
        }
        return Some(Json::Object(object));
    }
    if raw.is_array() {
        let items = raw.items().enumerate();
        let items = items.map(|(n, item)| read(&item, &join(at, &n.to_string()), deeper, left));
        return items.collect::<Option<_>>().map(Json::Array);
    }
    Some(raw.as_text().map_or_else(|| Json::Other(raw.clone()), Json::Text))
}
