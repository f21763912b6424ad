//! `#[tool]` as a user writes it. Only the crate itself is named, except for types of one's own.

use std::collections::BTreeMap;

use trunkline::{
    CallContext, Error, ErrorKind, FunctionTool, IntoArguments, Progress, RawJson, Tool, ToolResult, tool,
};

/// Adds two numbers.
///
/// Both may be negative.
///
/// # Arguments
/// * `a` - The first number.
/// * `b` - The second number,
///   which is ten if it isn't given.
///
/// # Panics
/// On overflow. Nobody's model has to know.
#[tool]
pub fn add(a: i64, #[tool(default = 10)] b: i64) -> i64 {
    a + b
}

#[tool(name = "shout-it", title = "Shout", description = "Makes text loud.", read_only, destructive = false)]
fn shout(
    /// What to shout.
    text: &str,
    /// How often.
    times: Option<u8>,
    #[tool(default = "!")] end: &str,
    mut r#type: Option<&str>,
) -> String {
    let kind = r#type.take().unwrap_or_default();
    format!("{}{}{kind}", text.to_uppercase(), end.repeat(times.unwrap_or(1).into()))
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema, Default, PartialEq, Debug)]
struct Point {
    /// Eastwards.
    x: i32,
    y: i32,
}

/// Moves a point.
#[tool]
async fn shift(point: &Point, by: Vec<i32>, #[tool(default)] origin: Point) -> Result<Point, String> {
    let [x, y] = by[..] else { return Err(format!("by needs 2 numbers, not {}", by.len())) };
    Ok(Point { x: point.x + x + origin.x, y: point.y + y })
}

#[tool]
async fn watched(cx: &CallContext, steps: u32, other: CallContext) -> bool {
    for step in 0..steps {
        cx.report_progress(&Progress::new(step.into(), Some(steps.into()), None));
    }
    other.wants_progress()
}

#[tool(blocking)]
fn elsewhere() -> String {
    format!("{:?}", std::thread::current().id())
}

#[tool]
fn renamed(#[serde(rename = "maxLength", alias = "max")] max_length: u8) -> u8 {
    max_length
}

#[tool]
fn grouped(words: &[String]) -> BTreeMap<char, usize> {
    let mut counts = BTreeMap::new();
    words.iter().filter_map(|word| word.chars().next()).for_each(|first| *counts.entry(first).or_default() += 1);
    counts
}

#[tool]
fn spread(#[serde(flatten)] point: Point, z: i32) -> (i32, i32, i32) {
    (point.x, point.y, z)
}

#[tool]
fn nothing() {}

#[tool]
fn blocks() -> ToolResult {
    ToolResult::error("as it is")
}

#[tool]
fn fails() -> Result<String, std::num::ParseIntError> {
    "x".parse::<i32>().map(|number| number.to_string())
}

#[cfg(any())]
#[tool]
fn left_out(missing: NoSuchType) {}

fn json(text: &'static str) -> RawJson {
    RawJson::parse(text).unwrap()
}

async fn call(tool: &FunctionTool, arguments: &'static str) -> Result<ToolResult, Error> {
    tool.call(json(arguments).into_arguments()?, &CallContext::new()).await
}

async fn value(tool: &FunctionTool, arguments: &'static str) -> String {
    let result = call(tool, arguments).await.unwrap();
    result.into_value(tool.definition().name()).unwrap().to_string()
}

#[test]
fn definitions_come_from_the_function() {
    for (tool, definition) in [
        (
            add_tool(),
            r#"{"name":"add","description":"Adds two numbers.\n\nBoth may be negative.","inputSchema":{
                "additionalProperties":false,
                "properties":{
                    "a":{"description":"The first number.","type":"integer"},
                    "b":{"default":10,"description":"The second number, which is ten if it isn't given.","type":"integer"}},
                "required":["a"],"type":"object"}}"#,
        ),
        (
            shout_tool(),
            r#"{"name":"shout-it","title":"Shout","description":"Makes text loud.","inputSchema":{
                "additionalProperties":false,
                "properties":{
                    "text":{"description":"What to shout.","type":"string"},
                    "times":{"description":"How often.","type":["integer","null"],"minimum":0,"maximum":255},
                    "end":{"default":"!","type":"string"},
                    "type":{"type":["string","null"]}},
                "required":["text"],"type":"object"},
                "annotations":{"readOnlyHint":true,"destructiveHint":false}}"#,
        ),
        (
            watched_tool(),
            r#"{"name":"watched","inputSchema":{"additionalProperties":false,
                "properties":{"steps":{"type":"integer","minimum":0}},"required":["steps"],"type":"object"}}"#,
        ),
        (
            nothing_tool(),
            r#"{"name":"nothing","inputSchema":{"additionalProperties":false,"properties":{},"type":"object"}}"#,
        ),
    ] {
        assert_eq!(tool.definition().raw().to_value(), json(definition).to_value());
        tool.check().unwrap();
    }
    let schema = shift_tool().definition().input_schema().to_value();
    assert_eq!(schema["properties"]["point"]["properties"]["x"]["description"], "Eastwards.");
    assert_eq!(schema["required"].to_string(), r#"["point","by"]"#);
    let renamed = renamed_tool().definition().input_schema().to_value();
    assert!(renamed["properties"]["maxLength"].is_object(), "{renamed}");
}

#[tokio::test]
async fn calls_reach_the_function() {
    assert_eq!(add(1, 2), 3);
    for (tool, arguments, result) in [
        (add_tool(), r#"{"a":1}"#, "11"),
        (add_tool(), r#"{"a":1,"b":2}"#, "3"),
        (shout_tool(), r#"{"text":"hi"}"#, r#""HI!""#),
        (shout_tool(), r#"{"text":"hi","times":2,"end":"?","type":" loud"}"#, r#""HI?? loud""#),
        (shift_tool(), r#"{"point":{"x":1,"y":2},"by":[1,1]}"#, r#"{"x":2,"y":3}"#),
        (renamed_tool(), r#"{"maxLength":3}"#, "3"),
        (renamed_tool(), r#"{"max":3}"#, "3"),
        (grouped_tool(), r#"{"words":["ab","ac","b"]}"#, r#"{"a":2,"b":1}"#),
        (spread_tool(), r#"{"x":1,"y":2,"z":3}"#, "[1,2,3]"),
        (nothing_tool(), "{}", "null"),
    ] {
        assert_eq!(value(&tool, arguments).await, result);
    }
}

#[tokio::test]
async fn a_failure_is_an_error_result() {
    for (tool, arguments, told) in [
        (shift_tool(), r#"{"point":{"x":1,"y":2},"by":[1]}"#, "by needs 2 numbers, not 1"),
        (blocks_tool(), "{}", "as it is"),
        (fails_tool(), "{}", "invalid digit found in string"),
        (add_tool(), r#"{"a":9223372036854775807}"#, "Tool \"add\" panicked: attempt to add with overflow"),
    ] {
        let result = call(&tool, arguments).await.unwrap();
        assert_eq!((result.is_error(), result.text().as_str()), (true, told));
    }
}

#[tokio::test]
async fn misfitting_arguments_are_told() {
    for (tool, arguments, told) in [
        (add_tool(), r#"{}"#, "Tool \"add\": missing argument `a`"),
        (add_tool(), r#"{"a":1,"c":1}"#, "Tool \"add\": argument \"c\": unknown field `c`, expected `a` or `b`"),
        (add_tool(), r#"{"a":1,"b":null}"#, "Tool \"add\": argument \"b\": invalid type: null, expected i64"),
        (
            shift_tool(),
            r#"{"point":{"x":"1","y":2},"by":[]}"#,
            "argument \"point.x\": invalid type: string \"1\", expected i32",
        ),
        (nothing_tool(), r#"{"a":1}"#, "unknown field `a`"),
    ] {
        let error = call(&tool, arguments).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
        assert!(error.message().contains(told), "{error}");
    }
}

#[tokio::test]
async fn the_context_is_that_of_the_call() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let cx = CallContext::new().on_progress(move |progress| sender.send(progress.progress).unwrap());
    let result = watched_tool().call(json(r#"{"steps":2}"#).into_arguments().unwrap(), &cx).await.unwrap();
    assert_eq!(result.text(), "true");
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0.0, 1.0]);
}

#[tokio::test]
async fn a_blocking_function_runs_on_another_thread() {
    assert_ne!(value(&elsewhere_tool(), "{}").await, format!("{:?}", elsewhere()));
}

#[tokio::test]
async fn a_tool_may_be_made_inside_a_function() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Local(i64);

    #[tool]
    fn inner(local: Local) -> i64 {
        local.0
    }
    assert_eq!(value(&inner_tool(), r#"{"local":7}"#).await, "7");
}
