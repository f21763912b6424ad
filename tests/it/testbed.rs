//! The servers of `testbed/`, which other people wrote: each connected, listed, called, read and prompted, and all
//! at once behind one `MultiServer`. Installed and run by `cargo xtask test`.

mod conversation;
mod launchers;
mod login;
mod over_http;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::format::{Definitions, Dialect};
use trunkline::{
    CallContext, Cassette, Client, ClientBuilder, ErrorKind, Limits, MultiServer, Outcome, Protocol, Tape, Tool,
    ToolDefinition, ToolProxy, ToolResult,
};
use trunkline_tests::*;

#[derive(Deserialize)]
struct Servers {
    servers: Vec<Server>,
}

#[derive(Deserialize)]
struct Server {
    id: String,
    command: String,
    args: Vec<String>,
    env: std::collections::BTreeMap<String, String>,
    revision: String,
    #[serde(default)]
    modern: bool,
    tools: Option<usize>,
    resources: Option<usize>,
    templates: Option<usize>,
    prompts: Option<usize>,
    call: Call,
    fail: Option<Call>,
    progress: Option<Call>,
    ask: Option<Call>,
    ask_modern: Option<Call>,
    sample: Option<Call>,
    cancel: Option<Call>,
    watch: Option<Watch>,
    watch_modern: Option<Watch>,
    read: Option<Read>,
    prompt: Option<Prompt>,
    over_http: Vec<Way>,
    exits_on_eof: bool,
}

/// How a server is started to be reached over HTTP.
#[derive(Deserialize)]
struct Way {
    way: String,
    args: Vec<String>,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
    path: String,
    #[serde(default)]
    progress_apart: bool,
}

#[derive(Clone, Deserialize)]
struct Call {
    tool: String,
    arguments: Value,
    #[serde(default)]
    text: String,
    steps: Option<usize>,
    /// Whether progress comes on another stream than the answer, so that the answer may be first.
    #[serde(default)]
    apart: bool,
}

/// A resource, and what changes it.
#[derive(Deserialize)]
struct Watch {
    uri: String,
    tool: String,
    arguments: Value,
}

#[derive(Deserialize)]
struct Read {
    uri: String,
    text: String,
}

#[derive(Deserialize)]
struct Prompt {
    name: String,
    arguments: Value,
    text: String,
}

/// A place for one test: an empty folder, a repository, and the servers with their placeholders filled in.
struct Bench {
    dir: TempDir,
    servers: Vec<Server>,
}

fn testbed() -> PathBuf {
    let installed = std::env::var("TRUNKLINE_TESTBED");
    PathBuf::from(installed.expect("TRUNKLINE_TESTBED names the installed servers: run `cargo xtask test testbed`"))
}

impl Bench {
    fn new() -> Self {
        let dir = TempDir::new();
        let (tmp, repo) = (dir.join("tmp"), dir.join("repo"));
        std::fs::create_dir_all(&tmp).unwrap();
        make_repository(&repo);
        let installed = testbed();
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("testbed");
        let text = std::fs::read_to_string(home.join("servers.json")).unwrap();
        let quoted = |path: &Path| json!(path.canonicalize().unwrap()).as_str().unwrap().to_owned();
        let text = text
            .replace("{installed}", &quoted(&installed))
            .replace("{testbed}", &quoted(&home))
            .replace("{tmp}", &quoted(&tmp))
            .replace("{repo}", &quoted(&repo));
        Self { dir, servers: serde_json::from_str::<Servers>(&text).unwrap().servers }
    }

    fn take(mut self, id: &str) -> Server {
        let at = self.servers.iter().position(|server| server.id == id).expect("a server of that id");
        self.servers.swap_remove(at)
    }

    fn server(&self, id: &str) -> &Server {
        self.servers.iter().find(|server| server.id == id).expect("a server of that id")
    }
}

fn make_repository(path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    for args in [
        &["init", "-q"][..],
        &["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "first"],
    ] {
        assert!(Command::new("git").args(args).current_dir(path).status().unwrap().success());
    }
}

impl Server {
    /// What it is asked to speak, and what it then speaks: its era is found out, and the handshake is insisted on.
    fn eras(&self) -> [(Protocol, &str); 2] {
        let found = if self.modern { MODERN } else { &self.revision };
        [(Protocol::Auto, found), (Protocol::Legacy, &self.revision)]
    }

    fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    fn builder(&self) -> ClientBuilder {
        let mut builder = Client::stdio(&self.command, &self.args).label(&self.id);
        for (name, value) in &self.env {
            builder = builder.env(name, value);
        }
        let limits = Limits { exit_grace: Duration::from_secs(4), ..Limits::default() };
        builder.limits(limits).start_timeout(Duration::from_secs(120)).timeout(Duration::from_secs(60))
    }
}

/// The revision without a handshake.
const MODERN: &str = "2026-07-28";

/// Everything one server can do, in the era it is found to speak and in the legacy one.
async fn exercise(id: &str) {
    let bench = Bench::new();
    let server = bench.server(id);
    for (protocol, revision) in server.eras() {
        let client = server.builder().protocol(protocol).build().unwrap();
        let info = client.info().await.unwrap_or_else(|error| panic!("{protocol:?}: {error:?}"));
        assert_eq!(info.protocol_version().as_deref(), Some(revision));
        use_all(server, &client).await;
        client.disconnect().await;
        assert!(!client.connected());
        let forced = client.warnings().iter().any(|warning| warning.contains("SIGTERM"));
        assert_eq!(forced, !server.exits_on_eof, "{:?}", client.warnings());
        // the next use starts it again
        assert_eq!(client.list_tools().await.unwrap().len(), server.tools.unwrap());
        client.disconnect().await;
    }
    drop(bench.dir);
}

/// All that a server offers, once each.
async fn use_all(server: &Server, client: &Client) {
    list(server, client).await;
    call(server, client).await;
    if let Some(read) = &server.read {
        let text = client.read_resource(&read.uri).await.unwrap();
        assert!(text.contains(&read.text), "{text}");
    }
    if let Some(prompt) = &server.prompt {
        let text = client.get_prompt(&prompt.name, prompt.arguments.clone()).await.unwrap();
        assert!(text.contains(&prompt.text), "{text}");
    }
}

/// All its tools. "everything" adds some once it has heard `initialized`, and tells.
async fn all_tools(server: &Server, client: &Client) -> Vec<ToolProxy> {
    let expected = server.tools.unwrap_or(0);
    loop {
        let tools = client.list_tools().await.unwrap();
        if tools.len() >= expected {
            return tools;
        }
        let mut events = client.events();
        if client.list_tools().await.unwrap().len() < expected {
            events.next().await.expect("a change of the list");
        }
    }
}

async fn list(server: &Server, client: &Client) {
    let expected = |count: Option<usize>| count.unwrap_or(0);
    let tools = all_tools(server, client).await;
    assert_eq!(tools.len(), expected(server.tools));
    for tool in &tools {
        assert!(tool.input_schema().is_object() && !tool.description().is_empty(), "{tool:?}");
    }
    assert_eq!(client.list_resources().await.unwrap().len(), expected(server.resources));
    assert_eq!(client.list_resource_templates().await.unwrap().len(), expected(server.templates));
    assert_eq!(client.list_prompts().await.unwrap().len(), expected(server.prompts));
}

async fn call(server: &Server, client: &Client) {
    let text = |result: &ToolResult| result.content().first().and_then(|block| block.text()).unwrap_or_default();
    let made = client.call(&server.call.tool, server.call.arguments.clone()).await.unwrap();
    assert!(!made.is_error() && text(&made).contains(&server.call.text), "{made:?}");
    if let Some(fail) = &server.fail {
        let failed = client.call(&fail.tool, fail.arguments.clone()).await.unwrap();
        assert!(failed.is_error() && text(&failed).contains(&fail.text), "{failed:?}");
        let error = client.call_tool(&fail.tool, fail.arguments.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tool);
    }
    if let Some(slow) = &server.progress {
        let heard = Arc::new(AtomicUsize::new(0));
        let count = heard.clone();
        let call = client.call(&slow.tool, slow.arguments.clone()).on_progress(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let result = call.await.unwrap();
        assert!(text(&result).contains(&slow.text), "{result:?}");
        let (heard, steps) = (heard.load(Ordering::SeqCst), slow.steps.unwrap());
        assert!(heard == steps || slow.apart && heard + 1 == steps, "{heard} of {steps}");
    }
}

macro_rules! each_server {
    ($($name:ident = $id:literal),* $(,)?) => {
        $(#[tokio::test]
        #[ignore = "testbed"]
        async fn $name() {
            exercise($id).await;
        })*

        #[test]
        fn every_server_of_the_list_has_its_test() {
            let text = include_str!("../../testbed/servers.json");
            let listed: Vec<_> = serde_json::from_str::<Servers>(text).unwrap().servers.into_iter().map(|s| s.id).collect();
            assert_eq!(listed, [$($id),*]);
        }
    };
}

each_server! {
    everything = "everything",
    everything_of_2024_11_05 = "everything-2024-11-05",
    everything_of_2025_03_26 = "everything-2025-03-26",
    everything_of_2025_06_18 = "everything-2025-06-18",
    filesystem = "filesystem",
    memory = "memory",
    time = "time",
    time_old = "time-old",
    git = "git",
    fastmcp = "fastmcp",
    mcp1 = "mcp1",
    mcp2 = "mcp2",
    ts2 = "ts2",
}

/// All of them behind one, among a command that doesn't exist, one that exits at once and one that never answers.
#[tokio::test]
#[ignore = "testbed"]
async fn all_at_once_with_three_dead_ones() {
    let bench = Bench::new();
    let mut multi = MultiServer::with_limits(Limits { settle: Duration::from_secs(10), ..Limits::default() });
    for server in &bench.servers {
        multi.add(server.client()).unwrap();
    }
    multi.add(Client::stdio("no-such-command-anywhere", ["x"]).label("missing").build().unwrap()).unwrap();
    multi.add(Client::stdio("/bin/sh", ["-c", "echo sorry >&2; exit 3"]).label("exits").build().unwrap()).unwrap();
    multi.add(Client::stdio("/bin/sh", ["-c", "exec sleep 600"]).label("silent").build().unwrap()).unwrap();

    let begun = Instant::now();
    let listings = multi.tools_by_server(&CallContext::new()).await;
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    for (listing, server) in listings.iter().zip(&bench.servers) {
        let Outcome::Ready(tools) = &listing.outcome else { panic!("{listing:?}") };
        assert!(tools.len() + 1 >= server.tools.unwrap(), "{}", server.id);
    }
    let [missing, exits, silent] = &listings[bench.servers.len()..] else { panic!("three more") };
    assert!(matches!(&missing.outcome, Outcome::Failed(error) if error.kind() == ErrorKind::Unreachable));
    assert!(matches!(&exits.outcome, Outcome::Failed(error)
        if error.get("exit") == Some("exit status 3") && error.get("stderr") == Some("sorry")));
    assert!(matches!(&silent.outcome, Outcome::Pending), "{silent:?}");

    for server in &bench.servers {
        let exposed = multi.exposed_name(&server.id, &server.call.tool);
        let result = multi.call(&exposed, server.call.arguments.clone()).await;
        let text = result.unwrap_or_else(|error| panic!("{exposed}: {error:?}"));
        let shown = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        assert!(!shown.is_empty(), "{exposed}");
    }
    multi.disconnect().await;
}

/// Every model provider takes every server's tools, and the fixture of the format tests is what the servers list.
/// (`TRUNKLINE_WRITE_FIXTURE=1` writes it anew.)
#[tokio::test]
#[ignore = "testbed"]
async fn every_model_provider_takes_their_tools() {
    let bench = Bench::new();
    let mut listed = Vec::new();
    for server in &bench.servers {
        let client = server.client();
        let tools: Vec<_> = all_tools(server, &client).await.iter().map(|tool| tool.definition().clone()).collect();
        client.disconnect().await;
        for dialect in Dialect::ALL {
            let definitions = Definitions::new(dialect, &tools);
            let violations = providers::violations(dialect, &definitions.tools().to_value());
            assert!(violations.is_empty(), "{dialect} refuses the tools of {}:\n{}", server.id, violations.join("\n"));
        }
        let line = |tool: &ToolDefinition| {
            let schema = tool.raw().get("inputSchema").map(|schema| schema.to_string()).unwrap_or_default();
            format!("    {{\"name\": {}, \"inputSchema\": {schema}}}", json!(tool.name()))
        };
        let tools = tools.iter().map(line).collect::<Vec<_>>().join(",\n");
        listed.push(format!("  {}: [\n{tools}\n  ]", json!(server.id)));
    }
    let text = format!("{{\n{}\n}}\n", listed.join(",\n"));
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("formats/testbed.json");
    if std::env::var_os("TRUNKLINE_WRITE_FIXTURE").is_some() {
        std::fs::write(&fixture, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&fixture).unwrap() == text,
        "servers list other tools than tests/formats/testbed.json"
    );
}

/// The program on a config of them all: a list with a line for each dead one, then a call, a read and a prompt each.
#[test]
#[ignore = "testbed"]
fn the_program_lists_calls_reads_and_prompts_each() {
    let bench = Bench::new();
    let mut entries = serde_json::Map::new();
    for server in &bench.servers {
        entries.insert(
            server.id.clone(),
            json!({"command": server.command, "args": server.args, "env": server.env, "startTimeout": 120}),
        );
    }
    entries.insert("missing".to_owned(), json!({"command": "no-such-command-anywhere"}));
    entries.insert("exits".to_owned(), json!({"command": "/bin/sh", "args": ["-c", "echo sorry >&2; exit 3"]}));
    entries.insert("unset".to_owned(), json!({"command": "true", "args": ["${NOT_SET_FOR_THIS_TEST}"]}));
    let config = bench.dir.join("mcp.json");
    std::fs::write(&config, json!({"mcpServers": entries}).to_string()).unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline-under-test"));
        let output = command.args(args).arg("--config").arg(&config).current_dir(bench.dir.path()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };

    let (code, listed, told) = run(&["list", "--brief", "--wait"]);
    assert_eq!(code, Some(0), "{told}");
    for server in &bench.servers {
        assert!(listed.lines().any(|line| line == server.id), "{} is missing:\n{listed}{told}", server.id);
    }
    for dead in ["failed missing:", "failed exits: the server exited (exit status 3): sorry", "failed unset:"] {
        assert!(told.contains(dead), "{told}");
    }
    for server in &bench.servers {
        let tool = format!("{}.{}", server.id, server.call.tool);
        let (code, out, err) = run(&["call", &tool, "--args", &server.call.arguments.to_string(), "--raw"]);
        assert_eq!(code, Some(0), "{tool}: {out}{err}");
        if let Some(read) = &server.read {
            let (code, out, err) = run(&["read", &read.uri, "--from", &server.id]);
            assert!(code == Some(0) && out.contains(&read.text), "{}: {out}{err}", server.id);
        }
        if let Some(prompt) = &server.prompt {
            let name = format!("{}.{}", server.id, prompt.name);
            let arguments = prompt.arguments.as_object().unwrap().iter();
            let arguments: Vec<_> =
                arguments.map(|(key, value)| format!("{key}={}", value.as_str().unwrap())).collect();
            let args: Vec<_> = ["prompt", &name].into_iter().chain(arguments.iter().map(String::as_str)).collect();
            let (code, out, err) = run(&args);
            assert!(code == Some(0) && out.contains(&prompt.text), "{name}: {out}{err}");
        }
    }
}

/// Two servers by others, recorded and then answered for without them.
#[tokio::test]
#[ignore = "testbed"]
async fn a_recording_of_real_servers_needs_them_no_more() {
    let bench = Bench::new();
    let tape = Tape::create(bench.dir.join("tape.jsonl")).unwrap();
    let servers = ["memory", "filesystem"].map(|id| bench.server(id));
    let live: Vec<_> = servers.iter().map(|server| server.builder().record(&tape).build().unwrap()).collect();
    let said = talk(&servers, live).await;
    tape.check().unwrap();
    let cassette = Cassette::open(tape.path()).unwrap();
    let replay = |id: &String| Client::from_connection(cassette.replay(id).unwrap()).label(id).build().unwrap();
    let replayed = servers.iter().map(|server| replay(&server.id)).collect();
    assert_eq!(talk(&servers, replayed).await, said);
    assert_eq!(cassette.unplayed(), [""; 0]);
}

/// What the tools of these servers are, and what their calls give.
async fn talk(servers: &[&Server; 2], clients: Vec<Client>) -> Vec<String> {
    let mut all = MultiServer::new();
    for client in clients {
        all.add(client).unwrap();
    }
    let mut said: Vec<_> = all.tools().await.unwrap().iter().map(|tool| tool.raw().to_string()).collect();
    for server in servers {
        let name = all.exposed_name(&server.id, &server.call.tool);
        said.push(all.call(&name, &server.call.arguments).await.unwrap().to_string());
    }
    all.disconnect().await;
    said
}
