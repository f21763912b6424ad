//! The front matter of a `SKILL.md`: YAML between two lines of `---`, as JSON, by the core schema of YAML 1.2. What JSON can't
//! say, and what could make a small text large (aliases), is refused.

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};

/// The longest front matter, in bytes, and how deep it may nest.
const MAX_SIZE: usize = 64 << 10;
const MAX_DEPTH: usize = 32;

/// The fields, or what is wrong with them, in words that follow "it".
pub(super) fn read(text: &str) -> Result<Map<String, Value>, String> {
    let yaml = head(text).ok_or("has no front matter")?;
    if yaml.len() > MAX_SIZE {
        return Err(format!("has a front matter of over {MAX_SIZE} bytes"));
    }
    match tree(yaml).map_err(|why| format!("has a front matter that {why}"))? {
        Value::Object(fields) => Ok(fields),
        _ => Err("has a front matter without fields".to_owned()),
    }
}

/// What stands between the first line, which is `---`, and the next such line.
fn head(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.split_inclusive('\n').next().filter(|line| line.trim_end() == "---")?;
    let rest = &text[first.len()..];
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(&rest[..end]);
        }
        end += line.len();
    }
    None
}

/// A collection that isn't complete yet.
enum Open {
    Array(Vec<Value>),
    Object(Map<String, Value>, Option<String>),
}

fn tree(yaml: &str) -> Result<Value, String> {
    let (mut open, mut root): (Vec<Open>, Option<Value>) = (Vec::new(), None);
    for event in Parser::new_from_str(yaml) {
        let (event, _) = event.map_err(|error| format!("is no YAML: {}", error.info()))?;
        let done = match event {
            Event::Scalar(text, style, _, tag) => scalar(&text, style, tag.as_deref())?,
            Event::SequenceStart(_, tag) | Event::MappingStart(_, tag) if tag.is_some() => return Err(tagged()),
            Event::SequenceStart(..) => {
                open.push(Open::Array(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Object(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::Array(items)) => Value::Array(items),
                Some(Open::Object(fields, _)) => Value::Object(fields),
                None => continue,
            },
            Event::Alias(_) => return Err("has an alias, which is not read here".to_owned()),
            Event::DocumentStart(_) if root.is_some() => return Err("has more than one document".to_owned()),
            _ => continue,
        };
        match open.last_mut() {
            None => root = Some(done),
            Some(parent) => put(parent, done)?,
        }
        if open.len() > MAX_DEPTH {
            return Err(format!("nests over {MAX_DEPTH} deep"));
        }
    }
    root.ok_or_else(|| "is empty".to_owned())
}

/// Puts a value into a collection: an item, a key, or the value of the key before it.
fn put(parent: &mut Open, value: Value) -> Result<(), String> {
    match parent {
        Open::Array(items) => items.push(value),
        Open::Object(fields, key) => match (key.take(), value) {
            (Some(key), value) if fields.contains_key(&key) => {
                return Err(format!("has \"{key}\" twice ({value})"));
            }
            (Some(key), value) => drop(fields.insert(key, value)),
            (None, Value::String(text)) => *key = Some(text),
            (None, Value::Object(_) | Value::Array(_)) => return Err("has a key that is no text".to_owned()),
            (None, plain) => *key = Some(plain.to_string()),
        },
    }
    Ok(())
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    match tag {
        None if style == ScalarStyle::Plain => plain(text),
        None => Ok(Value::from(text)),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => Ok(Value::from(text)),
        Some(_) => Err(tagged()),
    }
}

fn tagged() -> String {
    "has a tag, which is not read here".to_owned()
}

/// A plain scalar by the core schema.
fn plain(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match number(text) {
            Some(number) => {
                Value::Number(number.ok_or_else(|| format!("has the number {text}, which JSON can't say"))?)
            }
            None => Value::from(text),
        },
    })
}

/// `None` where it is no number, `Some(None)` where it is one that JSON lacks.
fn number(text: &str) -> Option<Option<Number>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(None);
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(rest) = text.strip_prefix(prefix).filter(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit())) {
            return (!rest.is_empty()).then(|| u64::from_str_radix(rest, radix).ok().map(Number::from));
        }
    }
    if digits.is_empty() || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let whole = unsigned.parse::<i64>().map(Number::from).or_else(|_| unsigned.parse::<u64>().map(Number::from));
        return Some(whole.ok().or_else(|| Number::from_f64(unsigned.parse().ok()?)));
    }
    let float = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    float.then(|| unsigned.parse::<f64>().ok()).flatten().map(Number::from_f64)
}
