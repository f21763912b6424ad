//! The one way to write a definition, whatever its server's mood: keys sorted, no white space, one spelling for each
//! text and number, and no order where JSON Schema knows none. Nothing that says something is lost.

use sha2::{Digest as _, Sha256};

use crate::protocol::RawJson;
use crate::protocol::raw::quote;

/// The canonical text of a tool's definition.
pub(super) fn of_tool(raw: &RawJson) -> RawJson {
    let mut out = Vec::with_capacity(raw.as_bytes().len());
    write(raw, Place::Tool, &mut out);
    RawJson::trusted(out.into())
}

/// The hash of a canonical text, as the lock file has it.
pub(super) fn hash(canonical: &RawJson) -> String {
    let digest = Sha256::digest(canonical.as_bytes());
    digest.iter().fold("sha256:".to_owned(), |hash, byte| hash + &format!("{byte:02x}"))
}

/// What a value stands for, which decides whether its order says something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A definition: `null` is the same as nothing there.
    Tool,
    /// A JSON Schema, or a list of them.
    Schema,
    /// An object of schemas, by names of the server's choice.
    Schemas,
    /// A list that is a set.
    Set,
    /// Data: the order of lists is kept.
    Plain,
}

impl Place {
    fn inside(self, key: &str) -> Self {
        match self {
            Self::Tool => match key {
                "inputSchema" | "outputSchema" | "input_schema" => Self::Schema,
                _ => Self::Plain,
            },
            Self::Schemas => Self::Schema,
            Self::Schema => match key {
                "required" | "enum" | "type" => Self::Set,
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => Self::Schemas,
                "items"
                | "prefixItems"
                | "additionalItems"
                | "additionalProperties"
                | "propertyNames"
                | "contains"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "allOf"
                | "anyOf"
                | "oneOf"
                | "not"
                | "if"
                | "then"
                | "else" => Self::Schema,
                _ => Self::Plain,
            },
            Self::Set | Self::Plain => Self::Plain,
        }
    }
}

fn write(raw: &RawJson, place: Place, out: &mut Vec<u8>) {
    match raw.as_bytes().trim_ascii_start().first() {
        Some(b'{') => object(raw, place, out),
        Some(b'[') => list(raw, place, out),
        Some(b'"') => match raw.as_text() {
            Some(text) => out.extend(quote(&text)),
            None => out.extend_from_slice(raw.as_bytes().trim_ascii()),
        },
        Some(b'-' | b'0'..=b'9') => out.extend(number(&raw.to_string()).into_bytes()),
        _ => out.extend_from_slice(raw.as_bytes().trim_ascii()),
    }
}

/// A key that is written twice stays so, in its order: readers differ in which one they take.
fn object(raw: &RawJson, place: Place, out: &mut Vec<u8>) {
    let is_there = |value: &RawJson| place != Place::Tool || !value.is_null();
    let mut members: Vec<_> = raw.members().filter(|(_, value)| is_there(value)).collect();
    members.sort_by(|(a, _), (b, _)| a.cmp(b));
    out.push(b'{');
    for (at, (key, value)) in members.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend(quote(key));
        out.push(b':');
        write(value, place.inside(key), out);
    }
    out.push(b'}');
}

fn list(raw: &RawJson, place: Place, out: &mut Vec<u8>) {
    let inside = if place == Place::Schema { Place::Schema } else { Place::Plain };
    let item = |item: RawJson| {
        let mut out = Vec::new();
        write(&item, inside, &mut out);
        out
    };
    let mut items: Vec<_> = raw.items().map(item).collect();
    if place == Place::Set {
        items.sort();
        items.dedup();
    }
    out.push(b'[');
    out.extend(items.join(&b','));
    out.push(b']');
}

/// One spelling for each number, exactly: `1.0`, `1e0` and `10E-1` are `1`. Digits are never rounded.
fn number(text: &str) -> String {
    let text = text.trim();
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(exponent) = exponent.parse::<i32>() else { return text.to_owned() };
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() {
        return "0".to_owned();
    }
    // the value is 0.DIGITS times ten to this power
    let leading = all.len() - all.trim_start_matches('0').len();
    let power = i64::from(exponent) + whole.len() as i64 - leading as i64;
    let count = digits.len() as i64;
    match power {
        power if (count..=MOST_DIGITS).contains(&power) => {
            format!("{sign}{digits}{}", "0".repeat((power - count) as usize))
        }
        power if power > 0 && power < count => {
            let (whole, fraction) = digits.split_at(power as usize);
            format!("{sign}{whole}.{fraction}")
        }
        power if (LEAST_POWER..=0).contains(&power) => format!("{sign}0.{}{digits}", "0".repeat(-power as usize)),
        power => {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            format!("{sign}{first}{point}{rest}e{}", power - 1)
        }
    }
}

/// A longer whole number that ends in zeros is written with an exponent.
const MOST_DIGITS: i64 = 21;

/// With more zeros behind the point, likewise.
const LEAST_POWER: i64 = -6;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        of_tool(&RawJson::parse(text.to_owned()).unwrap()).to_string()
    }

    #[test]
    fn what_says_the_same_is_written_the_same() {
        for (one, other) in [
            (r#"{"name":"a","description":"x"}"#, "{ \"description\" : \"x\",\n\t\"name\":\"a\" }"),
            (r#"{"name":"\u00e9\/"}"#, r#"{"name":"é/"}"#),
            (r#"{"name":"a","title":null}"#, r#"{"name":"a"}"#),
            (
                r#"{"inputSchema":{"required":["b","a"],"properties":{"b":{"enum":[2,1.0]},"a":{"type":["null","string"]}}}}"#,
                r#"{"inputSchema":{"properties":{"a":{"type":["string","null"]},"b":{"enum":[1,2]}},"required":["a","b"]}}"#,
            ),
            (
                r#"{"inputSchema":{"anyOf":[{"required":["b","a"]}]}}"#,
                r#"{"inputSchema":{"anyOf":[{"required":["a","b"]}]}}"#,
            ),
        ] {
            assert_eq!(canonical(one), canonical(other));
        }
    }

    #[test]
    fn what_says_something_else_stays_different() {
        for (one, other) in [
            (r#"{"inputSchema":{"default":null}}"#, r#"{"inputSchema":{}}"#),
            (r#"{"inputSchema":{"default":["b","a"]}}"#, r#"{"inputSchema":{"default":["a","b"]}}"#),
            (
                r#"{"inputSchema":{"const":{"required":["b","a"]}}}"#,
                r#"{"inputSchema":{"const":{"required":["a","b"]}}}"#,
            ),
            (
                r#"{"inputSchema":{"properties":{"enum":{"default":[2,1]}}}}"#,
                r#"{"inputSchema":{"properties":{"enum":{"default":[1,2]}}}}"#,
            ),
            (r#"{"description":"evil","description":"good"}"#, r#"{"description":"good"}"#),
            (r#"{"description":"a\u200b"}"#, r#"{"description":"a"}"#),
            (r#"{"n":9007199254740993}"#, r#"{"n":9007199254740992}"#),
        ] {
            assert_ne!(canonical(one), canonical(other));
        }
    }

    #[test]
    fn each_number_has_one_spelling_and_keeps_its_digits() {
        for (one, spellings) in [
            ("0", &["0", "-0", "0.0", "0e7"][..]),
            ("1", &["1", "1.0", "1e0", "10E-1", "0.1e1"]),
            ("-120", &["-120", "-1.2e2", "-120.00"]),
            ("0.05", &["0.05", "5e-2", "0.0500"]),
            ("1e-9", &["1e-9", "0.000000001", "10e-10"]),
            ("1.5e40", &["1.5e40", "15E+39"]),
            ("123456789012345678901234567890", &["123456789012345678901234567890"]),
            ("1e99999999999999999999", &["1e99999999999999999999"]),
        ] {
            for spelling in spellings {
                let expected = if one.len() > MOST_DIGITS as usize && !one.contains('e') {
                    "1.2345678901234567890123456789e29"
                } else {
                    one
                };
                assert_eq!(number(spelling), expected, "{spelling}");
            }
        }
    }

    #[test]
    fn the_hash_is_sha_256_of_the_canonical_text() {
        let empty = of_tool(&RawJson::parse("{ }").unwrap());
        assert_eq!(hash(&empty), "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    }

    /// Any JSON, its objects as lists of members.
    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            any::<bool>().prop_map(|b| b.to_string()),
            any::<i64>().prop_map(|n| n.to_string()),
            any::<f64>().prop_filter("a number", |n| n.is_finite()).prop_map(|n| format!("{n:e}")),
            ".{0,6}".prop_map(|text| String::from_utf8(quote(&text)).unwrap()),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(","))),
                members(inner).prop_map(|members| object_of(&members)),
            ]
        })
    }

    fn members(value: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<(String, String)>> {
        let key =
            prop_oneof!["[a-c]{1,2}", Just("properties".into()), Just("required".into()), Just("inputSchema".into())];
        proptest::collection::btree_map(key, value, 0..6).prop_map(|members| members.into_iter().collect())
    }

    fn object_of(members: &[(String, String)]) -> String {
        let members: Vec<_> =
            members.iter().map(|(key, value)| format!("{} : {value}", serde_json::json!(key))).collect();
        format!("{{{}}}", members.join(" , "))
    }

    proptest! {
        #[test]
        fn p73_the_canonical_form_knows_no_order_of_keys(
            (members, shuffled) in members(json()).prop_flat_map(|members| (Just(members.clone()), Just(members).prop_shuffle()))
        ) {
            let (one, other) = (canonical(&object_of(&members)), canonical(&object_of(&shuffled)));
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(canonical(&one), one, "what is canonical stays as it is");
        }
    }
}
