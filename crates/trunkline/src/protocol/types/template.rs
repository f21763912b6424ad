//! URI templates (RFC 6570): which URIs one can become, and the URI it becomes with values.

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::raw::{Arguments, RawJson};

/// A part of a template.
enum Piece<'a> {
    Literal(&'a str),
    /// The operator, and its variables.
    Expression(Operator, Vec<Variable<'a>>),
}

struct Variable<'a> {
    name: &'a str,
    /// Whether each item of a list stands by itself.
    explode: bool,
    /// How many characters of a value at most.
    prefix: Option<usize>,
}

/// How the values of an expression are written (RFC 6570, appendix A).
#[derive(Clone, Copy)]
struct Operator {
    first: &'static str,
    separator: &'static str,
    named: bool,
    /// What stands behind the name of an empty value.
    if_empty: &'static str,
    reserved: bool,
    /// Whether its variables may be left out.
    optional: bool,
}

impl Operator {
    /// The operator an expression begins with, and the rest of it.
    fn of(expression: &str) -> (Self, &str) {
        let plain = Self { first: "", separator: ",", named: false, if_empty: "", reserved: false, optional: false };
        let operator = match expression.chars().next() {
            Some('+') => Self { reserved: true, ..plain },
            Some('#') => Self { first: "#", reserved: true, optional: true, ..plain },
            Some('.') => Self { first: ".", separator: ".", optional: true, ..plain },
            Some('/') => Self { first: "/", separator: "/", optional: true, ..plain },
            Some(';') => Self { first: ";", separator: ";", named: true, optional: true, ..plain },
            Some('?') => Self { first: "?", separator: "&", named: true, if_empty: "=", optional: true, ..plain },
            Some('&') => Self { first: "&", separator: "&", named: true, if_empty: "=", optional: true, ..plain },
            _ => return (plain, expression),
        };
        (operator, &expression[1..])
    }
}

fn pieces(template: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), template);
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else { break };
        pieces.push(Piece::Literal(literal));
        let (operator, names) = Operator::of(expression);
        pieces.push(Piece::Expression(operator, names.split(',').map(variable).collect()));
        rest = after;
    }
    pieces.push(Piece::Literal(rest));
    pieces
}

fn variable(written: &str) -> Variable<'_> {
    let (written, explode) = written.strip_suffix('*').map_or((written, false), |name| (name, true));
    let (name, prefix) = written.split_once(':').map_or((written, None), |(name, most)| (name, most.parse().ok()));
    Variable { name, explode, prefix }
}

/// The names of the variables, each once.
pub(super) fn variables(template: &str) -> Vec<String> {
    let mut names = Vec::new();
    for piece in pieces(template) {
        let Piece::Expression(_, variables) = piece else { continue };
        for variable in variables {
            if !names.iter().any(|name| name == variable.name) {
                names.push(variable.name.to_owned());
            }
        }
    }
    names
}

/// The URI with these values.
pub(super) fn expand(template: &str, values: &Arguments) -> Result<String> {
    let names = variables(template);
    let takes = || format!("It takes {}", names.join(", "));
    if let Some((unknown, _)) = values.iter().find(|(name, _)| !names.contains(name)) {
        let message = format!("The template {template} has no variable \"{unknown}\"");
        return Err(Error::new(ErrorKind::InvalidArguments, message).with_hint(takes()));
    }
    let mut uri = String::new();
    for piece in pieces(template) {
        match piece {
            Piece::Literal(text) => uri.push_str(text),
            Piece::Expression(operator, variables) => {
                write(&mut uri, operator, &variables, values).map_err(|missing| {
                    let message = format!("The template {template} needs \"{missing}\"");
                    Error::new(ErrorKind::InvalidArguments, message).with_hint(takes())
                })?
            }
        }
    }
    Ok(uri)
}

/// Writes one expression; the variable that is missing where it may not be.
fn write(uri: &mut String, operator: Operator, variables: &[Variable<'_>], values: &Arguments) -> Result<(), String> {
    let mut parts = Vec::new();
    for variable in variables {
        let Some(value) = values.get(variable.name).filter(|value| !value.is_null()) else {
            if operator.optional {
                continue;
            }
            return Err(variable.name.to_owned());
        };
        let items: Vec<_> = if value.is_array() { value.items().collect() } else { vec![value] };
        let items = items.iter().map(|item| encoded(&text(item, variable.prefix), operator.reserved));
        match variable.explode {
            true => parts.extend(items.map(|item| named(operator, variable.name, &item))),
            false => parts.push(named(operator, variable.name, &items.collect::<Vec<_>>().join(","))),
        }
    }
    if !parts.is_empty() {
        uri.push_str(operator.first);
        uri.push_str(&parts.join(operator.separator));
    }
    Ok(())
}

fn named(operator: Operator, name: &str, value: &str) -> String {
    match (operator.named, value.is_empty()) {
        (false, _) => value.to_owned(),
        (true, true) => format!("{name}{}", operator.if_empty),
        (true, false) => format!("{name}={value}"),
    }
}

fn text(value: &RawJson, prefix: Option<usize>) -> String {
    let text = value.as_text().unwrap_or_else(|| value.to_string());
    prefix.map(|most| text.chars().take(most).collect()).unwrap_or(text)
}

/// Everything but unreserved characters as `%XX`; with `reserved`, those of URIs and what is encoded already stay.
fn encoded(text: &str, reserved: bool) -> String {
    let mut out = String::new();
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let is_escape =
            || *byte == b'%' && bytes[at + 1..].iter().take(2).filter(|b| b.is_ascii_hexdigit()).count() == 2;
        let stays = byte.is_ascii_alphanumeric()
            || b"-._~".contains(byte)
            || reserved && (b":/?#[]@!$&'()*+,;=".contains(byte) || is_escape());
        match stays {
            true => out.push(char::from(*byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Keeps all the places in `uri` that the template's beginning can reach, so that no template, however many
/// variables it has, takes more than one walk over the URI for each of its parts.
pub(super) fn matches(template: &str, uri: &str) -> bool {
    let uri = uri.as_bytes();
    let mut reached = vec![false; uri.len() + 1];
    reached[0] = true;
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((variable, after)) = after.split_once('}') else { break };
        reached = behind_literal(&reached, uri, literal.as_bytes());
        reached = behind_variable(&reached, uri, variable, after.is_empty());
        rest = after;
    }
    behind_literal(&reached, uri, rest.as_bytes())[uri.len()]
}

fn behind_literal(reached: &[bool], uri: &[u8], literal: &[u8]) -> Vec<bool> {
    let mut behind = vec![false; reached.len()];
    for (at, _) in reached.iter().enumerate().filter(|(at, here)| **here && uri[*at..].starts_with(literal)) {
        behind[at + literal.len()] = true;
    }
    behind
}

fn behind_variable(reached: &[bool], uri: &[u8], variable: &str, last: bool) -> Vec<bool> {
    let crosses = last || variable.starts_with(['+', '#', '/', '?', '&', ';', '.']);
    let may_be_empty = variable.starts_with(['?', '&', '#', '/', ';', '.']);
    let mut behind = vec![false; reached.len()];
    let mut inside = false;
    for at in 0..reached.len() {
        behind[at] = inside || may_be_empty && reached[at];
        let passable = uri.get(at).is_some_and(|byte| crosses || *byte != b'/');
        inside = passable && (inside || reached[at]);
    }
    behind
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::protocol::IntoArguments as _;

    /// The examples of RFC 6570, section 3.2.
    #[test]
    fn expressions_expand_as_the_rfc_says() {
        let values = json!({
            "var": "value", "hello": "Hello World!", "empty": "", "path": "/foo/bar", "x": "1024", "y": 768,
            "list": ["red", "green", "blue"], "half": "50%", "who": "fred", "base": "http://example.com/home/", "pct": "a%20b"
        });
        for (template, uri) in [
            ("{var}", "value"),
            ("{hello}", "Hello%20World%21"),
            ("{half}", "50%25"),
            ("O{empty}X", "OX"),
            ("{x,y}", "1024,768"),
            ("{x,hello,y}", "1024,Hello%20World%21,768"),
            ("{var:3}", "val"),
            ("{list}", "red,green,blue"),
            ("{list*}", "red,green,blue"),
            ("{+hello}", "Hello%20World!"),
            ("{+half}", "50%25"),
            ("{+pct}", "a%20b"),
            ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
            ("{+base}index", "http://example.com/home/index"),
            ("{+path}/here", "/foo/bar/here"),
            ("{#path}", "#/foo/bar"),
            ("{#x,hello,y}", "#1024,Hello%20World!,768"),
            ("X{.x,y}", "X.1024.768"),
            ("X{.list*}", "X.red.green.blue"),
            ("{/var,x}/here", "/value/1024/here"),
            ("{/list*}", "/red/green/blue"),
            ("{;x,y,empty}", ";x=1024;y=768;empty"),
            ("{?x,y}", "?x=1024&y=768"),
            ("{?x,y,empty}", "?x=1024&y=768&empty="),
            ("{?list}", "?list=red,green,blue"),
            ("{?list*}", "?list=red&list=green&list=blue"),
            ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
            ("{?absent}{/absent}{#absent}x", "x"),
            ("a{unclosed", "a{unclosed"),
        ] {
            let known: Value = values
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, _)| variables(template).contains(name))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect::<serde_json::Map<_, _>>()
                .into();
            let expanded = expand(template, &known.into_arguments().unwrap()).unwrap();
            assert_eq!(expanded, uri, "{template}");
            if !template.contains([':', ',']) && !template.contains("empty") {
                assert!(matches(template, &expanded), "{template} {expanded}");
            }
        }
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        let failed = |template: &str, values: Value| expand(template, &values.into_arguments().unwrap()).unwrap_err();
        let missing = failed("square://{n}{?page}", json!({"page": 1}));
        assert_eq!(missing.message(), "The template square://{n}{?page} needs \"n\"");
        assert_eq!(missing.hint(), Some("It takes n, page"));
        assert_eq!(
            failed("square://{n}", json!({"m": 1})).message(),
            "The template square://{n} has no variable \"m\""
        );
        assert_eq!(failed("square://{n}", json!({"n": null})).message(), "The template square://{n} needs \"n\"");
    }
}
