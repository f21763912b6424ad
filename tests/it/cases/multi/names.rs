//! Names: legal and unique whatever the servers call themselves and their tools, exact on the wire, routed by table.

use std::collections::HashSet;

use serde_json::json;
use trunkline::{Client, Connection, ErrorKind, MultiServer, StaticServer};
use trunkline_tests::*;

use super::{Servers, dead, marked};
use crate::rig::SOON;

fn is_legal(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

#[tokio::test]
async fn p43_odd_names_are_shown_legal_and_called_exact() {
    let label = "awslabs.aws-documentation-mcp-server";
    let long = "x".repeat(120);
    let odd = ["a.b/c", "a_b_c", "ünïcode", &long, "with space", "日本語", "quote\"d\\", "UPPER", "-"];
    let mut servers = Servers::new();
    let script = Script::new().tools(odd.iter().copied().chain(["", " "]).map(tool)).on("tools/call", [text("$NAME")]);
    let client = servers.add(label, script);
    let shown = servers.tools().await;
    assert_eq!(shown.len(), odd.len());
    assert_eq!(shown.iter().collect::<HashSet<_>>().len(), odd.len());
    for (shown, wire) in shown.iter().zip(odd) {
        assert!(is_legal(shown), "{shown}");
        assert_eq!(servers.call(shown).await.unwrap(), wire);
        assert_eq!(*shown, servers.multi.exposed_name(label, wire));
    }
    let left_out = client.warnings().iter().filter(|warning| warning.contains("has an empty name")).count();
    assert_eq!(left_out, 2);
}

#[tokio::test]
async fn p44_the_same_tool_on_two_servers_is_two_tools() {
    for order in [["s1", "s2"], ["s2", "s1"]] {
        let servers = Servers::with(order.map(|label| (label, marked(label, &["send_email"]))));
        assert_eq!(servers.tools().await, order.map(|label| format!("{label}_send_email")));
        for label in order {
            assert_eq!(servers.call(&format!("{label}_send_email")).await.unwrap(), label);
        }
        let error = servers.call("send_email").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "no guess");
    }
}

#[tokio::test]
async fn p46_a_label_that_holds_the_separator_never_leads_astray() {
    let labels = ["db", "my_db", "my", "my.db", "my-db"];
    let servers = Servers::with(
        labels.map(|label| (label, marked(label, &["execute_sql", "db_execute_sql", "db__execute_sql"]))),
    );
    let shown = servers.tools().await;
    assert_eq!(shown.iter().collect::<HashSet<_>>().len(), 15, "{shown:?}");
    for (at, name) in shown.iter().enumerate() {
        assert_eq!(servers.call(name).await.unwrap(), labels[at / 3], "{name}");
    }
}

#[tokio::test]
async fn p43_p46_a_name_is_the_same_whichever_servers_are_up() {
    let labels = ["my", "my_db"];
    let both = Servers::with(labels.map(|label| (label, marked(label, &["db_x", "x"]))));
    let mut half = Servers::with([("my", marked("my", &["db_x", "x"]))]);
    half.add_dead("my_db");
    assert_eq!(half.tools().await[..], both.tools().await[..2]);
}

#[tokio::test]
async fn p44_a_label_that_is_taken_gets_a_number_and_a_warning() {
    let mut servers = Servers::with([("npx", marked("1", &["a"])), ("npx", marked("2", &["a"]))]);
    servers.add("npx", marked("3", &["a"]));
    let labels: Vec<_> = servers.multi.members().into_iter().map(|member| member.label).collect();
    assert_eq!(labels, ["npx", "npx_2", "npx_3"]);
    let shown = servers.tools().await;
    for (name, mark) in shown.iter().zip(["1", "2", "3"]) {
        assert_eq!(servers.call(name).await.unwrap(), mark, "{name}");
    }
    let warnings = servers.multi.warnings();
    assert!(warnings.iter().any(|text| text.contains("\"npx\" is taken: this server is \"npx_2\"")), "{warnings:?}");
}

#[tokio::test]
async fn what_a_renamed_server_says_comes_under_its_new_label() {
    let mut multi = MultiServer::new();
    let mut events = multi.events();
    multi.add(dead("x")).unwrap().add(dead("x")).unwrap();
    multi.connect().await;
    let mut failed = Vec::new();
    while failed.len() < 2 {
        let event = events.next().await.unwrap();
        if matches!(event.kind, trunkline::EventKind::Failed(_)) {
            failed.push(event.server);
        }
    }
    failed.sort();
    assert_eq!(failed, ["x", "x_2"]);
}

#[tokio::test]
async fn the_same_client_twice_is_a_mistake() {
    let client = Client::from_connection(StaticServer::new()).label("a").build().unwrap();
    let mut multi = MultiServer::new();
    multi.add(&client).unwrap();
    let error = multi.add(client.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("\"a\""), "{error}");
    assert_eq!(multi.members().len(), 1);
}

#[tokio::test]
async fn a_call_starts_and_asks_only_the_server_it_can_be_for() {
    let servers = Servers::with(["a", "b", "c"].map(|label| (label, marked(label, &["x"]))));
    assert_eq!(servers.call("b_x").await.unwrap(), "b");
    assert_eq!(servers.sent("b", "tools/list"), 1);
    assert!(servers.log("a").starts().is_empty() && servers.log("c").starts().is_empty());
    assert_eq!(servers.call("b_x").await.unwrap(), "b");
    assert_eq!(servers.sent("b", "tools/list"), 1, "a known name needs no list");
}

#[tokio::test]
async fn p46_an_unknown_name_is_looked_for_once() {
    let servers = Servers::with(["a", "b"].map(|label| (label, marked(label, &["x"]))));
    assert_eq!(servers.tools().await.len(), 2);
    for misses in 1..=3 {
        let error = servers.call("a_y").await.unwrap_err();
        assert_eq!(
            (error.kind(), error.hint()),
            (ErrorKind::NotFound, Some("Did you mean \"a_x\"? There are \"a_x\", \"b_x\""))
        );
        assert_eq!((servers.sent("a", "tools/list"), servers.sent("b", "tools/list")), (1 + misses, 1));
    }
    let nobody = servers.call("q_x").await.unwrap_err();
    assert_eq!(nobody.get("available"), Some("a_x, b_x"));
    assert_eq!(servers.sent("a", "tools/list") + servers.sent("b", "tools/list"), 5);
}

#[tokio::test]
async fn misses_at_the_same_time_share_one_list() {
    let mut servers = Servers::new();
    let go = servers.dir.join("go");
    let listing = on_method("tools/list").nth(1);
    servers.add("a", marked("a", &["x"]).on(listing, [background([wait_file(&go), default_answer()])]));
    let calls = futures_util::future::join_all((0..20).map(|_| servers.call("a_x")));
    let (outcomes, ()) = tokio::join!(calls, async {
        let log = servers.log("a");
        offload(move || log.wait_sent("tools/list", 1)).await;
        super::touch(&go);
    });
    assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|mark| mark == "a")), "{outcomes:?}");
    assert_eq!(servers.sent("a", "tools/list"), 1);
}

#[tokio::test]
async fn p50_a_tool_that_appears_without_notice_is_found_at_the_first_call() {
    let script = Script::new().on(on_method("tools/call").nth(1), [set_tools([tool("old"), tool("new")]), text("ok")]);
    let servers = Servers::with([("a", script.tools([tool("old")]))]);
    servers.call("a_old").await.unwrap();
    assert_eq!(servers.call("a_new").await.unwrap(), "ok");
}

#[tokio::test]
async fn a_server_that_is_added_later_is_seen() {
    let mut servers = Servers::with([("a", marked("a", &["x"]))]);
    assert_eq!(servers.tools().await, ["a_x"]);
    let clone = servers.multi.clone();
    servers.add("b", marked("b", &["x"]));
    assert_eq!(clone.call("b_x", ()).await.unwrap(), json!("b"));
    assert_eq!(servers.tools().await, ["a_x", "b_x"]);
}

#[tokio::test]
async fn p50_a_list_that_changes_while_it_is_asked_for_is_good_enough_for_a_call() {
    let restless = [notify("notifications/tools/list_changed"), default_answer()];
    let servers = Servers::with([("a", marked("a", &["x"]).on("tools/list", restless))]);
    for _ in 0..3 {
        let call = tokio::time::timeout(SOON, servers.call("a_x")).await.unwrap();
        assert_eq!(call.unwrap(), "a");
    }
}

#[tokio::test]
async fn p44_prompts_are_called_by_their_shown_name_or_by_their_own_where_it_is_unique() {
    let answer = |mark: &str| {
        respond(json!({"messages": [{"role": "user", "content": {"type": "text", "text": format!("{mark} $NAME")}}]}))
    };
    let servers = Servers::with([
        ("a", Script::new().prompts([prompt("both"), prompt("only.a")]).on("prompts/get", [answer("a")])),
        ("b", Script::new().prompts([prompt("both")]).on("prompts/get", [answer("b")])),
    ]);
    assert_eq!(servers.multi.prompt("b_both", ()).await.unwrap(), "b both");
    assert_eq!(servers.multi.prompt("only.a", ()).await.unwrap(), "a only.a");
    let shown = servers.multi.exposed_name("a", "only.a");
    assert_eq!(servers.multi.prompt(&shown, ()).await.unwrap(), "a only.a");
    let error = servers.multi.prompt("both", ()).await.unwrap_err();
    assert_eq!((error.kind(), error.get("available")), (ErrorKind::Ambiguous, Some("a, b")));
    let asked = servers.sent("a", "prompts/list") + servers.sent("b", "prompts/list");
    servers.multi.prompt("only.a", ()).await.unwrap();
    assert_eq!(servers.sent("a", "prompts/list") + servers.sent("b", "prompts/list"), asked, "known by now");
    assert_eq!(servers.multi.prompt("nowhere", ()).await.unwrap_err().kind(), ErrorKind::NotFound);
}
