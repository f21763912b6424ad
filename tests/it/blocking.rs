//! The blocking twins over real servers: processes come and go with them, and what servers send is heard.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::{Client, ErrorKind, EventKind, FunctionTool, Handlers, ToolSet, blocking};
use trunkline_tests::*;

use super::smoke::FAKE;

fn client(script: Script) -> blocking::Client {
    Client::stdio(FAKE, script.args()).label("fake").build_blocking().unwrap()
}

#[test]
fn calls_a_real_server_and_disconnecting_waits_for_its_end() {
    let dir = TempDir::new();
    let client = client(Script::new().pid_file(dir.join("pid")));
    assert_eq!(client.list_tools().unwrap()[0].name(), "echo");
    assert_eq!(client.call_tool("echo", json!({"text": "hi"})).unwrap(), "ok");
    let pid = wait_pid(dir.join("pid"));
    assert!(alive(pid));
    client.disconnect();
    assert!(!alive(pid));
    assert_eq!(client.call_tool("echo", ()).unwrap(), "ok", "the next use connects again");
}

#[test]
fn dropping_the_last_handle_ends_the_process() {
    let dir = TempDir::new();
    let client = client(Script::new().pid_file(dir.join("pid")));
    let (tool, clone) = (client.list_tools().unwrap().remove(0), client.clone());
    let pid = wait_pid(dir.join("pid"));
    drop((client, clone));
    assert_eq!(tool.invoke(()).unwrap(), "ok", "the tool is a handle too");
    drop(tool);
    wait_gone(pid);
}

#[tokio::test]
async fn dropping_inside_a_runtime_ends_the_process_too() {
    let dir = TempDir::new();
    let client = client(Script::new().pid_file(dir.join("pid")));
    client.connect().unwrap();
    let pid = wait_pid(dir.join("pid"));
    drop(client);
    offload(move || wait_gone(pid)).await;
}

#[test]
fn the_process_outlives_the_thread_and_the_runtime_that_started_it() {
    let dir = TempDir::new();
    let client = client(Script::new().pid_file(dir.join("pid")));
    let first = client.clone();
    thread::spawn(move || first.connect().unwrap()).join().unwrap();
    let second = client.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async move { assert_eq!(second.call_tool("echo", ()).unwrap(), "ok") });
    drop(runtime);
    let pid = wait_pid(dir.join("pid"));
    assert_eq!(client.call_tool("echo", ()).unwrap(), "ok");
    assert!(alive(pid));
}

#[test]
fn a_handler_that_calls_back_gets_an_error_and_nothing_hangs() {
    let question = || request(json!("q"), "elicitation/create").params(json!({"message": "Sure?"}));
    let (answered, answers) = mpsc::channel();
    let (give, given) = mpsc::channel::<blocking::Client>();
    let given = std::sync::Mutex::new(given);
    let handlers = Handlers::new().on("elicitation/create", json!({"elicitation": {}}), move |_| {
        let client = given.lock().unwrap().recv().unwrap();
        let begun = Instant::now();
        answered.send((client.call_tool("echo", ()), begun.elapsed())).unwrap();
        async { Ok(json!({"action": "accept"}).into()) }
    });
    let script = Script::new().on(call("echo").nth(1), [ask([question()]), text("$REPLY")]);
    let client = Client::stdio(FAKE, script.args()).handler(handlers).build_blocking().unwrap();
    give.send(client.clone()).unwrap();
    let reply = client.call_tool("echo", ()).unwrap();
    assert_eq!(reply["result"], json!({"action": "accept"}));
    let (outcome, took) = answers.recv().unwrap();
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(client.call_tool("echo", ()).unwrap(), "ok");
}

#[test]
fn events_and_progress_of_a_real_server_are_heard() {
    let log = json!({"level": "info", "data": "working"});
    let script = Script::new()
        .on(call("echo"), [notify_with("notifications/message", log), progress(1.0, Some(2.0)), text("ok")]);
    let client = client(script);
    let mut events = client.events().timeout(limit());
    let (sender, reports) = mpsc::channel();
    let call = client.call("echo", ()).on_progress(move |report| sender.send(report.progress).unwrap());
    assert_eq!(call.run().unwrap().text(), "ok");
    assert_eq!(reports.try_iter().collect::<Vec<_>>(), [1.0]);
    let logged = events.find_map(|event| match event.kind {
        EventKind::Log(message) => Some((event.server, message.text())),
        _ => None,
    });
    assert_eq!(logged, Some(("fake".to_owned(), "working".to_owned())));
}

#[test]
fn a_deadline_ends_a_call_that_is_never_answered() {
    let client = client(Script::new().on(call("echo"), []));
    let error = client.call("echo", ()).timeout(Duration::from_millis(100)).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
}

#[test]
fn a_missing_command_is_told() {
    let client = Client::stdio("no-such-command-here", [""; 0]).build_blocking().unwrap();
    assert_eq!(client.connect().unwrap_err().kind(), ErrorKind::Unreachable);
}

#[test]
fn a_set_of_local_and_real_tools_is_called_from_two_threads_at_once() {
    let script = Script::new().tools([tool("meet")]).on(call("meet"), [gather(2, [text("met")])]);
    let tools =
        ToolSet::builder().tool(FunctionTool::new("now", "", || "noon")).mcp(client(script)).build_blocking().unwrap();
    let calls = [0, 1].map(|_| {
        let tools = tools.clone();
        thread::spawn(move || tools.call_many_text([("meet", ()), ("now", ())]))
    });
    for call in calls {
        assert_eq!(call.join().unwrap(), ["met", "noon"]);
    }
}
