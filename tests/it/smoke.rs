//! One server from connect to disconnect.

use serde_json::json;
use trunkline::{Client, ErrorKind};
use trunkline_tests::*;

pub(crate) const FAKE: &str = env!("CARGO_BIN_EXE_fake");

#[tokio::test]
async fn connects_lists_calls_and_leaves_nothing() {
    let dir = TempDir::new();
    let script = Script::new().pid_file(dir.join("pid"));
    let client = Client::stdio(FAKE, script.args()).label("fake").build().unwrap();
    let tools = client.list_tools().await.unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["echo"]);
    let value = client.call_tool("echo", json!({"text": "hi"})).await.unwrap();
    assert_eq!(value, "ok");
    let pid = wait_pid(dir.join("pid"));
    assert!(alive(pid));
    client.disconnect().await;
    assert!(!alive(pid));
}

#[tokio::test]
async fn a_missing_command_says_so() {
    let client = Client::stdio("no-such-command-here", ["x"]).build().unwrap();
    let error = client.connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.message().contains("no-such-command-here"), "{error:?}");
}
