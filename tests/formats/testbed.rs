//! The tools of servers by others (`testbed/`), as they listed them.

use serde::Deserialize;
use serde_json::Value;
use trunkline::format::{Dialect, Strictness};
use trunkline::{RawJson, ToolDefinition};

use crate::{tool, written};

#[derive(Deserialize)]
struct Listed {
    name: String,
    #[serde(rename = "inputSchema")]
    input_schema: Box<serde_json::value::RawValue>,
}

/// The tools of each server.
fn servers() -> Vec<(String, Vec<ToolDefinition>)> {
    let text = include_str!("testbed.json");
    let servers: std::collections::BTreeMap<String, Vec<Listed>> = serde_json::from_str(text).unwrap();
    let definition =
        |listed: &Listed| tool(&listed.name, RawJson::parse(listed.input_schema.get().to_owned()).unwrap());
    servers.into_iter().map(|(id, tools)| (id, tools.iter().map(definition).collect())).collect()
}

#[test]
fn every_provider_takes_the_tools_of_every_server() {
    let servers = servers();
    let list: Value = serde_json::from_str(include_str!("../../testbed/servers.json")).unwrap();
    assert_eq!(servers.len(), list["servers"].as_array().unwrap().len());
    for (id, tools) in &servers {
        assert!(!tools.is_empty(), "{id}");
        for dialect in Dialect::ALL {
            written(dialect, tools);
        }
    }
}

#[test]
fn what_servers_really_send_loses_little() {
    for (id, tools) in servers() {
        for dialect in
            [Dialect::OpenAiChat, Dialect::OpenAiResponses, Dialect::Anthropic, Dialect::Mistral, Dialect::Groq]
        {
            for report in written(dialect, &tools).report() {
                assert!(!report.is_lossy(), "{dialect}, {id}: {report}");
            }
        }
        let strict = written(Dialect::OpenAiChatStrict, &tools);
        assert!(strict.report().iter().any(|report| report.strictness == Strictness::Strict), "{id}");
    }
}
