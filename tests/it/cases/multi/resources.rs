//! Resources: a plain URI where one server has it, an error that names the candidates where several do.

use serde_json::json;
use trunkline::{CallContext, Connection, ErrorKind};
use trunkline_tests::*;

use super::{Servers, touch};
use crate::rig::{SOON, limits, ms};

/// A server with these resources, each of which reads as the server's mark and its URI.
fn holding(mark: &str, uris: &[&str]) -> Script {
    answering(mark, Script::new().resources(uris.iter().map(|uri| resource(uri))))
}

fn answering(mark: &str, script: Script) -> Script {
    let text = format!("{mark} $NAME");
    script.on("resources/read", [respond(json!({"contents": [{"uri": "$NAME", "text": text}]}))])
}

fn expanding(mark: &str, templates: &[&str]) -> Script {
    answering(mark, Script::new().templates(templates.iter().map(|pattern| template(pattern))))
}

#[tokio::test]
async fn p47_a_uri_on_two_servers_has_to_be_addressed_with_its_server() {
    for order in [["s1", "s2"], ["s2", "s1"]] {
        let servers = Servers::with(order.map(|label| {
            let uris = ["timezone://info", &format!("only://{label}")];
            (label, holding(label, &uris))
        }));
        for label in order {
            let read = servers.multi.read_resource_from(label, "timezone://info").await.unwrap();
            assert_eq!(read.text().unwrap(), format!("{label} timezone://info"));
            let only = format!("only://{label}");
            assert_eq!(servers.multi.read(&only).await.unwrap(), format!("{label} {only}"));
        }
        let error = servers.multi.read("timezone://info").await.unwrap_err();
        assert_eq!((error.kind(), error.get("available")), (ErrorKind::Ambiguous, Some(&*order.join(", "))));
        let listed = servers.multi.list_resources(&CallContext::new()).await.unwrap();
        let twice: Vec<_> = listed.iter().filter(|r| r.uri() == "timezone://info").map(|r| r.server()).collect();
        assert_eq!(twice, order);
        let error = servers.multi.read_resource_from("s3", "timezone://info").await.unwrap_err();
        assert_eq!((error.kind(), error.get("available")), (ErrorKind::NotFound, Some(&*order.join(", "))));
    }
}

#[tokio::test]
async fn p48_a_uri_is_routed_by_the_template_it_fits() {
    let mut servers =
        Servers::with([("s1", expanding("s1", &["file:///{path}"])), ("s2", expanding("s2", &["db://{t}/{id}"]))]);
    for (uri, mark) in [("db://users/7", "s2"), ("file:///a%20b", "s1"), ("file:///ä/b c", "s1")] {
        assert_eq!(servers.multi.read(uri).await.unwrap(), format!("{mark} {uri}"));
    }
    let templates = servers.multi.list_resource_templates(&CallContext::new()).await.unwrap();
    let listed: Vec<_> = templates.iter().map(|t| (t.uri_template(), t.server())).collect();
    assert_eq!(listed, [("file:///{path}", "s1"), ("db://{t}/{id}", "s2")]);
    assert_eq!(servers.multi.read("db://users").await.unwrap_err().kind(), ErrorKind::NotFound);
    servers.add("s3", expanding("s3", &["db://{t}/{id}"]));
    let error = servers.multi.read("db://users/7").await.unwrap_err();
    assert_eq!((error.kind(), error.get("available")), (ErrorKind::Ambiguous, Some("s2, s3")));
    servers.add("s4", holding("s4", &["db://users/7"]));
    assert_eq!(servers.multi.read("db://users/7").await.unwrap(), "s4 db://users/7", "a listed URI goes first");
}

#[tokio::test]
async fn p48_a_uri_that_is_not_listed_goes_to_the_only_server_with_resources() {
    let servers = Servers::with([("plain", Script::new()), ("files", holding("files", &["a:1"]))]);
    assert_eq!(servers.multi.read("a:2").await.unwrap(), "files a:2");
    let two = Servers::with([("x", holding("x", &["a:1"])), ("y", holding("y", &["b:1"]))]);
    let error = two.multi.read("a:11").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.hint()),
        (ErrorKind::NotFound, Some("Did you mean \"a:1\"? There are \"a:1\", \"b:1\""))
    );
}

#[tokio::test]
async fn a_known_uri_is_read_without_asking_for_lists_again() {
    let mut servers = Servers::with([("a", holding("a", &["a:1"])), ("b", holding("b", &["b:1"]))]);
    servers.add_dead("dead");
    for _ in 0..5 {
        servers.multi.read("a:1").await.unwrap();
    }
    for label in ["a", "b"] {
        assert_eq!(servers.sent(label, "resources/list"), 1, "{label}");
        assert_eq!(servers.sent(label, "resources/templates/list"), 1, "{label}");
    }
}

#[tokio::test]
async fn a_server_that_never_lists_holds_up_the_first_read_alone() {
    let mut servers = Servers::bounded(trunkline::Limits { settle: ms(300), ..limits() });
    servers.add("a", holding("a", &["a:1"]));
    let go = servers.dir.join("go");
    let listed = holding("slow", &["s:1"]).on("resources/list", [background([wait_file(&go), default_answer()])]);
    servers.add("slow", listed);
    assert_eq!(servers.multi.read("a:1").await.unwrap(), "a a:1");
    let lists = servers.sent("slow", "resources/list");
    let reads = async {
        for _ in 0..20 {
            assert_eq!(servers.multi.read("a:1").await.unwrap(), "a a:1");
        }
    };
    tokio::time::timeout(SOON, reads).await.expect("20 reads that don't wait 0.3 s each");
    assert_eq!(servers.sent("slow", "resources/list"), lists, "one list is under way; nobody asks for another");
    touch(&go);
    let late = async { while servers.multi.read("s:1").await.is_err() {} };
    tokio::time::timeout(SOON, late).await.expect("the late list is taken in");
}

#[tokio::test]
async fn changed_resources_are_listed_again_and_others_are_not() {
    let script = holding("a", &["a:1"]).on(
        call("echo"),
        [
            set_list("resources/list", [resource("a:1"), resource("a:2")]),
            notify("notifications/resources/list_changed"),
            text("ok"),
        ],
    );
    let servers = Servers::with([("a", script), ("b", holding("b", &["b:1"]))]);
    servers.multi.read("a:1").await.unwrap();
    servers.call("a_echo").await.unwrap();
    let tools = servers.sent("a", "tools/list");
    assert_eq!(servers.multi.read("a:2").await.unwrap(), "a a:2");
    assert_eq!((servers.sent("a", "resources/list"), servers.sent("b", "resources/list")), (2, 1));
    servers.call("a_echo").await.unwrap();
    assert_eq!(servers.sent("a", "tools/list"), tools, "the tools did not change");
}
