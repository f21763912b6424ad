//! Results and the output schemas of their tools: what doesn't fit is delivered and told, an error result is never
//! hidden, and whoever wants it strict gets an error.

use std::net::TcpListener;

use serde_json::{Value, json};
use trunkline::{Config, Connection as _, Environment, ErrorKind, MultiServer};
use trunkline_tests::*;

use crate::rig::{Rig, everywhere};

const MISFIT: &str = "\"data\" has to be a number, not \"x\"";

fn schema() -> Value {
    json!({"type": "object", "required": ["data"], "properties": {"data": {"type": "number"}}})
}

fn with_output(name: &str, schema: Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}, "outputSchema": schema})
}

fn answer(structured: Value) -> Action {
    respond(json!({"content": [{"type": "text", "text": "t"}], "structuredContent": structured}))
}

/// `fits`, `misfits`, `bare` (text alone) and `denied` (an error result) all promise the same structure.
fn promising() -> Script {
    let denied = json!({
        "isError": true, "content": [{"type": "text", "text": "denied"}], "structuredContent": {"error": {"code": 7}}
    });
    Script::new()
        .tools(["fits", "misfits", "bare", "denied"].map(|name| with_output(name, schema())))
        .on(call("fits"), [answer(json!({"data": 1.5, "more": true}))])
        .on(call("misfits"), [answer(json!({"data": "x"}))])
        .on(call("bare"), [text("t")])
        .on(call("denied"), [respond(denied)])
}

#[tokio::test]
async fn p34_an_error_result_is_never_hidden_behind_its_schema() {
    for strict in [false, true] {
        for rig in Rig::each(|_| promising(), |builder| builder.strict_output(strict)) {
            let tools = rig.client.list_tools().await.unwrap();
            let error = tools[3].invoke(()).await.unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::Tool, "denied"));
            let kept = error.tool_result().unwrap();
            assert_eq!(kept.structured().unwrap().to_value(), json!({"error": {"code": 7}}));
            assert_eq!(kept.schema_mismatch(), None);
            assert_eq!(rig.client.warnings(), Vec::<String>::new());
        }
    }
    for rig in everywhere(promising().on(call("silent"), [respond(json!({"isError": true}))])) {
        let silent = rig.client.call_tool("silent", ()).await.unwrap_err();
        assert_eq!(silent.message(), "Tool \"silent\" reported an error without saying which");
    }
}

#[tokio::test]
async fn p34_what_does_not_fit_is_delivered_and_told_once() {
    for rig in Rig::each(|_| promising(), |builder| builder) {
        rig.client.list_tools().await.unwrap();
        for _ in 0..2 {
            let result = rig.client.call("misfits", ()).await.unwrap();
            assert_eq!((result.text(), result.schema_mismatch()), ("t".to_owned(), Some(MISFIT)));
            assert_eq!(result.structured().unwrap().to_string(), r#"{"data":"x"}"#);
        }
        let told = format!("tool \"misfits\" gave a result that doesn't fit its outputSchema: {MISFIT}");
        assert_eq!(rig.client.warnings(), [told]);
        let fits = rig.client.call("fits", ()).await.unwrap();
        assert_eq!((fits.schema_mismatch(), rig.client.warnings().len()), (None, 1));
    }
}

#[tokio::test]
async fn p34_strict_it_is_an_error_that_holds_the_result() {
    for rig in Rig::each(|_| promising(), |builder| builder.strict_output(true)) {
        // never listed by the caller: a strict client asks for what it needs to know
        let error = rig.client.call_tool("misfits", ()).await.unwrap_err();
        assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::Protocol, true));
        assert_eq!(error.message(), format!("The result of tool \"misfits\" doesn't fit its outputSchema: {MISFIT}"));
        assert_eq!(error.tool_result().unwrap().text(), "t");
        assert_eq!((error.get("server"), error.get("tool")), (Some("fake"), Some("misfits")));
        let bare = rig.client.call_tool("bare", ()).await.unwrap_err();
        assert!(bare.message().ends_with("it has no structured content"), "{bare}");
        assert_eq!(rig.client.call("fits", ()).await.unwrap().text(), "t");
        assert_eq!(rig.sent("tools/list"), 1);
    }
}

/// Only a schema that is still in force is held against a result.
#[tokio::test]
async fn p34_p50_a_schema_that_changes_is_asked_for_again() {
    let script = Script::new().tools([with_output("a", json!({"type": "object"}))]).on(
        call("a").first(1),
        [
            set_tools([with_output("a", schema())]),
            notify("notifications/tools/list_changed"),
            answer(json!({"data": "x"})),
        ],
    );
    let script = script.on(call("a"), [answer(json!({"data": "x"}))]);
    let rig = Rig::with(|_| script, |builder| builder.strict_output(true));
    rig.client.call_tool("a", ()).await.unwrap();
    assert!(rig.client.call_tool("a", ()).await.unwrap_err().message().ends_with(MISFIT));
    assert_eq!(rig.sent("tools/list"), 2);
}

#[tokio::test]
async fn p34_an_entry_can_ask_for_it() {
    let dir = TempDir::new();
    let path = promising().write_to(&dir);
    let entry = |strict: bool| json!({"command": crate::smoke::FAKE, "args": [path], "strictOutput": strict});
    let text = json!({"mcpServers": {"lenient": entry(false), "strict": entry(true)}}).to_string();
    let config = Config::parse(&text).unwrap();
    assert_eq!(config.entry("strict").unwrap().masked()["strictOutput"], json!(true));
    let builder = trunkline::ClientBuilder::new().environment(Environment::from_process());
    let mut multi = MultiServer::new();
    for client in builder.each(&config).unwrap() {
        multi.add(client).unwrap();
    }
    multi.list_tools(&trunkline::CallContext::new()).await.unwrap();
    assert_eq!(multi.call("lenient_bare", ()).await.unwrap(), json!("t"));
    assert_eq!(multi.call("strict_bare", ()).await.unwrap_err().kind(), ErrorKind::Protocol);
    let told = "lenient: tool \"bare\" gave a result that doesn't fit its outputSchema: it has no structured content";
    assert_eq!(multi.warnings(), [told]);
    multi.disconnect().await;
}

#[tokio::test]
async fn p35_text_alone_is_delivered_with_a_warning() {
    for rig in everywhere(promising()) {
        rig.client.list_tools().await.unwrap();
        let result = rig.client.call("bare", ()).await.unwrap();
        assert_eq!((result.text(), result.schema_mismatch()), ("t".to_owned(), Some("it has no structured content")));
        let told = "tool \"bare\" gave a result that doesn't fit its outputSchema: it has no structured content";
        assert_eq!(rig.client.warnings(), [told]);
    }
}

/// A schema that can't be used switches its own check off, strict or not; nothing is fetched for it.
#[tokio::test]
async fn p35_a_schema_that_is_of_no_use_stands_in_nobody_s_way() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = format!("http://{}/x.json", listener.local_addr().unwrap());
    let of = |name: &str, schema: Value| json!({"name": name, "inputSchema": {"$ref": remote}, "outputSchema": schema});
    let script = Script::new().tools([
        of("remote", json!({"$ref": remote})),
        of("inner", json!({"type": "object", "properties": {"a": {"$ref": remote}}})),
        of("broken", json!({"type": 7, "pattern": "("})),
        of("format", json!({"format": "made-up"})),
        with_output("sound", schema()),
    ]);
    for strict in [false, true] {
        let rig = Rig::with(|_| script.clone(), |builder| builder.strict_output(strict));
        for tool in &rig.client.list_tools().await.unwrap()[..4] {
            let outcome = tool.invoke(json!({"a": 1})).await;
            match (tool.name(), strict) {
                ("format", true) => assert!(outcome.unwrap_err().message().ends_with("no structured content")),
                _ => assert_eq!(outcome.unwrap(), json!("ok"), "{}", tool.name()),
            }
            let arguments = trunkline::IntoArguments::into_arguments(json!({"a": 1})).unwrap();
            tool.check_arguments(&arguments).unwrap();
        }
        for name in ["remote", "inner", "broken"] {
            let told = format!("tool \"{name}\": its results aren't checked, its outputSchema is of no use");
            assert!(rig.warned(&told), "{:?}", rig.client.warnings());
        }
        assert_eq!(rig.client.call_tool("sound", ()).await.is_err(), strict, "the others are checked");
    }
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "somebody fetched a schema");
}
