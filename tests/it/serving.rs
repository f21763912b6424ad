//! The serving side, message by message: what a client of any make may send, and what it gets for it.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};
use trunkline::{Client, EventKind};
use trunkline_tests::contract::server;
use trunkline_tests::{TempDir, eventually, limit};

/// The program `contract-server`, spoken to by hand.
struct Served {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    kept: VecDeque<Value>,
}

impl Served {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_contract-server"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { input: child.stdin.take(), child, lines, kept: VecDeque::new() }
    }

    fn line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn send(&mut self, id: Value, method: &str, params: Value) {
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
    }

    fn next(&mut self) -> Value {
        self.kept.pop_front().unwrap_or_else(|| {
            let line = self.lines.recv_timeout(limit()).expect("another line");
            serde_json::from_str(&line).expect("every line is JSON")
        })
    }

    /// The next answer to this id; what comes before it is kept.
    fn answer(&mut self, id: &Value) -> Value {
        let mut others = VecDeque::new();
        let found = loop {
            let message = self.next();
            if message.get("id") == Some(id) {
                break message;
            }
            others.push_back(message);
        };
        self.kept.extend(others);
        found
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = json!("asked");
        self.send(id.clone(), method, params);
        self.answer(&id)
    }

    /// Ends the input; what is still said, and the exit code.
    fn end(mut self) -> (Vec<Value>, Option<i32>) {
        drop(self.input.take());
        let rest = self.lines.iter().map(|line| serde_json::from_str(&line).unwrap());
        let rest = self.kept.drain(..).chain(rest).collect();
        (rest, self.child.wait().unwrap().code())
    }
}

fn echo(text: &str) -> Value {
    json!({"name": "echo", "arguments": {"text": text}})
}

#[test]
fn p92_ids_come_back_with_their_own_type_and_spelling() {
    let mut served = Served::start();
    for id in ["7", "\"7\"", "\"abc\"", "0", "-1", "1.5", "18446744073709551616", "\"\"", "\"é\\u0000\""] {
        served.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{}}}"#, echo(id)));
        let line = served.lines.recv_timeout(limit()).unwrap();
        assert!(line.contains(&format!(r#""id":{id},"#)), "{id}: {line}");
    }
}

#[test]
fn p92_an_id_in_use_is_refused_and_the_first_call_goes_on() {
    let mut served = Served::start();
    let dir = TempDir::new();
    let notes = dir.join("notes");
    served.send(json!(1), "tools/call", json!({"name": "hang", "arguments": {"notes": notes}}));
    eventually("the call to begin", || dir.join("notes.begun").exists().then_some(()));
    served.send(json!(1), "tools/call", echo("x"));
    assert_eq!(served.answer(&json!(1))["error"]["code"], -32600);
    served.send(json!("1"), "tools/call", echo("x"));
    assert_eq!(served.answer(&json!("1"))["result"]["content"][0]["text"], "x");
    assert!(!dir.join("notes.dropped").exists());
    served.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    eventually("the call to be dropped", || dir.join("notes.dropped").exists().then_some(()));
    served.send(json!(1), "ping", json!({}));
    assert_eq!(served.answer(&json!(1))["result"], json!({}), "a cancelled call gets no answer; its id is free");
}

#[test]
fn a_client_that_goes_takes_its_calls_with_it() {
    let mut served = Served::start();
    let dir = TempDir::new();
    served.send(json!(1), "tools/call", json!({"name": "hang", "arguments": {"notes": dir.join("notes")}}));
    eventually("the call to begin", || dir.join("notes.begun").exists().then_some(()));
    let (rest, code) = served.end();
    assert_eq!((rest, code), (vec![], Some(0)));
    assert!(dir.join("notes.dropped").exists());
}

#[test]
fn what_was_answered_is_written_before_the_end() {
    let mut served = Served::start();
    let long = "x".repeat(100_000);
    for id in 0..50 {
        served.send(json!(id), "tools/call", echo(&long));
    }
    served.answer(&json!(49));
    let (rest, code) = served.end();
    assert_eq!((rest.len(), code), (49, Some(0)));
}

#[test]
fn the_output_need_not_be_a_pipe_though_the_input_is() {
    let dir = TempDir::new();
    let told = dir.join("told");
    let mut child = Command::new(env!("CARGO_BIN_EXE_contract-server"))
        .stdin(Stdio::piped())
        .stdout(std::fs::File::create(&told).unwrap())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for id in 1..=2 {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).unwrap();
        let lines = || std::fs::read_to_string(&told).unwrap().lines().count();
        eventually("an answer", || (lines() == id).then_some(()));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_is_no_message_is_told_and_put_up_with() {
    let mut served = Served::start();
    for (line, code) in
        [("garbage", Some(-32700)), ("{\"jsonrpc\":", Some(-32700)), ("", None), ("[]", None), ("7", Some(-32700))]
    {
        served.line(line);
        if let Some(code) = code {
            let answer = served.next();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)), "{line}");
        }
    }
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/vendor","params":[1]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
    ] {
        served.line(line);
    }
    assert_eq!(served.ask("ping", json!({}))["result"], json!({}), "nothing was said meanwhile");
    assert!(served.kept.is_empty(), "{:?}", served.kept);
}

#[test]
fn p20_p24_batches_and_missing_parts_are_understood() {
    let mut served = Served::start();
    served.line(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping","params":null}]"#);
    assert_eq!(served.answer(&json!(1))["result"], json!({}));
    assert_eq!(served.answer(&json!(2))["result"], json!({}));
    served.line("{\"id\":3,\"method\":\"ping\"}\r");
    assert_eq!(served.answer(&json!(3))["result"], json!({}));
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": 7}), -32602),
        ("tools/call", json!({"name": "nope"}), -32602),
        ("tools/call", json!({"name": "echo", "arguments": [1]}), -32602),
        ("tools/list", json!({"cursor": "x"}), -32602),
        ("resources/read", json!({"uri": "x:y"}), -32002),
        ("prompts/get", json!({"name": "nope"}), -32602),
    ] {
        assert_eq!(served.ask(method, params.clone())["error"]["code"], code, "{method} {params}");
    }
    assert_eq!(served.ask("tools/call", json!({"name": "chat", "arguments": null}))["result"]["content"], json!([]));
}

#[test]
fn the_revision_that_was_asked_for_is_spoken_if_it_is_known() {
    for (asked, spoken) in [
        (json!("2024-11-05"), "2024-11-05"),
        (json!("2025-06-18"), "2025-06-18"),
        (json!("1999-01-01"), "2025-11-25"),
        (json!(7), "2025-11-25"),
        (Value::Null, "2025-11-25"),
    ] {
        let mut served = Served::start();
        let answer = served.ask("initialize", json!({"protocolVersion": asked, "capabilities": {}}));
        assert_eq!(answer["result"]["protocolVersion"], spoken, "{asked}");
        assert_eq!(answer["result"]["serverInfo"], json!({"name": "contract", "version": "1.2.3"}));
    }
}

#[tokio::test]
async fn log_messages_go_out_from_the_level_that_was_set() {
    let client = Client::in_memory(server()).build().unwrap();
    assert!(client.info().await.unwrap().offers("logging"));
    for (level, heard) in [("error", false), ("warning", true), ("emergency", false), ("debug", true)] {
        let mut events = client.events();
        client.request("logging/setLevel", Some(json!({"level": level}).into())).await.unwrap();
        client.call_tool("chat", ()).await.unwrap();
        client.disconnect().await;
        client.request("logging/setLevel", Some(json!({"level": level}).into())).await.unwrap();
        let mut messages = 0;
        loop {
            match events.next().await.unwrap().kind {
                EventKind::Log(_) => messages += 1,
                EventKind::Closed => break,
                _ => {}
            }
        }
        assert_eq!(messages, usize::from(heard), "{level}");
    }
    let error = client.request("logging/setLevel", Some(json!({"level": "loud"}).into())).await.unwrap_err();
    assert_eq!(error.code(), Some(-32602));
    assert!(error.message().contains("emergency"), "{error}");
}
