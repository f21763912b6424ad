//! The headers that repeat what a request says (MCP specification 2026-07-28, Streamable HTTP, Request Metadata), and the
//! parameters of tools that their schemas want repeated there (`x-mcp-header`).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use serde_json::Value;

use crate::protocol::jsonrpc::{Field, Params};
use crate::protocol::{RawJson, ToolDefinition};
use crate::transport::Tags;

const ANNOTATION: &str = "x-mcp-header";

/// The tools with such parameters, as they were listed last.
#[derive(Default)]
pub(super) struct Mirrored(RwLock<HashMap<String, Arc<[Mirror]>>>);

/// A parameter that goes into a header as well.
#[derive(Debug, PartialEq, Eq)]
struct Mirror {
    header: String,
    /// Where it is in the arguments.
    path: Vec<String>,
}

impl Mirrored {
    /// Takes a list of tools; gives those that can be called, and tells `warn` of the others.
    pub(super) fn take(&self, tools: Vec<ToolDefinition>, warn: impl Fn(String)) -> Vec<ToolDefinition> {
        let mut table = HashMap::new();
        let sound = tools.into_iter().filter(|tool| match mirrors(tool) {
            Ok(mirrors) => {
                if !mirrors.is_empty() {
                    table.insert(tool.name().to_owned(), mirrors.into());
                }
                true
            }
            Err(why) => {
                warn(format!("tool \"{}\" was left out: {why}", tool.name()));
                false
            }
        });
        let sound = sound.collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = table;
        sound
    }

    fn of(&self, tool: &str) -> Option<Arc<[Mirror]>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(tool).cloned()
    }
}

/// The headers of a request.
pub(super) fn of(method: &str, params: &Params<'_>, mirrored: &Mirrored) -> Tags {
    let mut tags: Tags = vec![(Cow::Borrowed("mcp-method"), method.to_owned())];
    let named = match method {
        "tools/call" | "prompts/get" => params.text("name"),
        "resources/read" => params.text("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.text("taskId"),
        _ => None,
    };
    let Some(named) = named else { return tags };
    tags.push((Cow::Borrowed("mcp-name"), encoded(&named).into_owned()));
    let mirrors = if method == "tools/call" { mirrored.of(&named) } else { None };
    if let (Some(mirrors), Some(arguments)) = (mirrors, arguments(params)) {
        for Mirror { header, path } in mirrors.iter() {
            if let Some(value) = value_at(&arguments, path) {
                tags.push((Cow::Owned(header.clone()), encoded(&value).into_owned()));
            }
        }
    }
    tags
}

fn arguments(params: &Params<'_>) -> Option<RawJson> {
    match params {
        Params::None => None,
        Params::Raw(raw) => raw.field("arguments"),
        Params::Fields(fields) => fields.iter().find_map(|(key, value)| match value {
            Field::Json(json) if *key == "arguments" => Some((*json).clone()),
            _ => None,
        }),
    }
}

/// The value at a path of the arguments as a header says it; nothing where there is none.
fn value_at(arguments: &RawJson, path: &[String]) -> Option<String> {
    let value = path.iter().try_fold(arguments.clone(), |value, key| value.field(key))?;
    match value.to_value() {
        Value::String(text) => Some(text),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) => Some(whole(&number).map_or_else(|| number.to_string(), |whole| whole.to_string())),
        _ => None,
    }
}

/// A whole number, however it is written.
fn whole(number: &serde_json::Number) -> Option<i64> {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    let exact = number.as_i64();
    exact.or_else(|| {
        number.as_f64().filter(|value| value.fract() == 0.0 && value.abs() <= SAFE).map(|value| value as i64)
    })
}

/// A value as a header can carry it.
fn encoded(value: &str) -> Cow<'_, str> {
    const MARK: (&str, &str) = ("=?base64?", "?=");
    let plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    let bare = value.trim_matches([' ', '\t']).len() == value.len();
    if plain && bare && !(value.starts_with(MARK.0) && value.ends_with(MARK.1)) {
        return Cow::Borrowed(value);
    }
    let text = base64::engine::general_purpose::STANDARD.encode(value);
    Cow::Owned(format!("{}{text}{}", MARK.0, MARK.1))
}

/// The parameters of a tool that go into headers, or what is wrong with how it says so.
fn mirrors(tool: &ToolDefinition) -> Result<Vec<Mirror>, String> {
    if memchr::memmem::find(tool.raw().as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return Ok(Vec::new());
    }
    let mut found = Found::default();
    found.walk(&tool.input_schema().to_value(), &mut Vec::new())?;
    Ok(found.mirrors)
}

#[derive(Default)]
struct Found {
    mirrors: Vec<Mirror>,
    names: HashSet<String>,
}

impl Found {
    /// Walks a schema that is reached by `properties` alone.
    fn walk(&mut self, schema: &Value, path: &mut Vec<String>) -> Result<(), String> {
        let Some(schema) = schema.as_object() else { return Ok(()) };
        for (key, value) in schema {
            match (key.as_str(), value) {
                (ANNOTATION, name) => self.take(name, schema.get("type"), path)?,
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        path.push(name.clone());
                        self.walk(property, path)?;
                        path.pop();
                    }
                }
                ("default" | "const" | "enum" | "examples", _) => {} // values, not schemas
                (_, value) if annotates(value) => {
                    return Err(format!("its schema has {ANNOTATION} within \"{key}\", where it can't be followed"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, name: &Value, kind: Option<&Value>, path: &[String]) -> Result<(), String> {
        let Some(name) = name.as_str() else { return Err(format!("an {ANNOTATION} of its schema is no text")) };
        let of = path.join(".");
        if !is_token(name) {
            return Err(format!("the {ANNOTATION} {name:?} of its parameter \"{of}\" can't be the name of a header"));
        }
        if path.is_empty() {
            return Err(format!("its schema has an {ANNOTATION} that belongs to no parameter"));
        }
        if !is_primitive(kind) {
            let kind = kind.map_or_else(|| "no type".to_owned(), |kind| format!("the type {kind}"));
            return Err(format!(
                "its parameter \"{of}\" has an {ANNOTATION} and {kind}, not string, integer or boolean"
            ));
        }
        let header = format!("mcp-param-{}", name.to_ascii_lowercase());
        if !self.names.insert(header.clone()) {
            return Err(format!("two of its parameters have the {ANNOTATION} {name:?}"));
        }
        self.mirrors.push(Mirror { header, path: path.to_vec() });
        Ok(())
    }
}

/// Whether a schema, or a list or table of them, has the annotation anywhere.
fn annotates(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, value)| key == ANNOTATION || annotates(value)),
        Value::Array(items) => items.iter().any(annotates),
        _ => false,
    }
}

/// RFC 9110, section 5.6.2.
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// A string, an integer or a boolean; `null` may come beside.
fn is_primitive(kind: Option<&Value>) -> bool {
    let primitive = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    match kind {
        Some(Value::Array(kinds)) => {
            let rest: Vec<_> = kinds.iter().filter(|kind| kind.as_str() != Some("null")).collect();
            !rest.is_empty() && rest.into_iter().all(primitive)
        }
        kind => kind.is_some_and(primitive),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(schema: Value) -> ToolDefinition {
        ToolDefinition::new("t", "", schema)
    }

    #[test]
    fn values_that_a_header_cannot_carry_are_encoded() {
        for plain in ["us-west1", "", "a b\tc", "=?base64?x", "x?="] {
            assert_eq!(encoded(plain), plain);
        }
        for (value, expected) in [
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("\tx", "=?base64?CXg=?="),
            ("a\u{7f}", "=?base64?YX8=?="),
        ] {
            assert_eq!(encoded(value), expected);
        }
    }

    #[test]
    fn annotated_parameters_are_found_where_properties_alone_lead() {
        let nested = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": ["integer", "null"], "x-mcp-header": "N"}}},
            "x-mcp-header": {"type": "string"},
            "plain": {"default": {"x-mcp-header": "no annotation"}},
        }});
        let mirrored = Mirrored::default();
        mirrored.take(vec![tool(nested)], |why| panic!("{why}"));
        let arguments = RawJson::from(json!({"region": "eu", "deep": {"n": 42.0}, "plain": {}}));
        let params = [("name", Field::Text("t")), ("arguments", Field::Json(&arguments))];
        let tags = of("tools/call", &Params::Fields(&params), &mirrored);
        let tags: HashMap<_, _> = tags.iter().map(|(name, value)| (name.as_ref(), value.as_str())).collect();
        let expected =
            [("mcp-method", "tools/call"), ("mcp-name", "t"), ("mcp-param-region", "eu"), ("mcp-param-n", "42")];
        assert_eq!(tags, expected.into());
    }

    #[test]
    fn a_tool_with_a_bad_annotation_is_left_out_and_told() {
        let with = |kind: Value, name: &str| json!({"properties": {"p": {"type": kind, "x-mcp-header": name}}});
        let text = || json!({"type": "string", "x-mcp-header": "A"});
        let twice = json!({"properties": {"p": text(), "q": {"type": "string", "x-mcp-header": "a"}}});
        for (schema, why) in [
            (with("string".into(), ""), "can't be the name"),
            (with("string".into(), "a b"), "can't be the name"),
            (with("string".into(), "a\r\nb"), "can't be the name"),
            (with("string".into(), "é"), "can't be the name"),
            (with("number".into(), "A"), "the type \"number\""),
            (with("object".into(), "A"), "the type \"object\""),
            (with(json!(["string", "number"]), "A"), "not string"),
            (json!({"properties": {"p": {"x-mcp-header": "A"}}}), "no type"),
            (twice, "two of its parameters"),
            (json!({"properties": {"p": {"type": "array", "items": text()}}}), "within \"items\""),
            (json!({"anyOf": [{"properties": {"p": text()}}]}), "within \"anyOf\""),
            (json!({"type": "string", "x-mcp-header": "A"}), "no parameter"),
        ] {
            let told = std::cell::RefCell::new(Vec::new());
            let left = Mirrored::default().take(vec![tool(schema.clone())], |why| told.borrow_mut().push(why));
            assert!(left.is_empty() && told.borrow()[0].contains(why), "{schema}: {told:?}");
        }
    }

    #[test]
    fn numbers_and_truth_are_said_plainly_and_nothing_else_is() {
        let arguments = RawJson::from(json!({"a": 1e3, "b": false, "c": null, "d": {}, "e": -7, "f": 0.5}));
        let at = |key: &str| value_at(&arguments, &[key.to_owned()]);
        let values = ["a", "b", "c", "d", "e", "f", "g"].map(at);
        let expected = [Some("1000"), Some("false"), None, None, Some("-7"), Some("0.5"), None];
        assert_eq!(values.each_ref().map(Option::as_deref), expected);
    }
}
