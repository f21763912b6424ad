//! Servers over HTTP: `--url`, `--header`, `--bearer-env`, and what `check` says of each stage.

use std::net::TcpListener;

use serde_json::json;
use trunkline_tests::http::*;

use crate::harness::{Bench, Ran, signal, wait_until};

/// What was printed, with the fake's address as ADDRESS.
fn shown(ran: &Ran, address: impl ToString) -> String {
    ran.timeless().replace(&address.to_string(), "ADDRESS")
}

/// The lines of a check from the stages of HTTP on.
fn stages(bench: &Bench, url: &str, address: impl ToString) -> (i32, Vec<String>) {
    let ran = bench.run(&["check", "--start-timeout", "500ms", "--url", url]);
    let shown = shown(&ran, address);
    (ran.code, shown.lines().skip(3).map(str::to_owned).collect())
}

#[test]
fn a_server_is_listed_and_called_by_its_url() {
    let (bench, fake) = (Bench::new(), HttpScript::new().start());
    let url = format!("fake={}", fake.url());
    let ran = bench.run(&["list", "--url", &url, "--header", "X-Team: blue"]);
    ran.is(0, "fake\n  echo()\n", "1 tool from 1 server\n");
    let ran = bench.run(&["call", "--url", &url, "--header", "X-Team: blue", "fake.echo", "text=hi"]);
    ran.is(0, "hi\n", "");
    assert!(fake.log().requests().iter().all(|request| request.header("x-team") == Some("blue")));
    assert_eq!(fake.log().of("DELETE").len(), 2, "each run ends its session");
    assert!(fake.sessions().is_empty());
}

#[test]
fn the_older_transport_is_found_out() {
    let (bench, fake) = (Bench::new(), HttpScript::new().legacy_sse().start());
    let ran = bench.run(&["call", "--url", &fake.url(), "echo", "text=hi"]);
    ran.is(0, "hi\n", "");
}

#[test]
fn a_token_comes_from_the_environment_and_is_never_shown() {
    let wanted = |request: &HttpRequest| request.header("authorization") != Some("Bearer s3cr3t-AAA");
    let (bench, fake) = (Bench::new(), HttpScript::new().on(any().test(wanted), [send(reply(401))]).start());
    let call = |args: &[&str], token: Option<&str>| {
        let mut command = bench.command(&[&["call", "--url", &fake.url(), "echo", "text=hi"], args].concat());
        command.envs(token.map(|token| ("MY_TOKEN", token)));
        bench.ran(&command.output().unwrap())
    };
    call(&["--bearer-env", "MY_TOKEN"], Some("s3cr3t-AAA")).is(0, "hi\n", "");
    let ran = call(&["--bearer-env", "MY_TOKEN", "-vvv"], Some("wrong-BBB"));
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("401") && ran.stderr.contains("refused the token"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("wrong-BBB") && !ran.stdout.contains("wrong-BBB"), "{}", ran.stderr);
    let ran = call(&[], None);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("--bearer-env"), "{}", ran.stderr);
    let ran = call(&["--bearer-env", "MY_TOKEN"], None);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("MY_TOKEN, which is not set"), "{}", ran.stderr);
}

#[test]
fn check_shows_how_far_it_came() {
    let (bench, fake) = (Bench::new(), HttpScript::new().start());
    let ran = bench.run(&["check", "--url", &format!("fake={}", fake.url())]);
    assert_eq!(
        shown(&ran, fake.address()),
        "fake\n\
         ok config from the command line\n\
         ok variables TIME\n\
         ok address http://ADDRESS/mcp\n\
         ok name TIME 127.0.0.1\n\
         ok connect TIME ADDRESS\n\
         ok status TIME 200 OK\n\
         ok content type TIME application/json\n\
         ok handshake TIME fake 1, protocol 2025-06-18\n\
         ok capabilities tools\n\
         ok tools TIME 1"
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "1 server: 1 fine\n"));
}

#[test]
fn p98_check_names_the_stage_that_failed_and_one_fix() {
    let bench = Bench::new();
    let answering = |answer: Reply| HttpScript::new().on(any(), [send(answer)]).start();
    let cases = [
        (
            answering(reply(404)),
            4,
            "FAIL status TIME http://ADDRESS/mcp answered 404 Not Found",
            "fix: There is no MCP endpoint at this path; many servers have theirs at /mcp",
        ),
        (
            answering(reply(500).content("text/html", "<h1>Oops</h1>")),
            6,
            "FAIL status TIME http://ADDRESS/mcp answered 500 Internal Server Error: <h1>Oops</h1>",
            "fix: The server failed; its own log may say why",
        ),
        (
            answering(reply(200).content("text/html", "<form>Log in</form>")),
            6,
            "FAIL content type TIME http://ADDRESS/mcp answered with text/html instead of JSON: <form>Log in</form>",
            "fix: Is this the URL of an MCP endpoint? A login page, for instance, is none",
        ),
        (
            HttpScript::new().on(any(), [hang()]).start(),
            5,
            "FAIL handshake TIME did not answer initialize within 0.5 s (it waited for an HTTP answer)",
            "fix: Run with -vvv to see every message, and look there for the cause",
        ),
    ];
    for (fake, code, failure, fix) in cases {
        let (ended, lines) = stages(&bench, &fake.url(), fake.address());
        assert_eq!(lines[..3], ["ok address http://ADDRESS/mcp", "ok name TIME 127.0.0.1", "ok connect TIME ADDRESS"]);
        let failed: Vec<_> = lines.iter().filter(|line| line.starts_with("FAIL")).collect();
        assert_eq!(failed, [failure]);
        assert_eq!((ended, lines.last().map(String::as_str)), (code, Some(fix)));
    }
}

#[test]
fn check_tells_a_server_that_is_not_there_from_one_without_tls() {
    let bench = Bench::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (code, lines) = stages(&bench, &format!("http://{free}/mcp"), free);
    assert_eq!(lines[2], "FAIL connect TIME can't connect to ADDRESS: Connection refused");
    let fix = "fix: Is the server running, and is the port in the URL right?";
    assert_eq!((code, lines.last().map(String::as_str)), (4, Some(fix)));

    let fake = HttpScript::new().on(accepted(), [wire("HTTP/1.1 400 Bad Request\r\n\r\n"), cut()]).start();
    let (code, lines) = stages(&bench, &fake.url().replace("http://", "https://"), fake.address());
    assert!(lines[3].starts_with("FAIL TLS TIME no TLS with https://ADDRESS: "), "{lines:?}");
    let fix = "fix: The server seems to speak plain HTTP there: try http:// in the URL";
    assert_eq!((code, lines.last().map(String::as_str)), (4, Some(fix)));

    let (code, lines) = stages(&bench, "http://no-such-host.invalid/mcp", "none");
    assert!(lines[1].starts_with("FAIL name TIME can't find no-such-host.invalid:80: "), "{lines:?}");
    assert_eq!(code, 4);
}

#[test]
fn machines_get_the_stages_of_http() {
    let (bench, fake) = (Bench::new(), HttpScript::new().on(any(), [send(reply(401))]).start());
    let ran = bench.run(&["check", "--json", "--url", &fake.url()]);
    let stages = ran.json()["servers"][0]["stages"].as_array().unwrap().clone();
    let names: Vec<_> = stages.iter().map(|stage| stage["stage"].as_str().unwrap()).collect();
    assert_eq!(names, ["config", "variables", "address", "name", "connect", "status", "login"]);
    assert_eq!(stages[6]["error"]["kind"], json!("auth"));
    assert_eq!(ran.code, 3);
}

#[test]
fn p64_a_session_is_ended_however_the_program_ends() {
    for signalled in [None, Some("INT"), Some("TERM")] {
        let (bench, gate) = (Bench::new(), Gate::new());
        let steps = if signalled.is_some() { vec![wait(&gate)] } else { vec![default_answer()] };
        let fake = HttpScript::new().on(rpc_call("echo"), steps).start();
        let child = bench.command(&["call", "--url", &fake.url(), "echo", "text=hi"]).spawn().unwrap();
        wait_until("the call", || !fake.log().rpc("tools/call").is_empty());
        if let Some(name) = signalled {
            signal(&child, name);
        }
        let code = bench.ran(&child.wait_with_output().unwrap()).code;
        assert_eq!(
            code,
            match signalled {
                None => 0,
                Some("INT") => 130,
                Some(_) => 143,
            }
        );
        assert_eq!(fake.log().of("DELETE").len(), 1, "{signalled:?}");
        assert!(fake.sessions().is_empty());
    }
}

/// A server that answers every request with all it was sent.
#[test]
fn p72_what_a_server_throws_back_is_masked() {
    let thrown = act(|request| {
        let all = format!("{request:?} {}", request.text());
        vec![send(reply(500).content("text/plain", all))]
    });
    let (bench, fake) = (Bench::new(), HttpScript::new().on(rpc("tools/list"), [thrown]).start());
    let address = fake.address();
    let entry = json!({
        "url": format!("http://u:pw-BBB@{address}/mcp?api_key=KEY-CCC"),
        "headers": {"Authorization": "Bearer s3cr3t-AAA", "X-Own": "${OWN}"}
    });
    let config = bench.config([("s", entry)]);
    for args in [&["list", "-vvv"][..], &["list", "--json"], &["check", "-vvv"], &["config"], &["config", "--json"]] {
        let args = [args, &["--config", &config]].concat();
        let ran = bench.ran(&bench.command(&args).env("OWN", "own-DDDD").output().unwrap());
        let all = format!("{}{}", ran.stdout, ran.stderr);
        for secret in ["s3cr3t-AAA", "pw-BBB", "KEY-CCC", "own-DDDD"] {
            assert!(!all.contains(secret), "{args:?}: {secret}: {all}");
        }
    }
    assert!(!fake.log().rpc("tools/list").is_empty());
}
