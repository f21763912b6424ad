//! `--record` and `--replay`, `trunkline record` and `trunkline mock`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use trunkline_tests::model::Turn;

use crate::ask::{Asked, told};
use crate::harness::{Bench, PROGRAM, Ran, tool};

/// Asserts that both are the same, but for how the server was started.
#[track_caller]
fn same(recorded: &Ran, replayed: &Ran) {
    let start = |line: &&str| line.starts_with("  command ") || line.starts_with("  config ");
    let told = |ran: &Ran| ran.stderr.lines().filter(|line| !start(line)).collect::<Vec<_>>().join("\n");
    assert_eq!((recorded.code, &recorded.stdout, told(recorded)), (replayed.code, &replayed.stdout, told(replayed)));
}

#[test]
fn what_is_recorded_is_replayed_word_for_word() {
    let bench = Bench::new();
    let config = bench.config([("demo", bench.demo()), ("s", bench.server(json!({"TOOLS": tool("t", "")})))]);
    let tape = bench.path("tape.jsonl").display().to_string();
    for args in [
        &["list"][..],
        &["list", "--all", "--json", "demo"],
        &["call", "demo.add", "a=2", "b=40"],
        &["call", "weather", "city=Bergen", "--json"],
        &["call", "demo.fail"],
        &["call", "demo.add", "a=2", "b=forty"],
        &["call", "demo.nothing"],
        &["read", "demo://square/12"],
        &["read", "demo://nothing", "--from", "demo"],
        &["prompt", "demo.greet", "name=Ann"],
    ] {
        let recorded = bench.run(&[args, &["--config", &config, "--record", &tape]].concat());
        same(&recorded, &bench.run(&[args, &["--replay", &tape]].concat()));
    }
    let missed = bench.run(&["call", "demo.add", "a=2", "b=41", "--replay", &tape]);
    assert_eq!(missed.code, 2);
    assert!(missed.stderr.contains("the nearest is in line "), "{missed:?}");
    assert!(missed.stderr.contains(", with 40 at /arguments/b instead of 41\n"), "{missed:?}");
    assert!(missed.stderr.contains("--record FILE") && missed.stderr.contains("--ignore PATH"), "{missed:?}");
    bench.run(&["call", "demo.add", "a=2", "b=41", "--replay", &tape, "--ignore", "/arguments/b"]).is(0, "42\n", "");
    let elsewhere = bench.run(&["call", "demos.add", "--replay", &tape]);
    assert_eq!(
        (elsewhere.code, elsewhere.stderr.as_str()),
        (2, "error: No server has a tool named \"demos.add\"\nhint: Did you mean \"demo.add\"?\n")
    );
}

#[test]
fn a_recording_server_stands_between_a_client_and_a_server() {
    let bench = Bench::new();
    let tape = bench.path("tape.jsonl").display().to_string();
    let direct = bench.run(&["list", "-q", "--stdio", &format!("x={PROGRAM} demo")]);
    let between = format!("x={PROGRAM} record -o {tape} -- {PROGRAM} demo");
    let mock = format!("x={PROGRAM} mock {tape}");
    for server in [&between, &mock] {
        same(&direct, &bench.run(&["list", "-q", "--stdio", server]));
        bench.run(&["call", "x.slow", "seconds=0", "--stdio", server]).is(0, "done after 0 s\n", "");
        bench.run(&["call", "x.fail", "message=no", "--stdio", server]).is(
            1,
            "",
            "error: the tool x.fail reported an error: no\n",
        );
    }
    let missed = bench.run(&["call", "x.add", "a=1", "b=2", "--stdio", &mock]);
    assert_eq!(missed.code, 6, "{missed:?}");
    assert!(
        missed.stderr.starts_with("error: The recording of server \"trunkline\" has no answer to tools/call \"add\"")
    );
}

#[test]
fn several_servers_are_recorded_and_mocked_as_one() {
    let bench = Bench::new();
    let config = bench.config([
        ("one", bench.server(json!({"TOOLS": tool("a", ""), "CALL": "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"1\"}]}"}))),
        ("two", bench.server(json!({"TOOLS": tool("a", ""), "CALL": "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"2\"}]}"}))),
        ("ghost", json!({"command": "no-such-program-zz"})),
    ]);
    let tape = bench.path("tape.jsonl").display().to_string();
    for server in [format!("all={PROGRAM} record -o {tape} --config {config}"), format!("all={PROGRAM} mock {tape}")] {
        bench.run(&["list", "-q", "--stdio", &server]).is(0, "all\n  one_a()\n  two_a()\n", "");
        bench.run(&["call", "two_a", "--stdio", &server]).is(0, "2\n", "");
    }
    let ran = bench.run(&["list", "--replay", &tape]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one\n  a()\n\ntwo\n  a()\n"), "{ran:?}");
    assert!(ran.stderr.starts_with("failed ghost: the command \"no-such-program-zz\" was not found"), "{ran:?}");
}

/// An agent's run without its servers: the model is told the same, word for word.
#[test]
fn what_an_agent_did_with_servers_is_done_again_without_them() {
    let asks = || {
        let calls = [("demo_add", json!({"a": 2, "b": 40})), ("demo_fail", json!({})), ("s_t", json!({}))];
        Asked::new([Turn::calls(calls), Turn::says("42, and two failures.")])
    };
    let live = asks();
    let server =
        live.bench.server(json!({"TOOLS": tool("t", ""), "CALL": "\"error\":{\"code\":-1,\"message\":\"no\"}"}));
    let config = live.bench.config([("demo", live.bench.demo()), ("s", server)]);
    let tape = live.bench.path("tape.jsonl").display().to_string();
    let ran = live.run(&["what?", "--allow", "*", "--config", &config, "--record", &tape]);
    ran.is(0, "42, and two failures.\n", &ran.stderr);
    let again = asks();
    // not --in-order: the calls of one step are made at the same time, in no order
    let replayed = again.run(&["what?", "--allow", "*", "--replay", &tape]);
    replayed.is(0, "42, and two failures.\n", &replayed.stderr);
    assert_eq!(again.model.requests(), live.model.requests());
    assert!(told(&again.model).contains(&json!("42")), "{:?}", told(&again.model));
}

/// Standard output belongs to the messages; what a client may hide is told on standard error.
#[test]
fn a_mock_answers_in_messages_and_tells_what_is_missing() {
    let bench = Bench::new();
    let tape = bench.write(
        "t.jsonl",
        "{\"cassette\":1}\n{\"server\":\"s\",\"method\":\"tools/call\",\"params\":{\"name\":\"a\"},\"result\":{\"n\":1.0}}\n{\"serv",
    );
    let mut child = bench.command(&["mock", &tape]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |name: &str| {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name}});
        writeln!(input, "{request}").unwrap();
        output.next().unwrap().unwrap()
    };
    assert_eq!(ask("a"), r#"{"jsonrpc":"2.0","id":7,"result":{"n":1.0}}"#);
    let missed: Value = serde_json::from_str(&ask("b")).unwrap();
    assert_eq!(missed["error"]["code"], -32602);
    drop(input);
    let ran = bench.ran(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.starts_with("warning: DIR/t.jsonl:3: the last line is cut off and was left out"), "{ran:?}");
    assert!(ran.stderr.contains("warning: The recording of server \"s\" has no answer to tools/call \"b\""), "{ran:?}");
}

#[test]
fn secrets_stay_out_of_a_recording() {
    let bench = Bench::new();
    let answer = "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ENV-SECRET-1 sk-12345\"}]}";
    let properties = r#""pin":{"type":"string"},"q":{"type":"string"}"#;
    let server = bench.server(json!({"TOOLS": tool("t", properties), "CALL": answer, "TOKEN": "ENV-SECRET-1"}));
    let config = bench.config([("s", server)]);
    let tape = bench.path("tape.jsonl").display().to_string();
    let hide = ["--record", &tape, "--redact", "sk-[0-9]+", "--redact-field", "pin"];
    let ran = bench.run(&[&["call", "s.t", "pin=998877", "q=sk-777", "--config", &config][..], &hide].concat());
    ran.is(0, "ENV-SECRET-1 sk-12345\n", "");
    let text = bench.read("tape.jsonl");
    for secret in ["SECRET", "sk-", "998877"] {
        assert!(!text.contains(secret), "{text}");
    }
    for pin in ["998877", "1"] {
        let args = ["call", "s.t", &format!("pin={pin}"), "q=sk-777", "--replay", &tape];
        bench.run(&args).is(0, "*** ***\n", "");
    }
}

#[test]
fn what_makes_no_sense_is_told() {
    let bench = Bench::new();
    let told = |args: &[&str], code: i32, words: &str| {
        let ran = bench.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{ran:?}");
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    };
    let notes = bench.write("notes.txt", "buy milk\n");
    let broken = bench.write("broken.jsonl", "{\"cassette\":1}\nx\n{\"server\":\"s\",\"info\":{}}\n");
    told(
        &["record", "-o", "t.jsonl", "--", "call", "demo.add", "a=1"],
        2,
        "hint: To record what trunkline does: trunkline call demo.add a=1 --record t.jsonl\n",
    );
    told(&["record", "--", "x"], 2, "--output <FILE>");
    told(&["record", "-o", "a", "--record", "b"], 2, "records in the file of -o alone");
    told(&["mock", "a", "--replay", "b"], 2, "goes without --replay");
    told(&["list", "--record", "a", "--replay", "b"], 2, "cannot be used with");
    told(&["list", "--replay", &broken, "--", "x"], 2, "there can be none after --");
    told(&["list", "--replay", &broken], 2, "error: The cassette is broken in DIR/broken.jsonl:2: not valid JSON");
    told(&["list", "--replay", "none.jsonl"], 2, "error: Can't read the cassette none.jsonl: No such file");
    told(
        &["mock", &notes],
        2,
        "error: DIR/notes.txt is no cassette that can be used: its first line has no \"cassette\"",
    );
    told(&["list", "--record", &notes], 2, "DIR/notes.txt is no cassette");
    told(&["list", "--record", "a", "--redact", "("], 2, "\"(\" is no regular expression");
    told(&["list", "--record", "/no/such/dir/a"], 2, "Can't write the cassette /no/such/dir/a");
    assert_eq!(bench.read("notes.txt"), "buy milk\n");
    let full = bench.run(&["call", "demo.add", "a=1", "b=2", "-q", "--record", "/dev/full"]);
    assert_eq!((full.code, full.stdout.as_str()), (2, "3\n"), "{full:?}");
    assert!(full.stderr.contains("error: Can't write the cassette /dev/full: No space left"), "{full:?}");
}
