//! The HTTP fake, over raw sockets: each ability that `trunkline_tests::http` lists, shown once.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_tests::http::*;

/// A client that sees every byte.
pub(crate) struct Raw(TcpStream);

impl Raw {
    pub(crate) fn to(address: SocketAddr) -> Raw {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(trunkline_tests::limit())).unwrap();
        Raw(stream)
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len());
        self.0.write_all(request.as_bytes()).unwrap();
    }

    pub(crate) fn post(&mut self, headers: &str, message: &Value) {
        self.send("POST", "/mcp", headers, &message.to_string());
    }

    /// Reads until the text is there.
    pub(crate) fn until(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&seen).contains(text) {
            assert_eq!(self.0.read(&mut byte).expect("more to read"), 1, "{:?}", String::from_utf8_lossy(&seen));
            seen.push(byte[0]);
        }
        String::from_utf8(seen).unwrap()
    }

    /// Reads to the end of the connection, which may be a reset.
    pub(crate) fn rest(&mut self) -> (String, bool) {
        let mut seen = Vec::new();
        let reset = match self.0.read_to_end(&mut seen) {
            Ok(_) => false,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
            Err(error) => panic!("{error}"),
        };
        (String::from_utf8_lossy(&seen).into_owned(), reset)
    }
}

pub(crate) fn message(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn echo(id: u64) -> Value {
    message(id, "tools/call", json!({"name": "echo", "arguments": {"text": "hi"}}))
}

/// What comes for one request, to the end of the connection.
fn asked(script: HttpScript) -> (String, bool) {
    let fake = script.sessionless().start();
    let mut raw = Raw::to(fake.address());
    raw.post("", &echo(7));
    raw.rest()
}

#[test]
fn without_rules_it_is_an_ordinary_server() {
    let fake = HttpScript::new().strict_version().start();
    let mut raw = Raw::to(fake.address());
    raw.post("", &message(1, "initialize", json!({"protocolVersion": "2025-11-25"})));
    let answer = raw.until("\"version\":\"1\"}}}");
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: A\r\n"),
        "{answer}"
    );
    assert!(answer.contains("\"protocolVersion\":\"2025-06-18\""), "{answer}");
    let mut ask = |headers: &str, body: Value, expected: &str| {
        raw.post(headers, &body);
        raw.until(expected)
    };
    let session = "mcp-session-id: A\r\nMCP-Protocol-Version: 2025-06-18\r\n";
    ask(session, json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), "202 Accepted");
    ask(session, echo(2), r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"text":"hi","type":"text"}]}}"#);
    ask(session, message(3, "tools/list", json!({})), r#""name":"echo""#);
    ask(session, message(4, "tools/call", json!({"name": "nope"})), "-32602");
    ask(session, message(5, "no/such", json!({})), "-32601");
    ask("mcp-session-id: A\r\n", echo(6), "400 Bad Request");
    ask("", echo(6), "400 Bad Request");
    ask("mcp-session-id: Z\r\n", echo(6), "404 Not Found");
    for (method, path, status) in [("GET", "/mcp", "405"), ("GET", "/other", "404"), ("DELETE", "/mcp", "200")] {
        raw.send(method, path, session, "");
        raw.until(&format!("HTTP/1.1 {status}"));
    }
    assert!(fake.sessions().is_empty());
    assert_eq!((fake.log().connections(), fake.log().requests().len()), (1, 12));
    assert_eq!(fake.log().rpc("tools/call")[0].header("Mcp-Session-Id"), Some("A"));
}

#[test]
fn responses_are_framed_as_asked() {
    let with = |reply: Reply| asked(HttpScript::new().on(post(), [send(reply), cut()])).0;
    assert_eq!(
        with(reply(503).header("Retry-After", "1").body("busy")),
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy"
    );
    assert_eq!(
        with(reply(200).body("$ID").chunked()),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n7\r\n0\r\n\r\n"
    );
    assert_eq!(with(reply(200).body("x").until_closed()), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx");
    assert!(with(redirect(307, "/there")).starts_with("HTTP/1.1 307 Temporary Redirect\r\nLocation: /there\r\n"));
    assert!(with(lost_session()).contains("-32001"));
}

#[test]
fn streams_are_written_step_by_step() {
    let steps = [
        sse(),
        comment("hi"),
        event(Event::empty().id("1").retry(300)),
        event(Event::notification("n", json!({})).crlf()),
        event(Event::result(json!({})).name("message").last_first().compact()),
        cut(),
    ];
    let (answer, _) = asked(HttpScript::new().on(post(), steps));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("Content-Type: text/event-stream"), "{head}");
    assert_eq!(
        body,
        "6\r\n: hi\n\n\r\n18\r\ndata:\nid: 1\nretry: 300\n\n\r\n\
         34\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{}}\r\n\r\n\r\n\
         39\r\nevent:message\ndata:{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n\r\n"
    );
}

#[test]
fn a_connection_ends_at_any_byte() {
    for (steps, seen, reset) in [
        (vec![cut()], "", false),
        (vec![reset()], "", true),
        (vec![cut_at(5), result(json!({}))], "HTTP/", false),
        (vec![reset_at(0), result(json!({}))], "", true),
        (vec![pieces(3, 0), cut_at(40), result(json!({}))], "HTTP/1.1 200 OK\r\nContent-Type: applicati", false),
        (vec![wire("garbage\n"), cut()], "garbage\n", false),
    ] {
        let (answer, was_reset) = asked(HttpScript::new().on(post(), steps));
        assert_eq!((answer.as_str(), was_reset), (seen, reset));
    }
    let fake = HttpScript::new().on(accepted().nth(1), [wire("early"), reset()]).sessionless().start();
    assert!(Raw::to(fake.address()).rest().1);
    let mut second = Raw::to(fake.address());
    second.post("", &echo(1));
    second.until("\"hi\"");
}

#[tokio::test]
async fn the_script_and_the_test_wait_for_each_other() {
    let gate = Gate::new();
    let script = HttpScript::new()
        .on(rpc_call("echo").nth(1), [wait(&gate), set("mood", "calm"), text_result("first")])
        .on(rpc_call("echo").nth(2), [wait_request(get()), text_result("second")])
        .on(rpc_call("echo").when("mood", "calm"), [act(|request| vec![text_result(&request.id())])])
        .on(rpc("ping"), [hang()]);
    let fake = script.sessionless().start();
    let mut raws: Vec<_> = (0..4).map(|_| Raw::to(fake.address())).collect();
    raws[0].post("", &echo(1));
    gate.reached(1).await;
    raws[1].post("", &echo(2));
    fake.log().wait_rpc("tools/call", 2).await;
    gate.open();
    raws[0].until("first");
    raws[2].send("GET", "/mcp", "", "");
    raws[1].until("second");
    raws[0].post("", &echo(33));
    raws[0].until("\"text\":\"33\"");
    raws[3].post("", &message(4, "ping", json!({})));
    fake.log().wait_rpc("ping", 1).await;
    drop(raws.pop());
    fake.log().wait_for("the client to go", |log| (log.closed_by_client() == [4]).then_some(())).await;
}

#[test]
fn what_is_pushed_goes_to_the_streams_that_listen() {
    let fake = HttpScript::new().listening().sessionless().start();
    fake.push(Event::data("early"));
    let mut raw = Raw::to(fake.address());
    raw.send("GET", "/mcp", "", "");
    raw.until("data: early");
    fake.push(Event::data("late"));
    raw.until("data: late");
    fake.end_streams();
    raw.until("0\r\n\r\n");

    let fake = HttpScript::new().legacy_sse().start();
    assert!(fake.url().ends_with("/sse"));
    let (mut stream, mut raw) = (Raw::to(fake.address()), Raw::to(fake.address()));
    stream.send("GET", "/sse", "", "");
    stream.until("event: endpoint\n");
    raw.send("POST", "/messages?session=A", "", &echo(5).to_string());
    raw.until("202 Accepted");
    stream.until("\"id\":5");
    raw.send("POST", "/sse", "", "{}");
    raw.until("405");
}

#[test]
fn a_chunked_request_is_read_whole() {
    let fake = HttpScript::new().sessionless().start();
    let mut raw = Raw::to(fake.address());
    let body = echo(8).to_string();
    let (first, second) = body.split_at(10);
    write!(raw.0, "POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\na\r\n{first}\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(10));
    write!(raw.0, "{:x}\r\n{second}\r\n0\r\n\r\n", second.len()).unwrap();
    raw.until("\"id\":8");
}
