//! The program `fake` behind HTTP: what is posted reaches it as it is, and each line it writes is delivered where it
//! belongs.

use serde_json::json;
use trunkline_tests::http::Bridge;
use trunkline_tests::*;

use crate::http::Raw;

const FAKE: &str = env!("CARGO_BIN_EXE_fake");

fn message(id: u64, method: &str) -> serde_json::Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": "echo"}})
}

fn address(bridge: &Bridge) -> std::net::SocketAddr {
    bridge.url().split('/').nth(2).unwrap().parse().unwrap()
}

#[test]
fn an_answer_alone_is_json_and_more_is_a_stream() {
    let dir = TempDir::new();
    let log = Log::at(dir.join("log"));
    let script = Script::new().log(log.path()).on("tools/call", [line("noise"), text("ok"), line("after")]);
    let bridge = Bridge::start(FAKE, &script.write_to(&dir), false);
    let mut peer = Raw::to(address(&bridge));
    peer.post("", &message(1, "ping"));
    let alone = peer.until(r#""id":1,"result":{}}"#);
    assert!(alone.contains("Content-Type: application/json\r\n"), "{alone}");
    peer.post("", &message(2, "tools/call"));
    let stream = peer.until("0\r\n\r\n");
    assert!(stream.contains("Content-Type: text/event-stream\r\n"), "{stream}");
    let (noise, answer) = (stream.find("data: noise\n\n").unwrap(), stream.find("data: {\"jsonrpc\"").unwrap());
    assert!(noise < answer && !stream.contains("after"), "{stream}");
    let mut standing = Raw::to(address(&bridge));
    standing.send("GET", "/mcp", "", "");
    standing.until("data: after\n");
    assert_eq!(log.lines(), [message(1, "ping").to_string(), message(2, "tools/call").to_string()]);
}

#[test]
fn behind_sse_every_line_is_an_event_of_the_one_stream() {
    let dir = TempDir::new();
    let script = Script::new().on("tools/call", [line("noise"), text("ok")]);
    let bridge = Bridge::start(FAKE, &script.write_to(&dir), true);
    let mut stream = Raw::to(address(&bridge));
    stream.send("GET", "/sse", "", "");
    stream.until("data: /messages?session=A\n");
    let mut peer = Raw::to(address(&bridge));
    peer.send("POST", "/messages?session=A", "", &message(1, "tools/call").to_string());
    peer.until("202");
    let said = stream.until("\"id\":1,");
    assert!(said.contains("data: noise\n"), "{said}");
}

/// A program that is gone leaves nobody waiting.
#[test]
fn a_program_that_ends_ends_the_answers() {
    let dir = TempDir::new();
    let script = Script::new().on("tools/call", [exit(1)]);
    let bridge = Bridge::start(FAKE, &script.write_to(&dir), false);
    let mut peer = Raw::to(address(&bridge));
    peer.post("", &message(1, "tools/call"));
    assert_eq!(peer.rest().0, "");
}
