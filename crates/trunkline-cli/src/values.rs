//! From what is written on a command line to the arguments of a call, typed by the tool's schema. Reads the files
//! and the standard input that are named there. Numbers keep their digits; what fits the whole schema is left to
//! the library.

#[cfg(any(test, fuzzing))]
pub(crate) mod laws;

use std::io::Read;

use trunkline::{Arguments, RawJson};

use crate::exit::{Failure, Outcome};
use crate::render::json::{Object, quote};
use crate::shape::{DEEPEST, Shape, Types};
use crate::suggest;

/// The arguments as they were given, files read.
#[derive(Debug, Default)]
pub(crate) struct Given {
    whole: Option<RawJson>,
    each: Vec<(String, Written)>,
}

/// One value as it was given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Written {
    /// `key=text`: its type depends on the schema.
    Text(String),
    /// `key:=JSON`.
    Json(RawJson),
}

impl Given {
    /// Whether nothing was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.whole.is_none() && self.each.is_empty()
    }

    /// All that was given under one name.
    pub(crate) fn under(&self, name: &str) -> Vec<&Written> {
        self.each.iter().filter(|(key, _)| key == name).map(|(_, value)| value).collect()
    }

    /// Takes the command line apart. `args` is the value of `--args`.
    pub(crate) fn read(arguments: &[String], args: Option<&str>) -> Outcome<Self> {
        let mut given = Self::default();
        if let Some(args) = args {
            let text = match args.strip_prefix('@') {
                Some(file) => read_file("--args", file)?,
                None => args.to_owned(),
            };
            given.whole = Some(whole("--args", text)?);
        }
        for argument in arguments {
            if argument == "-" {
                if given.whole.is_some() {
                    return Err(Failure::usage("Give the arguments once: with - or with --args"));
                }
                given.whole = Some(whole("standard input", read_file("-", "-")?)?);
                continue;
            }
            given.each.push(one(argument)?);
        }
        Ok(given)
    }

    /// Gives every value the type its schema asks for, and puts them together: what was given as a whole first,
    /// single values over it.
    pub(crate) fn typed(&self, schema: &Shape) -> Outcome<Arguments> {
        let mut members: Vec<(String, RawJson)> = self.whole.iter().flat_map(RawJson::members).collect();
        let mut done: Vec<&str> = Vec::new();
        for (name, _) in &self.each {
            if done.contains(&name.as_str()) {
                continue;
            }
            done.push(name);
            let written: Vec<_> = self.each.iter().filter(|(key, _)| key == name).map(|(_, value)| value).collect();
            let value = self.value(name, &written, schema)?;
            members.retain(|(known, _)| known != name);
            members.push((name.clone(), value));
        }
        let object = members.iter().fold(Object::default(), |object, (name, value)| object.raw(name, value));
        Ok(Arguments::from_raw(RawJson::parse(object.finish())?)?)
    }

    fn value(&self, name: &str, written: &[&Written], schema: &Shape) -> Outcome<RawJson> {
        let properties = schema.properties();
        let property = properties.iter().find(|property| property.name == name);
        if property.is_none() && !schema.is_open() {
            return Err(unknown(name, properties.iter().map(|property| property.name.as_str())));
        }
        let shape = property.map(|property| &property.shape);
        let types = shape.map_or(Types::ANY, Shape::types);
        match written {
            [one] => typed(name, one, shape, DEEPEST),
            _ if types.has(Types::ARRAY) => {
                let items = shape.and_then(Shape::items);
                let each: Outcome<Vec<_>> = written
                    .iter()
                    .map(|one| typed(name, one, items.as_ref(), DEEPEST).map(|v| v.to_string()))
                    .collect();
                Ok(RawJson::parse(crate::render::json::array(each?))?)
            }
            several => {
                let message =
                    format!("\"{name}\" was given {} times, but it has to be {}", several.len(), types.words());
                Err(Failure::usage(message))
            }
        }
    }
}

/// One value: JSON as it is, text as text where that is allowed, else as what it reads as. Lists of one are made at most
/// `depth` deep: a schema may be its own items.
fn typed(name: &str, written: &Written, shape: Option<&Shape>, depth: usize) -> Outcome<RawJson> {
    let types = shape.map_or(Types::ANY, Shape::types);
    let text = match written {
        Written::Json(value) => return Ok(value.clone()),
        Written::Text(text) => text,
    };
    if types.has(Types::STRING) {
        return Ok(RawJson::parse(quote(text))?);
    }
    let parsed = RawJson::parse(text.trim().to_owned()).ok();
    if let Some(value) = parsed.filter(|value| fits(value, types)) {
        return Ok(value);
    }
    if types.has(Types::ARRAY) && depth > 0 {
        let items = shape.and_then(Shape::items);
        let item = typed(name, written, items.as_ref(), depth - 1)?;
        return Ok(RawJson::parse(format!("[{item}]"))?); // a list of one
    }
    let shown: String = text.chars().take(60).collect();
    let failure = Failure::usage(format!("\"{name}\" has to be {}, not \"{shown}\"", types.words()));
    Err(if types.has(Types::OBJECT) {
        failure.hint(format!("Write JSON: {name}:='{{\"key\": \"value\"}}'"))
    } else {
        failure
    })
}

fn fits(value: &RawJson, types: Types) -> bool {
    match Types::of_value(value) {
        Types::NUMBER => types.has(Types::INTEGER),
        kind => types.has(kind),
    }
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Failure {
    let hint = match suggest::nearest(name, known.clone()) {
        Some(meant) => format!("Did you mean \"{meant}\"?"),
        None => format!("It takes {}; --args sends others all the same", suggest::listing(known)),
    };
    Failure::usage(format!("Unknown argument \"{name}\"")).hint(hint)
}

/// Takes one `key=value` apart.
fn one(argument: &str) -> Outcome<(String, Written)> {
    let Some((left, right)) = argument.split_once('=').filter(|(left, _)| !left.is_empty() && *left != ":") else {
        let failure = Failure::usage(format!("\"{argument}\" is no argument of the form key=value"));
        let looks_like_json = argument.trim_start().starts_with(['{', '[']);
        return Err(failure.hint(if looks_like_json {
            "Give a JSON object with --args"
        } else {
            "Write key=value, key:=JSON, key=@FILE, or give an object with --args"
        }));
    };
    let (name, is_json) = match left.strip_suffix(':') {
        Some(name) => (name, true),
        None => (left, false),
    };
    let value = match right.strip_prefix('@') {
        Some(rest) if rest.starts_with('@') => rest.to_owned(),
        Some(file) => read_file(name, file)?,
        None => right.to_owned(),
    };
    if !is_json {
        return Ok((name.to_owned(), Written::Text(value)));
    }
    let json = RawJson::parse(value.trim().to_owned()).map_err(|error| {
        let failure = Failure::usage(format!("\"{name}\" is not valid JSON: {}", lower(error.message())));
        failure.hint(format!("{name}={} gives text", shown(right)))
    })?;
    Ok((name.to_owned(), Written::Json(json)))
}

fn shown(text: &str) -> &str {
    if text.len() <= 30 { text } else { "..." }
}

fn lower(message: &str) -> String {
    message.trim_start_matches("Not valid JSON").trim().trim_matches(['(', ')']).to_owned()
}

/// All arguments as one object.
fn whole(source: &str, text: String) -> Outcome<RawJson> {
    let parsed = RawJson::parse(text.trim().to_owned())
        .map_err(|error| Failure::usage(format!("The JSON of {source} is not valid: {}", lower(error.message()))))?;
    match parsed.is_object() {
        true => Ok(parsed),
        false => Err(Failure::usage(format!("The JSON of {source} has to be an object"))
            .hint("Its keys are the argument names, such as {\"path\": \".\"}")),
    }
}

/// The text of a file; `-` is the standard input.
pub(crate) fn read_file(name: &str, file: &str) -> Outcome<String> {
    let (bytes, place) = match file {
        "-" => {
            let mut bytes = Vec::new();
            (std::io::stdin().read_to_end(&mut bytes).map(|_| bytes), "standard input")
        }
        file => (std::fs::read(file), file),
    };
    let bytes = bytes.map_err(|error| Failure::usage(format!("Can't read {place} for \"{name}\": {error}")))?;
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{place}, given for \"{name}\", is no UTF-8 text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{
        "type": "object",
        "properties": {
            "pin": {"type": "string"}, "n": {"type": "integer"}, "f": {"type": "number"}, "on": {"type": "boolean"},
            "o": {"type": "object"}, "any": {}, "maybe": {"type": ["integer", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}}, "sizes": {"type": "array", "items": {"type": "integer"}},
            "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            "mode": {"enum": ["r", "w"]}
        }
    }"#;

    fn typed(arguments: &[&str], args: Option<&str>) -> Outcome<String> {
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        let schema = Shape::new(RawJson::parse(SCHEMA).unwrap());
        Ok(Given::read(&arguments, args)?.typed(&schema)?.raw().to_string())
    }

    #[test]
    fn values_get_the_type_of_the_schema_and_keep_their_digits() {
        for (arguments, sent) in [
            (&["pin=000123"][..], r#"{"pin":"000123"}"#),
            (&["n=9007199254740993"], r#"{"n":9007199254740993}"#),
            (&["f=1.0"], r#"{"f":1.0}"#),
            (&["f=123456789012345678901234567890"], r#"{"f":123456789012345678901234567890}"#),
            (&["on=true", "n=-5"], r#"{"on":true,"n":-5}"#),
            (&["any=true"], r#"{"any":"true"}"#),
            (&["any:=true"], r#"{"any":true}"#),
            (&["o={\"a\":[1]}"], r#"{"o":{"a":[1]}}"#),
            (&["o:={\"a\":[1]}"], r#"{"o":{"a":[1]}}"#),
            (&["maybe=null"], r#"{"maybe":null}"#),
            (&["maybe=3"], r#"{"maybe":3}"#),
            (&["tags=a", "pin=x", "tags=b"], r#"{"tags":["a","b"],"pin":"x"}"#),
            (&["tags=a"], r#"{"tags":["a"]}"#),
            (&["tags=[\"a\"]"], r#"{"tags":["a"]}"#),
            (&["sizes=1", "sizes=2"], r#"{"sizes":[1,2]}"#),
            (&["sizes=1"], r#"{"sizes":[1]}"#),
            (&["either=a"], r#"{"either":"a"}"#),
            (&["either=a", "either=b"], r#"{"either":["a","b"]}"#),
            (&["mode=r"], r#"{"mode":"r"}"#),
            (&["pin=@@home"], r#"{"pin":"@home"}"#),
            (&["pin=a=b"], r#"{"pin":"a=b"}"#),
            (&["pin="], r#"{"pin":""}"#),
            (&["pin=\"q\" \u{7}"], r#"{"pin":"\"q\" \u0007"}"#),
            (&[], "{}"),
        ] {
            assert_eq!(typed(arguments, None).unwrap(), sent, "{arguments:?}");
        }
    }

    /// Each alternative refers to all of them, and each list is its own items.
    #[test]
    fn a_schema_that_turns_in_circles_ends() {
        let circle = r##"{"$ref": "#/$defs/A"},"##.repeat(40);
        for (a, text) in [
            (format!(r#"{{"anyOf": [{}]}}"#, circle.trim_end_matches(',')), "text"),
            (r##"{"type": "array", "items": {"$ref": "#/$defs/A"}}"##.to_owned(), "list"),
            (format!(r#"{{"type": "array", "anyOf": [{}]}}"#, circle.trim_end_matches(',')), "any list"),
        ] {
            let schema = format!(r##"{{"properties": {{"a": {{"$ref": "#/$defs/A"}}}}, "$defs": {{"A": {a}}}}}"##);
            let shape = Shape::new(RawJson::parse(schema).unwrap());
            let given = Given::read(&[format!("a={text}")], None).unwrap();
            assert_eq!(given.typed(&shape).is_ok(), text != "list", "{text}");
            assert!(shape.written().len() < 1000, "{}", shape.written());
        }
    }

    #[test]
    fn single_values_go_over_a_whole_object() {
        let sent = typed(&["pin=x"], Some(r#"{"pin":"old","extra":1e400}"#)).unwrap();
        assert_eq!(sent, r#"{"extra":1e400,"pin":"x"}"#);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (arguments, args, why) in [
            (&["n=abc"][..], None, "\"n\" has to be a whole number, not \"abc\""),
            (&["on=yes"], None, "\"on\" has to be true or false, not \"yes\""),
            (&["maybe=x"], None, "\"maybe\" has to be a whole number or null, not \"x\""),
            (&["sizes=a"], None, "\"sizes\" has to be a whole number, not \"a\""),
            (&["o:={bad"], None, "\"o\" is not valid JSON: byte 1"),
            (&["o=x"], None, "\"o\" has to be an object, not \"x\""),
            (&["n=1", "n=2"], None, "\"n\" was given 2 times, but it has to be a whole number"),
            (&["pn=1"], None, "Unknown argument \"pn\""),
            (&["text"], None, "\"text\" is no argument of the form key=value"),
            (&["=x"], None, "\"=x\" is no argument of the form key=value"),
            (
                &["pin=@/no/such/file"],
                None,
                "Can't read /no/such/file for \"pin\": No such file or directory (os error 2)",
            ),
            (&[], Some("[1]"), "The JSON of --args has to be an object"),
            (&[], Some("{"), "The JSON of --args is not valid: byte 1"),
        ] {
            let failure = typed(arguments, args).unwrap_err();
            assert_eq!(failure.error.message(), why);
            assert_eq!(failure.exit as u8, 2);
        }
    }

    #[test]
    fn files_are_read_as_text_or_json() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("v");
        std::fs::write(&file, "[1, 2]\n").unwrap();
        let file = file.display();
        assert_eq!(typed(&[&format!("pin=@{file}")], None).unwrap(), r#"{"pin":"[1, 2]\n"}"#);
        assert_eq!(typed(&[&format!("any:=@{file}")], None).unwrap(), r#"{"any":[1, 2]}"#);
        assert_eq!(typed(&[&format!("sizes=@{file}")], None).unwrap(), r#"{"sizes":[1, 2]}"#);
    }
}
