//! `trunkline list`.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Bench, SERVER, tool};

const NOTE: &str =
    "note: no config was found, so this is the built-in server \"demo\" (`trunkline config` says where yours goes)\n";

#[test]
fn without_any_config_the_demo_server_is_shown() {
    let bench = Bench::new();
    bench.run(&["list"]).is(
        0,
        r#"demo
  echo(text: string, times?: integer = 1)
    Says the text back.
  add(a: integer, b: integer)
    Adds two numbers.
  join(words: string[], separator?: string = " ")
    Joins words.
  weather(city: string, unit?: "celsius" | "fahrenheit")
    Tells the weather of a city: always the same, as structured data.
  picture()
    Shows a picture: an image beside a line of text.
  sound()
    Plays a short tone.
  document()
    Hands over a document: an embedded resource and a link to another.
  slow(seconds?: number = 2.0, steps?: integer = 4)
    Takes its time and reports progress.
  fail(message?: string = "this tool always fails")
    Fails, as a tool does that can't do what it was asked.
"#,
        &format!("{NOTE}9 tools from 1 server\n"),
    );
}

#[test]
fn everything_else_can_be_listed_too() {
    let bench = Bench::new();
    bench.run(&["list", "--resources", "--templates", "--prompts", "-q"]).is(
        0,
        "demo\n  resources\n    demo://readme  text/markdown\n      What this is.\n    demo://logo  image/png\n      \
         A picture.\n  templates\n    demo://square/{n}\n  prompts\n    greet(name)\n    review(code, language?)\n",
        "",
    );
    let all = bench.run(&["list", "--all", "--brief"]);
    assert!(all.stdout.contains("  tools\n    echo(text: string"), "{all:?}");
    assert!(all.stderr.ends_with("9 tools, 2 resources, 1 template, 2 prompts from 1 server\n"), "{all:?}");
    let schema = bench.run(&["list", "--schema", "-q"]);
    assert!(schema.stdout.contains("\n      \"required\": [\"a\", \"b\"],\n"), "{schema:?}");
}

#[test]
fn the_servers_order_and_a_long_signature_are_kept() {
    let bench = Bench::new();
    let properties: Vec<_> =
        ["zebra", "apple", "mango", "peach"].map(|name| format!(r#""{name}":{{"type":"string"}}"#)).to_vec();
    let config = bench.config([("s", bench.server(json!({"TOOLS": tool("pick", &properties.join(","))})))]);
    bench.run(&["list", "-q", "--config", &config]).is(
        0,
        "s\n  pick(zebra?: string, apple?: string, mango?: string, peach?: string)\n",
        "",
    );
}

fn troubled(bench: &Bench) -> String {
    bench.config([
        ("good", bench.server(json!({"TOOLS": tool("echo", "")}))),
        ("ghost", json!({"command": "no-such-program-zz"})),
        ("quits", json!({"command": "/bin/sh", "args": ["-c", "echo 'no TOKEN' >&2; exit 3"]})),
        ("needs", json!({"command": "x", "env": {"T": "${NOT_SET_ZZ}"}})),
        ("bad", json!({"comand": "x"})),
        ("off", json!({"command": "x", "disabled": true})),
    ])
}

#[test]
fn p88_dead_servers_are_a_line_each_and_no_failure() {
    let bench = Bench::new();
    let config = troubled(&bench);
    bench.run(&["list", "--config", &config]).is(
        0,
        "good\n  echo()\n",
        "failed bad: it has neither \"command\" nor \"url\". hint: Correct it in \
         DIR/mcp-test.json:6\n\
         failed ghost: the command \"no-such-program-zz\" was not found on PATH (/usr/bin:/bin). hint: Install \"no-such-program-zz\", or \
         give its full path as the command\n\
         failed quits: the server exited (exit status 3): no TOKEN. hint: Run the command by hand to see what it needs\n\
         failed needs: \"env.T\" needs the variable NOT_SET_ZZ, which is not set. hint: Set NOT_SET_ZZ, or give it a \
         default: \"${NOT_SET_ZZ:-...}\" in DIR/mcp-test.json:5\n\
         1 tool from 1 of 5 servers, 4 failed\n",
    );
    assert_eq!(bench.run(&["list", "--strict", "--config", &config]).code, 7);
    assert_eq!(bench.run(&["list", "good", "--strict", "--config", &config]).code, 0);
    assert_eq!(bench.run(&["list", "ghost", "--config", &config]).code, 4);
    assert_eq!(bench.run(&["list", "needs", "--config", &config]).code, 2);
    assert_eq!(bench.run(&["list", "bad", "--config", &config]).code, 2);
    assert_eq!(bench.run(&["list", "off", "--config", &config]).code, 2);
    let unknown = bench.run(&["list", "god", "--config", &config]);
    unknown.is(2, "", "error: There is no server named \"god\"\nhint: Did you mean \"good\"?\n");
}

#[test]
fn p88_a_required_server_that_is_dead_is_a_failure() {
    let bench = Bench::new();
    let config = bench.config([
        ("good", bench.server(json!({"TOOLS": tool("echo", "")}))),
        ("ghost", json!({"command": "no-such-program-zz", "required": true})),
    ]);
    let ran = bench.run(&["list", "--config", &config]);
    assert_eq!((ran.code, ran.stdout.as_str()), (7, "good\n  echo()\n"), "{ran:?}");
}

#[test]
fn the_machine_form_has_the_servers_words_and_the_failures() {
    let bench = Bench::new();
    let config = troubled(&bench);
    let ran = bench.run(&["list", "--json", "--config", &config]);
    let listed = ran.json();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert_eq!(
        listed["servers"][0],
        json!({"label": "good", "status": "ready", "tools": [
            {"name": "echo", "inputSchema": {"type": "object", "properties": {}}, "exposedName": "good_echo"}
        ]})
    );
    let statuses: Vec<_> =
        listed["servers"].as_array().unwrap().iter().map(|s| s["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["ready", "failed", "failed", "failed", "disabled"]);
    let failures: Vec<_> = listed["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["server"].as_str().unwrap(), f["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(failures, [("bad", "config"), ("ghost", "unreachable"), ("quits", "unreachable"), ("needs", "config")]);
    assert_eq!(listed["failures"][2]["context"]["stderr"], "no TOKEN");
}

#[test]
fn p89_a_silent_server_is_pending_and_holds_nobody_up() {
    let bench = Bench::new();
    let config = bench.config([
        ("silent", json!({"command": "/bin/sh", "args": ["-c", "exec sleep 600"]})),
        ("good", bench.server(json!({"TOOLS": tool("echo", "")}))),
    ]);
    let begun = Instant::now();
    bench.run(&["list", "--wait=100ms", "--config", &config]).is(
        0,
        "good\n  echo()\n",
        "pending silent: still starting; --wait waits longer\n1 tool from 1 of 2 servers, 1 still starting\n",
    );
    assert!(begun.elapsed() < Duration::from_secs(10));
    let strict = bench.run(&["list", "--strict", "--start-timeout", "300ms", "--config", &config]);
    assert_eq!(strict.code, 7);
    assert!(strict.stderr.contains("failed silent: did not answer initialize within 0.3 s"), "{strict:?}");
    let alone = bench.run(&["list", "silent", "--start-timeout", "300ms", "--config", &config]);
    assert_eq!(alone.code, 5);
}

#[test]
fn servers_can_be_given_on_the_command_line() {
    let bench = Bench::new();
    let script = bench.path("server.sh");
    bench.run(&["list", "--stdio", &format!("mine=/bin/sh '{}'", script.display())]).is(
        0,
        "mine\n  (no tools)\n",
        "0 tools from 1 server\n",
    );
    let ran = bench.run(&["list", "-q", "--", "/bin/sh", &script.display().to_string()]);
    ran.is(0, "sh\n  (no tools)\n", "");
    let twice = bench.run(&["list", "--stdio", "sh", "--stdio", "/bin/sh"]);
    assert_eq!(twice.code, 2);
    let open = bench.run(&["list", "--stdio", "sh 'x"]);
    open.is(2, "", "error: A ' in \"sh 'x\" is never closed\n");
}

#[test]
fn p88_every_kind_of_dead_server_costs_itself_alone() {
    let bench = Bench::new();
    let answer = r#"answer "\"result\":{\"tools\":[$TOOLS]}""#;
    let refusing = SERVER.replace(answer, r#"answer '"error":{"code":-32603,"message":"disk full"}'"#);
    assert_ne!(refusing, SERVER);
    let refusing = bench.write("refusing.sh", refusing);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let write = |with_good: bool, required: bool| {
        let dead = [
            ("missing", json!({"command": "no-such-program-zz"})),
            ("closed", json!({"url": closed, "required": required})),
            ("refusing", json!({"command": "/bin/sh", "args": [refusing]})),
        ];
        let [missing, closed, refusing] = dead;
        match with_good {
            true => {
                bench.config([("good", bench.server(json!({"TOOLS": tool("echo", "")}))), missing, closed, refusing])
            }
            false => bench.config([missing, closed, refusing]),
        }
    };
    let ran = bench.run(&["list", "--config", &write(true, false)]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "good\n  echo()\n"), "{ran:?}");
    for told in ["failed missing: ", "failed closed: ", "failed refusing: disk full"] {
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
    assert!(ran.stderr.ends_with("1 tool from 1 of 4 servers, 3 failed\n"), "{}", ran.stderr);
    let ran = bench.run(&["list", "--config", &write(true, true)]);
    assert_eq!((ran.code, ran.stdout.as_str()), (7, "good\n  echo()\n"), "{ran:?}");
    assert!(ran.stderr.contains("closed"), "{}", ran.stderr);
    let ran = bench.run(&["list", "--config", &write(false, false)]);
    assert!(ran.code != 0 && ran.stdout.is_empty(), "{ran:?}");
}
