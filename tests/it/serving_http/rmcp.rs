//! The serving side over HTTP: rmcp's client as an independent peer.

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::json;
use trunkline_tests::contract::{Mode, serve};

#[tokio::test]
async fn the_official_client_speaks_to_our_server() {
    // its HTTP client wants to be told which cryptography to use, even for plain HTTP
    let _ = rustls::crypto::ring::default_provider().install_default(); // another test may have been first
    for mode in [Mode::Json, Mode::Sse, Mode::Sessionless] {
        let served = serve(mode).await;
        let client = ().serve(StreamableHttpClientTransport::from_uri(served.url.as_str())).await.unwrap();
        let tools = client.list_all_tools().await.unwrap();
        assert!(tools.iter().any(|tool| tool.name == "echo"), "{mode:?} {tools:?}");
        let arguments = json!({"text": "héllo \u{1F389}"}).as_object().unwrap().clone();
        let result = client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await.unwrap();
        assert_eq!(result.content[0].as_text().unwrap().text, "héllo \u{1F389}", "{mode:?}");
        let resources = client.list_all_resources().await.unwrap();
        let read = client.read_resource(ReadResourceRequestParams::new(resources[0].uri.clone())).await.unwrap();
        assert_eq!(read.contents.len(), 1, "{mode:?}");
        assert!(client.call_tool(CallToolRequestParams::new("nope")).await.is_err(), "{mode:?}");
        client.cancel().await.unwrap();
        served.serving.stop().await.unwrap();
    }
}
