//! Lists as servers really send them: only what is declared is asked for, a bad entry costs itself, null is as good as
//! absent, pages are read to their end and never for ever.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline::{ErrorKind, EventKind, Handlers, Limits, Result};
use trunkline_tests::*;

use super::rig::{Rig, SOON, limits, rig};

async fn tools(rig: &Rig) -> Vec<String> {
    names(rig.client.list_tools().await.unwrap().iter().map(|tool| tool.name()))
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.map(str::to_owned).collect()
}

/// A client with these bounds.
fn bounded(script: Script, limits: Limits) -> Rig {
    Rig::with(|_| script, |builder| builder.limits(limits))
}

/// Asks for the list of this method; the names or URIs in it.
async fn listed(rig: &Rig, method: &str) -> Result<Vec<String>> {
    Ok(match method {
        "tools/list" => names(rig.client.list_tools().await?.iter().map(|tool| tool.name())),
        "resources/list" => names(rig.client.list_resources().await?.iter().map(|resource| resource.uri())),
        "resources/templates/list" => {
            names(rig.client.list_resource_templates().await?.iter().map(|template| template.uri_template()))
        }
        "prompts/list" => names(rig.client.list_prompts().await?.iter().map(|prompt| prompt.name())),
        _ => panic!("no list is called {method}"),
    })
}

/// Each list method, the field of its answer and a way to make its entries.
type Entry = fn(&str) -> Value;
const LISTS: [(&str, &str, Entry); 4] = [
    ("tools/list", "tools", tool),
    ("resources/list", "resources", resource),
    ("resources/templates/list", "resourceTemplates", template),
    ("prompts/list", "prompts", prompt),
];

fn everything() -> Script {
    Script::new().capabilities(json!({"tools": {}, "resources": {}, "prompts": {}}))
}

#[tokio::test]
async fn only_what_is_declared_is_asked_for() {
    let rig = rig(Script::new().capabilities(json!({"tools": {}})));
    for (method, _, _) in LISTS {
        assert_eq!(listed(&rig, method).await.unwrap().len(), usize::from(method == "tools/list"), "{method}");
    }
    let asked = rig.log.methods();
    assert_eq!(asked, ["initialize", "notifications/initialized", "tools/list"]);
}

#[tokio::test]
async fn a_server_that_declares_nothing_is_asked_for_its_tools() {
    for capabilities in [json!({}), json!({"tools": null}), json!({"tools": null, "logging": null})] {
        let rig = rig(Script::new().capabilities(capabilities.clone()));
        assert_eq!(tools(&rig).await, ["echo"], "{capabilities}");
    }
    let rig = rig(Script::new().capabilities(json!({})).on("tools/list", [respond_error(-32601, "no")]));
    assert!(tools(&rig).await.is_empty());
}

#[tokio::test]
async fn a_declared_list_that_is_not_there_is_empty() {
    for (method, _, _) in &LISTS[1..] {
        let rig = rig(everything().on(*method, [respond_error(-32601, "Method not found")]));
        assert!(listed(&rig, method).await.unwrap().is_empty(), "{method}");
        assert!(rig.warned(&format!("doesn't know {method}")), "{:?}", rig.client.warnings());
    }
}

#[tokio::test]
async fn a_list_that_really_fails_is_an_error() {
    for (method, _, _) in LISTS {
        let rig = rig(everything().on(method, [respond_error(-32603, "disk full")]));
        let error = listed(&rig, method).await.unwrap_err();
        assert_eq!((error.code(), error.message()), (Some(-32603), "disk full"), "{method}");
    }
}

#[tokio::test]
async fn a_list_that_hangs_holds_up_no_other() {
    let script = everything().on("prompts/list", []);
    let rig = Rig::with(|_| script, |builder| builder.timeout(Duration::from_millis(500)));
    rig.client.connect().await.unwrap();
    let (prompts, tools) = tokio::join!(rig.client.list_prompts(), async {
        let tools = rig.client.list_tools().await;
        assert!(rig.client.call_tool("echo", ()).await.is_ok());
        tools
    });
    assert_eq!(tools.unwrap().len(), 1);
    let error = prompts.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert!(error.message().contains("prompts/list"), "{error}");
}

#[tokio::test]
async fn an_answer_without_its_list_is_an_error_not_an_empty_list() {
    for answer in [json!({}), json!({"tools": null}), json!({"tools": "none"}), json!([]), json!("x")] {
        let rig = rig(Script::new().on("tools/list", [respond(answer.clone())]));
        let error = rig.client.list_tools().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{answer}");
        assert!(error.message().contains("\"tools\""), "{error}");
    }
}

#[tokio::test]
async fn a_bad_definition_costs_itself_and_is_reported() {
    let rig = rig(Script::new().tools([
        tool("good1"),
        json!({"name": "n1"}),
        json!({"name": "n2", "inputSchema": null}),
        json!({"name": "n3", "inputSchema": {}}),
        json!({"name": "n4", "inputSchema": {"type": "string"}}),
        json!({"inputSchema": {"type": "object"}}),
        json!({"name": 7}),
        json!("no object"),
        json!(null),
        json!({"name": "n5", "inputSchema": [1], "description": 5, "annotations": "x"}),
        tool("good2"),
    ]));
    let tools = rig.client.list_tools().await.unwrap();
    let listed: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(listed, ["good1", "n1", "n2", "n3", "n4", "n5", "good2"]);
    for tool in tools.iter().filter(|tool| tool.name() != "n4") {
        assert_eq!(tool.input_schema().to_value()["type"], "object", "{}", tool.name());
    }
    for warning in [
        "tools[5] was left out: it has no name",
        "tools[6] was left out: it has a name that is no text",
        "tools[7] was left out: it is no object",
        "tools[8] was left out: it is no object",
        "tool \"n4\": inputSchema has type \"string\" instead of \"object\"",
        "tool \"n5\": inputSchema is no object",
    ] {
        assert!(rig.warned(warning), "{warning} isn't among {:?}", rig.client.warnings());
    }
    assert_eq!(rig.client.warnings().len(), 6);
    assert_eq!(rig.call("n1").await.unwrap(), "ok");
}

#[tokio::test]
async fn null_is_as_good_as_absent_everywhere() {
    let absent = json!({
        "name": "a", "title": null, "description": null, "inputSchema": {"type": "object"}, "outputSchema": null,
        "annotations": null, "_meta": null, "icons": null
    });
    let page = |field: &str, entry: Value| json!({field: [entry], "nextCursor": null, "_meta": null});
    let call_result = json!({
        "content": [{"type": "text", "text": "ok", "annotations": null, "_meta": null}],
        "isError": null, "structuredContent": null, "_meta": null
    });
    let rig = rig(everything()
        .on(
            "initialize",
            [respond(json!({
                "protocolVersion": "2025-06-18", "instructions": null, "_meta": null,
                "capabilities": {"tools": {"listChanged": null}, "resources": {}, "prompts": {}, "logging": null},
                "serverInfo": {"name": "fake", "version": null, "title": null}
            }))],
        )
        .on("tools/list", [respond(page("tools", absent))])
        .on(
            "resources/list",
            [respond(page(
                "resources",
                json!({
                    "uri": "a:1", "name": null, "mimeType": null, "description": null, "size": null, "annotations": null
                }),
            ))],
        )
        .on("prompts/list", [respond(page("prompts", json!({"name": "p", "description": null, "arguments": null})))])
        .on("tools/call", [respond(call_result)])
        .on(
            "resources/read",
            [respond(json!({
                "contents": [{"uri": "a:1", "mimeType": null, "text": "t", "blob": null}], "_meta": null
            }))],
        )
        .on(
            "prompts/get",
            [respond(json!({
                "description": null, "messages": [{"role": "user", "content": {"type": "text", "text": "m"}}]
            }))],
        ));
    let tool = &rig.client.list_tools().await.unwrap()[0];
    assert_eq!(tool.description(), "MCP tool 'a' from fake.");
    let definition = trunkline::Tool::definition(tool);
    assert!(definition.title().is_none() && definition.output_schema().is_none() && definition.annotations().is_none());
    let result = rig.client.call("a", ()).await.unwrap();
    assert!(!result.is_error() && result.structured().is_none() && result.meta().is_none());
    assert_eq!(result.into_value("a").unwrap(), json!("ok"));
    let resource = &rig.client.list_resources().await.unwrap()[0];
    assert_eq!((resource.name(), resource.mime_type()), (String::new(), None));
    assert_eq!(rig.client.read_resource("a:1").await.unwrap(), "t");
    let contents = rig.client.read_resource_contents("a:1").await.unwrap().contents();
    assert!(contents[0].blob().unwrap().is_none() && contents[0].mime_type().is_none());
    let prompt = &rig.client.list_prompts().await.unwrap()[0];
    assert!(prompt.arguments().is_empty() && prompt.description().is_none());
    assert_eq!(rig.client.get_prompt("p", ()).await.unwrap(), "m");
    let info = rig.client.info().await.unwrap();
    assert_eq!((info.version(), info.instructions(), info.offers("logging")), (String::new(), None, false));
    assert!(rig.client.warnings().is_empty(), "{:?}", rig.client.warnings());
    assert!(!rig.log.lines().iter().any(|line| line.contains("null")), "nulls are never written");
}

#[tokio::test]
async fn all_pages_of_every_list_are_read_and_cursors_go_back_as_they_came() {
    for (method, field, entry) in LISTS {
        let page = |items: [&str; 2], next: Value| {
            let items = items.map(entry);
            respond(json!({field: items, "nextCursor": next}))
        };
        let odd = "p3 \"ä\"\\ {}\u{2028}";
        let rig = rig(everything()
            .on(on_method(method).cursor("p2"), [page(["c", "d"], json!(odd))])
            .on(on_method(method).cursor(odd), [page(["e", "f"], Value::Null)])
            .on(method, [page(["a", "b"], json!("p2"))]));
        assert_eq!(listed(&rig, method).await.unwrap(), ["a", "b", "c", "d", "e", "f"], "{method}");
        let cursors: Vec<_> = rig.log.sent(method).iter().map(|sent| sent.params()["cursor"].clone()).collect();
        assert_eq!(cursors, [Value::Null, json!("p2"), json!(odd)]);
        assert!(rig.client.warnings().is_empty());
    }
}

#[tokio::test]
async fn a_cursor_that_is_no_text_goes_back_as_it_came() {
    let rig = rig(Script::new()
        .on(on_method("tools/list").first(1), [respond(raw(r#"{"tools":[{"name":"a"}],"nextCursor":{"at":1.0}}"#))])
        .on("tools/list", [respond(json!({"tools": [tool("b")]}))]));
    assert_eq!(tools(&rig).await, ["a", "b"]);
    assert!(rig.log.sent("tools/list")[1].raw_params().contains(r#""cursor":{"at":1.0}"#));
}

#[tokio::test]
async fn a_page_that_fails_is_an_error_never_a_shorter_list() {
    for (code, first) in [(-32603, vec![tool("a")]), (-32601, vec![tool("a")]), (-32602, vec![]), (-32601, vec![])] {
        let rig = rig(Script::new()
            .pages("tools/list", [first, vec![tool("b")]])
            .on(on_method("tools/list").cursor("p2"), [respond_error(code, "page is gone")]));
        let error = rig.client.list_tools().await.unwrap_err();
        assert_eq!((error.code(), error.message()), (Some(code), "page is gone"));
    }
}

#[tokio::test]
async fn a_cursor_that_repeats_ends_the_list() {
    let eight: Vec<_> = (0..8).map(|n| tool(&format!("t{n}"))).collect();
    let rig = rig(Script::new().on("tools/list", [respond(json!({"tools": eight, "nextCursor": "8"}))]));
    assert_eq!(tools(&rig).await.len(), 8);
    assert!(rig.sent("tools/list") <= 3);
    assert_eq!(rig.client.warnings(), ["tools/list repeats a page cursor; the list ends there"]);
}

#[tokio::test]
async fn cursors_that_go_round_in_a_circle_end_the_list() {
    let page = |name: &str, next: &str| respond(json!({"tools": [tool(name)], "nextCursor": next}));
    let rig = rig(Script::new()
        .on(on_method("tools/list").cursor("x"), [page("b", "y")])
        .on(on_method("tools/list").cursor("y"), [page("c", "x")])
        .on("tools/list", [page("a", "x")]));
    assert_eq!(tools(&rig).await, ["a", "b", "c"]);
    assert_eq!(rig.client.warnings().len(), 1);
}

#[tokio::test]
async fn an_empty_cursor_is_a_cursor() {
    let more = rig(Script::new()
        .on(on_method("tools/list").first(1), [respond(json!({"tools": [tool("a")], "nextCursor": ""}))])
        .on("tools/list", [respond(json!({"tools": [tool("b")]}))]));
    assert_eq!(tools(&more).await, ["a", "b"]);
    assert_eq!(more.log.sent("tools/list")[1].params()["cursor"], "");
    let end = rig(Script::new().on("tools/list", [respond(json!({"tools": [tool("a")], "nextCursor": ""}))]));
    assert_eq!(tools(&end).await, ["a"]);
    assert!(end.sent("tools/list") <= 2);
    assert_eq!(end.client.warnings().len(), 1);
}

#[tokio::test]
async fn ever_new_cursors_and_ever_more_entries_hit_a_limit() {
    let endless =
        || Script::new().on("tools/list", [respond(json!({"tools": [tool("a$N"), tool("b$N")], "nextCursor": "c$N"}))]);
    let pages = bounded(endless(), Limits { max_pages: 7, ..limits() });
    let error = pages.client.list_tools().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.message().contains("7 pages") && error.hint().unwrap().contains("max_pages"), "{error:?}");
    assert_eq!(pages.sent("tools/list"), 7);
    let items = bounded(endless(), Limits { max_items: 9, ..limits() });
    let error = items.client.list_tools().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.message().contains("9 entries") && error.hint().unwrap().contains("max_items"), "{error:?}");
    assert_eq!(items.call("a1").await.unwrap_err().code(), Some(-32602), "the session lives on");
}

#[tokio::test]
async fn of_two_entries_with_one_name_the_first_is_used() {
    let twice = |field: &str| vec![json!({field: "a", "description": "1"}), json!({field: "a", "description": "2"})];
    let rig = rig(Script::new()
        .pages("tools/list", [twice("name"), vec![tool("b"), tool("a")]])
        .resources(twice("uri"))
        .prompts(twice("name")));
    let tools = rig.client.list_tools().await.unwrap();
    assert_eq!(tools.iter().map(|tool| (tool.name(), tool.description())).next().unwrap(), ("a", "1".to_owned()));
    assert_eq!(tools.len(), 2);
    assert_eq!(rig.client.list_resources().await.unwrap()[0].description().unwrap(), "1");
    assert_eq!(rig.client.list_prompts().await.unwrap()[0].description().unwrap(), "1");
    let warnings = rig.client.warnings();
    let expected = ["tools/list", "resources/list", "prompts/list"];
    assert_eq!(warnings, expected.map(|method| format!("{method} lists \"a\" twice; the first is used")));
}

#[tokio::test]
async fn ten_thousand_tools_in_a_hundred_pages() {
    let pages = (0..100).map(|page| (0..100).map(|n| tool(&format!("tool_{page}_{n}"))).collect::<Vec<_>>());
    let rig = rig(Script::new().pages("tools/list", pages));
    rig.client.connect().await.unwrap();
    let begun = Instant::now();
    let tools = rig.client.list_tools().await.unwrap();
    assert_eq!(tools.len(), 10_000);
    assert_eq!((tools[0].name(), tools[9_999].name()), ("tool_0_0", "tool_99_99"));
    assert!(begun.elapsed() < SOON, "took {:?}", begun.elapsed());
    assert_eq!(rig.sent("tools/list"), 100);
}

#[tokio::test]
async fn a_listener_may_list_while_a_call_runs() {
    let rig = Rig::with(
        |dir| {
            Script::new().on(
                call("echo"),
                [
                    set_tools([tool("echo"), tool("new")]),
                    notify("notifications/tools/list_changed"),
                    background([wait_file(dir.join("listed")), text("done")]),
                ],
            )
        },
        |builder| builder,
    );
    let mut events = rig.client.events();
    let (client, listed) = (rig.client.clone(), rig.dir.join("listed"));
    let listener = tokio::spawn(async move {
        while !matches!(events.next().await.unwrap().kind, EventKind::ToolsChanged) {}
        let tools = client.list_tools().await.unwrap();
        std::fs::write(listed, "").unwrap();
        tools.len()
    });
    assert_eq!(rig.call("echo").await.unwrap(), "done");
    assert_eq!(listener.await.unwrap(), 2);
}

#[tokio::test]
async fn who_answers_the_server_may_call_it_meanwhile() {
    let script = Script::new()
        .tools([tool("ask"), tool("echo")])
        .on(call("ask"), [background([ask([request(json!("q"), "sampling/createMessage")]), text("$REPLY")])]);
    let caller: std::sync::Arc<std::sync::OnceLock<trunkline::Client>> = std::sync::Arc::default();
    let own = caller.clone();
    let handlers = Handlers::new().on("sampling/createMessage", json!({"sampling": {}}), move |_| {
        let client = own.get().unwrap().clone();
        async move { Ok(json!({"heard": client.call_tool("echo", ()).await?}).into()) }
    });
    let rig = Rig::with(|_| script, |builder| builder.handler(handlers));
    caller.set(rig.client.clone()).unwrap();
    assert!(rig.call("ask").await.unwrap().contains(r#""heard":"ok""#));
}
