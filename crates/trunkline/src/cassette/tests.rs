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
        Self { hub: Hub::new("s"), answers: Mutex::new(answers) }
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

    #[test]
    fn a_file_cut_anywhere_loses_its_last_line_alone(cut in 17usize..=1000) {
        let bench = Bench::new();
        let line = r#"{"server":"s","method":"tools/call","params":{"name":"t","arguments":{"n":1}},"result":{"é":"x"}}"#;
        let text = format!("{{\"cassette\":1}}\n{line}\n{line}\n{line}\n");
        let cut = cut.min(text.len());
        fs::write(bench.file(), &text.as_bytes()[..cut]).unwrap();
        let whole = text[..].as_bytes()[..cut].iter().filter(|byte| **byte == b'\n').count() - 1;
        let unplayed = bench.open().unplayed().len();
        prop_assert!(unplayed == whole || unplayed == whole + 1, "{} of {}", unplayed, whole);
        drop(Tape::append(bench.file()).unwrap());
        prop_assert_eq!(bench.open().unplayed().len(), unplayed);
        prop_assert!(bench.open().warnings().is_empty());
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
async fn loosely_any_order_will_do_and_the_last_answer_stays() {
    let bench = Bench::new();
    bench.write(&CALLS);
    let cassette = bench.open();
    let replay = cassette.replay("s").unwrap();
    let ask = json!({"at": 1.0, "q": "a"});
    assert_eq!(call(&replay, "u", json!({})).await.unwrap(), r#"{"n":3}"#);
    for (answer, left) in [(r#"{"n":1}"#, 1), (r#"{"n":2}"#, 0), (r#"{"n":2}"#, 0)] {
        assert_eq!(call(&replay, "t", ask.clone()).await.unwrap(), answer);
        assert_eq!(cassette.unplayed().len(), left);
    }
    let ignoring = bench.open().ignoring(["/arguments/at"]).replay("s").unwrap();
    call(&ignoring, "t", json!({"q": "a", "at": "later"})).await.unwrap();
    assert_eq!(replay.list_tools(&CallContext::new()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn strictly_each_call_has_its_turn() {
    let bench = Bench::new();
    bench.write(&CALLS);
    let replay = bench.open().strict().replay("s").unwrap();
    let ask = json!({"at": 1, "q": "a"});
    let early = call(&replay, "u", json!({})).await.unwrap_err();
    assert_eq!(
        early.message(),
        "The recording of server \"s\" goes on with tools/call \"t\" in line 2, not with tools/call \"u\""
    );
    let early = call(&replay, "t", json!({"q": "b"})).await.unwrap_err();
    assert_eq!(
        early.message(),
        "The recording of server \"s\" goes on with another tools/call \"t\", in line 2, with \"a\" at /arguments/q \
         instead of \"b\" (and 1 more)"
    );
    for _ in 0..3 {
        replay.list_tools(&CallContext::new()).await.unwrap();
    }
    call(&replay, "t", ask.clone()).await.unwrap();
    call(&replay, "t", ask.clone()).await.unwrap();
    let other = replay.read_resource("u:1", &CallContext::new()).await.unwrap_err();
    assert_eq!(
        other.message(),
        "The recording of server \"s\" goes on with tools/call \"u\" in line 5, not with resources/read \"u:1\""
    );
    call(&replay, "u", json!({})).await.unwrap();
    let late = call(&replay, "t", ask).await.unwrap_err();
    assert_eq!(late.message(), "The recording of server \"s\" is at its end, with no answer left to tools/call \"t\"");
}

#[tokio::test]
async fn a_miss_names_the_nearest_and_what_differs() {
    let bench = Bench::new();
    bench.write(&CALLS);
    let replay = bench.replay();
    let mut events = replay.events();
    let error = call(&replay, "t", json!({"q": "b", "at": 1})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.message(),
        "The recording of server \"s\" has no answer to tools/call \"t\": the nearest is in line 2, with \"a\" at \
         /arguments/q instead of \"b\""
    );
    assert_eq!(error.get("differs"), Some("\"a\" at /arguments/q instead of \"b\""));
    assert!(error.get("cassette").unwrap().ends_with("t.jsonl") && error.hint().unwrap().contains("Record it again"));
    assert!(matches!(events.try_next().unwrap().kind, EventKind::Warning(text) if text == error.message()));
    let long = call(&replay, "t", json!({"q": "é".repeat(500)})).await.unwrap_err();
    assert!(long.message().len() < 400, "{long}");
    let error = call(&replay, "v", json!({})).await.unwrap_err();
    assert!(error.message().ends_with("the nearest is in line 5, with \"u\" at /name instead of \"v\""), "{error}");
    let error = replay.get_prompt("p", Arguments::none(), &CallContext::new()).await.unwrap_err();
    assert!(error.message().ends_with(": recorded is only \"tools/call\", \"tools/list\""), "{error}");
    let error = bench.open().replay("S").unwrap_err();
    assert_eq!((error.kind(), error.hint()), (ErrorKind::NotFound, Some("Did you mean \"s\"?")));
}

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

#[test]
fn broken_lines_are_told_by_file_and_line() {
    let bench = Bench::new();
    assert!(bench.fault().starts_with("Can't read the cassette FILE: "));
    for (lines, fault) in [
        (&[""][..], "FILE is no cassette that can be used: it is empty"),
        (&["x", "y"], "FILE is no cassette that can be used: its first line has no \"cassette\""),
        (&[r#"{"cassette":2}"#], "FILE is no cassette that can be used: its format is 2, and this version reads 1"),
        (&[CALLS[0], "{", CALLS[1]], "The cassette is broken in FILE:2: not valid JSON (byte 1)"),
        (&[CALLS[0], "", "{}", CALLS[1]], "The cassette is broken in FILE:3: it names no server"),
        (
            &[CALLS[0], r#"{"server":"s","method":"m"}"#, CALLS[1]],
            "The cassette is broken in FILE:2: it has neither a result nor an error",
        ),
        (
            &[CALLS[0], r#"{"server":"s"}"#, CALLS[1]],
            "The cassette is broken in FILE:2: it has none of method, info, event and error",
        ),
        (
            &[CALLS[0], r#"{"server":"s","event":"x"}"#, CALLS[1]],
            "The cassette is broken in FILE:2: it has the unknown event \"x\"",
        ),
    ] {
        bench.write(lines);
        assert_eq!(bench.fault(), fault);
    }
    bench.write(&[CALLS[0], CALLS[1], &CALLS[2][..40]]);
    let cassette = bench.open();
    assert_eq!(cassette.unplayed().len(), 1);
    let [warning] = cassette.warnings() else { panic!("{cassette:?}") };
    assert!(warning.contains("t.jsonl:3: the last line is cut off and was left out"), "{warning}");
}

#[tokio::test]
async fn recording_goes_on_behind_what_is_there() {
    let bench = Bench::new();
    bench.write(&[CALLS[0], CALLS[1], &CALLS[2][..40]]);
    let recorder = Tape::append(bench.file()).unwrap().recorder("s", Scripted::new([]));
    call(&recorder, "new", json!({})).await.unwrap();
    let text = bench.text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..3], [CALLS[0], CALLS[1], r#"{"cassette":1,"servers":["s"]}"#]);
    assert_eq!(bench.open().unplayed().len(), 2);
    for other in ["notes\n", "{\"mcpServers\":{}}", "{\"cass", "{\"cassette\":1,\"servers\":[\"a"] {
        fs::write(bench.file(), other).unwrap();
        let appended = Tape::append(bench.file());
        assert_eq!(appended.is_err(), !other.starts_with("{\"cass"), "{other}");
        assert_eq!(bench.text(), if appended.is_ok() { "" } else { other });
        if appended.is_ok() {
            drop(appended);
            assert_eq!(bench.text(), "{\"cassette\":1,\"servers\":[]}\n");
        }
    }
    assert!(Tape::create(bench.dir.path()).unwrap_err().message().starts_with("Can't write the cassette"));
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
