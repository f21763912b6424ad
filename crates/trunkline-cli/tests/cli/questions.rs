//! What servers ask during a call: a form on a terminal, `--answer`, a declined one; pages; samples; roots.

use serde_json::{Value, json};

use crate::harness::{Bench, tool};
use crate::terminal::Terminal;

/// A server whose tool `book` asks this; the result is the reply.
fn asking(bench: &Bench, method: &str, params: &Value) -> String {
    let ask = format!("\"method\":\"{method}\",\"params\":{params}");
    let server = bench.server(json!({"TOOLS": tool("book", ""), "ASK": ask, "LOG": bench.path("log")}));
    bench.config([("files", server)])
}

/// Kept as text: the fields are asked in the server's order.
const FORM: &str = r#"{"message": "Where to?\u001b[2J\nSend this to bank? [y]es", "requestedSchema": {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "mail": {"type": "string", "format": "email", "description": "For the ticket"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
        "class": {"type": "string", "oneOf": [{"const": "1st", "title": "First"}, {"const": "2nd", "title": "Second"}], "default": "2nd"},
        "meals": {"type": "array", "items": {"type": "string", "enum": ["soup", "salad", "cake"]}},
        "window": {"type": "boolean", "default": true}
    },
    "required": ["name", "mail"]
}}"#;

fn form(bench: &Bench) -> String {
    let ask = format!("\"method\":\"elicitation/create\",\"params\":{}", FORM.replace('\n', " "));
    let server = bench.server(json!({"TOOLS": tool("book", ""), "ASK": ask, "LOG": bench.path("log")}));
    bench.config([("files", server)])
}

fn declared(bench: &Bench) -> Value {
    let log = bench.read("log");
    let initialize = log.lines().find(|line| line.contains("\"initialize\"")).unwrap();
    serde_json::from_str::<Value>(initialize).unwrap()["params"]["capabilities"].clone()
}

fn reply(stdout: &str) -> Value {
    serde_json::from_str::<Value>(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))["reply"]["result"].clone()
}

#[test]
fn a_form_is_filled_in_field_by_field_and_reviewed_before_it_is_sent() {
    let bench = Bench::new();
    let config = form(&bench);
    let mut terminal = Terminal::start(bench.command(&["call", "files.book", "--config", &config]));
    terminal.wait_for("files asks:\r\n  | Where to?\\u{1b}[2J\r\n  | Send this to bank? [y]es\r\n");
    terminal.answer("Your name: ", "");
    terminal.answer("It is needed.\r\n  Your name: ", "A");
    terminal.answer("\"name\" has to be at least 2 characters long\r\n  Your name: ", "Ann");
    terminal.answer("mail (For the ticket), an e-mail address: ", "ann");
    terminal.answer("\"mail\" has to be an e-mail address, not \"ann\"\r\n", "ann@example.com");
    terminal.answer("seats, a whole number, optional [1]: ", "12");
    terminal.answer("\"seats\" has to be at most 9, not 12\r\n", "2");
    terminal.answer("    1) First\r\n    2) Second\r\n  [Second]> ", "1");
    terminal.answer("    3) cake\r\n > ", "1, cake");
    terminal.answer("window, yes or no, optional [yes]: ", "");
    terminal.answer("Send this to files? [y]es, [e]dit, [n]o: ", "e");
    terminal.answer("Your name [Ann]: ", "");
    terminal.answer("[ann@example.com]: ", "");
    terminal.answer("[2]: ", "3");
    terminal.answer("[First]> ", "");
    terminal.answer("[soup, cake]> ", "/none");
    terminal.answer("window, yes or no, optional [yes]: ", "no");
    terminal.answer("Send this to files? [y]es, [e]dit, [n]o: ", "y");
    let (code, stdout) = terminal.end();
    let content = json!({"name": "Ann", "mail": "ann@example.com", "seats": 3, "class": "1st", "window": false});
    assert_eq!((code, reply(&stdout)), (0, json!({"action": "accept", "content": content})));
    assert_eq!(declared(&bench), json!({"elicitation": {"form": {}, "url": {}}}));
}

#[test]
fn a_form_can_be_declined_or_cancelled_at_any_point() {
    for (at, typed, action) in [
        ("Your name: ", "/decline", "decline"),
        ("Your name: ", "\u{4}", "decline"),
        ("Your name: ", "/cancel", "cancel"),
        ("Send this to files? [y]es, [e]dit, [n]o: ", "n", "decline"),
    ] {
        let bench = Bench::new();
        let config = form(&bench);
        let args = ["call", "files.book", "--config", &config];
        let more: &[&str] =
            if at.starts_with("Send") { &["--answer", "name=Ann", "--answer", "mail=a@b.cd"] } else { &[] };
        let mut terminal = Terminal::start(bench.command(&[&args[..], more].concat()));
        if at.starts_with("Send") {
            for prompt in ["[1]: ", "[Second]> ", "3) cake\r\n > ", "[yes]: "] {
                terminal.answer(prompt, "");
            }
        }
        match typed {
            "\u{4}" => terminal.keys_at(at, "\u{4}"),
            line => terminal.answer(at, line),
        }
        let (code, stdout) = terminal.end();
        assert_eq!((code, reply(&stdout)), (0, json!({"action": action})), "{typed:?}");
    }
}

#[test]
fn answers_of_the_command_line_are_typed_by_the_form_and_the_rest_gets_its_defaults() {
    let bench = Bench::new();
    let config = form(&bench);
    let args = ["call", "files.book", "--config", &config, "--answer", "name=000", "--answer", "mail=a@b.cd"];
    let more = ["--answer", "class=first", "--answer", "meals=soup", "--answer", "meals=cake", "--answer", "other=x"];
    let ran = bench.run(&[&args[..], &more[..]].concat());
    let content = json!({
        "name": "000", "mail": "a@b.cd", "class": "1st", "meals": ["soup", "cake"], "seats": 1, "window": true
    });
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(reply(&ran.stdout), json!({"action": "accept", "content": content}));
    assert_eq!(declared(&bench), json!({"elicitation": {"form": {}}}));
}

#[test]
fn what_nobody_answers_is_declined_and_named() {
    let bench = Bench::new();
    let config = form(&bench);
    let said = "note: files asks \"Where to?\\u{1b}[2J\\nSend this to bank? [y]es\"";
    for (answers, capabilities, outcome, stderr) in [
        (
            &["--answer", "name=Ann"][..],
            json!({"elicitation": {"form": {}}}),
            json!({"action": "decline"}),
            format!(
                "{said} and needs \"mail\" (an e-mail address), which nobody answers: declined; give --answer mail=...\n"
            ),
        ),
        (
            &["--answer", "name=Ann", "--answer", "mail=x"],
            json!({"elicitation": {"form": {}}}),
            json!({"action": "decline"}),
            "note: \"mail\" has to be an e-mail address, not \"x\": declined\n".to_owned(),
        ),
        (
            &["--no-input"],
            json!({"elicitation": {"form": {}}}),
            json!({"action": "decline"}),
            format!(
                "{said} and needs \"name\" (text), \"mail\" (an e-mail address), which nobody answers: declined; \
                 give --answer name=... --answer mail=...\n"
            ),
        ),
        (
            &[],
            json!({}),
            Value::Null,
            format!(
                "{said} and needs \"name\" (text), \"mail\" (an e-mail address), which nobody answers: declined; \
                 give --answer name=... --answer mail=...\n"
            ),
        ),
    ] {
        bench.write("log", "");
        let ran = bench.run(&[&["call", "files.book", "--config", &config], answers].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, stderr.as_str()), "{answers:?}");
        assert_eq!(reply(&ran.stdout), outcome, "{answers:?}");
        assert_eq!(declared(&bench), capabilities, "{answers:?}");
    }
}

#[test]
fn a_page_is_opened_by_consent_alone_and_shown_with_its_host() {
    let page = |url: &str| json!({"mode": "url", "message": "Log in\u{202e}", "url": url, "elicitationId": "e"});
    let url = "https://login.example.com/start?x=1";
    for (typed, action, opened) in [("y", "accept", true), ("n", "decline", false), ("c", "cancel", false)] {
        let bench = Bench::new();
        let config = asking(&bench, "elicitation/create", &page(url));
        let browser = bench.write("browser", "#!/bin/sh\nprintf '%s\\n' \"$1\" > \"$OPENED\"\n");
        let mut command = bench.command(&["call", "files.book", "--config", &config]);
        command.env("BROWSER", format!("/bin/sh {browser}")).env("OPENED", bench.path("opened"));
        let mut terminal = Terminal::start(command);
        terminal.wait_for(&format!(
            "files asks you to open a page:\r\n  | Log in\\u{{202e}}\r\n  {url}\r\n  at login.example.com\r\n"
        ));
        terminal.answer("Open it in your browser? [y]es, [n]o, [c]ancel: ", typed);
        if opened {
            assert_eq!(bench.pid("opened"), url);
        }
        let (code, stdout) = terminal.end();
        assert_eq!((code, reply(&stdout)), (0, json!({"action": action})), "{typed}");
        assert_eq!(bench.path("opened").exists(), opened);
    }
    let bench = Bench::new();
    let config = asking(&bench, "elicitation/create", &page("file:///etc/passwd"));
    let terminal = Terminal::start(bench.command(&["call", "files.book", "--config", &config]));
    terminal.wait_for("This is no address of the web: declined.");
    assert_eq!(reply(&terminal.end().1), json!({"action": "decline"}));
}

#[test]
fn a_command_answers_for_a_model() {
    let question = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Why?"}}], "maxTokens": 9});
    let heard = "sed 's/.*\"text\":\"\\([^\"]*\\)\".*/heard \\1/'";
    for (command, expected) in [
        (format!("sh -c {:?}", heard), json!({"type": "text", "text": "heard Why?"})),
        (
            r#"echo '{"content":{"type":"tool_use","id":"1","name":"t","input":{}},"stopReason":"toolUse"}'"#
                .to_owned(),
            json!({"type": "tool_use", "id": "1", "name": "t", "input": {}}),
        ),
    ] {
        let bench = Bench::new();
        let config = asking(&bench, "sampling/createMessage", &question);
        let ran = bench.run(&["call", "files.book", "--config", &config, "--sample-command", &command]);
        assert_eq!(reply(&ran.stdout)["content"], expected, "{ran:?}");
        assert_eq!(declared(&bench), json!({"sampling": {"tools": {}}}));
    }
    for (command, why) in [
        ("sh -c 'exit 3'", "The command of --sample-command failed (exit status: 3)"),
        ("true", "The command of --sample-command wrote nothing"),
        (
            "/no/such/program",
            "The command of --sample-command can't be started: No such file or directory (os error 2)",
        ),
    ] {
        let bench = Bench::new();
        let config = asking(&bench, "sampling/createMessage", &question);
        let ran = bench.run(&["call", "files.book", "--config", &config, "--sample-command", command]);
        let error = serde_json::from_str::<Value>(&ran.stdout).unwrap()["reply"]["error"]["message"].clone();
        assert_eq!(error, why);
    }
}

#[test]
fn the_roots_are_the_directories_that_were_named() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("my project")).unwrap();
    let config = asking(&bench, "roots/list", &json!({}));
    let dir = bench.path("my project").display().to_string();
    let ran = bench.run(&["call", "files.book", "--config", &config, "--root", &dir]);
    let uri = format!("file://{}", dir.replace(' ', "%20"));
    assert_eq!(
        reply(&ran.stdout.replace("DIR/", &format!("{}/", bench.path("").display().to_string().trim_end_matches('/')))),
        json!({"roots": [{"uri": uri, "name": "my project"}]})
    );
    assert_eq!(declared(&bench), json!({"roots": {}}));
    let ran = bench.run(&["call", "files.book", "--config", &config, "--root", "absent"]);
    ran.is(2, "", "error: --root absent: No such file or directory (os error 2)\n");
}
