//! The server of the contract suite: one of everything, made of this process's own functions, so that the same
//! server can be called directly, over memory, and as the program `contract-server` over pipes. What is expected of
//! it is in `tests/it/contract`.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Barrier;
use trunkline::{
    Arguments, CallContext, ContentBlock, FunctionTool, Json, LogMessage, Progress, PromptArgument, PromptMessage,
    RawJson, StaticResource, StaticServer, ToolResult,
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
