//! The laws of the program's parsers over inputs made by rule, and over every seed of the fuzzers.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// The seeds of the fuzzers, and what once made one of them fail.
#[test]
fn every_seed_of_the_fuzzers_passes() {
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for (name, run) in TARGETS {
        let folder = std::fs::read_dir(seeds.join(name)).unwrap_or_else(|error| panic!("seeds of {name}: {error}"));
        let files: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
        assert!(!files.is_empty(), "{name} has no seeds");
        for file in files {
            let seed = std::fs::read(&file).unwrap();
            assert!(std::panic::catch_unwind(|| run(&seed)).is_ok(), "{}", file.display());
        }
    }
}

/// The schema of one argument: plain, of several types, or by a detour.
fn schema() -> impl Strategy<Value = Value> {
    let types = ["string", "integer", "number", "boolean", "null", "object", "array", "any"];
    let one = prop::sample::select(types.to_vec()).prop_map(|kind| json!({"type": kind}));
    let leaf = prop_oneof![
        4 => one,
        1 => prop::sample::subsequence(types.to_vec(), 0..4).prop_map(|kinds| json!({"type": kinds})),
        1 => Just(json!({"enum": ["r", 1, null]})),
        1 => Just(json!({"const": "r"})),
        1 => Just(json!({"$ref": "#/properties/a"})),
        1 => Just(json!({})),
        1 => Just(json!(true)),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|several| json!({"anyOf": several})),
            inner.prop_map(|one| json!({"allOf": [one]})),
        ]
    })
}

fn typed() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        prop::sample::select(vec![
            "000123",
            "9007199254740993",
            "1e400",
            "-0.0",
            "true",
            "null",
            "",
            " 7 ",
            "{\"a\":[1]}",
            "[1, 2]",
            "\"q\"",
            "@@x",
            "a=b",
            "\u{7}é",
            "{",
            "NaN",
        ])
        .prop_map(str::to_owned),
        "[^@]{0,8}",
    ];
    (prop::sample::select(vec!["a", "b", "c", "d:", "a:", "", ":"]), value)
        .prop_map(|(key, value)| format!("{key}={value}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn p91_text_stays_text_and_numbers_keep_their_digits(
        schemas in (schema(), schema(), schema()),
        open in any::<bool>(),
        whole in prop::sample::select(vec![None, Some("{}"), Some("{\"a\":1.0,\"z\":1e400}"), Some("[1]"), Some("{")]),
        typed in prop::collection::vec(typed(), 0..5),
    ) {
        let (a, b, c) = schemas;
        let schema = json!({"properties": {"a": a, "b": b, "c": c}, "additionalProperties": open});
        values::laws::arguments(&schema.into(), &typed, whole);
    }

    #[test]
    fn p74_nothing_that_is_shown_is_obeyed_by_a_terminal(text in "[a\"{}\\[\\]:,\n\r\t\u{1b}\u{9b}\u{202e}\u{200b}\u{200d}\u{fe0f}\u{e0041}\\\\u0é❤]{0,40}") {
        display(text.as_bytes());
        display(json!({text.clone(): [text, 1.0, {"k": null}]}).to_string().as_bytes());
    }

    #[test]
    fn a_reply_is_the_same_wherever_it_is_cut(
        deltas in prop::collection::vec(prop::sample::select(vec![
            "{\"content\":\"hi\"}", "{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"t\"}}]}", "{\"refusal\":\"no\"}",
            "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}},5,{\"id\":7}]}", "{\"tool_calls\":[{\"function\":\"t\"}]}",
            "{\"content\":[{\"type\":\"text\",\"text\":\"é\"}]}", "{\"x\":[1]}", "5", "{\"tool_calls\":[{\"function\":{\"name\":5}}]}",
        ]), 0..6),
        end in prop::sample::select(vec!["\n\n", "\r\n\r\n", "\n"]),
        length in 1u8..20,
    ) {
        let lines: String = deltas.iter().map(|delta| format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}{end}")).collect();
        reply(&[&[length], lines.as_bytes()].concat());
    }
}
