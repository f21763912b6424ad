//! The tools of a set as rig calls them.

use rig_core::message::ToolResultContent;
use rig_core::tool::{DynamicTool, ToolErrorKind};
use serde_json::json;
use trunkline::{Client, ContentBlock, Decision, FunctionTool, Result, StaticServer, ToolResult, ToolSet};

fn set() -> Result<ToolSet> {
    let server = StaticServer::new()
        .function("ping", "Answers pong.", || "pong")
        .function("fail", "Fails.", || ToolResult::error("no disk"))
        .function("draw", "Draws.", || vec![ContentBlock::text_block("a dot"), ContentBlock::image(b"x", "image/png")]);
    ToolSet::builder()
        .tool(FunctionTool::new("wipe", "Deletes everything.", || "gone"))
        .tool(FunctionTool::new("count", "Counts.", |_: Count| 3))
        .mcp(Client::in_memory(server))
        .before_call(|call| match call.name() {
            "wipe" => Decision::refuse("Deleting is not allowed here."),
            _ => Decision::approve(),
        })
        .build()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Count {
    #[allow(dead_code, reason = "only its schema matters")]
    word: String,
}

async fn tool(name: &str) -> DynamicTool {
    let tools = set().unwrap().rig_tools().await.unwrap();
    tools.into_iter().find(|tool| tool.name().as_str() == name).unwrap()
}

#[tokio::test]
async fn local_and_remote_tools_look_the_same() {
    let tools = set().unwrap().rig_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name().as_str().to_owned()).collect();
    assert_eq!(names, ["wipe", "count", "ping", "fail", "draw"]);
    let definition = tool("count").await.definition();
    assert_eq!((definition.description.as_str(), &definition.parameters["required"]), ("Counts.", &json!(["word"])));
    assert_eq!(tool("ping").await.execute(json!({})).await.unwrap().as_text(), Some("pong"));
    assert_eq!(tool("count").await.execute(json!({"word": "a"})).await.unwrap().as_text(), Some("3"));
}

#[tokio::test]
async fn images_stay_images() {
    let output = tool("draw").await.execute(json!({})).await.unwrap();
    let [ToolResultContent::Text(text), ToolResultContent::Image(image)] = output.as_content() else {
        panic!("{output:?}")
    };
    assert_eq!(text.text, "a dot");
    assert!(image.media_type.is_some());
}

#[tokio::test]
async fn what_goes_wrong_is_told_to_the_model() {
    for (name, arguments, kind, told) in [
        ("fail", json!({}), ToolErrorKind::Other, "Error: no disk"),
        ("wipe", json!({}), ToolErrorKind::Other, "Error: Deleting is not allowed here."),
        ("count", json!({}), ToolErrorKind::InvalidArgs, "Error: The arguments of tool \"count\" don't fit"),
        ("count", json!([1]), ToolErrorKind::InvalidArgs, "Error: "),
    ] {
        let error = tool(name).await.execute(arguments).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{name}");
        assert!(error.model_feedback().unwrap().starts_with(told), "{error:?}");
        assert!(error.model_output().as_text().unwrap().starts_with(told), "{error:?}");
    }
}
