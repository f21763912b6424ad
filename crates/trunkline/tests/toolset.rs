//! The set of tools that an agent holds: listing, naming, checking, asking, calling. Servers are connections in
//! this process; real ones are tested elsewhere.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use trunkline::{
    Arguments, CallContext, Cancellation, Client, ClientBuilder, Config, Connection, Decision, Error, ErrorKind,
    FunctionTool, IntoArguments, Limits, MultiServer, Result, State, Tool, ToolDefinition, ToolResult, ToolSet,
};

/// A server whose tools answer with their own name, and whose moods the test sets.
struct Server {
    tools: Mutex<Vec<ToolDefinition>>,
    calls: Mutex<Vec<(String, Value)>>,
    broken: AtomicBool,
    /// Lists are answered while this is true.
    open: watch::Sender<bool>,
}

impl Server {
    fn new<const N: usize>(names: [&str; N]) -> Arc<Self> {
        let tools = names.map(|name| ToolDefinition::new(name, "", json!({"type": "object"})));
        Arc::new(Self {
            tools: Mutex::new(tools.into()),
            calls: Mutex::default(),
            broken: AtomicBool::new(false),
            open: watch::Sender::new(true),
        })
    }

    fn client(self: &Arc<Self>, label: &str) -> Client {
        Client::from_connection(self.clone()).label(label).build().unwrap()
    }

    fn set_schema(&self, schema: Value) {
        self.tools.lock().unwrap()[0] = ToolDefinition::new("f", "", schema);
    }

    fn set_broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    fn calls(&self) -> Vec<(String, Value)> {
        self.calls.lock().unwrap().clone()
    }
}

impl Connection for Server {
    async fn list_tools(&self, _cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        let mut open = self.open.subscribe();
        open.wait_for(|open| *open).await.unwrap();
        if self.broken.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unreachable, "out of order"));
        }
        Ok(self.tools.lock().unwrap().clone())
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, _cx: &CallContext) -> Result<ToolResult> {
        self.calls.lock().unwrap().push((name.to_owned(), arguments.raw().to_value()));
        Ok(ToolResult::text_result(name))
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

fn local(name: &str) -> FunctionTool {
    FunctionTool::new(name, "Is local.", || "local")
}

fn quick() -> Limits {
    Limits { settle: Duration::from_millis(20), ..Limits::default() }
}

async fn names(tools: &ToolSet) -> Vec<String> {
    tools.definitions().await.unwrap().iter().map(|tool| tool.name().to_owned()).collect()
}

#[tokio::test]
async fn lists_local_tools_first_and_sources_in_their_order() {
    let mut multi = MultiServer::new();
    multi.add(Server::new(["x"]).client("m")).unwrap().add(Server::new(["x"]).client("n")).unwrap();
    let tools = ToolSet::builder()
        .mcp(Server::new(["z", "a"]).client("s"))
        .tool(local("one"))
        .mcp(&multi)
        .mcp(Client::from_connection(Server::new(["q"])).label("t").namespaced(true))
        .tool(local("two"))
        .build()
        .unwrap();
    assert_eq!(names(&tools).await, ["one", "two", "z", "a", "m_x", "n_x", "t_q"]);
    multi.add(Server::new(["late"]).client("o")).unwrap();
    assert_eq!(names(&tools).await, ["one", "two", "z", "a", "m_x", "n_x", "o_late", "t_q"]);
    for (name, wire) in [("z", "z"), ("n_x", "x"), ("o_late", "late"), ("t_q", "q"), ("two", "local")] {
        assert_eq!(tools.call(name, ()).await.unwrap(), wire);
    }
    let servers = ["two", "a", "n_x", "t_q"].map(|name| tools.server(name));
    assert_eq!(servers, [None, Some("s".into()), Some("n".into()), Some("t".into())]);
    assert_eq!(tools.warnings(), [""; 0]);
}

#[tokio::test]
async fn descriptions_and_schemas_are_never_missing() {
    let server = Server::new(["bare"]);
    let bare = ToolDefinition::new("bare", "", Value::Null);
    server.tools.lock().unwrap()[0] = bare;
    let mut multi = MultiServer::new();
    multi.add(server.client("m")).unwrap();
    let tools = ToolSet::builder().mcp(server.client("s")).mcp(multi).build().unwrap();
    for (tool, told) in tools.definitions().await.unwrap().iter().zip(["from s.", "from m."]) {
        assert_eq!(tool.description().unwrap(), format!("MCP tool 'bare' {told}"));
        assert_eq!(tool.input_schema().to_value(), json!({"type": "object", "properties": {}}));
    }
}

#[tokio::test]
async fn building_does_nothing_and_tells_mistakes() {
    let server = Server::new(["f"]);
    let client = server.client("s");
    let tools = ToolSet::builder().tool(local("f")).mcp(&client).build().unwrap();
    assert!(matches!(client.state(), State::Idle));
    drop(tools);
    let multi = MultiServer::new();
    for (builder, told) in [
        (ToolSet::builder().tool(local("f")).tool(local("f")), "Two tools of this process are named \"f\""),
        (ToolSet::builder().tool(local("my tool")), "Models don't take \"my tool\""),
        (ToolSet::builder().tool(local(&"x".repeat(65))), "Models don't take"),
        (ToolSet::builder().tool(local("")), "A tool needs a name"),
        (ToolSet::builder().tool(FunctionTool::new("t", "", |text: String| text)), "its argument"),
        (ToolSet::builder().concurrency(0), "concurrency is zero"),
        (ToolSet::builder().mcp(&client).mcp(&client), "is a member already"),
        (ToolSet::builder().mcp(&multi).mcp(&multi), "is in the set already"),
        (ToolSet::builder().mcp(ClientBuilder::new()), "A client needs a transport"),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{told}");
        assert!(error.message().contains(told), "{error}");
    }
}

#[tokio::test]
async fn a_dead_server_is_a_warning_until_it_lives() {
    let (dead, live) = (Server::new(["d"]), Server::new(["l"]));
    dead.set_broken(true);
    let tools = ToolSet::builder().mcp(dead.client("dead")).mcp(live.client("live")).build().unwrap();
    assert_eq!(names(&tools).await, ["l"]);
    assert_eq!(tools.warnings(), ["server \"dead\" is left out: out of order"]);
    let failures = tools.failures();
    assert_eq!((failures.len(), failures[0].0.as_str()), (1, "dead"));
    assert_eq!((failures[0].1.kind(), failures[0].1.get("server")), (ErrorKind::Unreachable, Some("dead")));

    let error = tools.call("d", ()).await.unwrap_err();
    assert_eq!((error.kind(), error.get("not listed")), (ErrorKind::NotFound, Some("dead")));

    dead.set_broken(false);
    assert_eq!(tools.call("d", ()).await.unwrap(), "d");
    assert!(tools.failures().is_empty());
    assert_eq!(names(&tools).await, ["d", "l"]);
}

#[tokio::test]
async fn a_tool_of_a_server_that_died_is_left_out_but_still_known() {
    let server = Server::new(["f"]);
    let tools = ToolSet::builder().tool(local("l")).mcp(server.client("s")).build().unwrap();
    assert_eq!(names(&tools).await, ["l", "f"]);
    server.set_broken(true);
    assert_eq!(names(&tools).await, ["l"]);
    assert_eq!(tools.call("f", ()).await.unwrap(), "f", "its calls may work all the same");
}

#[tokio::test]
async fn nothing_at_all_is_an_error() {
    let dead = Server::new(["d"]);
    dead.set_broken(true);
    let tools = ToolSet::builder().mcp(dead.client("dead")).build().unwrap();
    assert_eq!(tools.definitions().await.unwrap_err().message(), "out of order");
    let none = ToolSet::builder().build().unwrap();
    assert_eq!(none.definitions().await.unwrap(), []);
}

#[tokio::test]
async fn a_required_server_that_is_dead_is_an_error() {
    let config = r#"{"mcpServers": {"must": {"command": "no-such-command-here", "required": true}}}"#;
    let [client] = ClientBuilder::new().each(&Config::parse(config).unwrap()).unwrap().try_into().unwrap();
    let tools = ToolSet::builder().tool(local("l")).mcp(client).build().unwrap();
    let error = tools.definitions().await.unwrap_err();
    assert_eq!((error.kind(), error.get("server")), (ErrorKind::Unreachable, Some("must")));
    assert_eq!(tools.call("l", ()).await.unwrap(), "local");
}

#[tokio::test]
async fn a_slow_server_never_holds_up_the_others() {
    let (slow, live) = (Server::new(["s"]), Server::new(["l"]));
    slow.open.send_replace(false);
    let tools = ToolSet::builder().mcp(slow.client("slow")).mcp(live.client("live")).limits(quick()).build().unwrap();
    assert_eq!(names(&tools).await, ["l"]);
    assert_eq!(tools.warnings(), ["server \"slow\" takes long to answer"]);
    assert!(tools.failures().is_empty());
    slow.open.send_replace(true);
    assert_eq!(names(&tools).await, ["s", "l"]);
    slow.open.send_replace(false);
    assert_eq!(names(&tools).await, ["s", "l"], "what it listed before is kept");
}

#[tokio::test]
async fn a_call_waits_for_its_own_server_alone() {
    let (slow, live) = (Server::new(["s"]), Server::new(["l"]));
    slow.open.send_replace(false);
    let tools = ToolSet::builder().mcp(slow.client("slow")).mcp(live.client("live")).tool(local("n")).build().unwrap();
    let begun = Instant::now();
    assert_eq!(tools.call("l", ()).await.unwrap(), "l");
    assert_eq!(tools.call("n", ()).await.unwrap(), "local");
    assert!(begun.elapsed() < Duration::from_secs(3), "it waited for the slow one to settle");
}

#[tokio::test]
async fn p44_the_first_keeps_a_name_and_later_ones_are_told_apart() {
    let (a, b) = (Server::new(["search", "f"]), Server::new(["search"]));
    let tools = ToolSet::builder().mcp(a.client("a")).mcp(b.client("b")).tool(local("f")).build().unwrap();
    let listed = names(&tools).await;
    let [f, search, other_f, other_search] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((f.as_str(), search.as_str()), ("f", "search"));
    for (name, server, wire, calls) in [(other_f, "a", "f", &a), (other_search, "b", "search", &b)] {
        assert!(name.starts_with(&format!("{wire}_")) && name.len() == wire.len() + 9, "{name}");
        assert_eq!(tools.server(name).as_deref(), Some(server));
        assert_eq!(tools.call(name, ()).await.unwrap(), wire);
        assert_eq!(calls.calls().last().unwrap().0, wire);
    }
    assert_eq!(tools.call("f", ()).await.unwrap(), "local");
    assert_eq!(a.calls().len(), 1, "{:?}", a.calls());
    let warnings = tools.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert_eq!(warnings[0], format!("tool \"f\" of server \"a\" is \"{other_f}\" here: the name is taken"));
    assert_eq!(names(&tools).await, listed, "the same the next time");
}

#[tokio::test]
async fn p44_p50_a_name_that_was_given_out_keeps_its_meaning() {
    let (a, b) = (Server::new(["search"]), Server::new(["search"]));
    a.set_broken(true);
    let tools = ToolSet::builder().mcp(a.client("a")).mcp(b.client("b")).build().unwrap();
    assert_eq!(names(&tools).await, ["search"]);
    a.set_broken(false);
    let listed = names(&tools).await;
    assert_eq!((listed.len(), listed[1].as_str()), (2, "search"));
    assert_eq!(tools.server("search").as_deref(), Some("b"));
    assert_eq!(tools.server(&listed[0]).as_deref(), Some("a"));
}

#[tokio::test]
async fn p43_names_that_models_do_not_take_are_altered() {
    let long = "x".repeat(80);
    let server = Server::new(["files.read/all", &long]);
    let tools = ToolSet::builder().mcp(server.client("s")).build().unwrap();
    let listed = names(&tools).await;
    for (name, wire) in listed.iter().zip(["files.read/all", &long]) {
        assert!(name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{name}");
        assert_eq!(tools.call(name, ()).await.unwrap(), wire);
    }
    assert!(listed[0].starts_with("files_read_all_"), "{listed:?}");
    assert!(tools.warnings()[0].ends_with("models don't take its name"), "{:?}", tools.warnings());
}

#[tokio::test]
async fn arguments_are_checked_before_they_leave() {
    let server = Server::new(["f"]);
    server.set_schema(json!({
        "type": "object",
        "properties": {"at": {"type": "object", "properties": {"line": {"type": "integer"}}}},
        "required": ["at"],
    }));
    let tools = ToolSet::builder().mcp(server.client("s")).build().unwrap();
    for (arguments, told) in [
        (json!({}), "The arguments of tool \"f\" don't fit: \"at\" is missing"),
        (json!({"at": {"line": "7"}}), "don't fit: \"at/line\" has to be a whole number, not \"7\""),
    ] {
        let error = tools.call("f", arguments).await.unwrap_err();
        assert_eq!((error.kind(), error.get("server")), (ErrorKind::InvalidArguments, Some("s")));
        assert!(error.message().contains(told) && !error.may_have_run(), "{error}");
    }
    let error = tools.call("f", json!([1])).await.unwrap_err();
    assert_eq!((error.kind(), error.get("tool")), (ErrorKind::InvalidArguments, Some("f")));
    assert!(server.calls().is_empty());
    tools.call("f", json!({"at": {"line": 7}})).await.unwrap();
    assert_eq!(server.calls(), [("f".to_owned(), json!({"at": {"line": 7}}))]);
}

#[tokio::test]
async fn p30_a_schema_that_cannot_be_used_checks_nothing() {
    let server = Server::new(["f"]);
    server.set_schema(json!({"type": "object", "properties": {"a": {"type": "no such type"}}}));
    let tools = ToolSet::builder().mcp(server.client("s")).build().unwrap();
    for _ in 0..2 {
        assert_eq!(tools.call("f", json!({"a": 1})).await.unwrap(), "f");
    }
    let warnings = tools.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("the arguments of tool \"f\" of server \"s\" aren't checked:"), "{warnings:?}");
}

#[tokio::test]
async fn p50_another_schema_is_seen_once_it_is_listed() {
    let server = Server::new(["f"]);
    let client = server.client("s");
    let tools = ToolSet::builder().mcp(&client).build().unwrap();
    tools.call("f", json!({"old": 1})).await.unwrap();
    server.set_schema(json!({"type": "object", "required": ["new"]}));
    client.list_tools().await.unwrap();
    let error = tools.call("f", json!({"old": 1})).await.unwrap_err();
    assert!(error.message().contains("\"new\" is missing"), "{error}");
}

#[tokio::test]
async fn an_unknown_name_is_looked_for_once_more() {
    let server = Server::new(["read_file"]);
    let tools = ToolSet::builder().mcp(server.client("s")).tool(local("write_file")).build().unwrap();
    let error = tools.call("read_fil", ()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.hint().unwrap().contains("Did you mean \"read_file\"?"), "{error:?}");
    server.tools.lock().unwrap().push(ToolDefinition::new("late", "", json!({"type": "object"})));
    assert_eq!(tools.call("late", ()).await.unwrap(), "late");
}

#[tokio::test]
async fn the_hook_approves_refuses_and_rewrites() {
    let server = Server::new(["f", "rm", "mv", "slip", "lie"]);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let tools = ToolSet::builder()
        .mcp(server.client("s"))
        .tool(FunctionTool::new("strict", "", |_: Strict| "ran"))
        .before_call({
            let asked = asked.clone();
            move |call| {
                asked.lock().unwrap().push((call.name().to_owned(), call.server().map(str::to_owned)));
                async move {
                    tokio::task::yield_now().await;
                    match call.name() {
                        "rm" => Decision::refuse("Not allowed. Ask first."),
                        "mv" => {
                            assert_eq!(call.arguments().raw().to_value(), json!({"to": "/"}));
                            Decision::rewrite(json!({"to": "./"}))
                        }
                        "slip" => Decision::rewrite(json!([1])),
                        "strict" => Decision::rewrite(json!({"n": "one"})),
                        _ => Decision::approve(),
                    }
                }
            }
        })
        .build()
        .unwrap();
    assert_eq!(tools.call("f", ()).await.unwrap(), "f");
    let refused = tools.call("rm", ()).await.unwrap_err();
    assert_eq!((refused.kind(), refused.message()), (ErrorKind::Tool, "Not allowed. Ask first."));
    assert!(!refused.may_have_run());
    let result = tools.call_result("rm", (), &CallContext::new()).await.unwrap();
    assert!(result.is_error());
    tools.call("mv", json!({"to": "/"})).await.unwrap();
    assert_eq!(server.calls(), [("f".to_owned(), json!({})), ("mv".to_owned(), json!({"to": "./"}))]);

    assert_eq!(tools.call("slip", ()).await.unwrap_err().kind(), ErrorKind::InvalidArguments);
    let unfit = tools.call("strict", json!({"n": 1})).await.unwrap_err();
    assert!(unfit.message().contains("\"n\" has to be"), "{unfit}");
    asked.lock().unwrap().clear();
    tools.call("strict", json!({})).await.unwrap_err();
    tools.call("f", ()).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [("f".to_owned(), Some("s".to_owned()))], "what doesn't fit isn't asked about");
}

#[derive(Deserialize, JsonSchema)]
struct Strict {
    #[serde(rename = "n")]
    _n: i64,
}

#[tokio::test]
async fn bound_tools_are_called_through_the_set() {
    let server = Server::new(["f"]);
    server.set_schema(json!({"type": "object", "required": ["a"]}));
    let set = ToolSet::builder()
        .tool(local("l"))
        .mcp(server.client("s"))
        .before_call(|call| if call.name() == "l" { Decision::refuse("no") } else { Decision::approve() })
        .build()
        .unwrap();
    let tools = set.tools().await.unwrap();
    let cx = CallContext::new();
    assert_eq!(tools[0].call(Arguments::none(), &cx).await.unwrap().text(), "no");
    assert_eq!(tools[1].call(Arguments::none(), &cx).await.unwrap_err().kind(), ErrorKind::InvalidArguments);
    let fitting = json!({"a": 1}).into_arguments().unwrap();
    assert_eq!(tools[1].call(fitting, &cx).await.unwrap().text(), "f");
}

#[tokio::test]
async fn many_calls_are_bounded_and_keep_their_order() {
    #[derive(Deserialize, JsonSchema)]
    struct N {
        n: usize,
    }
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let released = Arc::new(tokio::sync::Semaphore::new(0));
    let work = {
        let (running, most, released) = (running.clone(), most.clone(), released.clone());
        move |N { n }: N| {
            let (running, most, released) = (running.clone(), most.clone(), released.clone());
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                match n {
                    0 => released.acquire().await.unwrap().forget(), // until the last one is done
                    19 => released.add_permits(1),
                    _ => tokio::task::yield_now().await,
                }
                running.fetch_sub(1, Ordering::SeqCst);
                if n == 7 { Err("seven") } else { Ok(n) }
            }
        }
    };
    let tools = ToolSet::builder().tool(FunctionTool::new("work", "", work)).concurrency(3).build().unwrap();
    let calls: Vec<_> = (0..20).map(|n| (String::from("work"), json!({"n": n}))).collect();
    let outcomes = tokio::spawn(async move { tools.call_many(calls).await }).await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 3);
    for (n, outcome) in outcomes.iter().enumerate() {
        match outcome {
            Ok(value) => assert_eq!(*value, n),
            Err(error) => assert_eq!((n, error.message()), (7, "seven")),
        }
    }
    assert!(outcomes[7].is_err() && outcomes.len() == 20);
}

#[tokio::test]
async fn models_are_told_everything_as_text() {
    let server = Server::new(["far"]);
    let tools = ToolSet::builder()
        .tool(local("near"))
        .tool(FunctionTool::new("fail", "", || Err::<(), _>("disk full")))
        .mcp(server.client("s"))
        .build()
        .unwrap();
    let calls = ["near", "far", "fail", "fart"].map(|name| (name, json!({})));
    let told = tools.call_many_text(calls).await;
    assert_eq!(told[..3], ["local", "far", "Error: disk full"]);
    assert!(told[3].starts_with("Error: No tool named \"fart\". Did you mean \"far\"?"), "{}", told[3]);
    assert!(tools.call_text("near", json!(3)).await.starts_with("Error: Arguments have to be a JSON object."));
}

#[tokio::test]
async fn local_tools_keep_to_the_context_as_remote_ones_do() {
    let started = Arc::new(tokio::sync::Notify::new());
    let endless = || {
        let started = started.clone();
        FunctionTool::new("endless", "", move || {
            started.notify_one();
            std::future::pending::<()>()
        })
    };
    let server = trunkline::StaticServer::new().tool(endless());
    let tools = ToolSet::builder()
        .tool(endless())
        .mcp(Client::in_memory(server).namespaced(true).label("far"))
        .build()
        .unwrap();
    for name in ["endless", "far_endless"] {
        let cx = CallContext::new().with_timeout(Duration::from_millis(10));
        let error = tools.call_result(name, (), &cx).await.unwrap_err();
        assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::Deadline, true), "{error}");
        started.notified().await; // by the call that was given up
        let switch = Cancellation::new();
        let cx = CallContext::new().with_cancellation(switch.clone());
        let cancel = async {
            started.notified().await;
            switch.cancel();
        };
        let (outcome, ()) = tokio::join!(tools.call_result(name, (), &cx), cancel);
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::Cancelled, true), "{error}");
    }
}

#[tokio::test]
async fn disconnecting_ends_every_server_and_the_next_call_connects_again() {
    let (a, b) = (Server::new(["a"]).client("a"), Server::new(["b"]).client("b"));
    let mut multi = MultiServer::new();
    multi.add(&b).unwrap();
    let tools = ToolSet::builder().mcp(&a).mcp(multi).build().unwrap();
    assert_eq!(names(&tools).await, ["a", "b_b"]);
    assert!(a.connected() && b.connected());
    tools.disconnect().await;
    assert!(!a.connected() && !b.connected());
    assert_eq!(tools.call("b_b", ()).await.unwrap(), "b");
}
