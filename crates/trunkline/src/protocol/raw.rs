//! JSON kept as the bytes it arrived in: [`RawJson`] for any value, [`Arguments`] for the object of a call.

use std::fmt;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::scan::{self, Walk};
use crate::error::{Error, ErrorKind, Result};

/// One JSON value, exactly as it was written: number text, key order and unknown fields survive.
///
/// Cheap to clone (shared bytes). Nothing is decoded until asked for.
///
/// ```
/// use trunkline::RawJson;
///
/// let raw = RawJson::parse(r#"{"id": 9007199254740993, "tags": ["a", "b"]}"#)?;
/// assert_eq!(raw.get("id").unwrap().to_string(), "9007199254740993");
/// assert_eq!(raw.get("tags").unwrap().items().count(), 2);
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Bytes);

impl RawJson {
    /// Takes over JSON text after checking that it is one value, nested at most 512 deep.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArguments`] when it isn't.
    pub fn parse(text: impl Into<Bytes>) -> Result<Self> {
        Self::parse_at(text)
            .map_err(|at| Error::new(ErrorKind::InvalidArguments, format!("Not valid JSON (byte {at})")))
    }

    /// The same; at which byte it isn't one value.
    pub(crate) fn parse_at(text: impl Into<Bytes>) -> Result<Self, usize> {
        let text = text.into();
        let fault = match std::str::from_utf8(&text) {
            Ok(_) => scan::whole(&text).err().map(|fault| fault.at),
            Err(error) => Some(error.valid_up_to()),
        };
        fault.map_or(Ok(Self(text)), Err)
    }

    /// Serialises `value`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArguments`] when it can't be written as JSON (a map with keys that aren't text).
    pub fn from_serialize(value: &(impl Serialize + ?Sized)) -> Result<Self> {
        serde_json::to_vec(value).map(|text| Self(text.into())).map_err(|error| {
            Error::new(ErrorKind::InvalidArguments, format!("Can't be written as JSON: {error}")).with_source(error)
        })
    }

    /// A part of text that the scanner has accepted.
    pub(crate) fn trusted(text: Bytes) -> Self {
        Self(text)
    }

    pub(crate) fn of(value: &Value) -> Self {
        Self(serde_json::to_vec(value).expect("a Value is always JSON").into())
    }

    pub(crate) fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// The exact text as bytes (UTF-8).
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The shared bytes themselves.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Decodes into `T`.
    ///
    /// # Errors
    /// [`ErrorKind::Protocol`] when the value has another shape.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        let mut reader = serde_json::Deserializer::from_slice(&self.0);
        reader.disable_recursion_limit(); // the scanner bounded the depth
        T::deserialize(&mut reader)
            .map_err(|error| Error::new(ErrorKind::Protocol, format!("Unexpected JSON: {error}")).with_source(error))
    }

    /// The value as `serde_json` holds it. Integers beyond 64 bits and floats beyond `f64` lose digits there;
    /// a number too large for `f64` becomes its text. [`as_bytes`](Self::as_bytes) keeps everything.
    pub fn to_value(&self) -> Value {
        self.value_with(&|number| Value::String(number.to_owned()))
    }

    /// The value, with `too_large` in place of each number that no `f64` holds.
    pub(crate) fn value_with(&self, too_large: &dyn Fn(&str) -> Value) -> Value {
        self.decode().unwrap_or_else(|_| tolerant(&mut Walk::new(&self.0), too_large))
    }

    /// The member `key` of an object. The last one wins where a key is repeated; `null` counts as there.
    pub fn get(&self, key: &str) -> Option<RawJson> {
        scan::Members::new(&self.0)
            .filter(|member| scan::key_is(&self.0[member.key.clone()], key))
            .last()
            .map(|member| self.part(member.value))
    }

    /// Like [`get`](Self::get), but `null` counts as absent, as everywhere in the protocol.
    pub(crate) fn field(&self, key: &str) -> Option<RawJson> {
        self.get(key).filter(|value| !value.is_null())
    }

    /// The text of a string member; nothing where it is absent or no string.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.get(key)?.as_text()
    }

    /// The members of an object in their order; empty for anything else.
    pub fn members(&self) -> impl Iterator<Item = (String, RawJson)> + '_ {
        scan::Members::new(&self.0)
            .filter_map(|member| Some((scan::spelled(&self.0[member.key])?, self.part(member.value))))
    }

    /// The elements of an array; empty for anything else.
    pub fn items(&self) -> impl Iterator<Item = RawJson> + '_ {
        scan::Items::new(&self.0).map(|range| self.part(range))
    }

    fn part(&self, range: std::ops::Range<usize>) -> RawJson {
        RawJson(self.0.slice(range))
    }

    /// The value of a JSON string; nothing for anything else.
    pub fn as_text(&self) -> Option<String> {
        (self.first() == Some(b'"')).then(|| serde_json::from_slice(&self.0).ok()).flatten()
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        self.first() == Some(b'{')
    }

    /// Whether this is an array.
    pub fn is_array(&self) -> bool {
        self.first() == Some(b'[')
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.first() == Some(b'n')
    }

    /// How deep arrays and objects nest in it.
    pub(crate) fn depth(&self) -> usize {
        scan::depth(&self.0)
    }

    fn first(&self) -> Option<u8> {
        self.0.get(scan::blank(&self.0, 0)).copied()
    }

    /// This object with `key` set to `value`, in its old place; other members keep their bytes.
    pub(crate) fn with_member(&self, key: &str, value: &RawJson) -> RawJson {
        let (mut out, mut set) = (ObjectWriter::new(), false);
        for member in scan::Members::new(&self.0) {
            if !scan::key_is(&self.0[member.key.clone()], key) {
                out.raw_member(&self.0[member.key.start - 1..member.key.end + 1], &self.0[member.value]);
            } else if !std::mem::replace(&mut set, true) {
                out.member(key, value);
            }
        }
        if !set {
            out.member(key, value);
        }
        out.finish()
    }
}

/// The value ahead, met once however deep it lies.
fn tolerant(walk: &mut Walk<'_>, too_large: &dyn Fn(&str) -> Value) -> Value {
    match walk.peek() {
        Some(b'{') => {
            walk.enter();
            let mut members = Map::new();
            while let Some(key) = walk.key() {
                let value = tolerant(walk, too_large);
                members.extend(scan::spelled(key).map(|key| (key, value)));
            }
            Value::Object(members)
        }
        Some(b'[') => {
            walk.enter();
            let mut items = Vec::new();
            while walk.item() {
                items.push(tolerant(walk, too_large));
            }
            Value::Array(items)
        }
        _ => {
            let text = walk.value();
            serde_json::from_slice(text).unwrap_or_else(|_| too_large(&String::from_utf8_lossy(text)))
        }
    }
}

/// Writes an object member by member, values verbatim.
#[derive(Debug)]
pub(crate) struct ObjectWriter(Vec<u8>);

impl ObjectWriter {
    pub(crate) fn new() -> Self {
        Self(vec![b'{'])
    }

    fn raw_member(&mut self, quoted_key: &[u8], value: &[u8]) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(quoted_key);
        self.0.push(b':');
        self.0.extend_from_slice(value);
    }

    pub(crate) fn member(&mut self, key: &str, value: &RawJson) {
        self.raw_member(&quote(key), &value.0);
    }

    pub(crate) fn text(&mut self, key: &str, value: &str) {
        self.raw_member(&quote(key), &quote(value));
    }

    pub(crate) fn finish(mut self) -> RawJson {
        self.0.push(b'}');
        RawJson(self.0.into())
    }
}

pub(crate) fn quote(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("text is always JSON")
}

/// Writes an array, items verbatim.
pub(crate) fn array<'a>(items: impl IntoIterator<Item = &'a RawJson>) -> RawJson {
    let mut out = vec![b'['];
    for item in items {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(&item.0);
    }
    out.push(b']');
    RawJson(out.into())
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({self})")
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self::of(&value)
    }
}

impl From<&Value> for RawJson {
    fn from(value: &Value) -> Self {
        Self::of(value)
    }
}

/// The arguments of a call: a JSON object, kept as the bytes that will be sent.
///
/// ```
/// use trunkline::{Arguments, IntoArguments};
/// use serde_json::json;
///
/// let arguments = json!({"path": "notes.md"}).into_arguments()?;
/// assert_eq!(arguments.get("path").unwrap().to_string(), "\"notes.md\"");
/// assert!(json!([1]).into_arguments().is_err());
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Arguments(RawJson);

impl Arguments {
    /// No arguments: `{}`.
    pub fn none() -> Self {
        Self(RawJson::empty_object())
    }

    /// An object made here.
    pub(crate) fn of_object(object: RawJson) -> Self {
        Self(object)
    }

    /// Takes over JSON; `null` means no arguments.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArguments`] when it isn't an object.
    pub fn from_raw(raw: RawJson) -> Result<Self> {
        if raw.is_object() {
            return Ok(Self(raw));
        }
        if raw.is_null() {
            return Ok(Self::none());
        }
        Err(Error::new(ErrorKind::InvalidArguments, "Arguments have to be a JSON object")
            .with_hint("Pass an object whose keys are the argument names, such as {\"path\": \".\"}"))
    }

    /// Serialises a struct or map.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArguments`] when it doesn't become a JSON object.
    pub fn from_serialize(value: &(impl Serialize + ?Sized)) -> Result<Self> {
        Self::from_raw(RawJson::from_serialize(value)?)
    }

    /// The exact JSON.
    pub fn raw(&self) -> &RawJson {
        &self.0
    }

    /// One argument.
    pub fn get(&self, name: &str) -> Option<RawJson> {
        self.0.get(name)
    }

    /// The arguments in their order.
    pub fn iter(&self) -> impl Iterator<Item = (String, RawJson)> + '_ {
        self.0.members()
    }

    /// Decodes into `T`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArguments`] when they have another shape.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        let mut reader = serde_json::Deserializer::from_slice(self.0.as_bytes());
        reader.disable_recursion_limit();
        T::deserialize(&mut reader).map_err(|error| {
            Error::new(ErrorKind::InvalidArguments, format!("Arguments don't fit: {error}")).with_source(error)
        })
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arguments({})", self.0)
    }
}

/// Whatever can be the arguments of a call: [`Arguments`], a `serde_json::Value` or map, pairs, `()`.
pub trait IntoArguments {
    /// Turns it into [`Arguments`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArguments`] when it isn't a JSON object.
    fn into_arguments(self) -> Result<Arguments>;
}

impl IntoArguments for Arguments {
    fn into_arguments(self) -> Result<Arguments> {
        Ok(self)
    }
}

impl IntoArguments for () {
    fn into_arguments(self) -> Result<Arguments> {
        Ok(Arguments::none())
    }
}

impl IntoArguments for RawJson {
    fn into_arguments(self) -> Result<Arguments> {
        Arguments::from_raw(self)
    }
}

impl IntoArguments for Value {
    fn into_arguments(self) -> Result<Arguments> {
        Arguments::from_raw(RawJson::of(&self))
    }
}

impl IntoArguments for &Value {
    fn into_arguments(self) -> Result<Arguments> {
        Arguments::from_raw(RawJson::of(self))
    }
}

impl IntoArguments for serde_json::Map<String, Value> {
    fn into_arguments(self) -> Result<Arguments> {
        Value::Object(self).into_arguments()
    }
}

impl<K: Into<String>, V: Into<Value>, const N: usize> IntoArguments for [(K, V); N] {
    fn into_arguments(self) -> Result<Arguments> {
        let map: serde_json::Map<_, _> = self.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        map.into_arguments()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn raw(text: &'static str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    #[test]
    fn keeps_every_number_as_written() {
        let numbers = raw("[9007199254740993,18446744073709551615,123456789012345678901234567890,1.0,1e400,-0.0,0.1]");
        let texts: Vec<_> = numbers.items().map(|n| n.to_string()).collect();
        assert_eq!(texts.join(","), numbers.to_string().trim_matches(['[', ']']));
        assert_eq!(numbers.to_value()[4], json!("1e400"));
        assert_eq!(numbers.to_value()[0], json!(9_007_199_254_740_993_u64));
    }

    #[test]
    fn reads_values_nested_deeper_than_serde_allows_by_default() {
        let text = "[".repeat(300) + &"]".repeat(300);
        assert!(RawJson::parse(text).unwrap().to_value().is_array());
    }

    /// It takes a moment; if each level were read anew, it would take minutes.
    #[test]
    fn a_number_that_is_too_large_costs_itself_however_deep_it_lies() {
        let inner = "[1,2,3],".repeat(200_000) + "1e999";
        let value = RawJson::parse("[".repeat(500) + &inner + &"]".repeat(500)).unwrap().to_value();
        assert!(value.to_string().ends_with(&format!("[1,2,3],\"1e999\"{}", "]".repeat(500))));
        assert_eq!(raw(r#" { "a" : [ -1e999 , 2 ] } "#).to_value(), json!({"a": ["-1e999", 2]}));
    }

    #[test]
    fn the_last_of_repeated_keys_wins_and_null_is_no_field() {
        let object = raw(r#"{"a":1,"b":null,"a":2}"#);
        assert_eq!(object.get("a"), Some(raw("2")));
        assert!(object.get("b").is_some());
        assert!(object.field("b").is_none());
    }

    #[test]
    fn sets_a_member_and_leaves_the_others_alone() {
        let object = raw(r#"{ "z" : 1.0, "_meta":{}, "a":[ 1 ] }"#);
        assert_eq!(
            object.with_member("_meta", &raw("{\"k\":1}")).to_string(),
            r#"{"z":1.0,"_meta":{"k":1},"a":[ 1 ]}"#,
            "in its place"
        );
        assert_eq!(raw(r#"{"a":1,"b":2,"a":3}"#).with_member("a", &raw("4")).to_string(), r#"{"a":4,"b":2}"#);
        assert_eq!(RawJson::empty_object().with_member("k", &raw("1")).to_string(), r#"{"k":1}"#);
    }

    #[test]
    fn arguments_are_an_object_or_an_error() {
        assert_eq!(Arguments::from_raw(raw("null")).unwrap(), Arguments::none());
        assert_eq!([("a", 1)].into_arguments().unwrap().raw(), &raw(r#"{"a":1}"#));
        let error = json!("x").into_arguments().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    }
}
