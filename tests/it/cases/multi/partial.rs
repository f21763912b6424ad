//! One dead, slow or failing server among good ones costs itself alone.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::{
    CallContext, Client, Config, Connection, ErrorKind, EventKind, Limits, MultiServer, Outcome, Protocol, State,
};
use trunkline_tests::*;

use super::{Servers, dead, marked, touch};
use crate::rig::{SOON, limits, ms};
use crate::smoke::FAKE;

fn failing() -> Script {
    Script::new().on("tools/list", [respond_error(-32603, "disk full")])
}

/// Short waits for the rest, long rests after a failure.
fn impatient() -> Limits {
    Limits { settle: ms(300), max_backoff: Duration::from_secs(600), ..limits() }
}

#[tokio::test]
async fn p88_the_good_ones_are_listed_and_the_others_told() {
    let mut servers = Servers::with([("good", marked("good", &["x"])), ("failing", failing())]);
    servers.add_dead("dead");
    servers.add("dies", Script::new().on("initialize", [stderr("no key\n"), exit(3)]));
    let listings = servers.multi.tools_by_server(&CallContext::new()).await;
    let told: Vec<_> = listings
        .iter()
        .map(|listing| match &listing.outcome {
            Outcome::Ready(tools) => (listing.server.as_str(), Ok(tools.len())),
            Outcome::Failed(error) => (listing.server.as_str(), Err(error.kind())),
            Outcome::Pending => panic!("{listing:?}"),
        })
        .collect();
    let unreachable = Err(ErrorKind::Unreachable);
    assert_eq!(
        told,
        [("good", Ok(1)), ("failing", Err(ErrorKind::Protocol)), ("dead", unreachable), ("dies", unreachable)]
    );
    assert_eq!(servers.tools().await, ["good_x"]);
    assert_eq!(servers.call("good_x").await.unwrap(), "good");
    let failures = servers.multi.failures();
    assert_eq!(failures.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), ["dead", "dies"]);
    assert!(failures[1].1.get("stderr").unwrap().contains("no key"));
    for label in ["failing", "dead", "dies"] {
        let warned = servers.multi.warnings().iter().any(|text| text.contains(&format!("\"{label}\" is left out")));
        assert!(warned, "{label}: {:?}", servers.multi.warnings());
    }
}

#[tokio::test]
async fn p88_resources_and_prompts_are_as_tolerant() {
    let good = Script::new().resources([resource("a:1")]).templates([template("t:{x}")]).prompts([prompt("p")]);
    let mut servers = Servers::with([("good", good)]);
    servers.add_dead("dead");
    let cx = CallContext::new();
    assert_eq!(servers.multi.list_resources(&cx).await.unwrap().len(), 1);
    assert_eq!(servers.multi.list_resource_templates(&cx).await.unwrap().len(), 1);
    assert_eq!(servers.multi.list_prompts(&cx).await.unwrap().len(), 1);
    assert_eq!(servers.multi.read("a:1").await.unwrap(), "ok");
    assert_eq!(servers.multi.prompt("good_p", ()).await.unwrap(), "ok");
}

#[tokio::test]
async fn p88_when_all_are_dead_the_list_is_an_error() {
    let mut servers = Servers::with([("failing", failing())]);
    servers.add_dead("dead");
    let error = servers.multi.tools().await.unwrap_err();
    assert_eq!((error.code(), error.get("server")), (Some(-32603), Some("failing")));
    let cx = CallContext::new();
    assert!(servers.multi.list_resources(&cx).await.unwrap().is_empty(), "it lives: it has no resources");
}

#[tokio::test]
async fn p88_a_required_server_is_no_option() {
    let dir = TempDir::new();
    let good = json!({"command": FAKE, "args": [Script::new().write_to(&dir)]});
    let entries = |required: bool| {
        let lost = json!({"command": "no-such-command-here", "required": required});
        json!({"mcpServers": {"good": good, "lost": lost, "later": good}}).to_string()
    };
    let client = |required| Client::from_config(&Config::parse(&entries(required)).unwrap()).build().unwrap();
    assert_eq!(client(false).list_tools().await.unwrap().len(), 2);
    let required = client(true);
    let error = required.list_tools().await.unwrap_err();
    assert_eq!((error.kind(), error.get("server")), (ErrorKind::Unreachable, Some("lost")));
    assert_eq!(required.call_tool("good_echo", ()).await.unwrap(), json!("ok"), "a call is about its own server");
}

#[tokio::test]
async fn p89_a_call_of_a_ready_server_does_not_wait_for_one_that_starts() {
    let mut servers = Servers::new();
    let go = servers.dir.join("go");
    servers.add("b", marked("b", &["x"]).on("initialize", [wait_file(&go), default_answer()]));
    servers.add("a", marked("a", &["x"]));
    let multi = servers.multi.clone();
    let connecting = tokio::spawn(async move { multi.connect().await });
    assert_eq!(servers.call("a_x").await.unwrap(), "a");
    assert!(!connecting.is_finished());
    let starting = || matches!(servers.multi.members()[0].state, State::Starting);
    assert!(starting());
    let (own, ()) = tokio::join!(servers.call("b_x"), async {
        tokio::time::sleep(ms(50)).await;
        assert!(starting());
        touch(&go);
    });
    assert_eq!(own.unwrap(), "b", "a call of the slow one waits for it");
    connecting.await.unwrap();
    assert!(servers.multi.members().iter().all(|member| matches!(member.state, State::Ready)));
}

#[tokio::test]
async fn p89_a_list_does_not_wait_for_the_slowest_and_tells_when_it_is_there() {
    let mut servers = Servers::bounded(impatient());
    let go = servers.dir.join("go");
    servers.add("a", marked("a", &["x"]));
    servers.add("starts", marked("starts", &["x"]).on("initialize", [wait_file(&go), default_answer()]));
    servers.add("lists", marked("lists", &["x"]).on("tools/list", [background([wait_file(&go), default_answer()])]));
    let mut events = servers.multi.events();
    let begun = Instant::now();
    let listings = servers.multi.tools_by_server(&CallContext::new()).await;
    assert!(begun.elapsed() >= ms(300));
    let pending: Vec<_> = listings.iter().map(|listing| matches!(listing.outcome, Outcome::Pending)).collect();
    assert_eq!(pending, [false, true, true]);
    assert_eq!(servers.tools().await, ["a_x"]);
    touch(&go);
    for _ in 0..2 {
        while !matches!(events.next().await.unwrap().kind, EventKind::ToolsChanged) {}
    }
    assert_eq!(servers.tools().await, ["a_x", "starts_x", "lists_x"]);
    assert_eq!(servers.log("starts").starts().len(), 1);
    assert_eq!(servers.sent("lists", "tools/list"), 2, "one slow list, and the one just now");
}

#[tokio::test]
async fn whoever_cannot_wait_says_so() {
    let mut servers = Servers::new();
    servers.add("silent", Script::new().on("tools/list", []));
    let cx = CallContext::new().with_timeout(ms(200));
    let error = servers.multi.list_tools(&cx).await.unwrap_err();
    assert_eq!((error.kind(), error.get("server")), (ErrorKind::Deadline, Some("silent")));
    let switch = trunkline::Cancellation::new();
    let cx = CallContext::new().with_cancellation(switch.clone());
    let (outcome, ()) = tokio::join!(servers.multi.list_tools(&cx), async { switch.cancel() });
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn p88_a_call_to_a_dead_server_says_why_it_is_dead() {
    let mut servers = Servers::with([("good", marked("good", &["x"]))]);
    servers.add_dead("dead");
    for _ in 0..2 {
        let error = servers.call("dead_x").await.unwrap_err();
        assert_eq!((error.kind(), error.get("server")), (ErrorKind::Unreachable, Some("dead")));
        assert!(!error.may_have_run());
    }
    assert_eq!(servers.call("good_x").await.unwrap(), "good");
}

/// Looking up a tool does no work, whatever becomes of it.
#[tokio::test]
async fn p88_a_call_whose_tool_cannot_be_looked_up_never_left() {
    let mut servers = Servers::new();
    let dies = Script::new().on("tools/list", [exit(3)]);
    let late = Script::new().on("tools/list", []);
    servers.add("dies", dies.clone());
    servers.add_with("late", late, |builder| builder.timeout(ms(200)));
    let alone = servers.add_with("alone", dies, |builder| builder.namespaced(true));
    for (name, kind) in [("dies_echo", ErrorKind::Closed), ("late_echo", ErrorKind::Deadline)] {
        let error = servers.call(name).await.unwrap_err();
        assert_eq!((error.kind(), error.may_have_run()), (kind, false), "{error:?}");
    }
    let error = alone.call_tool("alone_echo", ()).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::Closed, false), "{error:?}");
}

/// A label may be how another one begins; and where two could be meant, the nearer one's fault is told.
#[tokio::test]
async fn p89_a_call_asks_no_server_whose_label_only_begins_the_same() {
    let mut servers = Servers::with([("s2", Script::new().on("tools/list", []))]);
    for label in ["s23", "near", "near_by"] {
        servers.add_dead(label);
    }
    for label in ["s23", "near_by"] {
        let error = servers.call(&servers.multi.exposed_name(label, "echo")).await.unwrap_err();
        assert_eq!((error.kind(), error.get("server")), (ErrorKind::Unreachable, Some(label)), "{error:?}");
    }
    assert_eq!(servers.log("s2").starts().len(), 0);
}

#[tokio::test]
async fn a_server_that_failed_rests_before_lists_try_it_again() {
    let mut servers = Servers::bounded(impatient());
    servers.add("good", marked("good", &["x"]));
    let limits = impatient();
    let script = Script::new().on(on_method("@start").first_starts(2), [exit(3)]);
    let client = servers.add_with("shaky", script, |builder| builder.limits(limits).protocol(Protocol::Legacy));
    for _ in 0..10 {
        assert_eq!(servers.tools().await, ["good_x"]);
    }
    let starts = servers.log("shaky").starts().len();
    assert_eq!(starts, 1, "ten lists in a moment");
    assert!(client.call_tool("echo", ()).await.is_err(), "a call tries at once");
    assert_eq!(client.call_tool("echo", ()).await.unwrap(), json!("ok"));
    assert_eq!(servers.tools().await, ["good_x", "shaky_echo"], "one that lives is asked at once");
    assert_eq!(servers.log("shaky").starts().len(), 3);
}

#[tokio::test]
async fn a_rest_ends() {
    let mut servers = Servers::bounded(Limits { max_backoff: ms(20), ..impatient() });
    servers.add("good", marked("good", &["x"]));
    let script = Script::new().on(on_method("@start").first_starts(2), [exit(3)]);
    servers.add_with("shaky", script, |builder| builder.limits(Limits { max_backoff: ms(20), ..limits() }));
    let both = async { while servers.tools().await.len() < 2 {} };
    tokio::time::timeout(SOON * 2, both).await.expect("the third start is fine");
    assert_eq!(servers.log("shaky").starts().len(), 3);
}

#[tokio::test]
async fn nothing_is_left_after_a_disconnect_or_a_drop() {
    let mut servers = Servers::bounded(impatient());
    servers.add("a", marked("a", &["x"]));
    servers.add("silent", Script::new().on("initialize", []));
    servers.add("lists", Script::new().on("tools/list", []));
    let pids =
        |servers: &Servers| ["a", "silent", "lists"].map(|label| servers.log(label).starts().last().unwrap().pid);
    servers.tools().await;
    servers.multi.disconnect().await;
    for pid in pids(&servers) {
        assert!(!alive(pid));
    }
    assert_eq!(servers.tools().await, ["a_x"], "the next use connects again");
    let again = pids(&servers);
    let Servers { multi, dir: _dir } = servers;
    drop(multi);
    for pid in again {
        offload(move || wait_gone(pid)).await;
    }
}

#[tokio::test]
async fn what_belongs_to_one_call_reaches_its_own_server_alone() {
    let servers = Servers::with(["a", "b"].map(|label| (label, marked(label, &["x"]))));
    let cx = CallContext::new().with_meta(json!({"secret": "for a"}).into());
    let none = trunkline::Arguments::none();
    servers.multi.call_tool("a_x", none.clone(), &cx).await.unwrap();
    servers.multi.call_tool("a_nothing", none, &cx).await.unwrap_err();
    let with_secret = |label: &str| {
        let lines = servers.log(label).lines();
        lines.into_iter().filter(|line| line.contains("for a")).count()
    };
    assert_eq!((with_secret("a"), with_secret("b")), (1, 0), "in the call itself, in no list");
}

#[tokio::test]
async fn an_empty_one_lists_nothing_and_knows_no_name() {
    let multi = MultiServer::new();
    assert!(multi.tools().await.unwrap().is_empty());
    let error = multi.call("a_x", ()).await.unwrap_err();
    assert_eq!((error.kind(), error.hint()), (ErrorKind::NotFound, Some("There are no tools")));
    assert_eq!(multi.read("a:1").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(multi.prompt("p", ()).await.unwrap_err().kind(), ErrorKind::NotFound);
    let mut one = MultiServer::new();
    one.add(dead("dead")).unwrap();
    assert_eq!(one.tools().await.unwrap_err().kind(), ErrorKind::Unreachable);
}

#[tokio::test]
async fn a_call_gives_up_in_time_though_it_has_to_list_first() {
    let mut servers = Servers::new();
    let client = servers.add_with("s", Script::new().on("tools/list", []), |builder| builder.namespaced(true));
    client.connect().await.unwrap();
    let error = client.call("s_echo", ()).timeout(ms(200)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    let none = trunkline::Arguments::none;
    let cx = CallContext::new().with_timeout(ms(200));
    assert_eq!(servers.multi.call_tool("s_echo", none(), &cx).await.unwrap_err().kind(), ErrorKind::Deadline);
    assert!(servers.sent("s", "tools/list") == 2, "the client's own list, and one for all who ask the union");
    let switch = trunkline::Cancellation::new();
    let cx = CallContext::new().with_cancellation(switch.clone());
    let call = servers.multi.call_tool("s_echo", none(), &cx);
    let named = client.call("s_echo", ()).cancellation(switch.clone());
    let (outcome, named, ()) = tokio::join!(call, named.into_future(), async { switch.cancel() });
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(named.unwrap_err().kind(), ErrorKind::Cancelled);
}
