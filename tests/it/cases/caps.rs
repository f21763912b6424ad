//! Everything that comes from a server has a cap: what is just within it passes, what is just over it is told by the cap's name.

use serde_json::json;
use trunkline::{Client, ErrorKind, EventKind, Handlers, Limits, ToolSet};
use trunkline_tests::http::{self, HttpScript, rpc, rpc_call};
use trunkline_tests::*;

use crate::rig::{Rig, limits, rig};

const CAP: usize = 4000;

/// An answer of so many bytes; an id has one digit.
fn answer_of(size: usize) -> String {
    let start = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":""#;
    let end = r#""}]}}"#;
    format!("{start}{}{end}", "x".repeat(size + 2 - start.len() - end.len()))
}

fn bounded(script: Script, limits: Limits) -> Rig {
    Rig::with(|_| script, |builder| builder.limits(limits))
}

/// That an error, or a warning, names the cap.
fn assert_names(error: &trunkline::Error, cap: &str) {
    assert_eq!((error.kind(), error.get("limit")), (ErrorKind::Limit, Some(cap)), "{error:?}");
    assert!(error.message().contains(cap) && error.hint().unwrap().contains(&format!("Limits::{cap}")), "{error:?}");
}

#[tokio::test]
async fn p16_a_message_has_a_cap_over_a_pipe() {
    let max = Limits { max_message: CAP, ..limits() };
    let within = bounded(Script::new().on(call("echo"), [line(&answer_of(CAP))]), max.clone());
    assert!(within.call("echo").await.is_ok());
    for whole in [true, false] {
        let over = answer_of(CAP + 1);
        let over = if whole { vec![line(&over)] } else { vec![in_pieces(500, 0, [line(&over)])] };
        let over = bounded(Script::new().on(call("echo"), over), max.clone());
        let error = over.call("echo").await.unwrap_err();
        assert_names(&error, "max_message");
        assert!(error.may_have_run());
    }
}

#[tokio::test]
async fn p16_a_message_has_a_cap_over_http() {
    let json = |body: &str| vec![http::send(http::reply(200).content("application/json", body))];
    let events = |body: &str| vec![http::sse(), http::event(http::Event::data(body))];
    for form in [json, events] {
        for (size, fits) in [(CAP, true), (CAP + 1, false)] {
            let fake = HttpScript::new().on(rpc_call("echo"), form(&answer_of(size))).start();
            let limits = Limits { max_message: CAP, ..Limits::default() };
            let client = Client::http(fake.url()).limits(limits).build().unwrap();
            match client.call("echo", ()).await {
                Ok(_) => assert!(fits, "{size}"),
                Err(error) => {
                    assert!(!fits && error.may_have_run(), "{size}: {error:?}");
                    assert_names(&error, "max_message");
                }
            }
        }
    }
}

#[tokio::test]
async fn p21_nesting_has_a_cap_that_costs_one_call() {
    let nested = |levels: usize| {
        // two levels are the message and its result
        let deep = format!("{}1{}", "[".repeat(levels - 2), "]".repeat(levels - 2));
        format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"content":[],"structuredContent":{deep}}}}}"#)
    };
    for max in [20, 512, 100_000] {
        let most = max.min(512);
        let script = Script::new()
            .tools([tool("within"), tool("over"), tool("echo")])
            .on(call("within"), [line(&nested(most))])
            .on(call("over"), [line(&nested(most + 1))]);
        let rig = bounded(script, Limits { max_depth: max, ..limits() });
        rig.client.call("within", ()).await.unwrap();
        assert_names(&rig.client.call("over", ()).await.unwrap_err(), "max_depth");
        assert!(rig.warned("(max_depth)") && rig.call("echo").await.is_ok() && rig.starts() == 1);
    }
}

#[tokio::test]
async fn a_notification_has_a_cap_and_is_dropped_over_it() {
    let log = |data: &str| {
        line(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{data}"}}}}"#))
    };
    let own = r#"notifications/message{"data":""}"#.len();
    let steps = [log(&"a".repeat(CAP - own)), log(&"b".repeat(CAP - own + 1)), log("c"), text("ok")];
    let rig = bounded(Script::new().on(call("echo"), steps), Limits { max_notification: CAP, ..limits() });
    let mut events = rig.client.events();
    assert!(rig.call("echo").await.is_ok());
    let mut heard = Vec::new();
    while heard.last() != Some(&'c') {
        if let EventKind::Log(log) = events.next().await.unwrap().kind {
            heard.push(log.data.as_text().unwrap().chars().next().unwrap());
        }
    }
    assert_eq!(heard, ['a', 'c']);
    assert!(rig.warned("over 4000 bytes (max_notification)"), "{:?}", rig.client.warnings());
}

/// A listener that doesn't listen holds no memory without bound, and is told what it missed.
#[tokio::test]
async fn events_that_wait_have_a_cap() {
    let logs = [repeat(10, [notify_with("notifications/message", json!({"level": "info", "data": "$I"}))]), text("ok")];
    let rig = bounded(Script::new().on(call("echo"), logs), Limits { max_events: 4, ..limits() });
    rig.client.connect().await.unwrap();
    let mut events = rig.client.events();
    assert!(rig.call("echo").await.is_ok());
    let first = events.next().await.unwrap().kind;
    assert!(matches!(first, EventKind::Lagged(6)), "{first:?}");
    for _ in 0..4 {
        assert!(matches!(events.next().await.unwrap().kind, EventKind::Log(_)));
    }
}

#[tokio::test]
async fn warnings_that_are_kept_have_a_cap() {
    let odd = [line("noise"), line(r#"{"id":$ID,"result":{"content":[]}}"#)];
    for (max, kept) in [(1, 1), (2, 2), (3, 2)] {
        let rig = bounded(Script::new().on(call("echo"), odd.clone()), Limits { max_warnings: max, ..limits() });
        rig.call("echo").await.unwrap();
        assert_eq!(rig.client.warnings().len(), kept, "{:?}", rig.client.warnings());
    }
}

#[tokio::test]
async fn questions_at_once_have_a_cap_and_the_rest_is_refused() {
    let asked = ["q1", "q2", "q3"].map(|id| line(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"roots/list"}}"#)));
    let script = Script::new().on(call("echo"), asked.into_iter().chain([wait_line("\"q3\""), text("ok")]));
    let never = Handlers::new().on("roots/list", json!({"roots": {}}), |_| std::future::pending());
    let rig = Rig::with(|_| script, |builder| builder.handler(never).limits(Limits { max_questions: 2, ..limits() }));
    assert_eq!(rig.call("echo").await.unwrap(), "ok");
    let replies: Vec<_> = rig.log.replies().iter().map(Entry::json).collect();
    assert_eq!(replies.len(), 1, "{replies:?}");
    assert_eq!(replies[0]["id"], "q3");
    assert!(replies[0]["error"]["message"].as_str().unwrap().contains("at most 2 requests at once"));
    assert!(rig.warned("(max_questions)"));
}

#[tokio::test]
async fn p40_lists_have_caps_of_pages_entries_and_bytes() {
    let two = || Script::new().pages("tools/list", [[tool("a"), tool("b")], [tool("c"), tool("d")]]);
    let page = r#"{"tools":[{"name":"a"}]}"#;
    let one = || Script::new().on("tools/list", [line(&format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{page}}}"#))]);
    let with = |change: &dyn Fn(&mut Limits)| {
        let mut limits = limits();
        change(&mut limits);
        limits
    };
    for (script, max, cap) in [
        (two(), with(&|limits| limits.max_pages = 2), None),
        (two(), with(&|limits| limits.max_pages = 1), Some("max_pages")),
        (two(), with(&|limits| limits.max_items = 4), None),
        (two(), with(&|limits| limits.max_items = 3), Some("max_items")),
        (one(), with(&|limits| limits.max_list = page.len()), None),
        (one(), with(&|limits| limits.max_list = page.len() - 1), Some("max_list")),
    ] {
        let rig = bounded(script, max);
        match (rig.client.list_tools().await, cap) {
            (Ok(_), None) => {}
            (Err(error), Some(cap)) => assert_names(&error, cap),
            (outcome, cap) => panic!("{cap:?}: {outcome:?}"),
        }
    }
}

/// A schema over its caps checks nothing, and a warning says so: the server checks for itself.
#[tokio::test]
async fn schemas_have_caps_of_size_and_depth() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "enum": [1, 2]}}});
    let (size, depth) = (schema.to_string().len(), 4);
    for (max_schema, max_schema_depth, cap) in
        [(size, depth, None), (size - 1, depth, Some("(max_schema)")), (size, depth - 1, Some("(max_schema_depth)"))]
    {
        let listed = json!({"name": "echo", "inputSchema": schema});
        let rig = bounded(Script::new().tools([listed]), Limits { max_schema, max_schema_depth, ..limits() });
        let tools = ToolSet::builder().mcp(rig.client.clone()).build().unwrap();
        let outcome = tools.call("echo", json!({"n": "x"})).await;
        let warned = tools.warnings().iter().any(|warning| cap.is_some_and(|cap| warning.contains(cap)));
        assert_eq!((outcome.is_ok(), warned), (cap.is_some(), cap.is_some()), "{outcome:?} {:?}", tools.warnings());
        assert_eq!(rig.client.list_tools().await.unwrap()[0].check_arguments(&wrong()).is_ok(), cap.is_some());
    }
}

fn wrong() -> trunkline::Arguments {
    use trunkline::IntoArguments as _;
    json!({"n": "x"}).into_arguments().unwrap()
}

#[tokio::test]
async fn what_is_kept_of_standard_error_has_a_cap() {
    let words = "0123456789 and then some\n";
    let script = Script::new().on(call("echo"), [stderr(&words.repeat(100)), stderr("the end\n"), exit(3)]);
    let rig = bounded(script, Limits { stderr_tail: 60, ..limits() });
    let error = rig.call("echo").await.unwrap_err();
    let kept = error.get("stderr").unwrap();
    assert!(kept.len() <= 60 && kept.ends_with("the end"), "{kept:?}");
}

#[tokio::test]
async fn redirects_in_a_row_have_a_cap() {
    let chain = |length: usize| {
        let hop = |script: HttpScript, at: usize| {
            let from = if at == 0 { "/mcp".to_owned() } else { format!("/hop{at}") };
            let to = if at + 1 == length { "/mcp?end".to_owned() } else { format!("/hop{}", at + 1) };
            script.on(
                rpc("initialize").test(move |request| request.target == from),
                [http::send(http::redirect(307, &to))],
            )
        };
        (0..length).fold(HttpScript::new(), hop).start()
    };
    for (length, fits) in [(2, true), (3, false)] {
        let fake = chain(length);
        let limits = Limits { max_redirects: 2, ..Limits::default() };
        let connected = Client::http(fake.url()).limits(limits).build().unwrap().connect().await;
        assert_eq!(connected.is_ok(), fits, "{connected:?}");
        if let Err(error) = connected {
            assert!(error.message().contains("more than 2 times (max_redirects"), "{error}");
        }
    }
}

#[tokio::test]
async fn the_head_of_an_answer_has_a_cap() {
    for (max_head, fits) in [(64 << 10, true), (8 << 10, false)] {
        let answer =
            http::reply(200).content("application/json", answer_of(200)).header("X-Long", &"x".repeat(20 << 10));
        let fake = HttpScript::new().on(rpc_call("echo"), [http::send(answer)]).start();
        let limits = Limits { max_head, ..Limits::default() };
        let client = Client::http(fake.url()).limits(limits).build().unwrap();
        match client.call("echo", ()).await {
            Ok(_) => assert!(fits),
            Err(error) => {
                assert!(!fits && error.may_have_run(), "{error:?}");
                assert_names(&error, "max_head");
            }
        }
    }
}

#[tokio::test]
async fn what_is_read_of_a_refusal_has_a_cap() {
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32007,"message":"no"}}"#;
    for (max_refusal, code) in [(refusal.len(), Some(-32007)), (refusal.len() - 1, None)] {
        let answer = http::reply(400).content("application/json", refusal);
        let fake = HttpScript::new().on(rpc_call("echo"), [http::send(answer)]).start();
        let limits = Limits { max_refusal, ..Limits::default() };
        let client = Client::http(fake.url()).limits(limits).build().unwrap();
        let error = client.call("echo", ()).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Protocol, code), "{error:?}");
    }
}

/// The defaults are far from what good servers send.
#[tokio::test]
async fn good_servers_meet_no_cap() {
    let rig = rig(Script::new().on(call("echo"), [text("$REPEAT(1000000,x)")]));
    assert_eq!(rig.call("echo").await.unwrap().len(), 1_000_000);
    assert_eq!(rig.client.warnings(), Vec::<String>::new());
}
