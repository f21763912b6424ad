//! Pages: read to their end, cursors sent back as they came, and never for ever.

use std::time::Instant;

use serde_json::{Value, json};
use trunkline::{ErrorKind, Limits};
use trunkline_tests::*;

use super::{LISTS, everything, listed, tools};
use crate::rig::{Rig, SOON, everywhere, limits, ms, rig};

#[tokio::test]
async fn p39_all_pages_of_every_list_are_read_and_cursors_go_back_as_they_came() {
    for (method, field, entry) in LISTS {
        let page = |items: [&str; 2], next: Value| {
            let items = items.map(entry);
            respond(json!({field: items, "nextCursor": next}))
        };
        let odd = "p3 \"ä\"\\ {}\u{2028}";
        let script = everything()
            .on(on_method(method).cursor("p2"), [page(["c", "d"], json!(odd))])
            .on(on_method(method).cursor(odd), [page(["e", "f"], Value::Null)])
            .on(method, [page(["a", "b"], json!("p2"))]);
        for rig in everywhere(script) {
            assert_eq!(listed(&rig, method).await.unwrap(), ["a", "b", "c", "d", "e", "f"], "{method}");
            let cursors: Vec<_> = rig.log.sent(method).iter().map(|sent| sent.params()["cursor"].clone()).collect();
            assert_eq!(cursors, [Value::Null, json!("p2"), json!(odd)]);
            assert!(rig.client.warnings().is_empty());
        }
    }
}

#[tokio::test]
async fn p39_a_cursor_that_is_no_text_goes_back_as_it_came() {
    for rig in everywhere(
        Script::new()
            .on(on_method("tools/list").first(1), [respond(raw(r#"{"tools":[{"name":"a"}],"nextCursor":{"at":1.0}}"#))])
            .on("tools/list", [respond(json!({"tools": [tool("b")]}))]),
    ) {
        assert_eq!(tools(&rig).await, ["a", "b"]);
        assert!(rig.log.sent("tools/list")[1].raw_params().contains(r#""cursor":{"at":1.0}"#));
    }
}

#[tokio::test]
async fn p39_a_page_that_fails_is_an_error_never_a_shorter_list() {
    for (code, first) in [(-32603, vec![tool("a")]), (-32601, vec![tool("a")]), (-32602, vec![]), (-32601, vec![])] {
        let rig = rig(Script::new()
            .pages("tools/list", [first, vec![tool("b")]])
            .on(on_method("tools/list").cursor("p2"), [respond_error(code, "page is gone")]));
        let error = rig.client.list_tools().await.unwrap_err();
        assert_eq!((error.code(), error.message()), (Some(code), "page is gone"));
    }
}

#[tokio::test]
async fn p40_a_cursor_that_repeats_ends_the_list() {
    let eight: Vec<_> = (0..8).map(|n| tool(&format!("t{n}"))).collect();
    for rig in everywhere(Script::new().on("tools/list", [respond(json!({"tools": eight, "nextCursor": "8"}))])) {
        assert_eq!(tools(&rig).await.len(), 8);
        assert!(rig.sent("tools/list") <= 3);
        assert_eq!(rig.client.warnings(), ["tools/list repeats a page cursor; the list ends there"]);
    }
}

#[tokio::test]
async fn p40_cursors_that_go_round_in_a_circle_end_the_list() {
    let page = |name: &str, next: &str| respond(json!({"tools": [tool(name)], "nextCursor": next}));
    for rig in everywhere(
        Script::new()
            .on(on_method("tools/list").cursor("x"), [page("b", "y")])
            .on(on_method("tools/list").cursor("y"), [page("c", "x")])
            .on("tools/list", [page("a", "x")]),
    ) {
        assert_eq!(tools(&rig).await, ["a", "b", "c"]);
        assert_eq!(rig.client.warnings().len(), 1);
    }
}

#[tokio::test]
async fn p41_an_empty_cursor_is_a_cursor() {
    let first = respond(json!({"tools": [tool("a")], "nextCursor": ""}));
    let script = Script::new()
        .on(on_method("tools/list").first(1), [first.clone()])
        .on("tools/list", [respond(json!({"tools": [tool("b")]}))]);
    for more in everywhere(script) {
        assert_eq!(tools(&more).await, ["a", "b"]);
        assert_eq!(more.log.sent("tools/list")[1].params()["cursor"], "");
    }
    for end in everywhere(Script::new().on("tools/list", [first])) {
        assert_eq!(tools(&end).await, ["a"]);
        assert_eq!(end.sent("tools/list"), 2);
        assert_eq!(end.client.warnings(), ["tools/list repeats a page cursor; the list ends there"]);
    }
}

/// Whoever wants one page asks for one page.
#[tokio::test]
async fn p39_pages_can_be_asked_for_by_hand() {
    for rig in everywhere(Script::new().pages("tools/list", [vec![tool("a")], vec![tool("b")]])) {
        let first = rig.client.request("tools/list", None).await.unwrap().to_value();
        assert_eq!((first["tools"].as_array().unwrap().len(), &first["nextCursor"]), (1, &json!("p2")));
        let params = json!({"cursor": first["nextCursor"]}).into();
        let second = rig.client.request("tools/list", Some(params)).await.unwrap().to_value();
        assert_eq!((&second["tools"][0]["name"], second.get("nextCursor")), (&json!("b"), None));
    }
}

/// A list has the time of one call, however many pages it has.
#[tokio::test]
async fn p40_a_list_that_takes_for_ever_runs_out_of_time() {
    let page = [sleep(20), respond(json!({"tools": [tool("a$N")], "nextCursor": "c$N"}))];
    for rig in Rig::each(|_| Script::new().on("tools/list", page.clone()), |builder| builder.timeout(ms(300))) {
        let error = rig.client.list_tools().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Deadline, "{error:?}");
        assert!(rig.sent("tools/list") > 1);
    }
}

/// A client with these bounds.
fn bounded(script: Script, limits: Limits) -> Rig {
    Rig::with(|_| script, |builder| builder.limits(limits))
}

#[tokio::test]
async fn p40_ever_new_cursors_and_ever_more_entries_hit_a_limit() {
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
async fn p42_ten_thousand_tools_in_a_hundred_pages() {
    let pages = (0..100).map(|page| (0..100).map(|n| tool(&format!("tool_{page}_{n}"))).collect::<Vec<_>>());
    for rig in everywhere(Script::new().pages("tools/list", pages)) {
        rig.client.connect().await.unwrap();
        let begun = Instant::now();
        let tools = rig.client.list_tools().await.unwrap();
        assert_eq!(tools.len(), 10_000);
        assert_eq!((tools[0].name(), tools[9_999].name()), ("tool_0_0", "tool_99_99"));
        assert!(begun.elapsed() < SOON, "took {:?}", begun.elapsed());
        assert_eq!(rig.sent("tools/list"), 100);
    }
}
