//! Checks a call's arguments against its tool's JSON Schema before anything is sent, and its result against the output
//! schema, and says what is wrong in plain words. Adding the tool and server is left to callers.

use std::fmt::Write as _;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::protocol::{Arguments, RawJson};
use crate::suggest;

#[cfg(any(test, fuzzing))]
pub(crate) mod laws;
mod words;

pub(crate) use words::format_words;
use words::{cut, fault, joined, place};

/// So many problems are told of one call.
const TOLD: usize = 5;

/// A compiled schema.
pub(crate) struct Checker {
    validator: Validator,
    /// What the whole that is checked is called.
    whole: &'static str,
    schema: Value,
}

impl std::fmt::Debug for Checker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Checker")
    }
}

impl Checker {
    /// Compiles a tool's input schema. Nothing is ever fetched: a schema that refers to another document, or
    /// is broken, can't be used, and the error says why; the server then has to check for itself.
    /// Neither is one that is larger or deeper than the limits allow.
    pub(crate) fn compile(schema: &RawJson, limits: &Limits) -> Result<Self, String> {
        check_size(schema, limits)?;
        let schema = schema.to_value();
        let Value::Object(members) = &schema else {
            return Err("The schema is no object".to_owned());
        };
        match members.get("type") {
            Some(Value::String(kind)) if kind != "object" => {
                return Err(format!("The schema is for type \"{kind}\", but arguments are an object"));
            }
            _ => {}
        }
        Self::build(schema, "The whole of the arguments", false)
    }

    /// Compiles the schema of a form that a server shows, under the same rules. Formats are minded too: there is a person
    /// to ask again.
    pub(crate) fn of_form(schema: &RawJson, limits: &Limits) -> Result<Self, String> {
        check_size(schema, limits)?;
        Self::build(schema.to_value(), "The whole of it", true)
    }

    /// Compiles a tool's output schema, under the same rules. It may be for any type.
    pub(crate) fn of_output(schema: &RawJson, limits: &Limits) -> Result<Self, String> {
        check_size(schema, limits)?;
        Self::build(schema.to_value(), "The whole of it", false)
    }

    fn build(schema: Value, whole: &'static str, formats: bool) -> Result<Self, String> {
        let options = jsonschema::options().offline().should_validate_formats(formats);
        match options.build(&schema) {
            Ok(validator) => Ok(Self { validator, whole, schema }),
            Err(error) => Err(format!("The schema can't be used: {}", cut(&error.to_string(), 200))),
        }
    }

    /// Whether the arguments fit.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArguments`] that names each argument that doesn't, and how it should be.
    pub(crate) fn check(&self, arguments: &Arguments) -> Result<()> {
        let Some(message) = self.problems(arguments.raw()) else { return Ok(()) };
        let error = Error::new(ErrorKind::InvalidArguments, message);
        Err(match self.signature() {
            Some(signature) => error.with_hint(signature),
            None => error,
        })
    }

    /// What is wrong with a value, in words.
    pub(crate) fn problems(&self, raw: &RawJson) -> Option<String> {
        let value = readable(raw);
        let mut problems = Vec::new();
        for error in self.validator.iter_errors(&value) {
            self.describe(&error, &value, &mut problems);
        }
        if problems.is_empty() {
            return None;
        }
        let more = problems.len().saturating_sub(TOLD);
        problems.truncate(TOLD);
        let mut message = problems.join("; ");
        if more > 0 {
            let _ = write!(message, "; and {more} more");
        }
        Some(message)
    }

    /// The names of the arguments, for a hint.
    fn signature(&self) -> Option<String> {
        let properties = self.schema.get("properties")?.as_object().filter(|map| !map.is_empty())?;
        let required = self.schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|item| item == name));
        let (needed, optional): (Vec<_>, Vec<_>) =
            properties.keys().map(String::as_str).partition(|name| is_required(name));
        Some(match (needed.is_empty(), optional.is_empty()) {
            (false, true) => format!("It needs {}", suggest::listing(needed)),
            (true, _) => format!("It takes {}", suggest::listing(optional)),
            (false, false) => {
                format!("It needs {}, and takes {}", suggest::listing(needed), suggest::listing(optional))
            }
        })
    }

    fn describe(&self, error: &ValidationError<'_>, whole: &Value, into: &mut Vec<String>) {
        if is_doubtful(error) {
            return;
        }
        let path = error.instance_path().as_str().trim_start_matches('/');
        match error.kind() {
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let given = object_at(whole, error.instance_path().as_str());
                into.push(format!("{} is missing{}", joined(path, name), self.slip(path, name, given)));
            }
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                for name in unexpected {
                    into.push(format!("{} is unknown{}", joined(path, name), self.meant(path, name)));
                }
            }
            kind => into.push(format!("{} {}", place(path, self.whole), fault(kind, error.instance()))),
        }
    }

    /// For a missing name: the unknown one that was given in its place.
    fn slip(&self, path: &str, missing: &str, given: Option<&Map<String, Value>>) -> String {
        let known = self.properties(path);
        let unknown = given.into_iter().flat_map(Map::keys).map(String::as_str).filter(|name| !known.contains(name));
        suggest::nearest(missing, unknown).map(|name| format!(" (\"{name}\" was given)")).unwrap_or_default()
    }

    /// For an unknown name: the known one that was meant.
    fn meant(&self, path: &str, unknown: &str) -> String {
        let meant = suggest::nearest(unknown, self.properties(path));
        meant.map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default()
    }

    /// The names that the schema knows at the top; deeper down it can't be told without resolving it.
    fn properties(&self, path: &str) -> Vec<&str> {
        let properties = self.schema.get("properties").and_then(Value::as_object).filter(|_| path.is_empty());
        properties.into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }
}

/// Whether the schema is within its bounds.
fn check_size(schema: &RawJson, limits: &Limits) -> Result<(), String> {
    let (size, max) = (schema.as_bytes().len(), limits.max_schema);
    if size > max {
        return Err(format!("The schema has {size} bytes, over the {max} that are read (max_schema)"));
    }
    let (depth, max) = (schema.depth(), limits.max_schema_depth);
    if depth > max {
        return Err(format!("The schema nests {depth} deep, over the {max} that are read (max_schema_depth)"));
    }
    Ok(())
}

/// Whether text is a pattern of JSON Schema.
pub(crate) fn is_pattern(pattern: &str) -> bool {
    jsonschema::options().offline().build(&serde_json::json!({ "pattern": pattern })).is_ok()
}

/// The arguments as values to check. A number that no `f64` holds becomes the largest one of its sign, so
/// that it stays a number.
fn readable(raw: &RawJson) -> Value {
    raw.value_with(&|number| if number.starts_with('-') { f64::MIN.into() } else { f64::MAX.into() })
}

/// Whether an error may come from what was lost in reading: digits beyond 64 bits, or a pattern that took
/// too long. The server sees the exact number and decides.
fn is_doubtful(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } | Kind::Referencing(_) => true,
        Kind::Type { .. } => false,
        Kind::Maximum { limit } | Kind::Minimum { limit } => is_rounded(error.instance()) && is_rounded(limit),
        Kind::UniqueItems | Kind::Enum { .. } | Kind::Constant { .. } | Kind::Contains => {
            holds_rounded(error.instance())
        }
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } | Kind::OneOfMultipleValid { .. } | Kind::Not { .. } => {
            holds_rounded(error.instance())
        }
        _ => is_rounded(error.instance()),
    }
}

/// Whether a number is so large that it was rounded.
fn is_rounded(value: &Value) -> bool {
    let is_float = value.as_number().is_some_and(|number| !number.is_i64() && !number.is_u64());
    is_float && value.as_f64().is_some_and(|number| number.abs() >= 9_007_199_254_740_992.0)
}

fn holds_rounded(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(holds_rounded),
        Value::Object(members) => members.values().any(holds_rounded),
        value => is_rounded(value),
    }
}

fn object_at<'a>(whole: &'a Value, pointer: &str) -> Option<&'a Map<String, Value>> {
    whole.pointer(pointer).and_then(Value::as_object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::IntoArguments as _;
    use serde_json::json;

    fn message(schema: &Value, arguments: Value) -> String {
        let checker = Checker::compile(&schema.into(), &Limits::default()).unwrap();
        match checker.check(&arguments.into_arguments().unwrap()) {
            Ok(()) => "fits".to_owned(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidArguments);
                error.message().to_owned()
            }
        }
    }

    #[test]
    fn every_problem_is_told_in_plain_words() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "pattern": "^[a-z]"},
                "paths": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": true},
                "head": {"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 100},
                "mode": {"enum": ["read", "write", 3]},
                "deep": {"type": "object", "required": ["x"], "properties": {"x": {"const": 1}}, "additionalProperties": false},
                "any": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "form": {"oneOf": [{"type": "object", "required": ["id"]}, {"type": "string", "maxLength": 2}]},
                "flag": {"type": "boolean"},
                "off": false
            },
            "additionalProperties": false
        });
        for (arguments, told) in [
            (json!({"paths": [7]}), "\"paths/0\" has to be a string, not 7"),
            (
                json!({"path": ""}),
                "\"path\" has to be at least 1 character long; \"path\" has to match the pattern ^[a-z], not \"\"",
            ),
            (
                json!({"paths": ["a", "b", "b"]}),
                "\"paths\" may have at most 2 items; \"paths\" may not have the same item twice",
            ),
            (json!({"head": "1"}), "\"head\" has to be a whole number or null, not \"1\""),
            (json!({"head": 0}), "\"head\" has to be at least 1, not 0"),
            (json!({"head": 100}), "\"head\" has to be less than 100, not 100"),
            (
                json!({"mode": "raed"}),
                "\"mode\" has to be one of \"read\", \"write\", 3, not \"raed\"; did you mean \"read\"?",
            ),
            (json!({"deep": {}}), "\"deep/x\" is missing"),
            (json!({"deep": {"x": 2}}), "\"deep/x\" has to be 1, not 2"),
            (json!({"deep": {"x": 1, "y": 1}}), "\"deep/y\" is unknown"),
            (json!({"any": []}), "\"any\" has to be a string or a whole number, not []"),
            (json!({"form": {}}), "\"form\" fits none of the allowed forms: \"form/id\" is missing"),
            (
                json!({"form": "long"}),
                "\"form\" fits none of the allowed forms: \"form\" has to be at most 2 characters long",
            ),
            (json!({"flag": "yes"}), "\"flag\" has to be true or false, not \"yes\""),
            (json!({"off": 1}), "\"off\" may not be given"),
            (json!({"pth": "a"}), "\"pth\" is unknown; did you mean \"path\"?"),
            (json!({"path": "a", "paths": ["b"], "head": null, "deep": {"x": 1}, "any": 2}), "fits"),
        ] {
            assert_eq!(message(&schema, arguments.clone()), told, "{arguments}");
        }
    }

    #[test]
    fn a_missing_argument_names_the_slip_and_the_hint_the_names() {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "head": {}, "tail": {}},
            "required": ["path"]
        });
        let checker = Checker::compile(&(&schema).into(), &Limits::default()).unwrap();
        let error = checker.check(&json!({"pth": "a"}).into_arguments().unwrap()).unwrap_err();
        assert_eq!(error.message(), "\"path\" is missing (\"pth\" was given)");
        assert_eq!(error.hint(), Some("It needs \"path\", and takes \"head\", \"tail\""));
        assert_eq!(message(&schema, json!({})), "\"path\" is missing");
    }

    #[test]
    fn at_most_five_problems_are_told_and_values_are_cut() {
        let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        let arguments: Value = (0..8).map(|n| (format!("a{n}"), json!("x".repeat(500)))).collect::<Map<_, _>>().into();
        let told = message(&schema, arguments);
        assert!(told.ends_with("; and 3 more") && told.len() < 600, "{told}");
    }

    #[test]
    fn big_numbers_make_no_false_errors() {
        let schema = json!({
            "type": "object",
            "properties": {
                "n": {"type": "integer", "multipleOf": 10},
                "f": {"type": "number"},
                "list": {"uniqueItems": true},
                "max": {"maximum": 18446744073709551617_u128 as f64},
                "small": {"maximum": 100},
                "s": {"type": "string"}
            }
        });
        let checker = Checker::compile(&(&schema).into(), &Limits::default()).unwrap();
        let check = |text: &'static str| checker.check(&Arguments::from_raw(RawJson::parse(text).unwrap()).unwrap());
        for text in [
            r#"{"n":123456789012345678901234567890}"#,
            r#"{"n":18446744073709551620}"#,
            r#"{"f":1e400,"n":-1e400}"#,
            r#"{"list":[123456789012345678901234567890,123456789012345678901234567891]}"#,
            r#"{"n":9007199254740990,"f":-0.0}"#,
            r#"{"max":18446744073709551617}"#,
        ] {
            check(text).unwrap();
        }
        assert!(check(r#"{"s":123456789012345678901234567890}"#).is_err());
        assert!(check(r#"{"s":1e400}"#).is_err());
        assert!(check(r#"{"small":1e400}"#).is_err());
        assert!(check(r#"{"n":9007199254740993}"#).is_err());
    }

    #[test]
    fn nothing_is_fetched_and_a_broken_schema_says_why() {
        for (schema, why) in [
            (json!({"$ref": "http://127.0.0.1:9/x.json"}), "127.0.0.1"),
            (json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}), "passwd"),
            (json!({"$ref": "#/$defs/absent"}), "absent"),
            (json!({"type": "objekt"}), "objekt"),
            (json!({"type": "string"}), "\"string\""),
            (json!({"properties": {"a": {"pattern": "("}}}), "("),
            (json!({"properties": 7}), "7"),
            (json!("x"), "no object"),
            (json!({"$schema": "https://example.com/own"}), "example.com"),
        ] {
            let reason = Checker::compile(&schema.clone().into(), &Limits::default()).unwrap_err();
            assert!(reason.contains(why), "{schema}: {reason}");
        }
        for fine in [
            json!({}),
            json!({"type": ["object", "null"]}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
        ] {
            assert_eq!(message(&fine, json!({"a": 1})), "fits");
        }
    }

    #[test]
    fn deep_arguments_are_checked_on_a_small_stack() {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "additionalProperties": false});
        let deep = |depth: usize, inner: &str| "{\"a\":".repeat(depth) + inner + &"}".repeat(depth);
        let work = move || {
            let checker = Checker::compile(&schema.into(), &Limits::default()).unwrap();
            let check = |text: String| checker.check(&Arguments::from_raw(RawJson::parse(text).unwrap()).unwrap());
            check(deep(130, "{}")).unwrap();
            check(deep(500, "{}")).unwrap();
            check(deep(130, "{\"b\":1}")).unwrap_err()
        };
        let error = std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
        assert!(error.message().ends_with("/b\" is unknown"), "{error}");
    }
}
