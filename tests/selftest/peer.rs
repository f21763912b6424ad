//! `Peer`: a fake as a child with its three pipes, read with a limit.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};
use trunkline_tests::{Script, eventually, limit};

pub(crate) struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Receiver<String>,
}

impl Peer {
    pub(crate) fn start(script: &Script) -> Peer {
        Peer::run(command().args(script.args()))
    }

    pub(crate) fn run(command: &mut Command) -> Peer {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (lines, stderr) = (lines(child.stdout.take().unwrap()), whole(child.stderr.take().unwrap()));
        Peer { stdin: child.stdin.take(), child, lines, stderr }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Sends a request and gives its id.
    pub(crate) fn request(&mut self, id: u64, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
    }

    pub(crate) fn notify(&mut self, method: &str) {
        self.send(&json!({"jsonrpc": "2.0", "method": method}).to_string());
    }

    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        self.request(id, "tools/call", json!({"name": tool, "arguments": arguments}));
    }

    /// The next line of stdout with its line end; empty at the end.
    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        self.lines.recv_timeout(limit()).expect("a line on stdout in time")
    }

    pub(crate) fn line(&mut self) -> String {
        String::from_utf8(self.bytes()).unwrap().trim_end_matches('\n').to_owned()
    }

    pub(crate) fn json(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The text of the answer to a tool call.
    pub(crate) fn text(&mut self) -> String {
        let answer = self.json();
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes stdin and gives the rest of stdout.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        self.close_stdin();
        std::iter::from_fn(|| Some(self.bytes()).filter(|line| !line.is_empty())).flatten().collect()
    }

    pub(crate) fn status(&mut self) -> ExitStatus {
        eventually("the fake to end", || self.child.try_wait().unwrap())
    }

    /// All of stderr, once it has ended.
    pub(crate) fn stderr(&mut self) -> String {
        self.stderr.recv_timeout(limit()).expect("the end of stderr in time")
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fake"))
}

fn lines(stdout: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        loop {
            let mut line = Vec::new();
            let read = stdout.read_until(b'\n', &mut line).unwrap_or(0);
            if sender.send(line).is_err() || read == 0 {
                return;
            }
        }
    });
    lines
}

fn whole(mut stderr: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, text) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stderr.read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    text
}
