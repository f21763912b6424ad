//! `bench-counts NAME TIMES`: does one thing of a hot path so many times, for `cargo xtask counts` to have its instructions
//! counted. `bench-counts` alone prints the names. What a run costs beside (starting, setting up) is taken out by running it
//! twice with different numbers, so nothing here measures anything.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks on its standard streams")]

use std::hint::black_box;
use std::process::ExitCode;

use serde_json::json;
use trunkline::{Arguments, Client, Config, FunctionTool, MultiServer, RawJson, StaticServer, ToolResult, ToolSet};

type Work = fn(usize);

/// What is counted, by name. A new one needs a line in `baseline.txt`: `cargo xtask counts --update`.
const ALL: [(&str, Work); 9] = [
    ("call-static", |times| calls(times, Client::from_connection(server(1)))),
    ("call-memory", |times| calls(times, Client::in_memory(server(1)))),
    ("call-multi", call_multi),
    ("list-1000", list),
    ("result-text-1k", |times| results(times, &text(1 << 10))),
    ("result-text-1m", |times| results(times, &text(1 << 20))),
    ("result-json", |times| results(times, &json!({"rows": (0..50).collect::<Vec<_>>()}).to_string())),
    ("arguments-check", arguments),
    ("config-20", config),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let work = |name: &str| ALL.iter().find(|(known, _)| *known == name).map(|(_, work)| work);
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => ALL.iter().for_each(|(name, _)| println!("{name}")),
        [name, times] => match (work(name), times.parse()) {
            (Some(work), Ok(times)) => work(times),
            _ => return usage(),
        },
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: bench-counts [NAME TIMES]");
    ExitCode::FAILURE
}

fn on_one_thread<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

/// A server of so many tools, which all say the same.
fn server(tools: usize) -> StaticServer {
    (0..tools).fold(StaticServer::new(), |server, n| server.function(format!("tool{n}"), "Says hello.", || "hello"))
}

fn calls(times: usize, client: trunkline::ClientBuilder) {
    on_one_thread(async {
        let client = client.build().expect("a client");
        for _ in 0..times {
            black_box(client.call_tool("tool0", ()).await.expect("a result"));
        }
    });
}

/// The last of many tools of the last of many servers.
fn call_multi(times: usize) {
    on_one_thread(async {
        let mut all = MultiServer::new();
        for n in 0..10 {
            let client = Client::from_connection(server(100)).label(format!("server{n}")).build().expect("a client");
            all.add(client).expect("a label of its own");
        }
        for _ in 0..times {
            black_box(all.call("server9_tool99", ()).await.expect("a result"));
        }
    });
}

fn list(times: usize) {
    on_one_thread(async {
        let client = Client::in_memory(server(1000)).build().expect("a client");
        for _ in 0..times {
            black_box(client.list_tools().await.expect("a list"));
        }
    });
}

fn text(bytes: usize) -> String {
    "The quick brown fox jumps over the lazy dog. \"é\"\n".chars().cycle().take(bytes).collect()
}

/// A result as a server sends it, unwrapped.
fn results(times: usize, text: &str) {
    let raw = json!({"content": [{"type": "text", "text": text}], "isError": false}).to_string();
    let raw = RawJson::parse(raw).expect("JSON");
    for _ in 0..times {
        black_box(ToolResult::from_raw(raw.clone()).into_value("t").expect("a value"));
    }
}

fn arguments(times: usize) {
    on_one_thread(async {
        let schema = json!({"type": "object", "required": ["a", "b"], "properties": {
            "a": {"type": "integer", "minimum": 0}, "b": {"type": "array", "items": {"type": "string"}},
            "c": {"enum": ["x", "y"]},
        }});
        let tool = FunctionTool::with_schema("t", "", schema, |arguments: Arguments| arguments.iter().count());
        let set = ToolSet::builder().tool(tool).build().expect("a set");
        for _ in 0..times {
            black_box(set.call("t", json!({"a": 1, "b": ["x", "y"], "c": "x"})).await.expect("a result"));
        }
    });
}

fn config(times: usize) {
    let entry = json!({"command": "npx", "args": ["-y", "server"], "env": {"KEY": "${HOME}"}, "timeout": 30});
    let servers: serde_json::Map<_, _> = (0..20).map(|n| (format!("server{n}"), entry.clone())).collect();
    let text = json!({"mcpServers": servers}).to_string();
    for _ in 0..times {
        black_box(Config::parse(&text).expect("a config"));
    }
}
