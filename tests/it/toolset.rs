//! A tool set over real servers: what goes over the wire and what doesn't, lists that change, servers that die.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::{CallContext, Client, ErrorKind, FunctionTool, Limits, MultiServer, StaticServer, ToolSet};
use trunkline_tests::*;

use super::smoke::FAKE;

fn client(label: &str, script: Script) -> Client {
    Client::stdio(FAKE, script.args()).label(label).build().unwrap()
}

async fn names(tools: &ToolSet) -> Vec<String> {
    tools.definitions().await.unwrap().iter().map(|tool| tool.name().to_owned()).collect()
}

fn strict(name: &str, argument: &str) -> serde_json::Value {
    json!({"name": name, "inputSchema": {
        "type": "object", "properties": {argument: {"type": "integer"}}, "required": [argument]
    }})
}

#[tokio::test]
async fn mixes_local_tools_with_those_of_two_real_servers() {
    let mut multi = MultiServer::new();
    multi.add(client("files", Script::new().tools([tool("read"), tool("write")]))).unwrap();
    let tools = ToolSet::builder()
        .tool(FunctionTool::new("now", "The time of day.", || "noon"))
        .mcp(client("web", Script::new().tools([tool("fetch")]).on(call("fetch"), [text("{\"status\": 200}")])))
        .mcp(multi)
        .build()
        .unwrap();
    assert_eq!(names(&tools).await, ["now", "fetch", "files_read", "files_write"]);
    assert_eq!(tools.call("fetch", json!({})).await.unwrap(), json!({"status": 200}));
    let told = tools.call_many_text([("files_read", ()), ("now", ()), ("fetch", ())]).await;
    assert_eq!(told, ["ok", "noon", "{\"status\": 200}"]);
    tools.disconnect().await;
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_leave() {
    let dir = TempDir::new();
    let log = Log::at(dir.join("log"));
    let tools = ToolSet::builder()
        .mcp(client("s", Script::new().tools([strict("count", "n")]).log(log.path())))
        .build()
        .unwrap();
    let error = tools.call("count", json!({"n": "seven"})).await.unwrap_err();
    assert_eq!((error.kind(), error.get("server")), (ErrorKind::InvalidArguments, Some("s")));
    assert!(error.message().contains("tool \"count\"") && error.message().contains("\"n\" has to be"), "{error}");
    tools.call("count", json!({"n": 7})).await.unwrap();
    let sent = log.sent("tools/call");
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].params()["arguments"], json!({"n": 7}));
}

#[tokio::test]
async fn p50_a_list_that_changed_is_read_again_before_the_next_call() {
    let dir = TempDir::new();
    let log = Log::at(dir.join("log"));
    let script = Script::new()
        .tools([strict("f", "old"), tool("change")])
        .log(log.path())
        .on(call("change"), [set_tools([strict("f", "new")]), notify("notifications/tools/list_changed"), text("ok")]);
    let tools = ToolSet::builder().mcp(client("s", script)).build().unwrap();
    tools.call("f", json!({"old": 1})).await.unwrap();
    tools.call("f", json!({"old": 2})).await.unwrap();
    assert_eq!(log.sent("tools/list").len(), 1, "one list does for many calls");
    tools.call("change", ()).await.unwrap();
    let error = tools.call("f", json!({"old": 3})).await.unwrap_err();
    assert!(error.message().contains("\"new\" is missing"), "{error}");
    tools.call("f", json!({"new": 4})).await.unwrap();
    assert_eq!(tools.call("change", ()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(log.sent("tools/call").len(), 4);
}

#[tokio::test]
async fn servers_that_are_dead_or_mute_cost_only_themselves() {
    let limits = Limits { settle: Duration::from_millis(200), ..Limits::default() };
    let tools = ToolSet::builder()
        .mcp(Client::stdio("no-such-command-here", [""; 0]).label("missing"))
        .mcp(client("dies", Script::new().on("@start", [stderr("no key\n"), exit(3)])))
        .mcp(client("mute", Script::new().reads(0)))
        .mcp(client("live", Script::new().tools([tool("fetch")])))
        .tool(FunctionTool::new("now", "", || "noon"))
        .limits(limits)
        .build()
        .unwrap();
    let begun = Instant::now();
    assert_eq!(names(&tools).await, ["now", "fetch"]);
    assert!(begun.elapsed() < Duration::from_secs(10), "it waited for the mute one: {:?}", begun.elapsed());
    let failures = tools.failures();
    assert_eq!(failures.iter().map(|(server, _)| server.as_str()).collect::<Vec<_>>(), ["missing", "dies"]);
    assert_eq!(failures[1].1.get("stderr"), Some("no key"));
    let warnings = tools.warnings().join("\n");
    for server in ["missing\" is left out", "dies\" is left out", "mute\" takes long"] {
        assert!(warnings.contains(server), "{warnings}");
    }
    assert_eq!(tools.call_text("fetch", json!({})).await, "ok");
    tools.disconnect().await;
}

#[tokio::test]
async fn a_server_that_crashed_is_started_again_by_the_next_call() {
    let dir = TempDir::new();
    let script = Script::new()
        .tools([tool("f"), tool("boom")])
        .starts(dir.join("starts"))
        .on(call("boom"), [stderr("out of memory\n"), exit(139)]);
    let tools = ToolSet::builder().mcp(client("s", script.on(call("f"), [text("start $START")]))).build().unwrap();
    assert_eq!(tools.call("f", ()).await.unwrap(), "start 1");
    let told = tools.call_text("boom", ()).await;
    assert!(told.starts_with("Error: ") && told.ends_with("may have been carried out all the same."), "{told}");
    assert_eq!(tools.call("f", ()).await.unwrap(), "start 2");
    assert_eq!(tools.call("f", ()).await.unwrap(), "start 2");
}

#[tokio::test]
async fn progress_and_cancellation_reach_a_remote_tool_through_the_set() {
    let dir = TempDir::new();
    let log = Log::at(dir.join("log"));
    let script = Script::new().tools([tool("work"), tool("hang")]).log(log.path());
    let script = script.on(call("work"), [progress(1.0, Some(2.0)), text("ok")]).on(call("hang"), []);
    let tools = ToolSet::builder().mcp(client("s", script)).build().unwrap();
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = seen.clone();
    let cx = CallContext::new().on_progress(move |report| sink.lock().unwrap().push(report.progress));
    assert_eq!(tools.call_result("work", (), &cx).await.unwrap().text(), "ok");
    assert_eq!(*seen.lock().unwrap(), [1.0]);
    let cx = CallContext::new().with_timeout(Duration::from_millis(50));
    assert_eq!(tools.call_result("hang", (), &cx).await.unwrap_err().kind(), ErrorKind::Deadline);
    offload(move || log.wait_sent("notifications/cancelled", 1)).await;
}

#[tokio::test]
async fn the_same_name_on_a_real_server_and_in_process_is_told_apart() {
    let in_process = StaticServer::new().function("search", "Here.", || "here");
    let tools = ToolSet::builder()
        .mcp(Client::in_memory(in_process).label("near"))
        .mcp(client("far", Script::new().tools([tool("search")]).on(call("search"), [text("there")])))
        .build()
        .unwrap();
    let listed = names(&tools).await;
    assert_eq!((listed.len(), listed[0].as_str()), (2, "search"));
    assert_eq!(tools.call("search", ()).await.unwrap(), "here");
    assert_eq!(tools.call(&listed[1], ()).await.unwrap(), "there");
}
