//! Recordings of real servers, replayed with the servers gone: the same conversation word for word, secrets left out,
//! and no more lost than the line that was being written.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::json;
use trunkline::{
    Cassette, Client, ClientBuilder, Config, Connection as _, Environment, ErrorKind, EventKind, FunctionTool,
    HttpServer, MultiServer, Outcome, Redactor, State, Tape, ToolDefinition, ToolSet,
};
use trunkline_tests::*;

use crate::smoke::FAKE;

const CONTRACT: &str = env!("CARGO_BIN_EXE_contract-server");
const TRUNKLINE: &str = env!("CARGO_BIN_EXE_trunkline-under-test");

/// A server whose tools change when it is asked to, and that completes.
fn grower() -> Script {
    let grow = [
        set_tools([tool("grow"), tool("refuse"), tool("fruit")]),
        notify("notifications/tools/list_changed"),
        text("grown"),
    ];
    let refused = respond_error_data(-32050, "not now", json!({"after": 1.0}));
    Script::new()
        .tools([tool("grow"), tool("refuse")])
        .prompts([prompt("hello")])
        .resources([resource("g:1")])
        .on(call("grow").nth(1), grow)
        .on(call("grow").nth(2), [text("grown again")])
        .on(call("refuse"), [refused])
        .on(call("fruit"), [progress(0.5, Some(1.0)), echo_args()])
        .on("completion/complete", [respond(json!({"completion": {"values": ["a$ARG(x)"]}}))])
}

/// What an agent does with two servers, one that isn't there, and a function of its own; all that it was told.
async fn conversation(servers: Vec<ClientBuilder>) -> Vec<String> {
    let mut all = MultiServer::new();
    for server in servers {
        all.add(server.build().unwrap()).unwrap();
    }
    let own = FunctionTool::new("now", "The time of day.", || "noon");
    let tools = ToolSet::builder().tool(own).mcp(&all).build().unwrap();
    let mut told: Vec<_> = tools.definitions().await.unwrap().iter().map(|tool| tool.raw().to_string()).collect();
    for (tool, arguments) in [
        ("now", json!({})),
        ("srv_echo", json!({"text": "hé\u{2028}llo"})),
        ("srv_add", json!({"a": 1, "b": 41})),
        ("srv_add", json!({"a": "one"})),
        ("srv_fail", json!({})),
        ("grower_grow", json!({})),
        ("grower_refuse", json!({})),
    ] {
        told.push(tools.call_text(tool, arguments).await);
    }
    eventually_listed(&all, "grower_fruit").await;
    told.push(tools.call_text("grower_fruit", json!({"n": 9e99, "a": [1, {}]})).await);
    told.push(tools.call_text("grower_grow", json!({})).await);
    told.push(all.read("text://greeting").await.unwrap());
    told.push(all.read("square://9").await.unwrap());
    told.push(format!("{:?}", all.read("text://nowhere").await.unwrap_err()));
    told.push(all.prompt("srv_welcome", json!({"name": "Zoë", "place": 7})).await.unwrap());
    told.push(format!("{:?}", all.list_prompts(&Default::default()).await));
    let ask = json!({"ref": {"type": "ref/prompt", "name": "grower_hello"}, "argument": {"name": "x", "value": "a"}});
    told.push(all.request("completion/complete", Some(ask.into()), &Default::default()).await.unwrap().to_string());
    for listing in all.tools_by_server(&Default::default()).await {
        told.push(format!("{}: {:?}", listing.server, outcome(listing.outcome)));
    }
    all.disconnect().await;
    told
}

/// How many tools there are, or why there are none.
fn outcome(outcome: Outcome<ToolDefinition>) -> Result<usize, String> {
    match outcome {
        Outcome::Ready(tools) => Ok(tools.len()),
        Outcome::Failed(error) => Err(format!("{} {error}", error.kind())),
        other => panic!("{other:?}"),
    }
}

/// Waits until a tool is listed: the news of it may come after the answer that it came with.
async fn eventually_listed(all: &MultiServer, name: &str) {
    let listed = async {
        while !all.tools().await.unwrap().iter().any(|tool| tool.name() == name) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(limit(), listed).await.unwrap_or_else(|_| panic!("{name} is not listed"));
}

fn replayed(cassette: &Cassette) -> Vec<ClientBuilder> {
    let client = |label| Client::from_connection(cassette.replay(label).unwrap()).label(label);
    cassette.servers().map(client).collect()
}

#[tokio::test]
async fn a_conversation_with_two_servers_is_the_same_without_them() {
    let dir = TempDir::new();
    let (program, fake, file) = (dir.join("contract"), dir.join("fake"), dir.join("talk.jsonl"));
    std::os::unix::fs::symlink(CONTRACT, &program).unwrap();
    std::os::unix::fs::symlink(FAKE, &fake).unwrap();
    let tape = Tape::create(&file).unwrap();
    let servers = [
        Client::stdio(program.to_str().unwrap(), [""; 0]).label("srv"),
        Client::stdio(fake.to_str().unwrap(), grower().args()).label("grower"),
        Client::stdio("no-such-program-zz", [""; 0]).label("ghost"),
    ];
    let live = conversation(servers.into_iter().map(|server| server.record(&tape)).collect()).await;
    tape.check().unwrap();
    std::fs::remove_file(&program).unwrap();
    std::fs::remove_file(&fake).unwrap();

    let cassette = Cassette::open(&file).unwrap();
    assert_eq!(cassette.servers().collect::<Vec<_>>(), ["srv", "grower", "ghost"]);
    assert_eq!(conversation(replayed(&cassette)).await, live);
    assert_eq!(cassette.unplayed(), [""; 0]);
    assert_eq!(conversation(replayed(&Cassette::open(&file).unwrap().strict())).await, live);
    let blank = Cassette::open(&file).unwrap();
    let another = Client::from_connection(blank.replay("srv").unwrap()).build().unwrap();
    let mut events = another.events();
    let error = another.call_tool("echo", json!({"text": "bye"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().ends_with("with \"hé\u{2028}llo\" at /arguments/text instead of \"bye\""), "{error}");
    while !matches!(events.next().await.unwrap().kind, EventKind::Warning(text) if text == error.message()) {}
}

#[tokio::test]
async fn a_list_that_changed_changes_again() {
    let dir = TempDir::new();
    let file = dir.join("t.jsonl");
    let client = Client::stdio(FAKE, grower().args()).label("g").record(&Tape::create(&file).unwrap()).build().unwrap();
    let mut events = client.events();
    client.list_tools().await.unwrap();
    client.call_tool("grow", ()).await.unwrap();
    while !matches!(events.next().await.unwrap().kind, EventKind::ToolsChanged) {}
    assert_eq!(client.list_tools().await.unwrap()[2].name(), "fruit");
    client.disconnect().await;
    for wire in [false, true] {
        let replay = Cassette::open(&file).unwrap().strict().replay("g").unwrap();
        let builder = if wire { Client::in_memory(replay) } else { Client::from_connection(replay) };
        let client = builder.build().unwrap();
        let mut events = client.events();
        assert_eq!(client.list_tools().await.unwrap().len(), 2);
        client.call_tool("grow", ()).await.unwrap();
        while !matches!(events.next().await.unwrap().kind, EventKind::ToolsChanged) {}
        assert_eq!(client.list_tools().await.unwrap()[2].name(), "fruit", "over a wire: {wire}");
    }
}

#[tokio::test]
async fn a_call_that_took_too_long_is_too_long_again() {
    let dir = TempDir::new();
    let file = dir.join("t.jsonl");
    let script = Script::new().tools([tool("slow"), tool("die")]).on(call("slow"), []).on(call("die"), [exit(3)]);
    let build = |builder: ClientBuilder| builder.label("s").timeout(crate::rig::ms(200)).build().unwrap();
    let client = build(Client::stdio(FAKE, script.args()).record(&Tape::create(&file).unwrap()));
    let live = [client.call_tool("slow", ()).await.unwrap_err(), client.call_tool("die", ()).await.unwrap_err()];
    assert_eq!(live.each_ref().map(|error| error.kind()), [ErrorKind::Deadline, ErrorKind::Closed]);
    let client = build(Client::from_connection(Cassette::open(&file).unwrap().replay("s").unwrap()));
    for (tool, error) in ["slow", "die"].iter().zip(live) {
        let again = client.call_tool(tool, ()).await.unwrap_err();
        assert_eq!((again.kind(), again.may_have_run()), (error.kind(), error.may_have_run()), "{again:?}");
        assert_eq!((again.get("server"), again.get("tool")), (Some("s"), Some(*tool)));
    }
}

#[tokio::test]
async fn a_server_that_was_down_is_down_again() {
    let dir = TempDir::new();
    let file = dir.join("t.jsonl");
    let sick = ["-c", "echo the KEY-123456 is not set >&2; exit 3"];
    let client = Client::stdio("sh", sick).label("sick").env("KEY", "KEY-123456").record(&Tape::create(&file).unwrap());
    let live = client.connect().await.unwrap_err();
    assert!(!std::fs::read_to_string(&file).unwrap().contains("KEY-123456"));
    let client = Client::from_connection(Cassette::open(&file).unwrap().replay("sick").unwrap()).build().unwrap();
    let error = client.list_tools().await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Unreachable, live.message()));
    assert!(matches!(client.state(), State::Ready), "the recording is there");
}

#[tokio::test]
async fn secrets_of_every_origin_are_left_out() {
    let dir = TempDir::new();
    let file = dir.join("t.jsonl");
    let script = Script::new()
        .on(call("echo"), [line(r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"\u0045NV-SECRET-1 and ARG-SECRET-2"}],"you said":$ARGS}}"#)]);
    let args: Vec<_> = script.args().into_iter().chain(["--api-key=ARG-SECRET-2".to_owned()]).collect();
    let config = json!({"mcpServers": {"s": {"command": FAKE, "args": args, "env": {"TOKEN": "${T}"}}}}).to_string();
    let environment = Environment::from_pairs([("T", "ENV-SECRET-1")]);
    let tape = Tape::create(&file).unwrap();
    let tape =
        tape.redacting(Redactor::default().matching(["USER-[A-Z]+-\\d"]).unwrap()).redacting_fields(["password"]);
    let builder = Client::from_config(&Config::parse(&config).unwrap()).environment(environment).record(&tape);
    let client = builder.build().unwrap();
    let asked = json!({"q": "USER-SECRET-3?", "auth": {"Password": "hunter22"}, "n": 5});
    let live = client.call("echo", asked.clone()).await.unwrap();
    assert!(live.text().contains("ENV-SECRET-1 and ARG-SECRET-2"), "nothing is left out for the caller");
    client.disconnect().await;
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("SECRET") && !text.contains("hunter22"), "{text}");
    assert!(
        text.contains(r#""text":"*** and ***""#) && text.contains(r#"{"auth":{"Password":"***"},"n":5,"q":"***?"}"#)
    );
    let client = Client::from_connection(Cassette::open(&file).unwrap().replay("s").unwrap()).build().unwrap();
    for asked in [asked, json!({"q": "?", "auth": {"Password": "other"}, "n": 5.0})] {
        assert_eq!(client.call("echo", asked).await.unwrap().text(), "*** and ***");
    }
}

#[tokio::test]
async fn the_secrets_of_a_url_and_its_headers_are_left_out() {
    let dir = TempDir::new();
    let file = dir.join("t.jsonl");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let serving = HttpServer::new(trunkline_tests::contract::server()).serve(listener).unwrap();
    let client = Client::http(format!("{}?k=URL-SECRET-1", serving.url()))
        .label("s")
        .header("X-Auth", "HEAD-SECRET-2")
        .bearer("BEAR-SECRET-3")
        .record(&Tape::create(&file).unwrap())
        .build()
        .unwrap();
    let said = "URL-SECRET-1, HEAD-SECRET-2, BEAR-SECRET-3, HEAD";
    assert_eq!(client.call_tool("echo", json!({"text": said})).await.unwrap(), said);
    client.disconnect().await;
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("SECRET") && text.matches("***, ***, ***, HEAD").count() >= 2, "{text}");
}

/// Starts this program as a recording server, and waits until it has recorded all that is answered: three calls of
/// four.
fn recording(dir: &TempDir, file: &Path) -> Child {
    let calls = || std::fs::read_to_string(file).unwrap_or_default().matches("\"result\"").count();
    let before = calls();
    let script = Script::new().on(call("slow"), []).tools([tool("echo"), tool("slow")]).write_to(dir);
    let mut child = Command::new(TRUNKLINE)
        .args(["record", "-o", file.to_str().unwrap(), "--", FAKE, script.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let input = child.stdin.as_mut().unwrap();
    for (id, name) in ["echo", "slow", "echo", "echo"].iter().enumerate() {
        let params = json!({"name": name, "arguments": {"n": id}});
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).unwrap();
    }
    eventually("three calls on the tape", || (calls() == before + 3).then_some(()));
    child
}

#[test]
fn a_recording_that_is_killed_has_every_call_that_was_answered() {
    let dir = TempDir::new();
    let file = dir.join("t.jsonl");
    let mut killed = recording(&dir, &file);
    send_signal(killed.id(), "KILL");
    killed.wait().unwrap();
    assert_eq!(Cassette::open(&file).unwrap().unplayed().len(), 3);

    let torn = std::fs::read_to_string(&file).unwrap() + r#"{"server":"fake","meth"#;
    std::fs::write(&file, torn).unwrap();
    assert_eq!(Cassette::open(&file).unwrap().warnings().len(), 1);
    let mut ended = recording(&dir, &file);
    drop(ended.stdin.take());
    assert!(ended.wait().unwrap().success());
    let cassette = Cassette::open(&file).unwrap();
    assert!(cassette.warnings().is_empty());
    assert_eq!(cassette.unplayed().len(), 7, "with the call that was given up: {:?}", cassette.unplayed());
}

#[tokio::test]
async fn their_client_records_and_meets_the_mock() {
    let dir = TempDir::new();
    let file = dir.join("t.jsonl");
    let mut said = Vec::new();
    for args in [&["record", "-o", file.to_str().unwrap(), "--", CONTRACT][..], &["mock", file.to_str().unwrap()]] {
        let mut command = tokio::process::Command::new(TRUNKLINE);
        command.args(args);
        let client = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
        let name = client.peer_info().unwrap().server_info.as_ref().unwrap().name.clone();
        let tools = client.list_all_tools().await.unwrap();
        let resources = client.list_all_resources().await.unwrap();
        let arguments = json!({"text": "héllo"}).as_object().unwrap().clone();
        let echo = client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await.unwrap();
        let error = client.call_tool(CallToolRequestParams::new("nothing")).await.unwrap_err();
        said.push(format!("{name} {tools:?} {resources:?} {echo:?} {error:?}"));
        client.cancel().await.unwrap();
    }
    assert_eq!(said[0], said[1]);
    assert!(said[0].contains("contract") && said[0].contains("héllo") && said[0].contains("-32602"), "{}", said[0]);
}
