//! `trunkline check`.

use serde_json::json;

use crate::harness::{Bench, SERVER, tool};

#[test]
fn a_good_server_passes_every_stage() {
    let bench = Bench::new();
    let config = bench.config([("demo", bench.demo())]);
    let ran = bench.run(&["check", "--config", &config]);
    assert_eq!(
        ran.timeless(),
        "demo\n\
         ok config TIME DIR/mcp-test.json:2\n\
         ok variables TIME\n\
         ok command TIME PROGRAM\n\
         ok start TIME\n\
         ok handshake TIME trunkline-demo 0.1.0, protocol 2025-11-25\n\
         ok capabilities logging, prompts, resources, tools\n\
         ok tools TIME 9\n\
         ok resources TIME 2\n\
         ok templates TIME 1\n\
         ok prompts TIME 2"
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "1 server: 1 fine\n"));
}

#[test]
fn p11_text_on_the_standard_output_is_counted_and_shown() {
    let bench = Bench::new();
    let noise = "=====\n[INFO] listening\n\u{1b}[32mgreen\u{1b}[0m";
    let config = bench.config([("loud", bench.server(json!({"TOOLS": tool("t", ""), "NOISE": noise})))]);
    let ran = bench.run(&["check", "--config", &config]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = "It wrote 3 lines on its standard output that are no messages (first: =====)";
    assert!(ran.stdout.contains(told), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn p29_a_list_that_hangs_is_named_and_the_others_are_shown() {
    let bench = Bench::new();
    let server = bench.server(json!({"TOOLS": tool("t", ""), "RESOURCES": r#"{"uri":"a:1"}"#, "PROMPTS": "MUTE"}));
    let config = bench.config([("s", server)]);
    let ran = bench.run(&["check", "--timeout", "500ms", "--config", &config]);
    let told = ran.timeless();
    assert!(told.contains("ok tools TIME 1\nok resources TIME 1\nok templates TIME 0\nFAIL prompts TIME"), "{told}");
    assert!(told.contains("No answer to prompts/list within 0.5 s"), "{told}");
    assert_eq!(ran.code, 5);
}

#[test]
fn p79_the_stage_that_failed_is_named_with_one_fix() {
    let bench = Bench::new();
    let config = bench.config([
        ("ghost", json!({"command": "no-such-program-zz"})),
        ("quits", json!({"command": "/bin/sh", "args": ["-c", "echo 'no TOKEN' >&2; exit 3"]})),
        ("needs", json!({"command": "x", "env": {"T": "${NOT_SET_ZZ}"}})),
        ("silent", json!({"command": "/bin/sh", "args": ["-c", "exec sleep 600"]})),
        ("bad", json!({})),
    ]);
    let ran = bench.run(&["check", "--start-timeout", "300ms", "--config", &config]);
    assert_eq!(
        ran.timeless(),
        "bad\n\
         FAIL config it has neither \"command\" nor \"url\"\n\
         config DIR/mcp-test.json:6\n\
         fix: Correct it in DIR/mcp-test.json:6\n\
         ghost\n\
         ok config TIME DIR/mcp-test.json:2\n\
         ok variables TIME\n\
         FAIL command TIME the command \"no-such-program-zz\" was not found on PATH\n\
         command no-such-program-zz\n\
         PATH /usr/bin:/bin\n\
         config DIR/mcp-test.json:2\n\
         fix: Install \"no-such-program-zz\", or give its full path as the command\n\
         quits\n\
         ok config TIME DIR/mcp-test.json:3\n\
         ok variables TIME\n\
         ok command TIME /bin/sh\n\
         ok start TIME\n\
         FAIL handshake TIME the server exited (exit status 3)\n\
         | no TOKEN\n\
         command /bin/sh -c 'echo '\\''no TOKEN'\\'' >&2; exit 3'\n\
         config DIR/mcp-test.json:3\n\
         fix: Run the command by hand to see what it needs\n\
         needs\n\
         ok config TIME DIR/mcp-test.json:4\n\
         FAIL variables TIME \"env.T\" needs the variable NOT_SET_ZZ, which is not set\n\
         config DIR/mcp-test.json:4\n\
         fix: Set NOT_SET_ZZ, or give it a default: \"${NOT_SET_ZZ:-...}\" in DIR/mcp-test.json:4\n\
         silent\n\
         ok config TIME DIR/mcp-test.json:5\n\
         ok variables TIME\n\
         ok command TIME /bin/sh\n\
         ok start TIME\n\
         FAIL handshake TIME did not answer initialize within 0.3 s (it wrote 0 bytes on its standard output and 0 on its \
         standard error)\n\
         command /bin/sh -c 'exec sleep 600'\n\
         config DIR/mcp-test.json:5\n\
         fix: The process is alive: if it only needs longer to start, raise startTimeout in the config (start_timeout in \
         code, --start-timeout on the command line)"
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (2, "5 servers: 0 fine, 5 failed\n"));
    assert_eq!(bench.run(&["check", "ghost", "--config", &config]).code, 4);
}

#[test]
fn machines_get_stages_and_errors() {
    let bench = Bench::new();
    let config = bench.config([("demo", bench.demo()), ("ghost", json!({"command": "no-such-program-zz"}))]);
    let ran = bench.run(&["check", "--json", "--config", &config]);
    let servers = &ran.json()["servers"];
    assert_eq!((ran.code, ran.stderr.as_str()), (4, ""));
    assert_eq!((&servers[0]["ok"], &servers[1]["ok"]), (&json!(true), &json!(false)));
    let stage = |name: &str| {
        let stages = servers[0]["stages"].as_array().unwrap();
        stages.iter().find(|stage| stage["stage"] == name).unwrap().clone()
    };
    assert!(stage("start")["ms"].as_f64().unwrap() > 0.0);
    assert!(stage("handshake")["ms"].as_f64().unwrap() > 0.0);
    assert_eq!(servers[1]["stages"][2]["error"]["kind"], "unreachable");
}

#[test]
fn p11_p19_noise_and_wrong_framing_are_named() {
    let bench = Bench::new();
    let shell = |script: &str| json!({"command": "/bin/sh", "args": ["-c", script]});
    let config = bench.config([
        ("framed", shell(r"read -r line; printf 'Content-Length: 2\r\n\r\n{}\r\n'; while read -r line; do :; done")),
        ("pretty", shell(r#"read -r line; printf '{\n  "id": 0\n}\n'; while read -r line; do :; done"#)),
        ("web", shell("echo Listening; echo on port 80; while read -r line; do :; done")),
    ]);
    let ran = bench.run(&["check", "--start-timeout", "1s", "--config", &config]);
    let fixes: Vec<_> = ran.stdout.lines().filter(|line| line.trim_start().starts_with("fix:")).collect();
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(fixes[0].contains("it seems to frame messages by Content-Length headers"), "{fixes:?}");
    assert!(fixes[1].contains("it seems to spread one message over several lines"), "{fixes:?}");
    assert!(
        fixes[2].contains("It wrote 2 lines on its standard output that are no messages (first: Listening)"),
        "{fixes:?}"
    );
}

#[test]
fn p11_p74_what_is_odd_is_found_and_named() {
    let bench = Bench::new();
    let odd = r#"{"name":"ѕend","title":"\u009b","description":"ok\u001b[2J\u202e\u200b\u200b","inputSchema":{"type":"object"}}"#;
    let deep = r#"{"name":"a b","inputSchema":{"type":"object","properties":{"x":{"description":"x\u200b"}}}}"#;
    let broken = r#"{"name":"broken","inputSchema":{"type":"objekt"}}"#;
    let fine = r#"{"name":"отправить","description":"Two lines,\nünïcödé 👩‍👩‍👧.","inputSchema":{"type":"object"}}"#;
    let tools = [odd, deep, broken, fine, &tool("twice", ""), &tool("twice", "")].join(",");
    let loading = bench.write("loading.sh", format!("echo 'Downloading chromium 120 MB' >&2\n{SERVER}"));
    let server =
        json!({"command": "/bin/sh", "args": [loading], "env": {"TOOLS": tools, "NOISE": "Listening on stdio"}});
    let plain = bench.server(json!({"TOOLS": tool("send", "")}));
    let config = bench.config([("mail", plain), ("s", server)]);
    let ran = bench.run(&["check", "--config", &config]);
    let warnings: Vec<_> = ran.stdout.lines().filter_map(|line| line.strip_prefix("  warn ")).collect();
    let expected = [
        "it seems to download something when it starts, which took ",
        "the name of tool \"ѕend\" mixes alphabets (U+0455)",
        "the name of tool \"ѕend\" is none that all clients take; here it is also called s__end_",
        "the title of tool \"ѕend\" hides 1 character: U+009B",
        "the description of tool \"ѕend\" hides 4 characters: U+001B, U+202E, U+200B",
        "the name of tool \"a b\" is none that all clients take; here it is also called s_a_b_",
        "the schema of tool \"a b\" hides 1 character: U+200B",
        "the schema of tool \"broken\" can't be used: ",
        "the name of tool \"отправить\" is none that all clients take; here it is also called s_",
    ];
    for (warning, start) in warnings.iter().zip(expected) {
        assert!(warning.starts_with(start), "{start}: {warnings:#?}");
    }
    assert!(
        warnings[0].ends_with(" s (it said: Downloading chromium 120 MB); install it to start faster"),
        "{warnings:#?}"
    );
    for told in [
        "tools/list lists \"twice\" twice; the first is used",
        "writes text on its standard output that is no message; it was skipped",
        "It wrote 1 line on its standard output that is no message (first: ***)", // it is in the environment
        "the name of tool \"s.ѕend\" looks like mail.send",
    ] {
        assert!(warnings.contains(&told), "{told}: {warnings:#?}");
    }
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "2 servers: 1 fine, 1 with warnings\n"));

    let machine = bench.run(&["check", "--json", "--config", &config]).json();
    let findings = machine["servers"][1]["findings"].as_array().unwrap().clone();
    let ids: Vec<_> = findings.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    for id in [
        "download-at-start",
        "mixed-alphabets",
        "hidden-text",
        "odd-name",
        "bad-schema",
        "put-up-with",
        "stdout-noise",
        "look-alike-name",
    ] {
        assert!(ids.contains(&id), "{id}: {ids:?}");
    }
    assert_eq!(machine["servers"][0]["findings"], json!([]));
}
