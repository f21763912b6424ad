//! The arguments of a call: what is sent for what is typed, and what is refused before anything is sent.

use serde_json::json;

use crate::harness::{Bench, tool};

const PROPERTIES: &str = r#""pin":{"type":"string"},"n":{"type":"integer"},"o":{"type":"object"},"any":{},"tags":{"type":"array","items":{"type":"string"}},"mode":{"enum":["read","write"]}"#;

fn prepared() -> (Bench, String) {
    let bench = Bench::new();
    let call = r#""result":{"content":[{"type":"text","text":"ok"}]}"#;
    let server = bench.server(json!({"TOOLS": tool("t", PROPERTIES), "CALL": call, "LOG": bench.path("log")}));
    let config = bench.config([("s", server)]);
    (bench, config)
}

/// The arguments of the calls that the server received, as the exact text.
fn sent(bench: &Bench) -> Vec<String> {
    let log = bench.read("log");
    let calls = log.lines().filter(|line| line.contains("\"method\":\"tools/call\""));
    let arguments = |line: &str| {
        let start = line.find("\"arguments\":").unwrap() + "\"arguments\":".len();
        let end = line.find(",\"_meta\"").unwrap_or(line.len() - 2);
        line[start..end].to_owned()
    };
    calls.map(arguments).collect()
}

#[test]
fn p91_what_is_typed_is_sent_with_the_schemas_types() {
    let (bench, config) = prepared();
    let file = bench.write("note.txt", "line\n");
    let at_file = format!("pin=@{file}");
    for (args, exact) in [
        (
            &["pin=000123", "n=9007199254740993", r#"o:={"a":[1]}"#, "any=true"][..],
            r#"{"pin":"000123","n":9007199254740993,"o":{"a":[1]},"any":"true"}"#,
        ),
        (&["tags=a", "tags=b"], r#"{"tags":["a","b"]}"#),
        (&["pin=@@x", "any:=1.0"], r#"{"pin":"@x","any":1.0}"#),
        (&[&at_file], r#"{"pin":"line\n"}"#),
        (&["--args", r#"{"n": 123456789012345678901234567890}"#], r#"{"n":123456789012345678901234567890}"#),
        (&[], "{}"),
    ] {
        let _ = std::fs::remove_file(bench.path("log"));
        bench.run(&[&["call", "s.t", "--config", &config], args].concat()).is(0, "ok\n", "");
        assert_eq!(sent(&bench), [exact], "{args:?}");
    }
    let _ = std::fs::remove_file(bench.path("log"));
    bench.run_with_input(&["call", "s.t", "-", "pin=x", "--config", &config], r#"{"n": 1}"#).is(0, "ok\n", "");
    bench.run_with_input(&["call", "s.t", "pin=@-", "--config", &config], "from stdin").is(0, "ok\n", "");
    assert_eq!(sent(&bench), [r#"{"n":1,"pin":"x"}"#, r#"{"pin":"from stdin"}"#]);
}

#[test]
fn p91_what_does_not_fit_is_refused_before_anything_is_sent() {
    let (bench, config) = prepared();
    let usage = "  usage     s.t(pin?: string, n?: integer, o?: object, any?: any, tags?: string[], mode?: \"read\" | \"write\")\n";
    for (args, error, hint) in [
        (&["n=abc"][..], "\"n\" has to be a whole number, not \"abc\"", ""),
        (&["n=1.5"], "\"n\" has to be a whole number, not 1.5", ""),
        (&["pim=1"], "Unknown argument \"pim\"", "hint: Did you mean \"pin\"?\n"),
        (&["mode=raed"], "\"mode\" has to be one of \"read\", \"write\", not \"raed\"; did you mean \"read\"?", ""),
        (&["o=x"], "\"o\" has to be an object, not \"x\"", "hint: Write JSON: o:='{\"key\": \"value\"}'\n"),
        (&["n=1", "n=2"], "\"n\" was given 2 times, but it has to be a whole number", ""),
    ] {
        let ran = bench.run(&[&["call", "s.t", "--config", &config], args].concat());
        let stderr = ran.stderr.replace("  server    s\n", "");
        assert_eq!(
            (ran.code, ran.stdout.as_str(), stderr),
            (2, "", format!("error: {error}\n{usage}{hint}")),
            "{args:?}"
        );
    }
    assert!(sent(&bench).is_empty());
}

#[test]
fn p91_what_can_not_be_read_is_refused_before_a_server_is_started() {
    let (bench, config) = prepared();
    for (args, error) in [
        (&["o:={'bad"][..], "\"o\" is not valid JSON: byte 1"),
        (&["text"], "\"text\" is no argument of the form key=value"),
        (&["pin=@/no/such/file"], "Can't read /no/such/file for \"pin\": No such file or directory (os error 2)"),
        (&["--args", "[]"], "The JSON of --args has to be an object"),
    ] {
        let ran = bench.run(&[&["call", "s.t", "--config", &config], args].concat());
        assert_eq!((ran.code, ran.stderr.lines().next().unwrap()), (2, format!("error: {error}").as_str()), "{args:?}");
    }
    assert_eq!(bench.read("log"), "");
}

#[test]
fn a_command_line_that_makes_no_sense_is_a_usage_error_for_machines_too() {
    let bench = Bench::new();
    let ran = bench.run(&["list", "--nonsense"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let machine = bench.run(&["call", "--json"]);
    assert_eq!((machine.code, machine.stderr.as_str()), (2, ""));
    assert_eq!(machine.json()["error"]["kind"], "usage");
    assert_eq!(bench.run(&["--help"]).code, 0);
    assert_eq!(bench.run(&["--version"]).stdout, concat!("trunkline ", env!("CARGO_PKG_VERSION"), "\n"));
    for shell in ["bash", "zsh", "fish"] {
        let script = bench.run(&["completions", shell]);
        assert!(script.code == 0 && script.stdout.contains("trunkline"), "{shell}");
    }
}
