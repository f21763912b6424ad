//! Framing and raw output.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline_tests::*;

use crate::peer::Peer;

fn pinged(script: Script) -> Vec<u8> {
    let mut peer = Peer::start(&script);
    peer.request(1, "ping", json!({}));
    peer.rest()
}

const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

#[test]
fn messages_are_framed_as_set() {
    assert_eq!(pinged(Script::new()), format!("{PONG}\n").as_bytes());
    assert_eq!(pinged(Script::new().crlf()), format!("{PONG}\r\n").as_bytes());
    assert_eq!(pinged(Script::new().bom()), format!("\u{FEFF}{PONG}\n").as_bytes());
    assert_eq!(
        pinged(Script::new().content_length()),
        format!("Content-Length: {}\r\n\r\n{PONG}", PONG.len()).as_bytes()
    );
    let pretty = String::from_utf8(pinged(Script::new().pretty())).unwrap();
    assert!(pretty.starts_with("{\n  \"") && pretty.lines().count() == 5, "{pretty}");
}

#[test]
fn noise_is_written_before_and_between() {
    let noise = "====\n\u{1F600}\n\n[INFO] listening\n\u{1b}[31mred\u{1b}[0m\n";
    let script = Script::new()
        .on("@start", [write(noise), bytes(b"\xff\xfe garbage\n")])
        .on("ping", [line("{not json"), default_answer(), write("\r\n")]);
    let expected = [noise.as_bytes(), b"\xff\xfe garbage\n{not json\n", PONG.as_bytes(), b"\n\r\n"].concat();
    assert_eq!(pinged(script), expected);
}

#[test]
fn pieces_have_a_pause_between() {
    let began = Instant::now();
    assert_eq!(pinged(Script::new().pieces(1, 500)), format!("{PONG}\n").as_bytes());
    let least = Duration::from_micros(500) * PONG.len() as u32;
    assert!(began.elapsed() >= least, "{:?}", began.elapsed());

    let script = Script::new().on("ping", [in_pieces(7, 100, [respond(json!("日本語🎉é"))]), line("whole")]);
    assert!(pinged(script).ends_with("\"日本語🎉é\"}\nwhole\n".as_bytes()));
}

#[test]
fn big_results_are_fast() {
    let mut peer = Peer::start(&Script::new().on(call("echo"), [text("$REPEAT(10000000,é)")]));
    peer.call(1, "echo", json!({}));
    let line = peer.line();
    assert_eq!(line.matches('é').count(), 10_000_000);
}

#[test]
fn a_deep_result_is_written() {
    let deep = r#"{"jsonrpc":"2.0","id":$ID,"result":$REPEAT(200000,{"a":)1$REPEAT(200000,})}"#;
    let mut peer = Peer::start(&Script::new().on(call("echo"), [line(deep)]));
    peer.call(1, "echo", json!({}));
    assert_eq!(peer.line().matches("{\"a\":").count(), 200_000);
}

#[test]
fn a_flood_has_no_line_end_and_stops_with_its_reader() {
    use std::io::Read as _;
    use std::process::Stdio;
    let dir = TempDir::new();
    let log = Log::at(dir.join("log"));
    let script = Script::new().log(log.path()).ignore_eof().on("@start", [flood("ab"), exit(4)]);
    let mut child =
        crate::peer::command().args(script.args()).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut block = vec![0; 1 << 20];
    stdout.read_exact(&mut block).unwrap();
    assert!(block.chunks(2).all(|pair| pair == b"ab"));
    drop(stdout);
    let status = eventually("the fake to notice", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(4));
    assert!(log.notes().contains(&"stdout closed by the client".to_owned()), "{:?}", log.notes());
}

#[test]
fn forever_goes_on_until_stdout_is_closed() {
    let script = Script::new().on("ping", [background([forever([notify_with("n", json!("$I"))]), exit(5)])]);
    let mut peer = Peer::start(&script);
    peer.request(1, "ping", json!({}));
    for i in 1..=100 {
        assert_eq!(peer.json()["params"], json!(i));
    }
    peer.request(2, "tools/list", json!({}));
    while peer.json().get("result").is_none() {}
}

#[test]
fn stdout_can_be_closed_alone() {
    let script = Script::new().on(call("echo"), [text("last"), close_stdout()]).on("ping", [exit(6)]);
    let mut peer = Peer::start(&script);
    peer.call(1, "echo", json!({}));
    assert_eq!(peer.text(), "last");
    assert_eq!(peer.bytes(), b"");
    assert!(peer.is_running());
    peer.request(2, "ping", json!({}));
    assert_eq!(peer.status().code(), Some(6));
}
