//! `trunkline call` and `trunkline prompt`: addresses, results, errors.

use serde_json::json;

use crate::harness::{Bench, SERVER, tool};

#[test]
fn results_are_printed_as_what_they_are() {
    let bench = Bench::new();
    for (args, stdout) in [
        (&["demo.echo", "text=hi", "times=2"][..], "hi\nhi\n"),
        (&["demo.add", "a=1", "b=2"], "3\n"),
        (&["demo.join", "words=a", "words=b", "separator=-"], "a-b\n"),
        (
            &["demo.weather", "city=Rome"],
            "{\"city\":\"Rome\",\"sky\":\"clear\",\"temperature\":21.0,\"unit\":\"celsius\"}\n",
        ),
        (&["demo.picture"], "A cross, 32 pixels wide.\nimage, 77 bytes, image/png (use -o DIR to save)\n"),
        (&["demo.sound"], "audio, 2044 bytes, audio/wav (use -o DIR to save)\n"),
        (&["demo.slow", "seconds=0"], "done after 0 s\n"),
        (&["echo", "text=alone"], "alone\n"),
        (&["demo_echo", "text=exposed"], "exposed\n"),
    ] {
        let ran = bench.run(&[&["call", "-q"], args].concat());
        ran.is(0, stdout, "");
    }
    let document = bench.run(&["call", "-q", "demo.document"]);
    assert!(document.stdout.starts_with("resource demo://readme:\n# The demo server\n"), "{document:?}");
    assert!(document.stdout.ends_with("\nlink: demo://logo logo\n"), "{document:?}");
}

#[test]
fn p37_binary_content_is_saved_and_replaces_nothing() {
    let bench = Bench::new();
    let out = bench.path("out").display().to_string();
    let ran = bench.run(&["call", "-q", "demo.picture", "-o", &out]);
    ran.is(0, "A cross, 32 pixels wide.\nimage, 77 bytes, image/png: saved to DIR/out/image.png\n", "");
    let ran = bench.run(&["call", "-q", "demo.picture", "--json", "-o", &out]);
    assert_eq!(ran.json()["content"][1]["mimeType"], "image/png");
    for name in ["image.png", "image-2.png"] {
        assert!(std::fs::read(bench.path("out").join(name)).unwrap().starts_with(b"\x89PNG"));
    }
}

#[test]
fn an_error_result_is_told_and_has_its_code() {
    let bench = Bench::new();
    bench.run(&["call", "-q", "demo.fail", "message=no disk"]).is(
        1,
        "",
        "error: the tool demo.fail reported an error: no disk\n",
    );
    let machine = bench.run(&["call", "--json", "-q", "demo.fail"]);
    assert_eq!((machine.code, machine.stderr.as_str()), (1, ""));
    assert_eq!(machine.json()["isError"], true);
}

#[test]
fn p33_p36_the_machine_form_is_the_servers_result_to_the_byte() {
    let bench = Bench::new();
    let result = r#"{"structuredContent":{"a":9007199254740993,"b":18446744073709551615,"c":123456789012345678901234567890,"d":1.0,"e":1e400,"f":-0.0,"g":0.1},"content":[],"x-own":[ 1 , 2 ]}"#;
    let server = bench.server(json!({"TOOLS": tool("t", ""), "CALL": format!("\"result\":{result}")}));
    let config = bench.config([("s", server)]);
    for flag in ["--json", "--raw"] {
        bench.run(&["call", "s.t", flag, "--config", &config]).is(0, &format!("{result}\n"), "");
    }
    bench.run(&["call", "s.t", "--config", &config]).is(
        0,
        "{\"a\":9007199254740993,\"b\":18446744073709551615,\"c\":123456789012345678901234567890,\"d\":1.0,\"e\":1e400,\
         \"f\":-0.0,\"g\":0.1}\n",
        "",
    );
}

#[test]
fn p32_blocks_of_unknown_kinds_are_shown_for_what_they_are() {
    let bench = Bench::new();
    let blocks = r#"{"type":"text","text":"A"},{"type":"json","json":{"k":1.0}},{"type":"audio","data":"AAAA","mimeType":"audio/ogg"},{"type":"hologram_v9","x":1},{"type":"text"},{"no":"type"}"#;
    let result = format!("{{\"content\":[{blocks}]}}");
    let server = bench.server(json!({"TOOLS": tool("t", ""), "CALL": format!("\"result\":{result}")}));
    let config = bench.config([("s", server)]);
    bench.run(&["call", "s.t", "--config", &config]).is(
        0,
        "A\n\
         unsupported block type json: {\"type\":\"json\",\"json\":{\"k\":1.0}}\n\
         audio, 3 bytes, audio/ogg (use -o DIR to save)\n\
         unsupported block type hologram_v9: {\"type\":\"hologram_v9\",\"x\":1}\n\
         text block without its text: {\"type\":\"text\"}\n\
         block without a type: {\"no\":\"type\"}\n",
        "",
    );
    bench.run(&["call", "s.t", "--json", "--config", &config]).is(0, &format!("{result}\n"), "");
}

/// What a tool promises and doesn't keep is told beside what it gives; what it says of its failure is never hidden.
#[test]
fn p34_p35_a_result_that_does_not_fit_is_shown_with_a_warning() {
    let bench = Bench::new();
    let schema = r#"{"type":"object","required":["data"],"properties":{"data":{"type":"number"}}}"#;
    let tools = format!(r#"{{"name":"t","inputSchema":{{"type":"object"}},"outputSchema":{schema}}}"#);
    let answering = |result: &str| bench.server(json!({"TOOLS": tools, "CALL": format!("\"result\":{result}")}));
    let misfit = r#"{"content":[{"type":"text","text":"t"}],"structuredContent":{"data":"x"}}"#;
    let denied =
        r#"{"isError":true,"content":[{"type":"text","text":"denied"}],"structuredContent":{"error":{"code":7}}}"#;
    let mut strict = answering(misfit);
    strict["strictOutput"] = json!(true);
    let config = bench.config([
        ("misfit", answering(misfit)),
        ("bare", answering(r#"{"content":[{"type":"text","text":"t"}]}"#)),
        ("denied", answering(denied)),
        ("strict", strict),
    ]);
    let call = |address: &str, more: &[&str]| bench.run(&[&["call", address, "--config", &config], more].concat());
    let why = "doesn't fit its outputSchema: \"data\" has to be a number, not \"x\"";
    call("misfit.t", &[]).is(0, "t\n", &format!("warning: the result of misfit.t {why}\n"));
    let machine = call("misfit.t", &["--json"]);
    assert_eq!((machine.code, machine.stdout.trim_end()), (0, misfit));
    call("bare.t", &[]).is(
        0,
        "t\n",
        "warning: the result of bare.t doesn't fit its outputSchema: it has no structured content\n",
    );
    call("denied.t", &[]).is(
        1,
        "",
        "error: the tool denied.t reported an error: denied\n  data      {\"error\":{\"code\":7}}\n",
    );
    assert_eq!(call("denied.t", &["--json"]).stdout.trim_end(), denied);
    let refused = call("strict.t", &[]);
    assert_eq!((refused.code, refused.stdout.as_str()), (6, ""));
    assert!(refused.stderr.starts_with(&format!("error: The result of tool \"t\" {why}\n")), "{refused:?}");
    assert!(refused.stderr.contains("\nhint: Without strictOutput"), "{refused:?}");
}

#[test]
fn p38_prompt_messages_of_every_shape_are_shown_and_lose_nothing() {
    let bench = Bench::new();
    let messages = r#"{"messages":[{"role":"user","content":{"type":"image","data":"iVBORw0=","mimeType":"image/png"}},{"role":"assistant","content":[{"type":"resource","resource":{"uri":"f:1","blob":"AAAA"}},{"type":"resource_link","uri":"f:2","name":"n","size":5}]},{"role":"system","content":{"type":"text","text":"s"}},{"role":"user","content":"plain"}]}"#;
    let server = bench.server(json!({"PROMPTS": r#"{"name":"p"}"#, "GET": format!("\"result\":{messages}")}));
    let config = bench.config([("s", server)]);
    bench.run(&["prompt", "s.p", "--json", "--config", &config]).is(0, &format!("{messages}\n"), "");
    bench.run(&["prompt", "s.p", "--config", &config]).is(
        0,
        "user:\nimage, 5 bytes, image/png (use -o DIR to save)\n\n\
         assistant:\nbinary, 3 bytes, application/octet-stream (use -o DIR to save)\nlink: f:2 n\n\n\
         system:\ns\n\nuser:\nplain\n",
        "",
    );
}

#[test]
fn unknown_names_get_a_suggestion_and_exit_code_2() {
    let bench = Bench::new();
    for (address, stderr) in [
        (
            "demo.ecko",
            "error: Server \"demo\" has no tool named \"ecko\"\n  server    demo\nhint: Did you mean \"echo\"?\n",
        ),
        (
            "weathr",
            "error: Server \"demo\" has no tool named \"weathr\"\n  server    demo\nhint: Did you mean \"weather\"?\n",
        ),
    ] {
        bench.run(&["call", "-q", address]).is(2, "", stderr);
    }
    let config = bench.config([("one", bench.demo()), ("two", bench.demo())]);
    bench.run(&["call", "echo", "text=x", "--config", &config]).is(
        2,
        "",
        "error: Several servers have a tool named \"echo\": one, two\nhint: Say which: one.echo or two.echo\n",
    );
    bench.run(&["call", "on.echo", "--config", &config]).is(
        2,
        "",
        "error: No server has a tool named \"on.echo\"\nhint: Did you mean \"one.echo\"?\n",
    );
    let machine = bench.run(&["call", "--json", "one.ecko", "--config", &config]);
    assert_eq!(
        machine.json(),
        json!({"error": {
            "kind": "not_found", "message": "Server \"one\" has no tool named \"ecko\"", "server": "one",
            "hint": "Did you mean \"echo\"?"
        }})
    );
}

#[test]
fn the_longest_label_counts_and_dots_in_names_are_fine() {
    let bench = Bench::new();
    let server = |word: &str, name: &str| {
        let call = format!(r#""result":{{"content":[{{"type":"text","text":"{word}"}}]}}"#);
        bench.server(json!({"TOOLS": tool(name, ""), "CALL": call}))
    };
    let config = bench.config([("a", server("a", "b.t")), ("a.b", server("a.b", "t")), ("c", server("c", "x.y"))]);
    for (address, word) in [("a.b.t", "a.b\n"), ("c.x.y", "c\n"), ("x.y", "c\n")] {
        bench.run(&["call", address, "--config", &config]).is(0, word, "");
    }
}

#[test]
fn p89_a_call_starts_no_server_but_its_own() {
    let bench = Bench::new();
    let other = bench.server(json!({"PIDFILE": bench.path("other.pid")}));
    let config = bench.config([("demo", bench.demo()), ("other", other)]);
    for address in ["demo.echo", "demo_echo"] {
        bench.run(&["call", address, "text=x", "--config", &config]).is(0, "x\n", "");
    }
    assert!(!bench.path("other.pid").exists());
}

#[test]
fn p85_errors_of_the_protocol_and_deadlines_have_their_codes() {
    let bench = Bench::new();
    let refusing = bench.server(json!({
        "TOOLS": tool("t", ""), "CALL": r#""error":{"code":-32602,"message":"bad \u001b[2J cursor","data":{"at":7}}"#
    }));
    let slow = bench.server(json!({"TOOLS": tool("t", ""), "SLOW": "1", "LOG": bench.path("log")}));
    let config = bench.config([("refusing", refusing), ("slow", slow)]);

    bench.run(&["call", "refusing.t", "--config", &config]).is(
        6,
        "",
        "error: bad \\u{1b}[2J cursor (code -32602)\n  server    refusing\n  tool      t\n  command   /bin/sh DIR/server.sh\n  config    \
         DIR/mcp-test.json:2\n  data      {\"at\":7}\n",
    );
    let machine = bench.run(&["call", "refusing.t", "--json", "--config", &config]);
    let error = &machine.json()["error"];
    assert_eq!((machine.code, &error["code"], &error["data"]), (6, &json!(-32602), &json!({"at": 7})));

    let late = bench.run(&["call", "slow.t", "--timeout", "200ms", "--config", &config]);
    assert_eq!(late.code, 5);
    assert!(late.stderr.starts_with("error: No answer to tools/call \"t\" within 0.2 s"), "{late:?}");
    assert!(late.stderr.ends_with("note: the server may have done the work all the same\n"), "{late:?}");
    let log = bench.read("log");
    let cancelled: Vec<_> = log.lines().filter(|line| line.contains("notifications/cancelled")).collect();
    let call = log.lines().find(|line| line.contains("tools/call")).unwrap();
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].clone();
    let told: serde_json::Value = serde_json::from_str(cancelled[0]).unwrap();
    assert_eq!((cancelled.len(), &told["params"]["requestId"]), (1, &id(call)), "{log}");
}

#[test]
fn a_server_that_ends_is_told_with_its_last_words() {
    let bench = Bench::new();
    let config = bench.config([(
        "quits",
        json!({"command": "/bin/sh", "args": ["-c", "echo 'no TOKEN' >&2; echo 'see README' >&2; exit 3"]}),
    )]);
    bench.run(&["call", "quits.t", "--config", &config]).is(
        4,
        "",
        "error: Could not connect to server \"quits\": the server exited (exit status 3)\n  \
         server    quits\n  \
         command   /bin/sh -c 'echo '\\''no TOKEN'\\'' >&2; echo '\\''see README'\\'' >&2; exit 3'\n  \
         config    DIR/mcp-test.json:2\n  \
         stderr    | no TOKEN\n            | see README\n\
         hint: Run the command by hand to see what it needs\n",
    );
}

#[test]
fn prompts_are_rendered_and_their_arguments_checked() {
    let bench = Bench::new();
    bench.run(&["prompt", "-q", "demo.greet", "name=Ann"]).is(0, "Greet Ann warmly, in one sentence.\n", "");
    bench.run(&["prompt", "-q", "review", "code=x"]).is(0, "Review this code:\n\nx\n", "");
    bench.run(&["prompt", "-q", "demo.review", "language=Rust"]).is(
        2,
        "",
        "error: \"code\" is missing\n  usage     demo.review(code, language?)\n",
    );
    bench.run(&["prompt", "-q", "demo.greet", "nam=Ann"]).is(
        2,
        "",
        "error: Unknown argument \"nam\"\n  usage     demo.greet(name)\nhint: Did you mean \"name\"?\n",
    );
    bench.run(&["prompt", "-q", "demo.great"]).is(
        2,
        "",
        "error: Server \"demo\" has no prompt named \"great\"\n  server    demo\nhint: Did you mean \"greet\"?\n",
    );
    let machine = bench.run(&["prompt", "--json", "-q", "demo.greet", "name=Ann"]);
    assert_eq!(machine.json()["messages"][0]["role"], "user");
    let config = bench.config([("one", bench.demo()), ("two", bench.demo())]);
    let both = bench.run(&["prompt", "greet", "name=x", "--config", &config]);
    assert_eq!((both.code, both.stderr.lines().last()), (2, Some("hint: Say which: one.greet or two.greet")));
    bench.run(&["prompt", "two_greet", "name=x", "--config", &config]).is(0, "Greet x warmly, in one sentence.\n", "");
}

/// Which era a server speaks is asked once: later runs know.
#[test]
fn p66_a_second_run_does_not_ask_for_the_era_again() {
    let bench = Bench::new();
    let log = bench.path("log").display().to_string();
    let script = bench.write(
        "s.sh",
        format!("LOG='{log}'\nTOOLS='{}'\nCALL='\"result\":{{\"content\":[]}}'\n{SERVER}", tool("t", "")),
    );
    let config = bench.config([("s", json!({"command": "/bin/sh", "args": [script]}))]);
    for _ in 0..2 {
        bench.run(&["call", "-q", "s.t", "--config", &config]).is(0, "", "");
    }
    let said = std::fs::read_to_string(&log).unwrap();
    assert_eq!((said.matches("server/discover").count(), said.matches("\"initialize\"").count()), (1, 2), "{said}");
}

/// A server of the modern era that goes on with its calls as tasks.
const RENDERER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"%s",%s}}\n' "$id" "$1" "$2"; }
offers='"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}'
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"server/discover"'*) answer complete "\"supportedVersions\":[\"2026-07-28\"],$offers" ;;
    *'"method":"tools/list"'*) answer complete '"tools":[{"name":"render","inputSchema":{"type":"object"}}]' ;;
    *'"method":"tools/call"'*) answer task '"taskId":"t-1","status":"working","pollIntervalMs":20' ;;
    *'"method":"tasks/get"'*'"t-1"'*)
      if [ -e "$1/done" ]; then
        answer complete '"taskId":"t-1","status":"completed","result":{"content":[{"type":"text","text":"400 pages"}]}'
      else
        answer complete '"taskId":"t-1","status":"working","statusMessage":"page 7","pollIntervalMs":20'
        [ -e "$1/detached" ] || : > "$1/done"
      fi ;;
    *'"method":"tasks/get"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such task"}}\n' "$id" ;;
    *'"method":"tasks/cancel"'*) : > "$1/cancelled"; answer complete '"x":0' ;;
  esac
done
"#;

#[test]
fn a_task_is_followed_or_left_and_looked_after() {
    let bench = Bench::new();
    let state = bench.path("state");
    std::fs::create_dir(&state).unwrap();
    let script = bench.write("renderer.sh", RENDERER);
    let entry = json!({"command": "/bin/sh", "args": [script, state.display().to_string()]});
    let config = bench.config([("r", entry)]);
    let run = |args: &[&str]| bench.run(&[args, &["--config", &config]].concat());
    run(&["call", "-q", "r.render"]).is(0, "400 pages\n", "");
    std::fs::remove_file(state.join("done")).unwrap();
    std::fs::write(state.join("detached"), "").unwrap();
    let left = run(&["call", "r.render", "--detach"]);
    assert_eq!((left.code, left.stdout.as_str()), (0, "t-1\n"), "{left:?}");
    assert!(left.stderr.contains("trunkline task r t-1 --wait"), "{left:?}");
    run(&["task", "-q", "r", "t-1"]).is(0, "working: page 7\n", "");
    assert_eq!(run(&["task", "r", "t-1", "--json"]).json()["statusMessage"], "page 7");
    run(&["task", "-q", "r", "t-1", "--cancel"]).is(0, "", "");
    assert!(state.join("cancelled").exists());
    std::fs::write(state.join("done"), "").unwrap();
    run(&["task", "-q", "r", "t-1"]).is(0, "completed (--wait prints the result)\n", "");
    run(&["task", "-q", "r", "t-1", "--wait"]).is(0, "400 pages\n", "");
    let unknown = run(&["task", "r", "t-2", "--wait"]);
    assert_eq!(unknown.code, 6, "{unknown:?}");
    assert!(unknown.stderr.contains("no such task"), "{unknown:?}");
}
