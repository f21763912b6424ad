//! What the program says of each kind of failure, and its exit code: for people and for machines, kept in `snapshots`.
//! `UPDATE=1` writes what is said now into them; look at the difference.

use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};
use trunkline_tests::http::*;

use crate::harness::{Bench, Ran, SERVER, tool};

/// Runs a failing command, for people and for machines, and compares what it says with the snapshot of this name.
#[track_caller]
pub(crate) fn fails(name: &str, code: i32, bench: &Bench, args: &[&str], stable: impl Fn(&str) -> String) {
    let people = bench.run(args);
    assert_eq!((people.code, people.stdout.as_str()), (code, ""), "{name}: {people:?}");
    let machine = bench.run(&[args, &["--json"]].concat());
    assert_eq!((machine.code, machine.stderr.as_str()), (code, ""), "{name}: {machine:?}");
    let told = stable(&format!("exit code {code}\n\n{}\n{}", people.stderr, pretty(&machine)));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cli/snapshots/{name}.txt"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &told).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(told == known, "{name} (UPDATE=1 writes it anew):\n{told}\n--- instead of\n{known}");
}

/// The one JSON object that machines get: an error, or a result that says it is one.
#[track_caller]
fn pretty(ran: &Ran) -> String {
    let value = ran.json();
    let error = &value["error"];
    let is_error = error["kind"].is_string() && error["message"].is_string();
    assert!(is_error || value["isError"] == true, "{ran:?}");
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

fn as_it_is(text: &str) -> String {
    text.to_owned()
}

fn shell(script: &str) -> Value {
    json!({"command": "/bin/sh", "args": ["-c", script]})
}

#[test]
fn p79_p97_p90_a_command_that_can_not_be_started() {
    let bench = Bench::new();
    let managed = bench.path("home/.nvm/versions/node/v22.1.0/bin");
    std::fs::create_dir_all(&managed).unwrap();
    std::fs::write(managed.join("npx-zz"), "").unwrap();
    let config = bench.config([
        ("ghost", json!({"command": "no-such-program-zz", "args": ["-y"]})),
        ("node", json!({"command": "npx-zz"})),
        ("own-path", json!({"command": "npx-zz", "env": {"PATH": "/nowhere:${PATH}"}})),
        ("absent", json!({"command": "/no/such/program"})),
        ("folder", json!({"command": "/bin/sh", "cwd": "absent"})),
    ]);
    for (name, server, code) in [
        ("command-not-found", "ghost.t", 4),
        ("command-elsewhere", "node.t", 4),
        ("command-not-on-own-path", "own-path.t", 4),
        ("command-path-absent", "absent.t", 4),
        ("cwd-missing", "folder.t", 2),
    ] {
        fails(name, code, &bench, &["call", server, "--config", &config], as_it_is);
    }
}

#[test]
fn p79_a_command_is_looked_for_on_the_server_s_own_path() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let program = bench.path("home/.local/bin/npx-zz");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, format!("#!/bin/sh\n{SERVER}")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:${{PATH}}", program.parent().unwrap().display());
    let config = bench.config([
        ("found", json!({"command": "npx-zz", "env": {"PATH": path, "TOOLS": tool("t", "")}})),
        ("ghost", json!({"command": "npx-zz"})),
    ]);
    bench.run(&["list", "--config", &config]).is(
        0,
        "found\n  t()\n",
        "failed ghost: the command \"npx-zz\" was not found on PATH (/usr/bin:/bin). hint: It exists at \
         DIR/home/.local/bin/npx-zz: use that path as the command, or set PATH in the server's env\n\
         1 tool from 1 of 2 servers, 1 failed\n",
    );
}

#[test]
fn p04_p05_p90_a_server_that_dies() {
    let bench = Bench::new();
    let dying = SERVER.replace("answer \"$CALL\"", "{ echo 'panic: out of cheese' >&2; exit 9; }");
    let dying = bench.write("dying.sh", dying);
    let config = bench.config([
        ("quits", shell("echo 'TOKEN is not set' >&2; echo 'see README' >&2; exit 3")),
        ("inner", shell("exec no-such-inner-command-zz")),
        ("dies", json!({"command": "/bin/sh", "args": [dying], "env": {"TOOLS": tool("t", "")}})),
    ]);
    // every shell words it in its own way
    let inner = |text: &str| {
        let line = |line: &str| match line.find("no-such-inner-command-zz: ") {
            Some(_) if line.contains("stderr") => "...the shell's words...".to_owned(),
            _ => line.to_owned(),
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
    };
    fails("dies-at-start", 4, &bench, &["call", "quits.t", "--config", &config], as_it_is);
    fails("inner-command-not-found", 4, &bench, &["call", "inner.t", "--config", &config], inner);
    fails("dies-in-a-call", 4, &bench, &["call", "dies.t", "--config", &config], as_it_is);
}

#[test]
fn p08_p11_p19_p90_a_server_that_does_not_answer_initialize() {
    let bench = Bench::new();
    let framed = r#"read -r line; printf 'Content-Length: 2\r\n\r\n{}\r\n'; while read -r line; do :; done"#;
    let pretty = r#"read -r line; printf '{\n  "jsonrpc": "2.0",\n  "id": 0\n}\n'; while read -r line; do :; done"#;
    let config = bench.config([
        ("silent", shell("echo 'loading the model' >&2; while read -r line; do :; done")),
        ("web", shell("echo 'Listening on http://localhost:8080'; while read -r line; do :; done")),
        ("framed", shell(framed)),
        ("pretty", shell(pretty)),
    ]);
    let cases = [
        ("silent-start", "silent.t"),
        ("noise-instead-of-answers", "web.t"),
        ("content-length-framing", "framed.t"),
        ("pretty-printed-json", "pretty.t"),
    ];
    std::thread::scope(|scope| {
        for (name, server) in cases {
            let (bench, args) = (&bench, ["call", server, "--start-timeout", "1s", "--config", &config]);
            scope.spawn(move || fails(name, 5, bench, &args, as_it_is));
        }
    });
}

#[test]
fn p54_p90_a_revision_nobody_knows() {
    let bench = Bench::new();
    let odd = bench.write("odd.sh", SERVER.replace("2025-06-18", "1999-01-01"));
    let config = bench.config([("old", json!({"command": "/bin/sh", "args": [odd]}))]);
    fails("wrong-version", 6, &bench, &["call", "old.t", "--config", &config], as_it_is);
}

#[test]
fn p90_p98_an_http_server_that_refuses() {
    let bench = Bench::new();
    let page = "<!doctype html><title>Log in</title>\n<form>\u{1b}[31m</form>";
    for (name, code, answer) in [
        ("http-401", 3, reply(401).header("WWW-Authenticate", "Bearer realm=\"mcp\"")),
        ("http-403", 3, reply(403).content("text/plain", "no seat for you")),
        ("http-404", 4, reply(404).content("text/html", "<h1>Not Found</h1>")),
        ("http-500", 6, reply(500).content("text/html", "<h1>Oops</h1>")),
        ("http-html-page", 6, reply(200).content("text/html; charset=utf-8", page)),
    ] {
        let fake = HttpScript::new().on(any(), [send(answer)]).start();
        let config = bench.config([("api", json!({"url": fake.url()}))]);
        let stable = |text: &str| text.replace(&fake.address().to_string(), "ADDRESS");
        fails(name, code, &bench, &["call", "api.echo", "text=x", "--config", &config], stable);
    }
}

#[test]
fn p90_an_http_server_that_can_not_be_reached() {
    let bench = Bench::new();
    let ca = TestCa::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let secret = HttpScript::new().start_tls(Tls::of(&ca));
    let config = bench.config([
        ("refused", json!({"url": format!("http://{free}/mcp"), "type": "http"})),
        ("nowhere", json!({"url": "http://no-such-host.invalid/mcp"})),
        ("private", json!({"url": secret.url()})),
    ]);
    let stable = |text: &str| {
        let text = text.replace(&free.to_string(), "ADDRESS").replace(&secret.address().to_string(), "ADDRESS");
        // every system words it in its own way
        match text.split_once("no-such-host.invalid:80: ") {
            Some((_, rest)) => {
                let reason = rest.lines().next().unwrap();
                text.replace(reason, "REASON")
            }
            None => text,
        }
    };
    for (name, server) in
        [("port-refused", "refused.t"), ("name-unknown", "nowhere.t"), ("tls-not-trusted", "private.t")]
    {
        fails(name, 4, &bench, &["call", server, "--config", &config], stable);
    }
}

#[test]
fn p80_p90_a_config_that_can_not_be_used() {
    let bench = Bench::new();
    let config = bench.config([
        ("needs", json!({"command": "x", "env": {"T": "${NOT_SET_ZZ}"}})),
        ("neither", json!({})),
        ("off", json!({"command": "x", "disabled": true})),
    ]);
    for (name, server) in
        [("variable-missing", "needs.t"), ("entry-unusable", "neither.t"), ("server-switched-off", "off.t")]
    {
        fails(name, 2, &bench, &["call", server, "--config", &config], as_it_is);
    }
    fails("server-unknown", 2, &bench, &["list", "needz", "--config", &config], as_it_is);
    let broken = bench.write("broken.json", "{\"mcpServers\": {\n  \"a\": {\"command\": 'x'}\n}}");
    fails("config-no-json", 2, &bench, &["call", "a.t", "--config", &broken], as_it_is);
    fails("config-absent", 2, &bench, &["list", "--config", "absent.json"], as_it_is);
    fails(
        "variable-missing-of-a-typed-url",
        2,
        &bench,
        &["call", "t", "--url", "http://127.0.0.1:9", "--bearer-env", "NOT_SET_ZZ"],
        as_it_is,
    );
    bench.config_at("here/.mcp.json", [("evil", json!({"command": "x"}))]);
    fails("not-trusted", 8, &bench, &["call", "evil.t"], as_it_is);
}

#[test]
fn p90_p91_a_call_that_is_refused() {
    let bench = Bench::new();
    let answering = |call: &str, more: Value| {
        let mut entry = bench.server(json!({
            "TOOLS": tool("send", r#""to":{"type":"string"},"copies":{"type":"integer"}"#), "CALL": call
        }));
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    let large = format!(r#""result":{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(3000));
    let mut slow = bench.server(json!({"TOOLS": tool("send", ""), "SLOW": "1"}));
    slow["timeout"] = json!("300ms");
    let config = bench.config([
        (
            "mail",
            answering(r#""result":{"isError":true,"content":[{"type":"text","text":"no such mailbox"}]}"#, json!({})),
        ),
        (
            "strict",
            answering(r#""error":{"code":-32602,"message":"to is not valid","data":{"field":"to"}}"#, json!({})),
        ),
        ("large", answering(&large, json!({"limits": {"maxMessage": 2000}}))),
        ("slow", slow),
    ]);
    let call = |name: &str, code: i32, args: &[&str]| {
        fails(name, code, &bench, &[&["call"], args, &["--config", &config]].concat(), as_it_is);
    };
    call("tool-unknown", 2, &["mail.sned"]);
    call("arguments-bad", 2, &["mail.send", "copies=two"]);
    call("error-result", 1, &["mail.send", "to=x"]);
    call("error-of-the-server", 6, &["strict.send", "to=x"]);
    call("limit-exceeded", 6, &["large.send", "to=x"]);
    call("call-too-slow", 5, &["slow.send"]);
}

/// A required server that is missing has a code of its own, whatever is wrong with it.
#[test]
fn p90_p88_a_needed_server_that_is_missing() {
    let bench = Bench::new();
    let config =
        bench.config([("good", bench.demo()), ("ghost", json!({"command": "no-such-program-zz", "required": true}))]);
    let ran = bench.run(&["list", "--brief", "--config", &config]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(ran.stderr.contains("failed ghost:"), "{ran:?}");
    assert_eq!(bench.run(&["list", "--json", "--config", &config]).json()["failures"][0]["kind"], "unreachable");
}

/// The table of exit codes says in `--help` and on the README's page what the program does.
#[test]
fn p90_every_exit_code_is_documented() {
    let help = Bench::new().run(&["--help"]);
    let readme = include_str!("../../../../README.md");
    let help = help.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, help) = help.split_once("Exit codes:").expect("the codes are in the help");
    let (_, table) = readme.split_once("| exit code | means |").expect("the table of codes");
    for code in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "130", "143"] {
        assert!(table.contains(&format!("\n| {code} | ")), "README: {code}");
        assert!(
            help.split([';', ',']).any(|part| part.trim().starts_with(&format!("{code} "))),
            "--help: {code} in {help}"
        );
    }
}
