//! The kinds of connections. Each is a client of the server in `trunkline_tests::contract`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};
use trunkline::{Cassette, Client, ClientBuilder, Filtered, MultiServer, Tape, ToolFilter};
use trunkline_tests::TempDir;
use trunkline_tests::contract::server;

const PROGRAM: &str = env!("CARGO_BIN_EXE_contract-server");

/// A kind of connection, connected or not.
pub(super) struct Kind {
    pub(super) client: Client,
    /// What stands before each tool's and prompt's name.
    pub(super) prefix: &'static str,
    /// Whether requests go over the protocol, so that errors come back as codes and logs as events.
    pub(super) over_the_wire: bool,
    /// Whether ending the connection ends the calls that run on it.
    pub(super) ends_calls: bool,
    /// Whether what is said during a call comes before its answer. Where every answer is plain JSON, it comes beside.
    pub(super) in_order: bool,
    _program: Option<HttpProgram>,
    dir: TempDir,
}

impl Kind {
    fn new(client: ClientBuilder) -> Self {
        let client = client.build().unwrap();
        let dir = TempDir::new();
        Self { client, prefix: "", over_the_wire: true, ends_calls: true, in_order: true, dir, _program: None }
    }

    fn prefixed(self) -> Self {
        Self { prefix: "srv_", ..self }
    }

    /// A client of the program, which serves over HTTP.
    fn over_http(mode: &str, client: impl FnOnce(String) -> ClientBuilder) -> Self {
        let program = HttpProgram::start(mode);
        let client = client(program.url.clone()).label("srv");
        Self { _program: Some(program), ..Self::new(client) }
    }

    fn in_this_process(self) -> Self {
        Self { over_the_wire: false, ends_calls: false, ..self }
    }

    /// The name that a tool or prompt has here.
    pub(super) fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The arguments of `hang`, and what it will note in which file.
    pub(super) fn hanging(&self) -> (Value, Notes) {
        let notes = self.dir.join("notes").to_str().unwrap().to_owned();
        (json!({"notes": notes}), Notes(notes))
    }
}

/// The program over HTTP. It ends with the value.
struct HttpProgram {
    url: String,
    child: Child,
    input: Option<ChildStdin>,
}

impl HttpProgram {
    fn start(mode: &str) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["--http", mode]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { url: url.trim_end().to_owned(), input: child.stdin.take(), child }
    }
}

impl Drop for HttpProgram {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait(); // the test is over
    }
}

/// The notes of a tool on its call.
#[derive(Clone)]
pub(super) struct Notes(String);

impl Notes {
    /// Waits until the tool has noted this.
    pub(super) async fn wait(&self, word: &'static str) {
        let path = format!("{}.{word}", self.0);
        let seen = move || Path::new(&path).exists().then_some(());
        trunkline_tests::offload(move || trunkline_tests::eventually(word, seen)).await;
    }

    /// Whether it has noted this.
    pub(super) fn has(&self, word: &str) -> bool {
        Path::new(&format!("{}.{word}", self.0)).exists()
    }
}

fn program() -> ClientBuilder {
    Client::stdio(PROGRAM, [""; 0]).label("srv")
}

fn united(client: ClientBuilder) -> MultiServer {
    let mut multi = MultiServer::new();
    multi.add(client.build().unwrap()).unwrap();
    multi
}

pub(super) fn direct() -> Kind {
    Kind::new(Client::from_connection(server())).in_this_process()
}

pub(super) fn memory() -> Kind {
    Kind::new(Client::in_memory(server()))
}

pub(super) fn stdio() -> Kind {
    Kind::new(program())
}

/// All tools but one that isn't there.
pub(super) fn filtered() -> Kind {
    let filter = ToolFilter::new(["*"], ["hidden"]).unwrap();
    Kind::new(Client::from_connection(Filtered::new(program().build().unwrap().connection(), filter)))
}

pub(super) fn multi() -> Kind {
    Kind::new(Client::from_connection(united(program()))).prefixed()
}

pub(super) fn multi_direct() -> Kind {
    let client = Client::from_connection(server()).label("srv");
    Kind::new(Client::from_connection(united(client))).prefixed().in_this_process()
}

/// A client of a server that is itself a client of the server: what a gateway is.
pub(super) fn relayed() -> Kind {
    Kind::new(Client::in_memory(united(program()))).prefixed()
}

/// A recording client: nothing may be changed by that.
pub(super) fn recorded() -> Kind {
    let dir = TempDir::new();
    let client = recorded_in(&dir).client;
    Kind { client, dir, ..stdio() }
}

/// The same, recorded from around the client.
pub(super) fn recorded_around() -> Kind {
    let dir = TempDir::new();
    let tape = Tape::create(dir.join("tape.jsonl")).unwrap();
    let recorder = tape.recorder("srv", program().build().unwrap().connection());
    Kind { dir, ..Kind::new(Client::from_connection(recorder)) }
}

/// Records in a folder.
pub(super) fn recorded_in(dir: &TempDir) -> Kind {
    Kind::new(program().record(&Tape::create(dir.join("tape.jsonl")).unwrap()))
}

/// Answers from what was recorded in a folder.
pub(super) fn replayed_from(dir: &TempDir) -> Kind {
    let cassette = Cassette::open(dir.join("tape.jsonl")).unwrap();
    Kind::new(Client::from_connection(cassette.replay("srv").unwrap()).label("srv"))
}

/// The same, spoken to over the protocol.
pub(super) fn replayed_over_a_wire(dir: &TempDir) -> Kind {
    let cassette = Cassette::open(dir.join("tape.jsonl")).unwrap();
    Kind::new(Client::in_memory(cassette.replay("srv").unwrap()).label("srv"))
}

pub(super) fn http_json() -> Kind {
    Kind { in_order: false, ..Kind::over_http("json", Client::http) }
}

pub(super) fn http_sse() -> Kind {
    Kind::over_http("sse", Client::http)
}

pub(super) fn http_sessionless() -> Kind {
    Kind::over_http("sessionless", Client::http)
}

pub(super) fn legacy_sse() -> Kind {
    Kind::over_http("legacy-sse", Client::sse)
}

/// A server over HTTP among many.
pub(super) fn multi_http() -> Kind {
    let program = HttpProgram::start("sse");
    let client = united(Client::http(&program.url).label("srv"));
    Kind { _program: Some(program), ..Kind::new(Client::from_connection(client)).prefixed() }
}
