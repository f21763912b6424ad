//! Which calls are made, and what the model is told of those that fail.

use serde_json::{Value, json};
use trunkline_tests::http::HttpScript;
use trunkline_tests::model::{Model, Turn};

use super::{Asked, told};
use crate::harness::{Bench, tool};

/// A program that knows a server `s` with a tool `wipe`, which isn't marked as read-only, and the demo server.
fn prepared(turns: impl IntoIterator<Item = Turn>) -> (Asked, String) {
    let (bench, model) = (Bench::new(), Model::playing(turns));
    let server = bench.server(json!({
        "TOOLS": tool("wipe", r#""path":{"type":"string"}"#), "LOG": bench.path("log"),
        "CALL": r#""result":{"content":[{"type":"text","text":"wiped"}]}"#,
    }));
    let config = bench.config([("s", server), ("demo", bench.demo())]);
    (Asked { bench, model }, config)
}

fn wipe_then(answer: &str) -> [Turn; 2] {
    [Turn::calls([("s_wipe", json!({"path": "/"}))]), Turn::says(answer)]
}

fn calls_of_s(asked: &Asked) -> usize {
    asked.bench.read("log").matches("\"tools/call\"").count()
}

#[test]
fn a_tool_that_may_change_something_is_refused_where_nobody_can_be_asked() {
    let (asked, config) = prepared(wipe_then("I may not."));
    let ran = asked.run(&["wipe it", "--config", &config]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "I may not.\n"));
    assert_eq!(
        Asked::timeless(&ran),
        "-> s.wipe(path: \"/\")\n\
         <- s.wipe: refused: This call needs the user's consent, and nobody is there to give it. Do without it. (TIME)\n\
         note: refused: s.wipe; --allow GLOB lets them run\n"
    );
    let answer = "Error: This call needs the user's consent, and nobody is there to give it. Do without it.";
    assert_eq!(told(&asked.model)[2], answer);
    assert_eq!(calls_of_s(&asked), 0);
}

#[test]
fn rules_go_by_name_and_by_server() {
    for (options, calls) in [
        (&["--allow", "wipe"][..], 1),
        (&["--allow", "s.*"], 1),
        (&["--allow", "demo.*"], 0),
        (&["--allow", "*", "--ask", "s.wipe"], 0),
    ] {
        let (asked, config) = prepared(wipe_then("Done."));
        let ran = asked.run(&[&["wipe it", "--config", &config], options].concat());
        assert_eq!((ran.code, calls_of_s(&asked)), (0, calls), "{options:?} {ran:?}");
        assert_eq!(told(&asked.model)[2] == "wiped", calls == 1);
    }
}

#[test]
fn a_denied_tool_is_not_shown_and_not_called() {
    let (asked, config) = prepared(wipe_then("No such thing."));
    let ran = asked.run(&["wipe it", "--config", &config, "--deny", "s.*", "--allow", "*"]);
    assert_eq!((ran.code, calls_of_s(&asked)), (0, 0), "{ran:?}");
    let requests = asked.model.requests();
    assert!(!requests[0]["tools"].to_string().contains("s_wipe"));
    let said = told(&asked.model)[2].as_str().unwrap().to_owned();
    assert!(said.starts_with("Error: No tool named \"s_wipe\""), "{said}");

    let (asked, config) = prepared([Turn::says("Nothing at hand.")]);
    asked.run(&["?", "--config", &config, "--deny", "*"]).is(0, "Nothing at hand.\n", "");
    assert!(asked.model.requests()[0].get("tools").is_none(), "an empty list is refused by some");
}

#[test]
fn only_the_chosen_servers_are_started_and_shown() {
    let (asked, config) = prepared([Turn::says("Hi.")]);
    asked.run(&["?", "--config", &config, "--server", "demo"]).is(0, "Hi.\n", "");
    assert_eq!(asked.bench.read("log"), "");
    assert_eq!(asked.model.requests()[0]["tools"].as_array().unwrap().len(), 9);
    let ran = asked.run(&["?", "--config", &config, "--server", "deno"]);
    ran.is(2, "", "error: There is no server named \"deno\"\nhint: Did you mean \"demo\"?\n");
}

#[test]
fn whatever_goes_wrong_with_a_call_is_told_to_the_model() {
    let calls = [
        ("demo_fail", json!({"message": "no disk"})),
        ("demo_ad", json!({})),
        ("demo_add", json!({"a": 1})),
        ("demo_add", json!("{\"a\": 1, ")),
        ("demo_add", json!("[1, 2]")),
        ("demo_add", json!({"a": 1, "b": 2})),
    ];
    let (asked, config) = prepared([Turn::calls(calls).plain(), Turn::says("I see.")]);
    let ran = asked.run(&["go on", "--config", &config]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "I see.\n"), "{ran:?}");
    let told = told(&asked.model);
    for (at, start) in [
        "Error: no disk",
        "Error: No tool named \"demo_ad\". Did you mean \"demo_add\"?",
        "Error: The arguments of tool \"demo_add\" don't fit",
        "Error: The arguments of tool \"demo_add\" can't be read",
        "Error: The arguments of tool \"demo_add\" can't be read",
        "3",
    ]
    .iter()
    .enumerate()
    {
        assert!(told[at + 2].as_str().unwrap().starts_with(start), "{at}: {told:#?}");
    }
    assert_eq!(ran.stderr.matches("failed: ").count(), 5, "{}", ran.stderr);
}

#[test]
fn a_server_that_dies_meanwhile_is_text_for_the_model() {
    let (bench, model) = (Bench::new(), Model::playing([Turn::calls([("s_t", json!({}))]), Turn::says("It died.")]));
    let script = r#"
        while IFS= read -r line; do
          id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
          case "$line" in
            *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
            *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
            *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
            *'"tools/call"'*) echo 'out of memory' >&2; exit 9 ;;
          esac
        done"#;
    let config = bench.config([("s", json!({"command": "/bin/sh", "args": ["-c", script]}))]);
    let asked = Asked { bench, model };
    let ran = asked.run(&["?", "--config", &config, "--allow", "*"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "It died.\n"), "{ran:?}");
    let said = told(&asked.model)[1 + 1].as_str().unwrap().to_owned();
    assert!(said.starts_with("Error: ") && said.contains("exit status 9"), "{said}");
}

#[test]
fn calls_of_one_message_run_at_once_and_are_told_in_their_order() {
    let calls = [
        ("demo_slow", json!({"seconds": 0.4})),
        ("demo_slow", json!({"seconds": 0.3})),
        ("demo_add", json!({"a": 1, "b": 2})),
    ];
    let (asked, config) = prepared([Turn::calls(calls), Turn::says("Done.")]);
    let begun = std::time::Instant::now();
    let ran = asked.run(&["?", "--config", &config, "--server", "demo"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let contents: Vec<_> = told(&asked.model)[2..].to_vec();
    assert_eq!(contents, [json!("done after 0.4 s"), json!("done after 0.3 s"), json!("3")]);
    let ends: Vec<_> = ran.stderr.lines().filter(|line| line.starts_with("<- ")).collect();
    assert!(ends[0].starts_with("<- demo.add: 3") && ends[1].contains("0.3") && ends[2].contains("0.4"), "{ends:?}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn the_steps_are_bounded_and_the_last_ones_calls_are_not_made() {
    let again = || Turn::calls([("s_wipe", json!({}))]);
    let (asked, config) = prepared([again(), again(), again()]);
    let ran = asked.run(&["?", "-q", "--config", &config, "--allow", "*", "--max-steps", "2"]);
    ran.is(6, "", "error: The model still wanted to call tools after 2 steps\nhint: --max-steps allows more\n");
    assert_eq!((calls_of_s(&asked), asked.model.left()), (1, 1));
}

#[test]
fn secrets_of_the_config_reach_neither_the_model_nor_the_screen() {
    let (bench, model) = (Bench::new(), Model::playing([Turn::calls([("s_t", json!({}))]), Turn::says("Fine.")]));
    let server = bench.server(json!({
        "TOOLS": tool("t", ""), "API_TOKEN": "tok-8151623",
        "CALL": r#""result":{"content":[{"type":"text","text":"the token is tok-8151623"}]}"#,
    }));
    let config = bench.config([("s", server)]);
    let asked = Asked { bench, model };
    let ran = asked.run(&["?", "--config", &config, "--allow", "*", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(told(&asked.model)[2], "the token is ***");
    assert!(!ran.stdout.contains("8151623") && !ran.stderr.contains("8151623"), "{ran:?}");
    assert_eq!(ran.json()["calls"][0]["result"]["content"][0]["text"], "the token is ***");
}

#[test]
fn a_dead_server_is_told_and_the_others_are_used() {
    let (bench, model) = (Bench::new(), Model::playing([Turn::says("Hi."), Turn::says("Hi.")]));
    let dead = json!({"command": "/bin/sh", "args": ["-c", "exit 3"]});
    let config = bench.config([("dead", dead), ("demo", bench.demo())]);
    let asked = Asked { bench, model };
    let ran = asked.run(&["?", "--config", &config]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Hi.\n"));
    assert!(ran.stderr.starts_with("failed dead: "), "{ran:?}");
    let machine = asked.run(&["?", "--config", &config, "--json"]).json();
    assert_eq!((&machine["answer"], &machine["failures"][0]["server"]), (&json!("Hi."), &json!("dead")));
    assert_eq!(asked.run(&["?", "--config", &config, "--strict"]).code, 7);
    assert_eq!(asked.run(&["?", "--config", &config, "--server", "dead"]).code, 4);
    assert_eq!(asked.model.requests().len(), 2, "without servers the model isn't asked");
    assert_ne!(machine["usage"], Value::Null);
}

#[test]
fn tools_that_come_later_are_shown_in_the_next_step() {
    let (bench, model) =
        (Bench::new(), Model::playing([Turn::calls([("s_more", json!({}))]), Turn::says("Now there are two.")]));
    let script = r#"
        answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
        tools='{"name":"more","inputSchema":{"type":"object"}}'
        while IFS= read -r line; do
          id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
          case "$line" in
            *'"server/discover"'*) answer '{}' ;;
            *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}' ;;
            *'"tools/list"'*) answer "{\"tools\":[$tools]}" ;;
            *'"tools/call"'*)
              tools="$tools,{\"name\":\"extra\",\"inputSchema\":{\"type\":\"object\"}}"
              printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
              answer '{"content":[{"type":"text","text":"done"}]}' ;;
          esac
        done"#;
    let config = bench.config([("s", json!({"command": "/bin/sh", "args": ["-c", script]}))]);
    let asked = Asked { bench, model };
    let ran = asked.run(&["?", "-q", "--config", &config, "--allow", "*"]);
    ran.is(0, "Now there are two.\n", "");
    let shown: Vec<_> =
        asked.model.requests().iter().map(|request| request["tools"].as_array().unwrap().len()).collect();
    assert_eq!(shown, [1, 2]);
}

#[test]
fn a_server_over_http_is_as_good_as_any() {
    let server = HttpScript::new().sse_answers().start();
    let asked = Asked::new([Turn::calls([("far_echo", json!({"text": "hi"}))]), Turn::says("It said hi.")]);
    let url = format!("far={}", server.url());
    let ran = asked.run(&["?", "-q", "--url", &url, "--allow", "far.echo"]);
    ran.is(0, "It said hi.\n", "");
    assert_eq!(told(&asked.model)[2], "hi");
}

#[test]
fn a_recorded_conversation_replays_with_the_servers_gone() {
    let talk = || wipe_then("Wiped.");
    let (asked, config) = prepared(talk());
    let file = asked.bench.path("tape.jsonl").display().to_string();
    let ran = asked.run(&["wipe it", "-q", "--config", &config, "--allow", "*", "--record", &file]);
    ran.is(0, "Wiped.\n", "");
    std::fs::remove_file(asked.bench.path("log")).unwrap();
    let replayed = Asked { model: Model::playing(talk()), ..asked };
    let ran = replayed.run(&["wipe it", "-q", "--allow", "*", "--replay", &file]);
    ran.is(0, "Wiped.\n", "");
    assert_eq!(told(&replayed.model)[2], "wiped");
    assert_eq!(calls_of_s(&replayed), 0, "nothing was started");
}
