//! Answers, with and without calls.

use std::io::Read as _;

use serde_json::json;
use trunkline_tests::http::{Event, Gate, event, sse, wait};
use trunkline_tests::model::{Model, Turn, chunk, last_chunk};

use super::{Asked, told};
use crate::harness::Bench;

#[test]
fn the_model_calls_tools_of_two_servers_and_answers() {
    for plain in [false, true] {
        let turns = [
            Turn::calls([("demo_add", json!({"a": 2, "b": 40})), ("notes_read", json!({"note": "é 7"}))]),
            Turn::says("It is 42, says ännie.\nBye."),
        ];
        let turns = turns.map(|turn| if plain { turn.plain() } else { turn });
        let (bench, model) = (Bench::new(), Model::playing(turns));
        let notes = bench.server(json!({
            "TOOLS": r#"{"name":"read","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"note":{"type":"string"}}}}"#,
            "CALL": r#""result":{"content":[{"type":"text","text":"a note"}]}"#,
        }));
        let config = bench.config([("demo", bench.demo()), ("notes", notes)]);
        let asked = Asked { bench, model };
        let ran = asked.run(&["how much?", "--config", &config, "--system", "Be brief."]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "It is 42, says ännie.\nBye.\n"), "{ran:?}");
        assert_eq!(
            Asked::timeless(&ran),
            "-> demo.add(a: 2, b: 40)\n-> notes.read(note: \"é 7\")\n<- demo.add: 42 (TIME)\n<- notes.read: a note (TIME)\n"
        );
        assert_eq!(
            told(&asked.model),
            [json!("Be brief."), json!("how much?"), json!(null), json!("42"), json!("a note")]
        );
        assert_eq!(asked.model.requests()[0]["tools"].as_array().unwrap().len(), 10);
    }
}

#[test]
fn machines_get_one_document_with_everything() {
    let turns = [
        Turn::says("Let me see.").and_calls([("demo_add", json!({"a": 2, "b": 40})), ("demo_fail", json!({}))]),
        Turn::says("42."),
    ];
    let asked = Asked::new(turns);
    let ran = asked.run(&["how much?", "-q", "--json"]);
    let mut document = ran.json();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    for call in document["calls"].as_array_mut().unwrap() {
        assert!(call["milliseconds"].take().is_u64());
    }
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        document,
        json!({
            "model": "scripted",
            "answer": "42.",
            "stopReason": "answer",
            "finishReason": "stop",
            "steps": 2,
            "messages": [
                {"role": "user", "content": "how much?"},
                {"role": "assistant", "content": "Let me see.", "tool_calls": [
                    call("call-1-0", "demo_add", "{\"a\":2,\"b\":40}"), call("call-1-1", "demo_fail", "{}"),
                ]},
                {"role": "tool", "tool_call_id": "call-1-0", "content": "42"},
                {"role": "tool", "tool_call_id": "call-1-1", "content": "Error: this tool always fails"},
                {"role": "assistant", "content": "42."},
            ],
            "calls": [
                {
                    "step": 1, "id": "call-1-0", "tool": "demo.add", "server": "demo", "arguments": {"a": 2, "b": 40},
                    "outcome": "ok", "milliseconds": null,
                    "result": {"content": [{"type": "text", "text": "42"}], "structuredContent": {"result": 42}},
                },
                {
                    "step": 1, "id": "call-1-1", "tool": "demo.fail", "server": "demo", "arguments": {},
                    "outcome": "error", "milliseconds": null,
                    "result": {"content": [{"type": "text", "text": "this tool always fails"}], "isError": true},
                },
            ],
            "usage": {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30},
            "failures": [],
        })
    );
}

#[test]
fn what_the_model_says_between_calls_is_shown_unless_only_the_answer_is_wanted() {
    let turns = || [Turn::says("Let me see.").and_calls([("demo_add", json!({"a": 2, "b": 40}))]), Turn::says("42.\n")];
    let ran = Asked::new(turns()).run(&["?"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Let me see.\n42.\n"));
    let quiet = Asked::new(turns()).run(&["?", "-q"]);
    quiet.is(0, "42.\n", "");
    let ran = Asked::new([Turn::says("")]).run(&["?", "-q"]);
    ran.is(0, "", "");
}

#[test]
fn the_answer_comes_as_it_is_said() {
    let gate = Gate::new();
    let piece = |text: &str| event(Event::json(chunk(json!({"content": text}))));
    let rest =
        [wait(&gate), piece(" then\u{1b}[2J"), event(Event::json(last_chunk("stop"))), event(Event::data("[DONE]"))];
    let asked = Asked::new([Turn::steps([sse(), piece("Now,")].into_iter().chain(rest))]);
    let mut child = asked.bench.command(&asked.args(&asked.model.base(), &["?"])).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 4];
    out.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"Now,", "before the model went on");
    gate.open();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, " then\\u{1b}[2J\n", "a terminal has nothing to obey");
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_question_comes_from_a_pipe_and_the_system_prompt_from_a_file() {
    let asked = Asked::new([Turn::says("Fine.")]);
    let file = asked.bench.write("system.txt", "Be brief.");
    let (base, file) = (asked.model.base(), format!("@{file}"));
    let ran = asked.bench.run_with_input(&asked.args(&base, &["-", "-q", "--system", &file]), "line 1\nline 2\n");
    ran.is(0, "Fine.\n", "");
    assert_eq!(told(&asked.model), [json!("Be brief."), json!("line 1\nline 2\n")]);
    let ran = asked.run(&[" ", "-q"]);
    ran.is(2, "", "error: The question is empty\n");
    let ran = asked.run(&["?", "-q", "--system", "@/no/such/file"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
}
