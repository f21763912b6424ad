//! Config files found in the working folder: nothing of theirs is started or contacted until the user has agreed.

use serde_json::json;
use trunkline_tests::http::HttpScript;

use crate::harness::Bench;
use crate::terminal::Terminal;

/// A project file whose server leaves a mark when it is started.
fn marking(bench: &Bench, extra: &str) {
    let marker = bench.path("PWNED");
    let entry = json!({"command": "/bin/sh", "args": ["-c", format!("touch '{}' {extra}", marker.display())]});
    bench.config_at("here/.mcp.json", [("evil", entry)]);
}

/// Whether its server was started since the last look.
fn started(bench: &Bench) -> bool {
    std::fs::remove_file(bench.path("PWNED")).is_ok()
}

#[test]
fn p76_a_project_file_starts_nothing_until_it_is_trusted_and_not_after_it_changed() {
    let bench = Bench::new();
    marking(&bench, "");
    for args in [
        &["list"][..],
        &["check"],
        &["call", "evil.x"],
        &["call", "x"],
        &["read", "x:y"],
        &["prompt", "evil.x"],
        &["ask", "?", "--model", "m", "--api-base", "http://127.0.0.1:1"],
        &["record", "-o", "tape.jsonl"],
    ] {
        let ran = bench.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (8, ""), "{args:?} {ran:?}");
        assert_eq!(
            ran.stderr.lines().next().unwrap(),
            "error: DIR/here/.mcp.json is not trusted; its 1 server can't be used yet",
            "{args:?}"
        );
        let hint =
            "hint: Look at what it would start and contact; if you agree, run: trunkline trust DIR/here/.mcp.json";
        assert_eq!(ran.stderr.lines().last(), Some(hint), "{args:?}");
    }
    assert_eq!(bench.run(&["list", "--json"]).json()["error"]["kind"], "not_trusted");
    assert!(!started(&bench));

    bench.run(&["trust"]).is(
        0,
        "evil  DIR/here/.mcp.json:2\n  command      /bin/sh -c 'touch '\\''DIR/PWNED'\\'' '\n\n\
         Trusted, as long as it stays as it is: DIR/here/.mcp.json\n",
        "",
    );
    assert_eq!(bench.run(&["list"]).code, 4);
    assert!(started(&bench));

    marking(&bench, "; true");
    let changed = bench.run(&["list"]);
    let message = "error: DIR/here/.mcp.json has changed since it was trusted; its 1 server can't be used yet";
    assert_eq!((changed.code, changed.stderr.lines().next()), (8, Some(message)));
    assert!(!started(&bench));

    assert_eq!(bench.run(&["trust", ".mcp.json"]).code, 0);
    bench.run(&["trust"]).is(0, "", "No file here waits for trust\n");
    bench.run(&["untrust", ".mcp.json"]).is(0, "No longer trusted: .mcp.json\n", "");
    bench.run(&["untrust", ".mcp.json"]).is(2, "", "error: .mcp.json was not trusted\n");
    assert_eq!(bench.run(&["list"]).code, 8);
    assert!(!started(&bench));
}

#[test]
fn p76_a_file_that_is_named_needs_no_trust() {
    let bench = Bench::new();
    marking(&bench, "");
    assert_eq!(bench.run(&["list", "--config", ".mcp.json"]).code, 4);
    assert!(started(&bench));
    let mut command = bench.command(&["list"]);
    assert_eq!(bench.ran(&command.env("TRUNKLINE_CONFIG", ".mcp.json").output().unwrap()).code, 4);
    assert!(started(&bench));
}

#[test]
fn p76_a_url_of_a_project_file_gets_no_request_and_no_secret() {
    let (bench, fake) = (Bench::new(), HttpScript::new().start());
    let entry = json!({"url": fake.url(), "headers": {"X-Key": "my ${HOME_SECRET}", "Accept": "*/*"}});
    bench.config_at("here/mcp.json", [("api", entry)]);
    let run = |args: &[&str]| bench.ran(&bench.command(args).env("HOME_SECRET", "s3cr3t-AAA").output().unwrap());
    for args in [&["list"][..], &["check"], &["call", "api.echo", "text=x"]] {
        assert_eq!(run(args).code, 8, "{args:?}");
    }
    assert!(fake.log().requests().is_empty());
    let url = fake.url();
    run(&["trust"]).is(
        0,
        &format!(
            "api  DIR/here/mcp.json:2\n  headers      Accept=*/*  X-Key=***${{HOME_SECRET}}\n  url          {url}\n\n\
             Trusted, as long as it stays as it is: DIR/here/mcp.json\n"
        ),
        "",
    );
    run(&["call", "api.echo", "text=x"]).is(0, "x\n", "");
    assert!(fake.log().requests().iter().all(|request| request.header("x-key") == Some("my s3cr3t-AAA")));
}

#[test]
fn p74_p76_what_is_agreed_to_is_shown_in_full_and_can_t_act_on_the_terminal() {
    let bench = Bench::new();
    let file = "{\"mcpServers\": {\n\
        \"a\": {\"command\": \"sh\", \"args\": [\"-c\", \"TOKEN=x; evil\\u001b[2K\\u202e\"], \"env\": {\"LD_PRELOAD\": \"./e.so\", \"KEY\": \"k\"}},\n\
        \"off\": {\"command\": \"x\", \"disabled\": true},\n\
        \"b\\u001b[2J\": {\"command\": \"y\"}\n}}";
    bench.write("here/.mcp.json", file);
    bench.run(&["trust", "--yes", ".mcp.json"]).is(
        0,
        "a  DIR/here/.mcp.json:2\n  command      sh -c 'TOKEN=x; evil\\u{1b}[2K\\u{202e}'\n  \
         env          KEY=***  LD_PRELOAD=./e.so\n\n\
         off switched off  DIR/here/.mcp.json:3\n  command      x\n\n\
         problem DIR/here/.mcp.json:4: server \"b\\u{1b}[2J\": The server name \"b\\u{1b}[2J\" may hold only the letters a to z, \
         digits, \"_\", \"-\" and \".\"\n\n\
         Trusted, as long as it stays as it is: .mcp.json\n"
            .replace("DIR/here/.mcp.json", ".mcp.json")
            .as_str(),
        "",
    );
    let machine = bench.run(&["trust", "--json", ".mcp.json"]);
    assert_eq!((machine.json(), machine.stderr.as_str()), (json!({"trusted": [".mcp.json"]}), ""));
    bench.write("here/.mcp.json", "{ oops");
    let broken = bench.run(&["trust", ".mcp.json"]);
    assert_eq!((broken.code, broken.stderr.contains("this is no valid JSON")), (2, true), "{broken:?}");
}

#[test]
fn p76_a_file_that_is_not_trusted_is_mentioned_beside_others() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("here/.vscode")).unwrap();
    bench.config_at("here/.vscode/mcp.json", [("evil", json!({"command": "x"}))]);
    let config = bench.config([("demo", bench.demo())]);
    let ran = bench.run(&["call", "demo.echo", "text=x", "--config", &config]);
    ran.is(
        0,
        "x\n",
        "note: DIR/here/.vscode/mcp.json is not trusted; its 1 server can't be used yet (trunkline trust \
         DIR/here/.vscode/mcp.json)\n",
    );
    let named = bench.run(&["call", "evil.x", "--config", &config]);
    assert_eq!((named.code, named.stderr.contains("\n  server    evil\n")), (8, true), "{named:?}");
}

#[test]
fn p76_a_person_at_a_terminal_is_asked_and_what_is_no_yes_is_a_no() {
    let bench = Bench::new();
    marking(&bench, "");
    let ask = |args: &[&str], question: &str, answer: &str| {
        let mut terminal = Terminal::start(bench.command(args));
        terminal.wait_for("/bin/sh -c");
        terminal.answer(question, answer);
        terminal.end().0
    };
    for answer in ["", "n", "maybe"] {
        assert_eq!(ask(&["list"], "as long as it stays as it is? [y/N] ", answer), 8, "{answer:?}");
        assert_eq!(ask(&["trust"], "[y/N] ", answer), 8, "{answer:?}");
        assert!(!started(&bench), "{answer:?}");
    }
    assert_eq!(ask(&["list"], "[y/N] ", "y"), 4);
    assert!(started(&bench), "it was trusted, and used at once");
    assert_eq!(bench.run(&["list"]).code, 4, "and nobody is asked again");

    marking(&bench, "; true");
    assert_eq!(ask(&["list"], "It has changed since it was trusted. Trust ", "no"), 8);
    assert_eq!(ask(&["trust"], "It has changed since it was trusted. Trust ", "yes"), 0);
    assert_eq!(bench.run(&["list"]).code, 4);
}
