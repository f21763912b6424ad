mod files;
mod playing;

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::line::{Call, Line};
use super::*;
use crate::connection::{CallContext, Connection, EventKind, Events, Hub, LogMessage, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Arguments, IntoArguments, RawJson, ToolDefinition, ToolResult};
use crate::redact::Redactor;

/// A tool that does what its name says, beside those that were given an answer.
struct Scripted {
    hub: Arc<Hub>,
    answers: Mutex<Vec<Result<RawJson>>>,
}

impl Scripted {
    fn new<const N: usize>(answers: [Result<RawJson>; N]) -> Self {
        let answers = answers.into_iter().rev().collect();
        Self { hub: Hub::new("s", &crate::Limits::default()), answers: Mutex::new(answers) }
    }
}

impl Connection for Scripted {
    async fn list_tools(&self, _: &CallContext) -> Result<Vec<ToolDefinition>> {
        Ok(vec![ToolDefinition::new("t", "", json!({}))])
    }

    async fn call_tool(&self, name: &str, _: Arguments, cx: &CallContext) -> Result<ToolResult> {
        match name {
            "hang" => std::future::pending().await,
            "talk" => {
                cx.report_progress(&Progress::new(0.5, Some(2.0), Some("half".to_owned())));
                cx.log(&LogMessage::new("info", "said"));
                cx.report_progress(&Progress::new(1e300, None, None));
                self.hub.emit(EventKind::ToolsChanged);
                self.hub.emit(EventKind::Stderr("noise".to_owned()));
            }
            "yield" => tokio::task::yield_now().await,
            _ => {}
        }
        let next = self.answers.lock().unwrap().pop();
        next.unwrap_or_else(|| Ok(json!({"content": []}).into())).map(ToolResult::from_raw)
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }

    fn events(&self) -> Events {
        self.hub.listen()
    }
}

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> std::path::PathBuf {
        self.dir.path().join("t.jsonl")
    }

    fn tape(&self) -> Tape {
        Tape::create(self.file()).unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    fn write(&self, lines: &[&str]) {
        fs::write(self.file(), lines.join("\n")).unwrap();
    }

    fn open(&self) -> Cassette {
        Cassette::open(self.file()).unwrap()
    }

    fn replay(&self) -> Replay {
        self.open().replay("s").unwrap()
    }

    /// Opens what is written there; why it can't be.
    fn fault(&self) -> String {
        Cassette::open(self.file()).unwrap_err().message().replace(&self.file().display().to_string(), "FILE")
    }
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

async fn call(connection: &impl Connection, tool: &str, arguments: serde_json::Value) -> Result<String> {
    let result = connection.call_tool(tool, arguments.into_arguments()?, &CallContext::new()).await?;
    Ok(result.raw().to_string())
}

fn any_json() -> impl Strategy<Value = String> {
    let text = prop_oneof![any::<String>(), "[ -~]{0,8}"].prop_map(|text| serde_json::to_string(&text).unwrap());
    let escaped = "(\\\\u00[0-7][0-9a-f]|\\\\/|\\\\n|x){0,4}".prop_map(|text| format!("\"{text}\""));
    let number = "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?";
    let leaf = prop_oneof![text, escaped, number, Just("true".to_owned()), Just("null".to_owned())];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let pair = ("[a-z\\\\n]{0,3}", inner.clone())
            .prop_map(|(key, value)| format!("{} : {value}", serde_json::to_string(&key).unwrap()));
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(|items| format!("[ {}]", items.join(","))),
            proptest::collection::vec(pair, 0..4).prop_map(|pairs| format!("{{{} }}", pairs.join(" ,"))),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_comes_back_byte_by_byte(params in any_json(), result in any_json()) {
        let (params, result) = (format!(r#"{{"v":{params}}}"#), raw(&result));
        let call = Call { method: "m".to_owned(), params: Some(raw(&params)), during: Vec::new(), outcome: Ok(result.clone()) };
        let line = Line::Call { server: "s".to_owned(), overtook: 0, call: Box::new(call) }.write();
        prop_assert!(!line.as_bytes().contains(&b'\n'));
        let Line::Call { call, .. } = Line::read(&line).unwrap() else { panic!("{line}") };
        prop_assert_eq!(call.params.unwrap().to_string(), params);
        prop_assert_eq!(call.outcome.unwrap(), result);
    }

    #[test]
    fn what_is_recorded_answers_itself(arguments in any_json(), result in any_json(), strict in any::<bool>()) {
        let bench = Bench::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answer = raw(&format!(r#"{{"content":[],"structuredContent":{result}}}"#));
        let params = raw(&format!(r#"{{"name":"t","arguments":{{"a":{arguments}}}}}"#));
        let recorder = bench.tape().recorder("s", Scripted::new([Ok(answer.clone())]));
        let cx = CallContext::new();
        let live = runtime.block_on(recorder.request("tools/call", Some(params.clone()), &cx)).unwrap();
        prop_assert_eq!(&live, &answer);
        let cassette = if strict { bench.open().strict() } else { bench.open() };
        let replay = cassette.replay("s").unwrap();
        let replayed = runtime.block_on(replay.request("tools/call", Some(params), &cx)).unwrap();
        prop_assert_eq!(replayed, answer);
    }

}

#[tokio::test]
async fn a_call_is_recorded_with_all_that_came() {
    let bench = Bench::new();
    let failure = Error::protocol(-32001, "no", Some(raw("[1.0]"))).with_hint("try").with_may_have_run(true);
    let server = Scripted::new([Ok(raw("{\n \"content\": [] }")), Err(failure)]);
    let hub = server.hub.clone();
    let recorder = bench.tape().recorder("s", server);
    let cx = CallContext::new().on_progress(|_| {});
    recorder.call_tool("talk", Arguments::none(), &cx).await.unwrap();
    hub.emit(EventKind::ResourceUpdated { uri: "u:1".to_owned() });
    recorder.call_tool("x", Arguments::none(), &cx).await.unwrap_err();
    recorder.list_tools(&cx).await.unwrap();
    drop(recorder);
    let expected = [
        r#"{"cassette":1,"servers":["s"]}"#,
        r#"{"server":"s","info":{"capabilities":{"prompts":{},"resources":{},"tools":{}},"serverInfo":{"name":"","version":""}}}"#,
        r#"{"server":"s","method":"tools/call","params":{"name":"talk","arguments":{}},"during":[{"progress":{"progress":0.5,"total":2.0,"message":"half"}},{"log":{"level":"info","data":"said"}},{"progress":{"progress":1e+300}},{"event":"tools_changed"}],"result":{  "content": [] }}"#,
        r#"{"server":"s","event":"resource_updated","uri":"u:1"}"#,
        r#"{"server":"s","method":"tools/call","params":{"name":"x","arguments":{}},"error":{"kind":"protocol","code":-32001,"message":"no","hint":"try","data":[1.0],"mayHaveRun":true}}"#,
        r#"{"server":"s","method":"tools/list","result":{"tools":[{"name":"t","inputSchema":{}}]}}"#,
    ];
    assert_eq!(bench.text().lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn all_that_came_comes_again() {
    let bench = Bench::new();
    let failure = Error::protocol(-32001, "no", Some(raw("[1.0]"))).with_hint("try").with_may_have_run(true);
    let tool = Error::tool("t", ToolResult::error("broke"));
    let server = Scripted::new([Ok(raw("{}")), Err(failure), Err(tool), Err(Error::new(ErrorKind::Closed, "gone"))]);
    let recorder = bench.tape().recorder("s", server);
    let cx = CallContext::new().on_progress(|_| {});
    for tool in ["talk", "b", "c", "d"] {
        let _ = recorder.call_tool(tool, Arguments::none(), &cx).await;
    }
    let replay = bench.replay();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (progress, log) = (seen.clone(), seen.clone());
    let cx = CallContext::new()
        .on_progress(move |p| progress.lock().unwrap().push(format!("{p:?}")))
        .on_log(move |m| log.lock().unwrap().push(m.text()));
    let mut events = replay.events();
    replay.call_tool("talk", Arguments::none(), &cx).await.unwrap();
    let expected = [
        r#"Progress { progress: 0.5, total: Some(2.0), message: Some("half") }"#,
        "said",
        "Progress { progress: 1e300, total: None, message: None }",
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
    assert!(matches!(events.try_next().unwrap().kind, EventKind::ToolsChanged));
    let error = replay.call_tool("b", Arguments::none(), &cx).await.unwrap_err();
    assert_eq!((error.kind(), error.code(), error.message()), (ErrorKind::Protocol, Some(-32001), "no"));
    assert_eq!((error.hint(), error.data(), error.may_have_run()), (Some("try"), Some(&raw("[1.0]")), true));
    let error = replay.call_tool("c", Arguments::none(), &cx).await.unwrap_err();
    assert_eq!((error.kind(), error.message(), error.may_have_run()), (ErrorKind::Tool, "broke", true));
    assert!(error.tool_result().unwrap().is_error());
    let error = replay.call_tool("d", Arguments::none(), &cx).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Closed && error.is_retryable());
    assert!(events.try_next().is_none());
}

#[tokio::test]
async fn calls_keep_the_order_in_which_they_began() {
    let bench = Bench::new();
    let numbered = |n: u32| Ok(json!({"content": [], "n": n}).into());
    let recorder = bench.tape().recorder("s", Scripted::new([numbered(1), numbered(2), numbered(3)]));
    let hanging = tokio::time::timeout(Duration::from_millis(20), call(&recorder, "hang", json!({})));
    // "yield" begins second and ends third
    let (hung, slow, quick) =
        tokio::join!(hanging, call(&recorder, "yield", json!({})), call(&recorder, "t", json!({})));
    assert!(hung.is_err() && slow.unwrap().contains("\"n\":2") && quick.unwrap().contains("\"n\":1"));
    let lines: Vec<_> = bench.text().lines().skip(2).map(str::to_owned).collect();
    assert!(lines[0].contains(r#""method":"tools/call","overtook":2,"params":{"name":"t""#), "{lines:?}");
    assert!(lines[1].contains(r#""overtook":1,"params":{"name":"yield""#) && !lines[2].contains("overtook"));
    assert!(lines[2].contains(r#""kind":"cancelled""#) && lines[2].contains(r#""mayHaveRun":true"#), "{lines:?}");
    let replay = bench.open().strict().replay("s").unwrap();
    assert_eq!(call(&replay, "hang", json!({})).await.unwrap_err().kind(), ErrorKind::Cancelled);
    call(&replay, "yield", json!({})).await.unwrap();
    call(&replay, "t", json!({})).await.unwrap();
}

const CALLS: [&str; 5] = [
    r#"{"cassette":1}"#,
    r#"{"server":"s","method":"tools/call","params":{"name":"t","arguments":{"q":"a","at":1}},"result":{"n":1}}"#,
    r#"{"server":"s","method":"tools/call","params":{"name":"t","arguments":{"q":"a","at":1}},"result":{"n":2}}"#,
    r#"{"server":"s","method":"tools/list","result":{"tools":[{"name":"t"}]}}"#,
    r#"{"server":"s","method":"tools/call","params":{"name":"u"},"result":{"n":3}}"#,
];

#[tokio::test]
async fn secrets_are_not_written_and_stand_for_themselves() {
    let bench = Bench::new();
    let tape = bench.tape().redacting(Redactor::default().matching(["sk-[0-9]+"]).unwrap()).redacting_fields(["PIN"]);
    let answer = raw(r#"{"content":[],"said":"hunter22 sk-77","hunter22":{"pin":[1234,"x"],"ok":12}}"#);
    let recorder = tape.recorder("s", Scripted::new([Ok(answer.clone())])).redacting(Redactor::new(["hunter22"]));
    let asked = json!({"token": "Bearer hunter22", "pin": 4321, "url": "x?k=sk-9"});
    assert_eq!(call(&recorder, "t", asked.clone()).await.unwrap(), answer.to_string());
    let text = bench.text();
    for secret in ["hunter22", "sk-7", "sk-9", "1234", "4321"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(text.contains(r#""result":{"content":[],"said":"*** ***","***":{"pin":["***","***"],"ok":12}}"#), "{text}");
    for arguments in [asked, json!({"token": "Bearer other", "pin": 1, "url": "x?k="})] {
        call(&bench.replay(), "t", arguments).await.unwrap();
    }
    call(&bench.replay(), "t", json!({"token": "Basic x", "pin": 1, "url": "x?k="})).await.unwrap_err();
}

#[tokio::test]
async fn servers_of_one_label_are_told_apart_while_both_are_there() {
    let bench = Bench::new();
    let tape = bench.tape();
    let numbered = |n: u32| Scripted::new([Ok(json!({"n": n}).into())]);
    let (one, two) = (tape.recorder("s", numbered(1)), tape.recorder("s", numbered(2)));
    call(&two, "t", json!({})).await.unwrap();
    call(&one, "t", json!({})).await.unwrap();
    drop(one);
    call(&tape.recorder("s", numbered(3)), "t", json!({})).await.unwrap();
    let cassette = bench.open();
    assert_eq!(cassette.servers().collect::<Vec<_>>(), ["s", "s_2"]);
    for (server, n) in [("s", 1), ("s", 3), ("s_2", 2)] {
        let answer = call(&cassette.replay(server).unwrap(), "t", json!({})).await.unwrap();
        assert_eq!(answer, format!(r#"{{"n":{n}}}"#));
    }
}

#[tokio::test]
async fn what_cannot_be_written_fails_no_call_and_is_told() {
    let bench = Bench::new();
    let deep = "[".repeat(511) + &"]".repeat(511);
    let tape = bench.tape();
    let recorder = tape.recorder("s", Scripted::new([Ok(raw(&format!(r#"{{"a":{deep}}}"#)))]));
    call(&recorder, "t", json!({})).await.unwrap();
    tape.check().unwrap();
    let deeper = format!(r#"{{"a":[{deep}]}}"#);
    let recorder = tape.recorder("s", Scripted::new([Ok(raw(&deeper))]));
    assert_eq!(call(&recorder, "t", json!({})).await.unwrap(), deeper);
    assert!(tape.check().unwrap_err().message().starts_with("A call can't be recorded in "));
    call(&recorder, "u", json!({})).await.unwrap();
    assert_eq!(bench.open().unplayed().len(), 2);
}
