//! What strangers write never reaches the terminal as it is, and secrets never reach anything.

use serde_json::json;

use crate::harness::{Bench, SERVER, tool};

const HARMFUL: [char; 6] = ['\u{1b}', '\u{7}', '\u{202e}', '\u{e0041}', '\u{200b}', '\u{9b}'];

#[test]
fn hidden_and_controlling_characters_are_shown_escaped() {
    let bench = Bench::new();
    let description = r"ok\u001b[2J\u001b]0;x\u0007 \u202eabc \udb40\udc41\u200b\u009b";
    let listed = format!(r#"{{"name":"t","description":"{description}","inputSchema":{{"type":"object"}}}}"#);
    let call = r#""result":{"content":[{"type":"text","text":"\u001b]52;c;eA==\u0007 \u202e\u009b"}]}"#;
    let config = bench.config([("s", bench.server(json!({"TOOLS": listed, "CALL": call})))]);

    let list = bench.run(&["list", "--config", &config]);
    let call = bench.run(&["call", "s.t", "--config", &config]);
    let check = bench.run(&["check", "--config", &config]);
    for ran in [&list, &call, &check] {
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.stdout.contains(HARMFUL) && !ran.stderr.contains(HARMFUL), "{ran:?}");
    }
    assert!(list.stdout.contains("ok\\u{1b}[2J\\u{1b}]0;x\\u{7} \\u{202e}abc \\u{e0041}\\u{200b}\\u{9b}"), "{list:?}");
    assert_eq!(call.stdout, "\\u{1b}]52;c;eA==\\u{7} \\u{202e}\\u{9b}\n");
    let machine = bench.run(&["call", "s.t", "--json", "--config", &config]);
    assert_eq!(machine.json()["content"][0]["text"], "\u{1b}]52;c;eA==\u{7} \u{202e}\u{9b}");
}

#[test]
fn piped_output_has_no_colours_unless_they_are_asked_for() {
    let bench = Bench::new();
    let plain = bench.run(&["list", "--all"]);
    assert!(!plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'), "{plain:?}");
    assert!(bench.run(&["list", "--color", "always"]).stdout.contains("\u{1b}["));
    assert!(!bench.run(&["list", "--color", "never"]).stdout.contains('\u{1b}'));
}

#[test]
fn p72_secrets_are_masked_however_much_is_shown() {
    let bench = Bench::new();
    let tool = tool("t", "");
    let script = format!(
        "TOOLS='{tool}'\nCALL='\"error\":{{\"code\":-32000,\"message\":\"denied for '$TOKEN' with '$1'\"}}'\n\
         COMPLAINT=\"my token is $TOKEN\"\n{SERVER}"
    );
    let script = bench.write("leaky.sh", script);
    let entry = json!({"command": "/bin/sh", "args": [script, "--token=ARG-AAA"], "env": {"TOKEN": "ENV-DDD"}});
    let config = bench.config([("s", entry)]);
    for args in
        [&["call", "s.t", "-vvv"][..], &["call", "s.t", "--json"], &["check", "-vvv"], &["list", "-vv"], &["config"]]
    {
        let ran = bench.run(&[args, &["--config", &config]].concat());
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!all.contains("ENV-DDD") && !all.contains("ARG-AAA"), "{args:?} {all}");
    }
    let shown = bench.run(&["call", "s.t", "-vvv", "--config", &config]).stderr;
    assert!(shown.contains("[s] | my token is ***\n"), "{shown}");
    assert!(shown.contains("--> {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\""), "{shown}");
    assert!(shown.contains("<-- {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":"), "{shown}");
    assert!(shown.contains("error: denied for *** with --token=*** (code -32000)\n"), "{shown}");
}

#[test]
fn what_a_server_logs_is_shown_when_asked_for() {
    let bench = Bench::new();
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"db","data":"up\u001b[2J"}}"#;
    let config = bench.config([("s", bench.server(json!({"NOISE": log, "COMPLAINT": "on stderr"})))]);
    let shown = |args: &[&str]| bench.run(&[&["list", "--config", &config], args].concat()).stderr;
    assert_eq!(shown(&[]), "0 tools from 1 server\n");
    assert_eq!(shown(&["-v"]), "[s] info db: up\\u{1b}[2J\n0 tools from 1 server\n");
}

#[test]
fn p77_arguments_reach_the_server_without_a_shell() {
    let bench = Bench::new();
    let harmful = [";touch PWNED", "$(touch PWNED)", "`touch PWNED`", "a b", "~user"];
    let script = format!("for a; do printf '%s\\n' \"$a\"; done > '{}'", bench.path("argv").display());
    let mut args = vec!["-c".to_owned(), script, "sh".to_owned()];
    args.extend(harmful.map(str::to_owned));
    let config = bench.config([("s", json!({"command": "/bin/sh", "args": args}))]);
    bench.run(&["list", "--config", &config]);
    assert_eq!(bench.read("argv").lines().collect::<Vec<_>>(), harmful);
    assert!(!bench.path("here/PWNED").exists());
}
