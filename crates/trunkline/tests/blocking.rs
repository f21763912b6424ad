//! The blocking twins: outside and inside every kind of runtime, from several threads, and from where they must
//! refuse. Real processes are tested elsewhere.
#![cfg(feature = "blocking")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::Barrier;
use trunkline::{
    CallContext, Client, ErrorKind, Event, EventKind, FunctionTool, MultiServer, Progress, StaticServer, ToolSet,
    blocking,
};

fn server() -> StaticServer {
    StaticServer::new()
        .function("ping", "Answers pong.", || "pong")
        .function("nap", "Sleeps a moment.", || async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            "rested"
        })
        .function("fail", "Fails.", || Err::<(), _>("no luck"))
        .resource("file://greeting", "hello")
        .template("db://{id}", |uri| Some(format!("row {}", uri.strip_prefix("db://")?)))
        .prompt("welcome", "Welcome {name}.")
}

/// Clients over the protocol and without it.
fn clients() -> [blocking::Client; 2] {
    let direct = Client::from_connection(server()).label("s").build_blocking().unwrap();
    [direct, Client::in_memory(server()).label("s").build_blocking().unwrap()]
}

/// Every method of a client once.
fn use_all(client: &blocking::Client) {
    client.connect().unwrap();
    assert!(client.connected());
    assert!(client.info().unwrap().offers("tools"));
    let tools = client.list_tools().unwrap();
    assert_eq!(tools.iter().map(blocking::ToolProxy::name).collect::<Vec<_>>(), ["ping", "nap", "fail"]);
    assert_eq!(tools[0].invoke(()).unwrap(), "pong");
    assert_eq!(client.call_tool("nap", json!({})).unwrap(), "rested");
    assert_eq!(client.call_tool("fail", ()).unwrap_err().kind(), ErrorKind::Tool);
    assert!(client.call("fail", ()).timeout(Duration::from_secs(9)).run().unwrap().is_error());
    assert_eq!(client.list_resources().unwrap()[0].server(), "s");
    assert_eq!(client.list_resource_templates().unwrap()[0].uri_template(), "db://{id}");
    assert_eq!(client.read_resource("file://greeting").unwrap(), "hello");
    assert_eq!(client.read_resource_contents("db://7").unwrap().text().unwrap(), "row 7");
    assert_eq!(client.list_prompts().unwrap()[0].name(), "welcome");
    assert_eq!(client.get_prompt("welcome", [("name", "Ann")]).unwrap(), "Welcome Ann.");
    assert_eq!(client.get_prompt_messages("welcome", [("name", "Ann")]).unwrap().messages().len(), 1);
    assert!(client.request("tools/list", None).unwrap().get("tools").unwrap().is_array());
    client.refresh().unwrap();
    client.disconnect();
    assert!(!client.connected());
}

#[test]
fn works_outside_of_any_runtime() {
    clients().iter().for_each(use_all);
}

#[tokio::test]
async fn works_inside_a_current_thread_runtime() {
    clients().iter().for_each(use_all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn works_inside_a_multi_thread_runtime_and_its_tasks() {
    clients().iter().for_each(use_all);
    tokio::spawn(async { clients().iter().for_each(use_all) }).await.unwrap();
    tokio::task::spawn_blocking(|| clients().iter().for_each(use_all)).await.unwrap();
}

#[test]
fn works_from_two_threads_at_once() {
    let barrier = Arc::new(Barrier::new(2));
    let meet = move || {
        let barrier = barrier.clone();
        async move { barrier.wait().await.is_leader() }
    };
    for client in [
        Client::from_connection(StaticServer::new().function("meet", "", meet.clone())).build_blocking().unwrap(),
        Client::in_memory(StaticServer::new().function("meet", "", meet)).build_blocking().unwrap(),
    ] {
        let calls = [0, 1].map(|_| {
            let client = client.clone();
            thread::spawn(move || client.call_tool("meet", ()).unwrap())
        });
        let mut leaders = calls.map(|call| call.join().unwrap());
        leaders.sort_by_key(Value::to_string);
        assert_eq!(leaders, [json!(false), json!(true)]);
    }
}

/// Lets `act` use a client from a function that runs on the background thread, and returns what came of it.
fn on_the_background_thread<T: Send + 'static>(act: impl Fn(&blocking::Client) -> T + Send + Sync + 'static) -> T {
    let (report, reported) = mpsc::channel();
    let slot: Arc<Mutex<Option<blocking::Client>>> = Arc::default();
    let tool = {
        let (slot, report) = (slot.clone(), Mutex::new(report));
        move || {
            let client = slot.lock().unwrap().clone().unwrap();
            report.lock().unwrap().send(act(&client)).unwrap();
            "done"
        }
    };
    let server = StaticServer::new().function("inner", "Uses its own client.", tool).function("ping", "", || "pong");
    let client = Client::in_memory(server).build_blocking().unwrap();
    *slot.lock().unwrap() = Some(client.clone());
    assert_eq!(client.call_tool("inner", ()).unwrap(), "done");
    assert_eq!(client.call_tool("ping", ()).unwrap(), "pong", "the client is as good as before");
    slot.lock().unwrap().take();
    reported.recv().unwrap()
}

#[test]
fn refuses_on_its_own_thread_instead_of_waiting_for_ever() {
    let begun = Instant::now();
    let error = on_the_background_thread(|client| client.call_tool("ping", ())).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.hint().unwrap().contains("async client"), "{error:?}");

    let proxy = on_the_background_thread(|client| client.list_tools().map(drop)).unwrap_err();
    assert_eq!(proxy.kind(), ErrorKind::Unsupported);
    assert!(on_the_background_thread(|client| client.events().next().is_none()));
    let (texts, many) = on_the_background_thread(|client| {
        let tools = ToolSet::builder().mcp(client).build_blocking().unwrap();
        (tools.call_many_text([("ping", ()), ("ping", ())]), tools.call_many([("ping", ())]))
    });
    assert!(texts.len() == 2 && texts[0].starts_with("Error: A blocking call was made on the background thread"));
    assert_eq!(many[0].as_ref().unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn the_async_client_and_other_threads_are_the_ways_out() {
    let inner = on_the_background_thread(|client| {
        let client = client.clone();
        thread::spawn(move || client.call_tool("ping", ()))
    });
    assert_eq!(inner.join().unwrap().unwrap(), "pong");
}

#[test]
fn disconnecting_on_its_own_thread_goes_on_alone() {
    let (closed, seen) = mpsc::channel();
    let slot: Arc<Mutex<Option<blocking::Client>>> = Arc::default();
    let tool = {
        let slot = slot.clone();
        move || slot.lock().unwrap().take().unwrap().disconnect()
    };
    let client = Client::in_memory(StaticServer::new().function("end", "", tool)).build_blocking().unwrap();
    *slot.lock().unwrap() = Some(client.clone());
    let mut events = client.events().timeout(Duration::from_secs(20));
    let listening = thread::spawn(move || {
        closed.send(events.any(|event: Event| matches!(event.kind, EventKind::Closed))).unwrap();
    });
    let ended = client.call_tool("end", ()); // answered, or cut off by the end
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == ErrorKind::Closed));
    assert!(seen.recv().unwrap(), "it was never closed");
    listening.join().unwrap();
}

#[test]
fn progress_comes_while_the_call_waits() {
    let server = StaticServer::new().function("work", "", |cx: CallContext| async move {
        cx.report_progress(&Progress::new(1.0, Some(2.0), Some("half".to_owned())));
        tokio::time::sleep(Duration::from_millis(1)).await;
        cx.report_progress(&Progress::new(2.0, Some(2.0), None));
        "done"
    });
    let client = Client::in_memory(server).build_blocking().unwrap();
    let (sender, reports) = mpsc::channel();
    let here = client.clone();
    let call = client.call("work", ()).on_progress(move |report| {
        let refused = here.call_tool("work", ()).is_err_and(|error| error.kind() == ErrorKind::Unsupported);
        sender.send((report.progress, refused)).unwrap();
    });
    assert_eq!(call.run().unwrap().text(), "done");
    assert_eq!(reports.try_iter().collect::<Vec<_>>(), [(1.0, true), (2.0, true)]);
}

#[test]
fn events_are_an_iterator_that_can_give_up() {
    let [client, _] = clients();
    let mut events = client.events().timeout(Duration::from_millis(1));
    assert!(events.next().is_none());
    client.connect().unwrap();
    assert!(events.any(|event| matches!(event.kind, EventKind::Ready)));
    assert!(events.next().is_none());
    let mut patient = client.events();
    let waiting = thread::spawn(move || patient.find(|event| matches!(event.kind, EventKind::Closed)).is_some());
    client.disconnect();
    assert!(waiting.join().unwrap());
    let rest = client.events();
    drop(client);
    assert_eq!(rest.count(), 0, "a client that is gone has no more events");
}

#[test]
fn many_servers_have_their_twin() {
    let mut multi = blocking::MultiServer::new();
    let [a, b] = clients();
    multi.add(&a).unwrap().add(b).unwrap();
    assert_eq!(multi.add(&a).unwrap_err().kind(), ErrorKind::Config);
    multi.connect().unwrap();
    assert_eq!(multi.tools().unwrap().len(), 6);
    assert_eq!(multi.tools_by_server(&CallContext::new()).unwrap().len(), 2);
    let ping = multi.exposed_name("s", "ping");
    assert_eq!(multi.call(&ping, ()).unwrap(), "pong");
    assert_eq!(multi.call_tool(&ping, (), &CallContext::new()).unwrap().text(), "pong");
    assert_eq!(multi.read("file://greeting").unwrap_err().kind(), ErrorKind::Ambiguous);
    assert_eq!(multi.read_resource_from("s_2", "file://greeting").unwrap().text().unwrap(), "hello");
    assert_eq!(multi.prompt(&multi.exposed_name("s_2", "welcome"), [("name", "Ann")]).unwrap(), "Welcome Ann.");
    assert_eq!((multi.list_resources().unwrap().len(), multi.list_prompts().unwrap().len()), (2, 2));
    assert_eq!(multi.warnings(), ["the label \"s\" is taken: this server is \"s_2\""]);
    multi.disconnect();
    assert!(!a.connected());
    assert!(multi.failures().is_empty());
}

#[test]
fn local_tools_and_hooks_run_where_the_call_is_made_and_may_use_twins() {
    let [remote, _] = clients();
    let here = thread::current().id();
    let inner = remote.clone();
    let nested = move || {
        assert_eq!(thread::current().id(), here);
        inner.call_tool("ping", ()).unwrap()
    };
    let tools = ToolSet::builder()
        .tool(FunctionTool::new("nested", "", nested))
        .mcp(&remote)
        .before_call(move |_| {
            assert_eq!(thread::current().id(), here);
            trunkline::Decision::approve()
        })
        .build_blocking()
        .unwrap();
    assert_eq!(tools.call("nested", ()).unwrap(), "pong");
    let outcomes = tools.call_many([("nested", json!({})), ("gone", json!({})), ("nap", json!({}))]);
    assert_eq!(outcomes[2].as_ref().unwrap(), "rested");
    assert!(outcomes[0].is_ok() && outcomes[1].is_err());
    assert_eq!(tools.call_many_text([("ping", ()), ("fail", ())]), ["pong", "Error: no luck"]);
    assert_eq!((tools.server("nap").as_deref(), tools.server("nested")), (Some("s"), None));
    tools.disconnect();
    assert!(!remote.connected());
}

#[test]
fn async_ones_become_twins_and_share_what_they_have() {
    let [client, _] = clients();
    let twin = blocking::Client::from(client.inner().clone());
    twin.connect().unwrap();
    assert!(client.connected());
    let mut multi = MultiServer::new();
    multi.add(client).unwrap();
    let multi = blocking::MultiServer::from(multi);
    assert_eq!(multi.tools().unwrap().len(), 3);
    let tools = blocking::ToolSet::from(ToolSet::builder().mcp(multi.inner()).build().unwrap());
    assert_eq!(tools.definitions().unwrap().len(), 3);
}

#[test]
fn dropping_is_safe_everywhere() {
    let connected = || {
        let clients = clients();
        clients.iter().for_each(|client| client.connect().unwrap());
        clients
    };
    drop(connected());
    tokio::runtime::Runtime::new().unwrap().block_on(async { drop(connected()) });
    thread::spawn(move || drop(connected())).join().unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _clients = connected();
        panic!("on purpose");
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
}
