//! Entries: a bad one costs itself, null is as good as absent, of two with one name the first counts.

use serde_json::{Value, json};
use trunkline_tests::*;

use super::everything;
use crate::rig::everywhere;

#[tokio::test]
async fn p30_a_bad_definition_costs_itself_and_is_reported() {
    for rig in everywhere(Script::new().tools([
        tool("good1"),
        json!({"name": "n1"}),
        json!({"name": "n2", "inputSchema": null}),
        json!({"name": "n3", "inputSchema": {}}),
        json!({"name": "n4", "inputSchema": {"type": "string"}}),
        json!({"inputSchema": {"type": "object"}}),
        json!({"name": 7}),
        json!("no object"),
        json!(null),
        json!({"name": "n5", "inputSchema": [1], "description": 5, "annotations": "x"}),
        tool("good2"),
    ])) {
        let tools = rig.client.list_tools().await.unwrap();
        let listed: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
        assert_eq!(listed, ["good1", "n1", "n2", "n3", "n4", "n5", "good2"]);
        for tool in tools.iter().filter(|tool| tool.name() != "n4") {
            assert_eq!(tool.input_schema().to_value()["type"], "object", "{}", tool.name());
        }
        for warning in [
            "tools[5] was left out: it has no name",
            "tools[6] was left out: it has a name that is no text",
            "tools[7] was left out: it is no object",
            "tools[8] was left out: it is no object",
            "tool \"n4\": inputSchema has type \"string\" instead of \"object\"",
            "tool \"n5\": inputSchema is no object",
        ] {
            assert!(rig.warned(warning), "{warning} isn't among {:?}", rig.client.warnings());
        }
        assert_eq!(rig.client.warnings().len(), 6);
        assert_eq!(rig.call("n1").await.unwrap(), "ok");
    }
}

#[tokio::test]
async fn p31_null_is_as_good_as_absent_everywhere() {
    let absent = json!({
        "name": "a", "title": null, "description": null, "inputSchema": {"type": "object"}, "outputSchema": null,
        "annotations": null, "_meta": null, "icons": null
    });
    let page = |field: &str, entry: Value| json!({field: [entry], "nextCursor": null, "_meta": null});
    let call_result = json!({
        "content": [{"type": "text", "text": "ok", "annotations": null, "_meta": null}],
        "isError": null, "structuredContent": null, "_meta": null
    });
    for rig in everywhere(everything()
        .on(
            "initialize",
            [respond(json!({
                "protocolVersion": "2025-06-18", "instructions": null, "_meta": null,
                "capabilities": {"tools": {"listChanged": null}, "resources": {}, "prompts": {}, "logging": null},
                "serverInfo": {"name": "fake", "version": null, "title": null}
            }))],
        )
        .on("tools/list", [respond(page("tools", absent))])
        .on(
            "resources/list",
            [respond(page(
                "resources",
                json!({
                    "uri": "a:1", "name": null, "mimeType": null, "description": null, "size": null, "annotations": null
                }),
            ))],
        )
        .on("prompts/list", [respond(page("prompts", json!({"name": "p", "description": null, "arguments": null})))])
        .on("tools/call", [respond(call_result)])
        .on(
            "resources/read",
            [respond(json!({
                "contents": [{"uri": "a:1", "mimeType": null, "text": "t", "blob": null}], "_meta": null
            }))],
        )
        .on(
            "prompts/get",
            [respond(json!({
                "description": null, "messages": [{"role": "user", "content": {"type": "text", "text": "m"}}]
            }))],
        )) {
    let tool = &rig.client.list_tools().await.unwrap()[0];
    assert_eq!(tool.description(), "MCP tool 'a' from fake.");
    let definition = trunkline::Tool::definition(tool);
    assert!(definition.title().is_none() && definition.output_schema().is_none() && definition.annotations().is_none());
    let result = rig.client.call("a", ()).await.unwrap();
    assert!(!result.is_error() && result.structured().is_none() && result.meta().is_none());
    assert_eq!(result.into_value("a").unwrap(), json!("ok"));
    let resource = &rig.client.list_resources().await.unwrap()[0];
    assert_eq!((resource.name(), resource.mime_type()), (String::new(), None));
    assert_eq!(rig.client.read_resource("a:1").await.unwrap(), "t");
    let contents = rig.client.read_resource_contents("a:1").await.unwrap().contents();
    assert!(contents[0].blob().unwrap().is_none() && contents[0].mime_type().is_none());
    let prompt = &rig.client.list_prompts().await.unwrap()[0];
    assert!(prompt.arguments().is_empty() && prompt.description().is_none());
    assert_eq!(rig.client.get_prompt("p", ()).await.unwrap(), "m");
    let info = rig.client.info().await.unwrap();
    assert_eq!((info.version(), info.instructions(), info.offers("logging")), (String::new(), None, false));
    assert!(rig.client.warnings().is_empty(), "{:?}", rig.client.warnings());
    assert!(!rig.log.lines().iter().any(|line| line.contains("null")), "nulls are never written");
    }
}

#[tokio::test]
async fn p45_of_two_entries_with_one_name_the_first_is_used() {
    let twice = |field: &str| vec![json!({field: "a", "description": "1"}), json!({field: "a", "description": "2"})];
    for rig in everywhere(
        Script::new()
            .pages("tools/list", [twice("name"), vec![tool("b"), tool("a")]])
            .resources(twice("uri"))
            .prompts(twice("name")),
    ) {
        let tools = rig.client.list_tools().await.unwrap();
        assert_eq!(tools.iter().map(|tool| (tool.name(), tool.description())).next().unwrap(), ("a", "1".to_owned()));
        assert_eq!(tools.len(), 2);
        assert_eq!(rig.client.list_resources().await.unwrap()[0].description().unwrap(), "1");
        assert_eq!(rig.client.list_prompts().await.unwrap()[0].description().unwrap(), "1");
        let warnings = rig.client.warnings();
        let expected = ["tools/list", "resources/list", "prompts/list"];
        assert_eq!(warnings, expected.map(|method| format!("{method} lists \"a\" twice; the first is used")));
    }
}
