//! The laws of the parsers over inputs made by rule, which reach what random bytes seldom do; and over every seed of the
//! fuzzers.

use proptest::prelude::*;
use serde_json::{Map, Value};

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

/// The text in pieces whose lengths are taken in turn.
fn pieces<'a>(text: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*length).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![1]), Just(vec![4096]), prop::collection::vec(1usize..40, 1..8)]
}

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// What may stand on a line: messages, noise of all kinds, texts of more than one byte a character, bytes that are none.
fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => Just(bytes(r#"{"jsonrpc":"2.0","id":1,"result":{"text":"日本 é 👩‍👩‍👧"}}"#)),
        1 => Just(bytes("Server listening on http://localhost:3000 \u{1b}[32m✓\u{1b}[0m")),
        1 => Just(bytes("Content-Length: 120")),
        1 => Just(bytes("\r")),
        1 => Just(b"\xff\xfe\x00{\xe9}".to_vec()),
        1 => Just(Vec::new()),
        1 => "[ \t]{0,4}".prop_map(|text| bytes(&text)),
        2 => ".{0,30}".prop_map(|text| bytes(&text)),
        1 => (1usize..2000).prop_map(|length| vec![b'x'; length]),
        1 => prop::collection::vec(any::<u8>(), 0..30),
    ]
}

fn line_end() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\n\n"), 1 => Just("\r\n \n")]
}

/// Lines with their ends, some with a byte order mark, the last perhaps without an end.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let lines = prop::collection::vec((any::<bool>(), line(), line_end()), 0..12);
    (lines, line()).prop_map(|(lines, last)| {
        let mut stream = Vec::new();
        for (marked, line, end) in lines {
            stream.extend_from_slice(if marked { "\u{feff}".as_bytes() } else { b"" });
            stream.extend_from_slice(&line);
            stream.extend_from_slice(end.as_bytes());
        }
        stream.extend(last);
        stream
    })
}

/// Any JSON, whose keys are mostly `keys`, and whose texts look like what those hold.
fn json_with(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    const WORDS: [&str; 14] = [
        "",
        "text",
        "image",
        "resource",
        "object",
        "null",
        "AAE=",
        "npx",
        "https://h/mcp",
        "${TOKEN:-d}",
        "a.b",
        "500ms",
        "\u{0}",
        "{\"a\":1}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let key =
            prop_oneof![6 => prop::sample::select(keys).prop_map(str::to_owned), 1 => ".{0,4}".prop_map(String::from)];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6).prop_map(|members| Value::from(Map::from_iter(members))),
        ]
    })
}

const ANSWERS: &[&str] = &[
    "content",
    "type",
    "text",
    "data",
    "mimeType",
    "resource",
    "uri",
    "blob",
    "structuredContent",
    "isError",
    "_meta",
    "contents",
    "messages",
    "role",
    "description",
    "name",
    "title",
    "inputSchema",
    "properties",
    "arguments",
    "required",
    "uriTemplate",
    "serverInfo",
    "capabilities",
    "tools",
    "annotations",
];

const CONFIG: &[&str] = &[
    "mcpServers",
    "servers",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "type",
    "timeout",
    "startTimeout",
    "disabled",
    "required",
    "tools",
    "allow",
    "deny",
    "inheritEnv",
    "protocol",
    "limits",
    "maxMessage",
    "files",
    "a b",
    "bearerCommand",
];

const MESSAGES: &[&str] = &["jsonrpc", "id", "method", "params", "result", "error", "code", "message", "data"];

const SCHEMA: &[&str] = &[
    "type",
    "properties",
    "items",
    "required",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "$ref",
    "$defs",
    "pattern",
    "additionalProperties",
    "minimum",
    "maxLength",
    "default",
    "a",
    "b",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn p11_p13_p14_p17_lines_are_the_same_wherever_they_are_cut(stream in stream(), lengths in lengths(), max in 1usize..3000) {
        transport::laws::lines(&pieces(&stream, &lengths), max);
    }

    #[test]
    fn p15_p16_a_line_as_long_as_allowed_is_taken_and_a_longer_one_is_not(
        before in stream(), length in 1usize..300_000, over in 0usize..3, lengths in lengths(), end in line_end(),
    ) {
        let line = vec![b'x'; length + over];
        let stream = [&before, &b"\n"[..], &line, end.as_bytes(), b"after\n"].concat();
        transport::laws::lines(&pieces(&stream, &lengths), length);
    }

    #[test]
    fn p07_the_tail_of_a_standard_error_is_bounded_wherever_it_is_cut(stream in stream(), lengths in lengths(), capacity in 0usize..200) {
        transport::laws::tail(&pieces(&stream, &lengths), capacity);
    }

    #[test]
    fn p58_p59_events_are_what_the_specification_says_wherever_they_are_cut(
        lines in prop::collection::vec((prop_oneof![
            Just("data: x"), Just("data:"), Just("data"), Just("data:  {\"a\":"), Just("data: 日\u{0}"), Just("id: 1"), Just("id: a\u{0}"),
            Just("id"), Just(""), Just(""), Just(": c"), Just("event: ping"), Just("event"), Just("retry: 10"), Just("retry: +1"),
            Just("retry: 99999999999999999999"), Just("retry"), Just("foo: bar"), Just("\u{feff}data: y"),
        ], prop_oneof![3 => Just("\n"), 2 => Just("\r\n"), 2 => Just("\r")]), 0..24),
        marked in any::<bool>(),
        lengths in lengths(),
    ) {
        let text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        let text = if marked { format!("\u{feff}{text}") } else { text };
        transport::laws::events(&pieces(text.as_bytes(), &lengths));
    }

    #[test]
    fn p21_p24_any_envelope_is_seen_as_another_parser_sees_it(value in json_with(MESSAGES), deep in 0usize..600) {
        rpc(value.to_string().as_bytes());
        rpc(format!("{{\"id\":1,\"result\":{}{value}{}}}", "[".repeat(deep), "]".repeat(deep)).as_bytes());
        rpc(format!("[{value},{{\"method\":\"m\",\"params\":{value}}}]").as_bytes());
    }

    #[test]
    fn p36_raw_json_is_what_another_parser_reads(value in json_with(ANSWERS), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = serde_json::to_vec(&value).unwrap();
        json(&text);
        let at = at.index(text.len());
        text[at] = byte;
        json(&text);
    }

    #[test]
    fn p30_p31_p32_p33_any_json_in_any_field_is_an_answer_or_an_error(value in json_with(ANSWERS)) {
        results(value.to_string().as_bytes());
    }

    #[test]
    fn p48_a_template_matches_what_its_expression_does(
        template in prop::collection::vec(prop::sample::select(vec!["a", "/", "file://", "{x}", "{+x}", "{/x}", "{?x,y}", "{", "}", "é", "."]), 0..7),
        uri in "(file://)?[a/.é?=]{0,10}",
    ) {
        protocol::laws::templates(&template.concat(), &uri);
    }

    #[test]
    fn p80_p81_any_json_is_a_config_or_says_where_it_is_none(value in json_with(CONFIG)) {
        config(value.to_string().as_bytes());
        config(format!("{{\"mcpServers\": {value}}}").as_bytes());
        config(format!("// of a\n{{\"servers\": {{\"a\": {value}, \"b-1\": {{\"command\": \"x\", \"env\": {value}}},}}}}").as_bytes());
    }

    #[test]
    fn p80_references_are_replaced_and_nothing_else(pieces in prop::collection::vec(prop::sample::select(vec![
        "${", "}", "$", "$$", "A", "AB", "ABC", ":-", "env:", "input:", " ", "é", "1", "_",
    ]), 0..12)) {
        config::laws::variables(&pieces.concat());
    }

    #[test]
    fn p43_p44_p46_names_are_legal_and_mean_one_tool(
        labels in prop::collection::btree_set(prop_oneof!["[ab_.-]{1,4}", "[a-z]{1,3}(_[a-z]{1,2}){0,2}", "[a-c-]{25,70}", ".{0,20}"], 1..8),
        tools in prop::collection::btree_set(prop_oneof![
            "[ab_.-]{1,4}", "[a-z]{1,2}(_[a-z]{1,2}){0,3}", "[a-c/]{40,120}", ".{0,20}", "[ab]_[0-9a-f]{8}",
        ], 1..12),
    ) {
        name::laws::exposed(&labels, &tools);
        labels.iter().for_each(|label| name::laws::labels(label));
    }

    #[test]
    fn any_schema_is_used_or_refused(schema in json_with(SCHEMA), arguments in json_with(SCHEMA)) {
        let members = Map::from_iter([("a".to_owned(), arguments.clone()), ("c".to_owned(), arguments)]);
        schema::laws::checks(&schema.into(), &Value::from(members).into());
    }

    #[test]
    fn any_head_of_an_answer_keeps_requests_at_home(
        status in 100u16..600,
        location in prop_oneof!["(https?:)?(//)?([a-z.]{0,6}@)?(example.com(:8080)?)?/?[a-z{}|^?#/\\\\.%]{0,8}", ".{0,20}"],
    ) {
        let head = [&(status - 100).to_be_bytes()[..], location.as_bytes(), b"\0", location.as_bytes(), b"\0\0\0", location.as_bytes()];
        http(&head.concat());
    }
}
