//! The server of the contract suite: one of everything, made of this process's own functions, so that the same
//! server can be called directly, over memory, over HTTP, and as the program `contract-server` over pipes and over HTTP.
//! What is expected of it is in `tests/it/contract`.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use trunkline::{
    Arguments, CallContext, ContentBlock, FunctionTool, HttpAnswers, HttpServer, HttpServing, Json, LogMessage,
    Progress, PromptArgument, PromptMessage, RawJson, StaticResource, StaticServer, ToolResult,
};

/// How many calls of `meet` have to run at the same time for any of them to end.
pub const MEETING: usize = 8;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to say.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    steps: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Hang {
    /// A file to note in that the call began, and that it was dropped.
    notes: String,
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    /// A file to wait for.
    file: std::path::PathBuf,
    /// A file to note in that the call began, and that it was dropped.
    notes: String,
}

/// The server.
pub fn server() -> StaticServer {
    let meeting = Arc::new(Barrier::new(MEETING));
    let meet = move || {
        let meeting = meeting.clone();
        async move { meeting.wait().await.is_leader() }
    };
    let add = FunctionTool::new("add", "Adds two numbers.", |a: Add| Json(Sum { sum: a.a + a.b }));
    let any = json!({"type": "object"});
    StaticServer::new()
        .name("contract")
        .version("1.2.3")
        .instructions("Be kind.")
        .function("echo", "Says it again.", |a: Echo| a.text)
        .tool(add.output_schema::<Sum>().title("Addition"))
        .tool(FunctionTool::with_schema("mirror", "", any, mirror))
        .function("fail", "Never works.", || Err::<(), _>("out of luck"))
        .function("picture", "", || ContentBlock::image(b"\x89PNG", "image/png"))
        .function("count", "Reports each step.", count)
        .function("chat", "Logs.", |cx: CallContext| cx.log(&LogMessage::new("warning", "it is late")))
        .function("meta", "Its own _meta.", |cx: CallContext| {
            cx.meta().and_then(|meta| meta.get("trace")).unwrap_or_else(|| RawJson::from(json!(null)))
        })
        .function("meet", "Ends when enough others run.", meet)
        .function("hang", "Never ends.", hang)
        .function("wait", "Ends when the file is there.", wait)
        .resource("text://greeting", StaticResource::from("hello").mime_type("text/plain"))
        .resource("bytes://logo", StaticResource::from(b"\x89PNG\0\xff").mime_type("image/png").name("logo.png"))
        .resource("text://grüße/日本", "こんにちは\u{2028}")
        .template("square://{n}", |uri| {
            let n: u64 = uri.strip_prefix("square://")?.parse().ok()?;
            Some((n * n).to_string())
        })
        .prompt("welcome", "Welcome {name} to {place}.")
        .prompt_fn("talk", [PromptArgument::new("about", false)], |arguments: Arguments| {
            let about = arguments.get("about").and_then(|about| about.as_text()).unwrap_or_else(|| "nothing".into());
            vec![
                PromptMessage::from_text("user", &format!("Talk about {about}.")),
                PromptMessage::from_text("assistant", ""),
            ]
        })
}

/// A way to serve it over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Streamable HTTP with sessions, every answer as JSON.
    Json,
    /// Streamable HTTP with sessions, every answer as an event stream.
    Sse,
    /// Streamable HTTP without sessions, JSON or an event stream as it comes.
    Sessionless,
    /// HTTP+SSE of 2024-11-05.
    LegacySse,
}

impl std::str::FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "json" => Ok(Self::Json),
            "sse" => Ok(Self::Sse),
            "sessionless" => Ok(Self::Sessionless),
            "legacy-sse" => Ok(Self::LegacySse),
            _ => Err(format!("{name:?} is none of json, sse, sessionless, legacy-sse")),
        }
    }
}

/// The server, served over HTTP. It ends with the value.
#[derive(Debug)]
pub struct Served {
    /// What a client connects to.
    pub url: String,
    pub serving: HttpServing,
}

/// Serves the server over HTTP, on a free port of this machine.
pub async fn serve(mode: Mode) -> Served {
    let http = match mode {
        Mode::Json => HttpServer::new(server()).answers(HttpAnswers::Json),
        Mode::Sse => HttpServer::new(server()).answers(HttpAnswers::Sse),
        Mode::Sessionless => HttpServer::new(server()).sessionless(),
        Mode::LegacySse => HttpServer::new(server()).legacy_sse(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let serving = http.serve(listener).expect("a server");
    let url = serving.sse_url().unwrap_or_else(|| serving.url());
    Served { url, serving }
}

/// Gives its arguments back, digit by digit.
fn mirror(arguments: Arguments) -> ToolResult {
    let result = format!(r#"{{"content":[],"structuredContent":{},"future":1}}"#, arguments.raw());
    ToolResult::from_raw(RawJson::parse(result).expect("arguments are JSON"))
}

async fn count(steps: Steps, cx: CallContext) -> u32 {
    for step in 1..=steps.steps {
        let message = format!("step {step}");
        cx.report_progress(&Progress::new(step.into(), Some(steps.steps.into()), Some(message)));
        tokio::task::yield_now().await;
    }
    steps.steps
}

struct Noting(String);

impl Noting {
    fn note(&self, word: &str) {
        std::fs::write(format!("{}.{word}", self.0), word).expect("a place for notes");
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.note("dropped");
    }
}

async fn hang(hang: Hang) {
    let noting = Noting(hang.notes);
    noting.note("begun");
    tokio::time::sleep(Duration::from_secs(600)).await;
}

async fn wait(wait: Wait) -> &'static str {
    let noting = Noting(wait.notes);
    noting.note("begun");
    while !wait.file.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    "done"
}
