//! Entries of a config file in use: their shapes, variables, folders, environments, headers.

use serde_json::{Value, json};
use trunkline_tests::http::HttpScript;

use crate::harness::{Bench, Ran, SERVER, tool};

/// A server that notes its arguments, its folder and its environment, and then is the one in plain shell.
fn noting(bench: &Bench) -> String {
    let notes = r#"{ printf '%s\n' "$@"; } > "$NOTES.argv"; pwd > "$NOTES.cwd"; env > "$NOTES.env""#;
    let path = bench.write("noting.sh", format!("#!/bin/sh\n{notes}\n{SERVER}"));
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    path
}

fn ran_with(bench: &Bench, args: &[&str], variables: &[(&str, &str)], folder: &str) -> Ran {
    bench.ran(&bench.command(args).envs(variables.iter().copied()).current_dir(folder).output().unwrap())
}

#[test]
fn p80_variables_are_put_in_everywhere_and_a_missing_one_costs_its_server_alone() {
    let (bench, fake) = (Bench::new(), HttpScript::new().start());
    let script = noting(&bench);
    let env = json!({"X": "${T1}-${T1}", "NOTES": bench.path("n"), "LITERAL": "${T3}", "TOOLS": tool("t", "")});
    let config = bench.config([
        ("process", json!({"command": "/bin/${SHELL_NAME}", "args": [script, "--k=${T2:-d}", "${env:T1}", "$T1", "$${T1}"], "env": env})),
        ("web", json!({"url": format!("http://127.0.0.1:${{PORT}}/mcp"), "headers": {"Authorization": "Bearer ${T1}"}})),
        ("lost", json!({"url": fake.url(), "headers": {"Authorization": "${T2}"}})),
    ]);
    let port = fake.address().port().to_string();
    let variables = [("T1", "abc-s3cr3t"), ("T3", "${HOME}"), ("PORT", port.as_str()), ("SHELL_NAME", "sh")];
    let ran = ran_with(&bench, &["list", "-vvv", "--config", &config], &variables, "/");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "process\n  t()\n\nweb\n  echo()\n"), "{}", ran.stderr);
    let told = "failed lost: \"headers.Authorization\" needs the variable T2, which is not set. hint: Set T2, or give it \
                a default: \"${T2:-...}\" in DIR/mcp-test.json:4\n";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(!ran.stderr.contains("abc-s3cr3t"), "what was put in is not shown: {}", ran.stderr);
    assert_eq!(bench.read("n.argv").lines().collect::<Vec<_>>(), ["--k=d", "abc-s3cr3t", "$T1", "${T1}"]);
    let environment = bench.read("n.env");
    assert!(
        environment.contains("X=abc-s3cr3t-abc-s3cr3t\n") && environment.contains("LITERAL=${HOME}\n"),
        "{environment}"
    );
    let requests = fake.log().requests();
    assert!(!requests.is_empty());
    assert!(requests.iter().all(|request| request.header("authorization") == Some("Bearer abc-s3cr3t")));
}

#[test]
fn p81_every_shape_loads_and_each_bad_one_is_told_with_its_line() {
    let bench = Bench::new();
    let [web, older] = [HttpScript::new().start(), HttpScript::new().legacy_sse().start()];
    let (url, sse, script) = (web.url(), older.url(), bench.path("server.sh").display().to_string());
    let text = format!(
        "\u{feff}{{\n// comment\n\"mcpServers\": {{\n\"a\": {{\"url\": \"{url}\"}},\n\
         \"b\": {{\"type\": \"http\", \"url\": \"{url}\"}},\n\"c\": {{\"type\": \"streamable-http\", \"url\": \"{url}\"}},\n\
         \"d\": {{\"type\": \"streamableHttp\", \"url\": \"{url}\"}},\n\"e\": {{\"type\": \"sse\", \"url\": \"{sse}\"}},\n\
         \"f\": {{\"command\": \"/bin/sh\", \"args\": [\"{script}\",]}}, /* and */\n\
         \"g\": {{\"command\": \"x\", \"url\": \"{url}\"}},\n\"h\": {{}},\n\"i\": {{\"command\": [\"a\"]}},\n}},\n}}\n"
    );
    let config = bench.write("shapes.json", text);
    let ran = bench.run(&["list", "--json", "--config", &config]);
    let listed = ran.json();
    let ready: Vec<_> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["status"] == "ready")
        .map(|it| it["label"].clone())
        .collect();
    assert_eq!(Value::from(ready), json!(["a", "b", "c", "d", "e", "f"]), "{ran:?}");
    let shown = bench.run(&["config", "--config", &config]);
    assert_eq!(shown.code, 2, "{shown:?}");
    for (line, label) in [(10, "g"), (11, "h"), (12, "i")] {
        let told = format!("problem DIR/shapes.json:{line}: server \"{label}\": ");
        assert!(shown.stdout.contains(&told), "{}", shown.stdout);
    }
    assert_eq!(shown.stdout.matches("problem ").count(), 3, "{}", shown.stdout);
    let vs_code = bench.write("vs.json", format!("{{\"servers\": {{\"a\": {{\"url\": \"{url}\"}},\n\"a\": {{\"url\": \"{url}\"}}, \"b\": {{\"url\": \"{url}\"}}}}}}"));
    let twice = bench.run(&["list", "--config", &vs_code]);
    assert!(twice.stdout == "b\n  echo()\n" && twice.stderr.contains("lines 1 and 2"), "{twice:?}");
}

#[test]
fn p97_folders_are_those_of_the_file_wherever_the_program_was_started() {
    let bench = Bench::new();
    for folder in ["c/work", "home/x"] {
        std::fs::create_dir_all(bench.path(folder)).unwrap();
    }
    std::fs::rename(noting(&bench), bench.path("c/fake.sh")).unwrap();
    let notes = |name: &str| json!({"NOTES": bench.path(name)});
    let config = bench.config_at(
        "c/mcp.json",
        [
            ("relative", json!({"command": "./fake.sh", "cwd": "./work", "env": notes("r")})),
            ("home", json!({"command": "./fake.sh", "args": ["~user", "~/x"], "cwd": "~/x", "env": notes("h")})),
            ("lost", json!({"command": "./fake.sh", "cwd": "./nope", "env": notes("l")})),
        ],
    );
    let ran = ran_with(&bench, &["list", "--config", &config], &[], "/");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("failed lost: its \"cwd\" DIR/c/nope doesn't exist"), "{}", ran.stderr);
    for (note, folder) in [("r.cwd", "c/work"), ("h.cwd", "home/x")] {
        assert_eq!(bench.read(note).trim_end(), bench.path(folder).display().to_string());
    }
    assert_eq!(bench.read("h.argv").lines().collect::<Vec<_>>(), ["~user", "~/x"], "arguments stay as they are");
    assert!(!bench.path("l.cwd").exists());
}

#[test]
fn p99_a_server_gets_what_programs_need_and_its_own_and_no_secret_of_another() {
    let bench = Bench::new();
    let script = noting(&bench);
    let server = |name: &str, key: &str, inherit: bool| {
        let env = json!({"NOTES": bench.path(name), "API_KEY": key});
        json!({"command": "/bin/sh", "args": [script], "env": env, "inheritEnv": inherit})
    };
    let config = bench.config([("one", server("one", "k-1", false)), ("two", server("two", "k-2", true))]);
    let variables = [("SECRET_X", "1"), ("HTTPS_PROXY", "p"), ("LC_ALL", "C"), ("API_KEY", "k-0")];
    assert_eq!(ran_with(&bench, &["list", "--config", &config], &variables, "/").code, 0);
    let (one, two) = (bench.read("one.env"), bench.read("two.env"));
    for line in ["HTTPS_PROXY=p\n", "LC_ALL=C\n", "API_KEY=k-1\n", "PATH=/usr/bin:/bin\n"] {
        assert!(one.contains(line), "{line}: {one}");
    }
    assert!(!one.contains("SECRET_X") && !one.contains("k-2") && !one.contains("k-0"), "{one}");
    assert!(two.contains("SECRET_X=1\n") && two.contains("API_KEY=k-2\n") && !two.contains("k-1"), "{two}");
}

#[test]
fn p67_a_header_that_would_end_its_line_is_refused_and_nothing_is_sent() {
    let (bench, fake) = (Bench::new(), HttpScript::new().start());
    for headers in [json!({"X-A": "b\r\nX-B: c"}), json!({"X-A": "b\0"}), json!({"X-A\r\nX-B": "c"})] {
        let config = bench.config([("s", json!({"url": fake.url(), "headers": headers}))]);
        let ran = bench.run(&["list", "--config", &config]);
        assert!(ran.code == 2 && ran.stderr.contains("X-A") && ran.stderr.contains("mcp-test.json:2"), "{ran:?}");
    }
    assert!(fake.log().requests().is_empty());
}
