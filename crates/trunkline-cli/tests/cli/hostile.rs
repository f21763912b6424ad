//! What strangers write never reaches the terminal as it is, and secrets never reach anything.

use serde_json::json;

use crate::harness::{Bench, SERVER, tool};
use crate::terminal::Terminal;

const HARMFUL: [char; 6] = ['\u{1b}', '\u{7}', '\u{202e}', '\u{e0041}', '\u{200b}', '\u{9b}'];

#[test]
fn p74_hidden_and_controlling_characters_are_shown_escaped() {
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

/// Wherever a server's words can come out: names, titles, descriptions, URIs, results, errors, instructions, logs, its standard
/// error, progress.
#[test]
fn p74_nothing_a_server_says_reaches_a_terminal_as_it_is() {
    const H: &str = r"h\u001b[2J\u001b]52;c;eA==\u0007\u202e\udb40\udc41\u200b\u009b";
    let bench = Bench::new();
    let more = format!(
        r#"*'"method":"prompts/list"'*) answer '"result":{{"prompts":[{{"name":"p{H}","title":"{H}","description":"{H}","arguments":[{{"name":"a{H}","description":"{H}"}}]}},{{"name":"ok"}}]}}' ;;
    *'"method":"prompts/get"'*) answer '"result":{{"messages":[{{"role":"user{H}","content":{{"type":"text","text":"{H}"}}}}]}}' ;;
    *'"name":"fails"'*) answer '"result":{{"isError":true,"content":[{{"type":"text","text":"{H}"}}]}}' ;;
    *'"name":"refuses"'*) answer '"error":{{"code":-32000,"message":"{H}","data":{{"{H}":"{H}"}}}}' ;;
    *'"name":"links"'*) answer '"result":{{"content":[{{"type":"resource_link","uri":"x:{H}","name":"{H}"}},{{"type":"new{H}","x":"{H}"}},{{"type":"image","data":"AA==","mimeType":"{H}"}}]}}' ;;
    *'"method":"tools/list"'*)"#
    );
    let script = SERVER
        .replace("*'\"method\":\"tools/list\"'*)", &more)
        .replace("{$caps}", &format!(r#"{{$caps,\"prompts\":{{}}}},\"instructions\":\"{}\""#, H))
        .replace(r#"\"name\":\"fake\""#, &format!(r#"\"name\":\"fake{}\""#, H));
    let complaint = "printf '%s\\n' 'stderr \u{1b}[2J\u{202e}\u{200b}\u{9b}' >&2"; // a variable's value would be masked
    let server = bench.write("hostile.sh", format!("{complaint}\n{script}"));
    let described = |name: &str| {
        format!(
            r#"{{"name":"{name}","title":"{H}","description":"{H}","inputSchema":{{"type":"object","properties":{{"k{H}":{{"type":"string","description":"{H}","enum":["{H}"]}}}}}}}}"#
        )
    };
    let log = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","logger":"{H}","data":"{H}"}}}}"#
    );
    let tools = ["fails", "refuses", "links", &format!("t{H}")].map(described).join(",");
    let entry = json!({"command": "/bin/sh", "args": [server], "env": {
        "TOOLS": tools,
        "RESOURCES": format!(r#"{{"uri":"x:{H}","name":"{H}","title":"{H}","description":"{H}","mimeType":"{H}"}}"#),
        "READ": format!(r#""result":{{"contents":[{{"uri":"x:{H}","text":"{H}","mimeType":"{H}"}}]}}"#),
        "NOISE": format!("{log}\nnoise \u{1b}[2J\u{202e}"),
    }});
    let config = bench.config([("s", entry)]);
    for args in [
        &["list", "--all", "-vv"][..],
        &["list", "--schema"],
        &["list", "--brief"],
        &["call", "s.fails", "-vvv"],
        &["call", "s.refuses"],
        &["call", "s.links"],
        &["call", "s.fails", "k=1"],
        &["call", "s.tt"],
        &["read", "x:1", "--from", "s"],
        &["prompt", "s.ok"],
        &["prompt", "s.pp"],
        &["check", "-vvv"],
    ] {
        let ran = bench.run(&[args, &["--config", &config]].concat());
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!all.contains(HARMFUL), "{args:?} {ran:?}");
        assert!(
            ["s.tt", "s.pp"].contains(&args[1]) || all.contains("u{202e}") || all.contains("\\u202e"),
            "{args:?} {ran:?}"
        );

        let mut command = bench.command(&[args, &["--config", &config, "--color", "never"]].concat());
        command.env("TERM", "xterm");
        let terminal = Terminal::start(command);
        let shown = terminal.shown.clone();
        let (_, stdout) = terminal.end();
        let all = format!("{stdout}{}", shown.lock().unwrap());
        let own = ['\u{1b}', '\u{7}']; // the spinner's
        assert!(!all.contains(|c| HARMFUL.contains(&c) && !own.contains(&c)), "{args:?} {all:?}");
        assert!(!all.contains("\u{1b}]52") && !all.contains("\u{1b}[2J"), "{args:?} {all:?}");
    }
    let machine = bench.run(&["call", "s.fails", "--json", "--config", &config]);
    assert_eq!(
        machine.json()["content"][0]["text"].as_str().unwrap().chars().filter(|c| HARMFUL.contains(c)).count(),
        7
    );
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
fn p74_what_a_server_logs_is_shown_when_asked_for() {
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
