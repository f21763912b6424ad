//! A person at a terminal: asked before a call, and free to interrupt.

use serde_json::json;
use trunkline_tests::http::{Event, event, hang, sse};
use trunkline_tests::model::{Model, Turn, chunk};

use super::{Asked, told};
use crate::harness::{Bench, runs, signal, tool, wait_until};
use crate::terminal::Terminal;

fn with_wipe(turns: impl IntoIterator<Item = Turn>) -> (Asked, String) {
    let (bench, model) = (Bench::new(), Model::playing(turns));
    let server = bench.server(json!({
        "TOOLS": tool("wipe", r#""path":{"type":"string"}"#), "LOG": bench.path("log"),
        "CALL": r#""result":{"content":[{"type":"text","text":"wiped"}]}"#,
    }));
    let config = bench.config([("s", server)]);
    (Asked { bench, model }, config)
}

#[test]
fn a_person_is_asked_each_time_or_allows_it_for_good() {
    let wipe = |path: &str| ("s_wipe", json!({"path": path}));
    let (asked, config) = with_wipe([
        Turn::calls([wipe("/a\u{1b}[2J")]),
        Turn::calls([wipe("/b"), wipe("/c"), ("s_wipe", json!({"path": 7}))]),
        Turn::calls([wipe("/d")]),
        Turn::says("Done."),
    ]);
    let mut terminal = Terminal::start(asked.command(&["wipe", "--config", &config]));
    terminal.answer("s.wipe(path: \"/a\\u001b[2J\") [y]es, [n]o, [a]lways: ", "maybe");
    terminal.answer("s.wipe(path: \"/a\\u001b[2J\") [y]es, [n]o, [a]lways: ", "no");
    terminal.answer("s.wipe(path: \"/b\") [y]es, [n]o, [a]lways: ", "a");
    assert_eq!(terminal.end(), (0, "Done.\n".to_owned()));
    let told = told(&asked.model);
    assert!(told[2].as_str().unwrap().starts_with("Error: The user refused this call."), "{told:?}");
    assert_eq!((&told[4], &told[5], &told[8]), (&json!("wiped"), &json!("wiped"), &json!("wiped")));
    assert!(told[6].as_str().unwrap().contains("don't fit"), "nobody is asked about what can't be called: {told:?}");
    assert_eq!(asked.bench.read("log").matches("\"tools/call\"").count(), 3);
}

#[test]
fn an_interrupt_ends_everything() {
    for stage in ["call", "question", "answer"] {
        let (bench, model) = (
            Bench::new(),
            Model::playing(match stage {
                "answer" => [Turn::steps([sse(), event(Event::json(chunk(json!({"content": "Well"})))), hang()])],
                _ => [Turn::calls([("s_t", json!({}))])],
            }),
        );
        let server = bench.server(json!({
            "TOOLS": tool("t", ""), "SLOW": "1", "LOG": bench.path("log"), "PIDFILE": bench.path("pid")
        }));
        let config = bench.config([("s", server)]);
        let asked = Asked { bench, model };
        let rule = if stage == "question" { "--ask" } else { "--allow" };
        let terminal = Terminal::start(asked.command(&["?", "--config", &config, rule, "*"]));
        let pid = asked.bench.pid("pid");
        match stage {
            "call" => wait_until("the call", || asked.bench.read("log").contains("tools/call")),
            "question" => wait_until("the question", || terminal.shown.lock().unwrap().contains("lways: ")),
            _ => wait_until("the answer", || asked.model.http().log().of("POST").len() == 1),
        }
        signal(&terminal.child, "INT");
        let (code, _) = terminal.end();
        assert_eq!(code, 130, "{stage}");
        assert!(!runs(&pid), "{stage}");
        let cancelled = asked.bench.read("log").matches("notifications/cancelled").count();
        assert_eq!(cancelled, usize::from(stage == "call"), "{stage}");
    }
}
