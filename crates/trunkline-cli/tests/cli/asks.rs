//! `trunkline complete`, `watch`, `ping`, `info`, and `read` with a template.

use serde_json::{Value, json};

use crate::harness::Bench;

#[test]
fn an_argument_goes_on_with_what_the_server_offers() {
    let bench = Bench::new();
    let complete = r#""result":{"completion":{"values":["python","py\u001btorch"],"total":10,"hasMore":true}}"#;
    let server = bench.server(json!({
        "PROMPTS": r#"{"name":"review"}"#, "TEMPLATES": r#"{"uriTemplate":"file:///{path}","name":"file"}"#,
        "COMPLETE": complete, "LOG": bench.path("log")
    }));
    let config = bench.config([("s", server), ("other", bench.demo())]);
    let asked = || {
        let log = bench.read("log");
        let line = log.lines().rfind(|line| line.contains("completion/complete")).unwrap();
        serde_json::from_str::<Value>(line).unwrap()["params"].clone()
    };
    let given = ["--given", "framework=flask", "--config", &config];
    let ran = bench.run(&[&["complete", "s.review", "language", "py"], &given[..]].concat());
    ran.is(0, "python\npy\\u{1b}torch\n", "(the first 2 of 10; write more of it)\n");
    let params = asked();
    assert_eq!(params["ref"], json!({"type": "ref/prompt", "name": "review"}));
    assert_eq!(params["argument"], json!({"name": "language", "value": "py"}));
    assert_eq!(params["context"], json!({"arguments": {"framework": "flask"}}));

    let ran = bench.run(&["complete", "file:///{path}", "path", "--json", "--config", &config]);
    assert_eq!(ran.json()["completion"]["total"], 10);
    assert_eq!(asked()["ref"], json!({"type": "ref/resource", "uri": "file:///{path}"}));
    assert_eq!(asked()["argument"], json!({"name": "path", "value": ""}));

    let ran = bench.run(&["complete", "other.greet", "name", "A", "--config", &config]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.starts_with("error: The server completes nothing: "), "{ran:?}");
}

#[test]
fn a_template_is_read_with_its_variables() {
    let bench = Bench::new();
    let server = bench.server(json!({
        "TEMPLATES": r#"{"uriTemplate":"repo://{owner}/{+path}{?page}","name":"repo"}"#, "LOG": bench.path("log"),
        "READ": r#""result":{"contents":[{"uri":"x:","text":"found"}]}"#
    }));
    let config = bench.config([("s", server), ("demo", bench.demo())]);
    let values = ["--arg", "owner=a b", "--arg", "path=src/lib.rs", "--config", &config];
    for address in ["s.repo", "repo://{owner}/{+path}{?page}"] {
        bench.run(&[&["read", address], &values[..]].concat()).is(0, "found\n", "");
        let log = bench.read("log");
        let line = log.lines().rfind(|line| line.contains("resources/read")).unwrap();
        let uri = serde_json::from_str::<Value>(line).unwrap()["params"]["uri"].clone();
        assert_eq!(uri, "repo://a%20b/src/lib.rs");
    }
    bench.run(&["read", "demo://square/{n}", "--arg", "n=12", "--config", &config]).is(0, "144\n", "");
    bench.run(&["read", "s.repo", "--arg", "owner=a", "--config", &config]).is(
        2,
        "",
        "error: The template repo://{owner}/{+path}{?page} needs \"path\"\nhint: It takes owner, path, page\n",
    );
    let unknown = bench.run(&["read", "s.repos", "--arg", "owner=a", "--config", &config]);
    unknown.is(2, "", "error: Server \"s\" has no resource template named \"repos\"\nhint: Did you mean \"repo\"?\n");
}

/// Two changes, one before the server ends and one after it was started again.
#[test]
fn changes_of_a_resource_are_printed_over_the_end_of_its_server() {
    for (more, stdout) in [(&[][..], "x:a\nx:a\n"), (&["--json"], "{\"uri\":\"x:a\"}\n{\"uri\":\"x:a\"}\n")] {
        let bench = Bench::new();
        let update = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:a"}}"#;
        let server = bench.server(json!({
            "RESOURCES": r#"{"uri":"x:a","name":"a"}"#, "UPDATES": update, "DIES": bench.path("died"),
            "LOG": bench.path("log"), "READ": r#""result":{"contents":[{"uri":"x:a","text":"now"}]}"#
        }));
        let config = bench.config([("s", server)]);
        let ran = bench.run(&[&["watch", "x:a", "-n", "2", "--config", &config], more].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, stdout), "{ran:?}");
        assert!(ran.stderr.contains("watching x:a\n") && ran.stderr.contains("s runs again\n"), "{ran:?}");
        assert_eq!(bench.read("log").matches("resources/subscribe").count(), 2);
    }
}

#[test]
fn a_watched_resource_is_read_after_each_change() {
    let bench = Bench::new();
    let update = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:a"}}"#;
    let server = bench.server(json!({
        "RESOURCES": r#"{"uri":"x:a","name":"a"}"#, "UPDATES": update,
        "READ": r#""result":{"contents":[{"uri":"x:a","text":"now"}]}"#
    }));
    let config = bench.config([("s", server), ("demo", bench.demo())]);
    bench.run(&["watch", "x:a", "--read", "-n", "1", "-q", "--config", &config]).is(0, "now\nnow\n", "");
    let ran = bench.run(&["watch", "demo://readme", "-q", "--config", &config]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("hint: The server doesn't tell of changes"), "{ran:?}");
}

#[test]
fn servers_are_pinged_and_a_dead_one_is_told() {
    let bench = Bench::new();
    let config = bench.config([("s", bench.server(json!({}))), ("dead", json!({"command": "/no/such/program"}))]);
    let ran = bench.run(&["ping", "s", "--config", &config]);
    assert!(ran.code == 0 && ran.stdout.starts_with("s  ") && ran.stdout.ends_with(" ms\n"), "{ran:?}");
    let ran = bench.run(&["ping", "--json", "--config", &config]);
    assert_eq!((ran.code, &ran.json()["servers"][1]["error"]["kind"]), (4, &json!("unreachable")));
    assert!(ran.json()["servers"][0]["ms"].is_number());
}

#[test]
fn a_server_is_shown_with_all_it_says_of_itself() {
    let bench = Bench::new();
    let config = bench.config([("demo", bench.demo())]);
    let ran = bench.run(&["info", "demo", "--config", &config]);
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        ran.stdout.starts_with(&format!("demo\n  name         trunkline-demo {version}\n  protocol     ")),
        "{ran:?}"
    );
    assert!(
        ran.stdout.ends_with(
            "tools, logging\n  instructions\n    Tools, resources and prompts to try trunkline \
             with. Nothing here changes anything.\n"
        ),
        "{ran:?}"
    );
    let ran = bench.run(&["info", "--json", "--config", &config]);
    assert_eq!(ran.json()["servers"][0]["info"]["serverInfo"]["name"], "trunkline-demo");
}
