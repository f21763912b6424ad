//! Generated schemas: whatever they are, each provider takes what is made of them, and the report is right about it.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trunkline::format::{Definitions, Dialect, Effect, Strictness};
use trunkline_tests::providers;

use crate::instances::{Dice, arguments};
use crate::{tool, written};

const NAMES: [&str; 6] = ["a", "b", "c", "type", "default", "$ref"];
const ODD_NAMES: [&str; 8] = ["a b", "é", "", "x.y", "9", "properties", "a-b", "items"];
const TARGETS: [&str; 5] = ["#/$defs/A", "#/$defs/B", "#", "#/properties/a", "#/$defs/Gone"];

/// How odd schemas may be.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Taste {
    /// Valid, and of the kind that servers mean.
    Tidy,
    /// With wrong shapes, strange names and what nobody writes.
    Wild,
}

fn name(taste: Taste) -> BoxedStrategy<String> {
    let tidy = prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
    match taste {
        Taste::Tidy => tidy.boxed(),
        Taste::Wild => {
            prop_oneof![3 => tidy, 2 => prop::sample::select(&ODD_NAMES[..]).prop_map(str::to_owned)].boxed()
        }
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    let all =
        [json!("a"), json!("ab"), json!(""), json!(1), json!(2), json!(1.5), json!(null), json!(true), json!({"a": 1})];
    prop::sample::select(all.to_vec())
}

fn leaf(taste: Taste) -> BoxedStrategy<Value> {
    const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "null", "object", "array"];
    let kind = prop::sample::select(&TYPES[..]);
    let one = kind.clone().prop_map(|kind| json!({"type": kind}));
    let several = prop::sample::subsequence(TYPES.to_vec(), 2..4).prop_map(|kinds| json!({"type": kinds}));
    let text = (0..3u8, 2..6u8, 0..6usize).prop_map(|(least, most, extra)| {
        let extras = [
            json!({}),
            json!({"pattern": "^a"}),
            json!({"pattern": "^(?!x)"}),
            json!({"format": "email"}),
            json!({"format": "date-time", "default": "x"}),
            json!({"description": "Words.", "title": "T"}),
        ];
        merged(json!({"type": "string", "minLength": least, "maxLength": most}), extras[extra].clone())
    });
    let number = (any::<bool>(), -2..3i64, 3..9i64, 0..5usize).prop_map(|(whole, least, most, form)| {
        let limits = [
            json!({"minimum": least, "maximum": most}),
            json!({"exclusiveMinimum": least, "exclusiveMaximum": most}),
            json!({"minimum": least, "exclusiveMinimum": least}),
            json!({"multipleOf": 2}),
            json!({"maximum": most, "default": 3}),
        ];
        merged(json!({"type": if whole { "integer" } else { "number" }}), limits[form].clone())
    });
    let choice = prop::collection::vec(scalar(), 1..4).prop_map(|mut values| {
        values.sort_by_key(|value| value.to_string());
        values.dedup();
        json!({"enum": values})
    });
    let typed_choice = prop::sample::subsequence(vec!["a", "ab", "abc"], 1..3)
        .prop_map(|values| json!({"type": "string", "enum": values}));
    let fixed = scalar().prop_map(|value| json!({"const": value}));
    let reference = prop::sample::select(&TARGETS[..]).prop_map(|target| json!({"$ref": target}));
    let tidy = prop_oneof![
        4 => one, 1 => several, 3 => text, 3 => number, 1 => choice, 2 => typed_choice, 1 => fixed, 2 => reference,
        1 => Just(json!({})), 1 => any::<bool>().prop_map(Value::Bool),
    ];
    match taste {
        Taste::Tidy => tidy.boxed(),
        Taste::Wild => {
            let odd = [
                json!(null),
                json!("string"),
                json!([]),
                json!({"type": "any"}),
                json!({"type": 3}),
                json!({"enum": []}),
                json!({"enum": "a"}),
                json!({"required": true}),
                json!({"items": []}),
                json!({"anyOf": []}),
                json!({"pattern": "("}),
                json!({"$ref": 3}),
                json!({"type": ["string", "string"]}),
                json!({"minLength": -1}),
                json!({"exclusiveMinimum": true, "minimum": 3}),
                json!({"type": "array", "items": [{"type": "string"}, true]}),
                json!({"nullable": true, "type": "string"}),
                json!({"$dynamicRef": "#x"}),
                json!({"properties": null}),
                json!({"const": [1, {"a": null}]}),
                json!({"type": "array", "items": false}),
                json!({"enum": [1, 1.0, 2]}),
                json!({"$id": "x", "$anchor": "y", "$comment": 7, "examples": {}}),
                json!({"definitions": {"Z": true}}),
            ];
            prop_oneof![3 => tidy, 2 => prop::sample::select(odd.to_vec())].boxed()
        }
    }
}

fn merged(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Object(mut a), Value::Object(b)) => {
            a.extend(b);
            Value::Object(a)
        }
        (a, _) => a,
    }
}

fn schema(taste: Taste) -> BoxedStrategy<Value> {
    leaf(taste)
        .prop_recursive(4, 40, 4, move |inner| {
            let list = |least: usize| prop::collection::vec(inner.clone(), least..4);
            let union = (prop::sample::select(&["anyOf", "oneOf", "allOf"][..]), list(1))
                .prop_map(|(key, parts)| json!({key: parts}));
            let beside = (object(taste, inner.clone()), list(1), any::<bool>())
                .prop_map(|(object, parts, any)| merged(object, json!({if any { "anyOf" } else { "oneOf" }: parts})));
            let lists = (inner.clone(), 0..3u8).prop_map(|(items, least)| json!({"type": "array", "items": items, "minItems": least}));
            let tuple = (list(1), prop::option::of(inner.clone())).prop_map(|(items, rest)| match rest {
                Some(rest) => json!({"type": "array", "prefixItems": items, "items": rest}),
                None => json!({"type": "array", "prefixItems": items}),
            });
            let map = inner.clone().prop_map(|rest| json!({"type": "object", "additionalProperties": rest}));
            let pattern = (inner.clone(), any::<bool>()).prop_map(|(rest, closed)| {
                json!({"type": "object", "patternProperties": {"^x-": rest}, "additionalProperties": !closed})
            });
            // nothing that contains itself in here: it would be true if it were false
            let plain = [json!({"type": "string"}), json!({"required": ["a"]}), json!({"enum": ["a", 1]}), json!({"minLength": 2})];
            let plain = prop::sample::select(plain.to_vec());
            let rare = (plain.clone(), inner.clone()).prop_map(|(a, b)| json!({"if": a, "then": b}));
            let not = plain.prop_map(|schema| json!({"not": schema}));
            prop_oneof![
                4 => object(taste, inner.clone()), 3 => union, 1 => beside, 2 => lists, 1 => tuple, 1 => map, 1 => pattern,
                1 => rare, 1 => not,
            ]
        })
        .boxed()
}

fn object(taste: Taste, inner: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    let properties = prop::collection::btree_map(name(taste), inner, 0..4);
    (properties, prop::collection::vec(name(taste), 0..3), 0..4u8, any::<bool>())
        .prop_map(|(properties, wanted, closed, typed)| {
            let mut required: Vec<_> = wanted.into_iter().filter(|name| properties.contains_key(name)).collect();
            required.sort();
            required.dedup();
            let mut object = json!({"properties": properties.into_iter().collect::<Map<_, _>>()});
            if typed {
                object["type"] = json!("object");
            }
            if !required.is_empty() {
                object["required"] = json!(required);
            }
            if closed >= 2 {
                object["additionalProperties"] = json!(false);
            }
            object
        })
        .boxed()
}

fn root(taste: Taste) -> impl Strategy<Value = Value> {
    let part = prop::option::weighted(
        0.3,
        (prop::sample::select(&["anyOf", "oneOf", "allOf"][..]), prop::collection::vec(schema(taste), 1..3)),
    );
    (object(taste, schema(taste)), schema(taste), schema(taste), part, 0..10u8).prop_map(
        |(mut root, a, b, part, odd)| {
            root["$defs"] = json!({"A": a, "B": b});
            if let Some((key, parts)) = part {
                root[key] = json!(parts);
            }
            match odd {
                0 => json!({"$ref": "#/$defs/A", "$defs": root["$defs"]}),
                1 => merged(
                    root,
                    json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "description": "D", "title": "T"}),
                ),
                _ => root,
            }
        },
    )
}

/// The schema as JSON Schema has it, where the dialect writes `nullable`.
fn as_json_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let mut out: Map<_, _> = object.iter().map(|(key, value)| (key.clone(), as_json_schema(value))).collect();
            if out.get("nullable") == Some(&Value::Bool(true)) && object.contains_key("type") {
                out.remove("nullable");
                return json!({"anyOf": [out, {"type": "null"}]});
            }
            Value::Object(out)
        }
        Value::Array(items) => Value::Array(items.iter().map(as_json_schema).collect()),
        other => other.clone(),
    }
}

fn validator(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::options().should_validate_formats(false).build(schema).ok()
}

/// Some cases in every run, as many as `PROPTEST_CASES` says where somebody looks for more.
fn config() -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { 96 };
    ProptestConfig { cases, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_a_server_sends_every_provider_takes_it(schema in prop_oneof![root(Taste::Wild), schema(Taste::Wild)]) {
        for dialect in Dialect::ALL {
            written(dialect, &[tool("t", schema.clone())]);
        }
    }

    #[test]
    fn names_are_legal_unique_and_lead_back(names in prop::collection::vec("[a-z.:/ é-]{0,6}|[a-z]{60,140}|[0-9]{1,3}", 1..8)) {
        let tools: Vec<_> = names.iter().map(|name| tool(name, json!({"type": "object", "properties": {"a": {"type": "string"}}}))).collect();
        for dialect in Dialect::ALL {
            let definitions = written(dialect, &tools);
            for (report, name) in definitions.report().iter().zip(&names) {
                prop_assert_eq!(definitions.tool(&report.sent_as), Some(name.as_str()));
            }
        }
    }

    /// No `Narrower` in the report: what the tool takes can be sent. Nothing but `Same`: nothing else can be.
    #[test]
    fn effects_are_what_the_report_says(schema in root(Taste::Tidy), seed in any::<u64>()) {
        let tool = tool("t", schema);
        let original = tool.input_schema().to_value();
        let Some(before) = validator(&original) else { return Ok(()) };
        let mut dice = Dice::new(seed);
        for dialect in Dialect::ALL {
            let definitions = Definitions::new(dialect, [&tool]);
            let report = &definitions.report()[0];
            let null_for_missing = report.strictness == Strictness::Strict && dialect != Dialect::AnthropicStrict;
            let renamed = report.changes.iter().any(|change| change.what.contains("written as \""));
            if null_for_missing || renamed {
                continue; // the way back is looked at below
            }
            let sent = providers::schemas(dialect, &definitions.tools().to_value()).remove(0).1;
            let Some(after) = validator(&as_json_schema(&sent)) else { continue };
            let worst = report.changes.iter().map(|change| change.effect).max().unwrap_or(Effect::Same);
            for _ in 0..12 {
                let from = if dice_is_even(&mut dice) { &original } else { &sent };
                let arguments = arguments(from, &mut dice);
                let (fits, fits_sent) = (before.is_valid(&arguments), after.is_valid(&arguments));
                if worst < Effect::Narrower && fits {
                    prop_assert!(fits_sent, "{dialect}: {arguments} got lost\n{original}\n{sent}\n{report}");
                }
                if worst == Effect::Same && fits_sent {
                    prop_assert!(fits, "{dialect}: {arguments} came in\n{original}\n{sent}\n{report}");
                }
            }
        }
    }

    /// What the model writes by the schema that it sees comes back as the tool takes it.
    #[test]
    fn strict_arguments_come_back_as_they_were(schema in root(Taste::Tidy), seed in any::<u64>()) {
        let tool = tool("t", schema);
        let original = tool.input_schema().to_value();
        let Some(before) = validator(&original) else { return Ok(()) };
        let definitions = Definitions::new(Dialect::OpenAiChatStrict, [&tool]);
        let report = &definitions.report()[0];
        let sent = providers::schemas(Dialect::OpenAiChatStrict, &definitions.tools().to_value()).remove(0).1;
        let wider = report.changes.iter().any(|change| change.effect == Effect::Wider);
        let (Some(after), Strictness::Strict, false) = (validator(&sent), &report.strictness, wider) else {
            return Ok(());
        };
        let mut dice = Dice::new(seed);
        for _ in 0..12 {
            let arguments = arguments(&sent, &mut dice);
            if !after.is_valid(&arguments) {
                continue;
            }
            let message = json!({"tool_calls": [{"id": "1", "function": {"name": "t", "arguments": arguments.to_string()}}]});
            let calls = definitions.calls(&message);
            let restored = calls[0].arguments().unwrap().raw().to_value();
            prop_assert!(before.is_valid(&restored), "{arguments} came back as {restored}\n{original}\n{sent}\n{report}");
        }
    }
}

proptest! {
    #![proptest_config(config())]

    /// What the tool takes can be written by the strict schema, and comes back as it was.
    #[test]
    fn whatever_the_tool_takes_can_be_written_strictly(schema in root(Taste::Tidy), seed in any::<u64>()) {
        let tool = tool("t", closed(&schema));
        let original = tool.input_schema().to_value();
        let Some(before) = validator(&original) else { return Ok(()) };
        let definitions = Definitions::new(Dialect::OpenAiChatStrict, [&tool]);
        let report = &definitions.report()[0];
        let sent = providers::schemas(Dialect::OpenAiChatStrict, &definitions.tools().to_value()).remove(0).1;
        let narrower = report.changes.iter().any(|change| change.effect == Effect::Narrower);
        let (Some(after), Strictness::Strict, false) = (validator(&sent), &report.strictness, narrower) else {
            return Ok(());
        };
        let mut dice = Dice::new(seed);
        for _ in 0..12 {
            let arguments = arguments(&original, &mut dice);
            if !before.is_valid(&arguments) {
                continue;
            }
            let written = filled(&arguments, &sent, &sent, 6);
            let Some(written) = written.into_iter().find(|written| after.is_valid(written)) else {
                return Err(TestCaseError::fail(format!("{arguments} can't be written\n{original}\n{sent}\n{report}")));
            };
            let message = json!({"tool_calls": [{"id": "1", "function": {"name": "t", "arguments": written}}]});
            let restored = definitions.calls(&message)[0].arguments().unwrap().raw().to_value();
            prop_assert_eq!(&restored, &arguments, "{} was written\n{}\n{}\n{}", written, original, sent, report);
        }
    }
}

/// Every object closed, so that strict modes change less.
fn closed(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let mut out: Map<_, _> = object.iter().map(|(key, value)| (key.clone(), closed(value))).collect();
            if object.get("properties").is_some_and(Value::is_object) && !object.contains_key("additionalProperties") {
                out.insert("additionalProperties".to_owned(), json!(false));
                out.insert("type".to_owned(), json!("object"));
            }
            Value::Object(out)
        }
        Value::Array(items) => Value::Array(items.iter().map(closed).collect()),
        other => other.clone(),
    }
}

/// The ways to write a value by a schema that requires everything: null for what is missing.
fn filled(value: &Value, schema: &Value, root: &Value, depth: usize) -> Vec<Value> {
    if depth == 0 {
        return vec![value.clone()];
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?)) {
        return filled(value, target, root, depth - 1);
    }
    if let Some(branches) = schema["anyOf"].as_array() {
        let mut ways: Vec<_> = branches.iter().flat_map(|branch| filled(value, branch, root, depth - 1)).collect();
        ways.dedup();
        ways.truncate(12);
        return ways;
    }
    match value {
        Value::Object(given) => {
            let mut ways = vec![Map::new()];
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            for (name, property) in &properties {
                let inner = given.get(name).map_or(vec![Value::Null], |value| filled(value, property, root, depth - 1));
                let with = |way: &Map<_, _>| {
                    let extended = |value: &Value| {
                        let mut way = way.clone();
                        way.insert(name.clone(), value.clone());
                        way
                    };
                    inner.iter().map(extended).collect::<Vec<_>>()
                };
                ways = ways.iter().flat_map(with).take(48).collect();
            }
            let others = given.iter().filter(|(name, _)| !properties.contains_key(*name));
            let others: Vec<_> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
            ways.into_iter()
                .map(|mut way| {
                    way.extend(others.clone());
                    Value::Object(way)
                })
                .collect()
        }
        Value::Array(items) => {
            let mut ways = vec![Vec::new()];
            for item in items {
                let inner = filled(item, &schema["items"], root, depth - 1);
                let with = |way: &Vec<Value>| {
                    inner.iter().map(|item| [&way[..], std::slice::from_ref(item)].concat()).collect::<Vec<_>>()
                };
                ways = ways.iter().flat_map(with).take(48).collect();
            }
            ways.into_iter().map(Value::Array).collect()
        }
        other => vec![other.clone()],
    }
}

fn dice_is_even(dice: &mut Dice) -> bool {
    arguments(&json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}), dice)["a"]
        == true
}
