//! The official Rust SDK as an independent peer, both ways: its client against our server, our client against its
//! server. Its types stay in the tests.

use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams};
use rmcp::transport::TokioChildProcess;
use rmcp::{ServiceExt, tool, tool_router};
use serde_json::json;
use trunkline::{Client, ErrorKind};

/// Our `serve_stdio` as a process, spoken to by rmcp's client.
#[tokio::test]
async fn their_client_speaks_to_our_server() {
    let command = tokio::process::Command::new(env!("CARGO_BIN_EXE_contract-server"));
    let client = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "echo"), "{tools:?}");
    let arguments = json!({"text": "héllo \u{1F389}"}).as_object().unwrap().clone();
    let result = client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await.unwrap();
    assert_eq!(result.content[0].as_text().unwrap().text, "héllo \u{1F389}");
    let resources = client.list_all_resources().await.unwrap();
    let uri = resources[0].uri.clone();
    let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
    assert_eq!(read.contents.len(), 1);
    let prompts = client.list_all_prompts().await.unwrap();
    assert!(!prompts.is_empty());
    let unknown = client.get_prompt(GetPromptRequestParams::new("no-such-prompt")).await;
    assert!(unknown.is_err());
    client.cancel().await.unwrap();
}

#[derive(Clone)]
struct Theirs;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[tool_router(server_handler)]
impl Theirs {
    #[tool(description = "Adds two numbers")]
    fn add(
        &self,
        rmcp::handler::server::wrapper::Parameters(Sum { a, b }): rmcp::handler::server::wrapper::Parameters<Sum>,
    ) -> String {
        (a + b).to_string()
    }

    #[tool(description = "Fails")]
    fn fail(&self) -> Result<String, String> {
        Err("boom".to_owned())
    }
}

/// The environment variable that turns this test program into rmcp's server.
const SERVE: &str = "TRUNKLINE_TEST_RMCP_SERVER";

/// Not a test of its own: the process that `our_client_speaks_to_their_server` starts.
#[tokio::test]
async fn rmcp_server_process() {
    if std::env::var_os(SERVE).is_none() {
        return;
    }
    let service = Theirs.serve(rmcp::transport::stdio()).await.unwrap();
    let _ = service.waiting().await; // the client has gone
    std::process::exit(0);
}

#[tokio::test]
async fn our_client_speaks_to_their_server() {
    let program = std::env::current_exe().unwrap();
    let args = ["rmcp_peer::rmcp_server_process", "--exact", "--nocapture", "--quiet"];
    let client = Client::stdio(program.to_str().unwrap(), args).env(SERVE, "1").label("theirs").build().unwrap();
    let tools = client.list_tools().await.unwrap();
    let mut names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    names.sort_unstable();
    assert_eq!(names, ["add", "fail"]);
    assert_eq!(client.call_tool("add", json!({"a": 2, "b": 40})).await.unwrap(), json!(42));
    let error = client.call_tool("fail", ()).await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Tool, "boom"));
    let error = client.call_tool("nothing", ()).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Protocol, Some(-32602)));
    // the test harness's own lines on the standard output were put up with
    assert!(client.warnings().iter().any(|warning| warning.contains("no message")), "{:?}", client.warnings());
    client.disconnect().await;
}
