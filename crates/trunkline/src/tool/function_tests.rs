//! Every form of function as a tool, and how each fails.

use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::connection::Progress;
use crate::protocol::IntoArguments;
use crate::tool::Json;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

async fn call(tool: &FunctionTool, arguments: impl IntoArguments) -> Result<ToolResult> {
    tool.call(arguments.into_arguments().unwrap(), &CallContext::new()).await
}

fn add(x: Add) -> i64 {
    x.a + x.b.unwrap_or_default()
}

#[tokio::test]
async fn every_form_of_function_is_a_tool() {
    let tools = [
        FunctionTool::new("t", "", || 3),
        FunctionTool::new("t", "", || async { 3 }),
        FunctionTool::new("t", "", |x: Add| add(x)),
        FunctionTool::new("t", "", add),
        FunctionTool::new("t", "", |x: Add| async move { Ok::<_, Error>(add(x)) }),
        FunctionTool::new("t", "", |x: Add, _cx: CallContext| x.a + 2),
        FunctionTool::new("t", "", |x: Add, _cx: CallContext| async move { x.a + 2 }),
        FunctionTool::new("t", "", |_cx: CallContext| 3),
        FunctionTool::new("t", "", |x: Arguments| x.get("a").unwrap().decode::<i64>().map(|a| a + 2)),
        FunctionTool::new("t", "", |x: Add| Json(Sum { sum: add(x) }).0.sum),
        FunctionTool::new("t", "", |x: Add| json!(add(x))),
        FunctionTool::new("t", "", |x: Add| ToolResult::local(json!(add(x)))),
        FunctionTool::new("t", "", |x: Add| -> Result<i64, std::fmt::Error> { Ok(add(x)) }),
        FunctionTool::new("t", "", |x: Add| Ok::<_, String>(add(x))).blocking(),
        FunctionTool::with_schema("t", "", json!({"type": "object"}), |x: Add| add(x)),
    ];
    for (at, tool) in tools.iter().enumerate() {
        let result = call(tool, json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(result.into_value("t").unwrap(), 3, "tool {at}");
    }
}

#[tokio::test]
async fn definitions_say_what_was_given() {
    let tool = FunctionTool::new("add", "Adds.", add)
        .title("Addition")
        .annotations(json!({"readOnlyHint": true}))
        .output_schema::<Sum>();
    assert_eq!(
        tool.definition().raw().to_value(),
        json!({
            "name": "add",
            "title": "Addition",
            "description": "Adds.",
            "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": ["integer", "null"]}}, "required": ["a"]},
            "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
            "annotations": {"readOnlyHint": true},
        })
    );
    assert_eq!(
        FunctionTool::new("x", "", || 1).definition().input_schema().to_value(),
        json!({"type": "object", "properties": {}})
    );
}

#[tokio::test]
async fn errors_and_panics_are_error_results() {
    fn slip(_: Add) -> i64 {
        panic!("off by {}", 1)
    }
    let tools = [
        (FunctionTool::new("t", "", |_: Add| Err::<i64, _>("no such number")), "no such number"),
        (FunctionTool::new("t", "", |_: Add| async { Err::<i64, _>("no such number") }), "no such number"),
        (FunctionTool::new("t", "", slip), "Tool \"t\" panicked: off by 1"),
        (FunctionTool::new("t", "", slip).blocking(), "Tool \"t\" panicked: off by 1"),
        (FunctionTool::new("t", "", |x: Add| async move { slip(x) }), "Tool \"t\" panicked: off by 1"),
        (FunctionTool::new("t", "", |x: Add| std::future::ready(slip(x))), "Tool \"t\" panicked: off by 1"),
    ];
    for (tool, told) in &tools {
        let result = call(tool, json!({"a": 1})).await.unwrap();
        assert!(result.is_error());
        assert_eq!(result.text(), *told);
    }
}

#[tokio::test]
async fn misfitting_arguments_keep_the_function_from_running() {
    for tool in [
        FunctionTool::new("t", "", |_: Add| -> i64 { panic!("ran") }),
        FunctionTool::new("t", "", |_: Add| async { panic!("ran") as i64 }),
        FunctionTool::new("t", "", |_: Add| -> i64 { panic!("ran") }).blocking(),
    ] {
        let error = call(&tool, json!({"a": "x"})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
        assert!(error.message().starts_with("Tool \"t\": argument \"a\": invalid type"), "{error}");
    }
}

#[tokio::test]
async fn a_mistake_in_the_making_is_told_by_check_and_by_calls() {
    for (tool, told) in [
        (FunctionTool::new("t", "", |text: String| text), "its argument `string` is of type \"string\""),
        (FunctionTool::new("t", "", || "x").output_schema::<String>(), "its output schema `string`"),
        (FunctionTool::new(" ", "", || "x"), "A tool needs a name"),
    ] {
        let error = tool.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains(told), "{error}");
        assert_eq!(call(&tool, ()).await.unwrap_err().message(), error.message());
    }
}

#[tokio::test]
async fn only_blocking_functions_leave_the_thread() {
    let here = format!("{:?}", thread::current().id());
    let id = || format!("{:?}", thread::current().id());
    assert_eq!(call(&FunctionTool::new("t", "", id), ()).await.unwrap().text(), here);
    assert_ne!(call(&FunctionTool::new("t", "", id).blocking(), ()).await.unwrap().text(), here);
}

#[tokio::test]
async fn the_context_reaches_the_function() {
    let tool = FunctionTool::new("t", "", |cx: CallContext| async move {
        cx.report_progress(&Progress::new(1.0, Some(2.0), None));
        cx.wants_progress()
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    let cx = CallContext::new().on_progress(move |progress| sender.send(progress.progress).unwrap());
    let result = tool.call(Arguments::none(), &cx).await.unwrap();
    assert_eq!(result.into_value("t").unwrap(), true);
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1.0]);
}
