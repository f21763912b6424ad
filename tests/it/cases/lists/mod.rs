//! Lists as servers really send them: only what is declared is asked for, a bad entry costs itself, null is as good as
//! absent, pages are read to their end and never for ever.

mod declared;
mod entries;
mod meanwhile;
mod pages;

use serde_json::{Value, json};
use trunkline::Result;
use trunkline_tests::*;

use crate::rig::Rig;

async fn tools(rig: &Rig) -> Vec<String> {
    names(rig.client.list_tools().await.unwrap().iter().map(|tool| tool.name()))
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.map(str::to_owned).collect()
}

/// Asks for the list of this method; the names or URIs in it.
async fn listed(rig: &Rig, method: &str) -> Result<Vec<String>> {
    Ok(match method {
        "tools/list" => names(rig.client.list_tools().await?.iter().map(|tool| tool.name())),
        "resources/list" => names(rig.client.list_resources().await?.iter().map(|resource| resource.uri())),
        "resources/templates/list" => {
            names(rig.client.list_resource_templates().await?.iter().map(|template| template.uri_template()))
        }
        "prompts/list" => names(rig.client.list_prompts().await?.iter().map(|prompt| prompt.name())),
        _ => panic!("no list is called {method}"),
    })
}

/// Each list method, the field of its answer and a way to make its entries.
type Entry = fn(&str) -> Value;
const LISTS: [(&str, &str, Entry); 4] = [
    ("tools/list", "tools", tool),
    ("resources/list", "resources", resource),
    ("resources/templates/list", "resourceTemplates", template),
    ("prompts/list", "prompts", prompt),
];

fn everything() -> Script {
    Script::new().capabilities(json!({"tools": {}, "resources": {}, "prompts": {}}))
}
