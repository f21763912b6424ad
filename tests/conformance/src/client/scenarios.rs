//! Scenario by scenario, which calls are made.

use serde_json::{Value, json};
use trunkline::{Answer, Client, ClientBuilder, Error, ErrorKind, Handlers, Result, Sampled};

use super::{Told, login};

/// Makes the calls of the scenario; gives the revision in which they were made.
pub(super) async fn play(told: &Told) -> Result<String> {
    let client = builder(told).build()?;
    let played = match calls(told, &client).await {
        Ok(()) => client.info().await.map(|info| info.protocol_version().unwrap_or_default()),
        Err(error) => Err(error),
    };
    client.disconnect().await;
    played
}

fn builder(told: &Told) -> ClientBuilder {
    let client = Client::http(&told.url);
    match told.scenario.as_str() {
        "elicitation-sep1034-client-defaults" | "sep-2322-client-request-state" => client.handler(accepting()),
        "request-metadata" => {
            client.handler(accepting().roots(["file:///tmp"]).sample(|_| async { Ok(Sampled::text("none", "")) }))
        }
        name if name.starts_with("auth/") => client.oauth(login::settings(told)),
        _ => client,
    }
}

async fn calls(told: &Told, client: &Client) -> Result<()> {
    match told.scenario.as_str() {
        "tools_call" => call(client, "add_numbers", json!({"a": 2, "b": 3})).await,
        "elicitation-sep1034-client-defaults" => call(client, "test_client_elicitation_defaults", json!({})).await,
        "sse-retry" => call(client, "test_reconnection", json!({})).await,
        "json-schema-2020-12-preservation" => echo_schema(client).await,
        "http-standard-headers" => use_all(client).await,
        "http-custom-headers" => call_each(client, &told.context["toolCalls"]).await,
        "http-invalid-tool-headers" => call_listed(client).await,
        "sep-2322-client-request-state" => call_listed(client).await,
        "sep-2640-client-no-prefetch" => client.list_skills().await.map(drop),
        name if name.starts_with("sep-2640-client-verify-") => load_skills(client).await,
        name if name.starts_with("auth/") => call(client, "test-tool", json!({})).await,
        _ => client.list_tools().await.map(drop),
    }
}

/// Lists the tools and calls one.
async fn call(client: &Client, tool: &str, arguments: Value) -> Result<()> {
    client.list_tools().await?;
    client.call_tool(tool, arguments).await.map(drop)
}

/// Calls every tool that is listed, with a value for each of its arguments.
async fn call_listed(client: &Client) -> Result<()> {
    for tool in client.list_tools().await? {
        let properties = tool.input_schema().to_value()["properties"].as_object().cloned().unwrap_or_default();
        let arguments: serde_json::Map<_, _> = properties.into_iter().map(|(name, _)| (name, json!("here"))).collect();
        client.call_tool(tool.name(), Value::Object(arguments)).await?;
    }
    Ok(())
}

async fn call_each(client: &Client, calls: &Value) -> Result<()> {
    client.list_tools().await?;
    for call in calls.as_array().into_iter().flatten() {
        client.call_tool(call["name"].as_str().unwrap_or_default(), call["arguments"].clone()).await?;
    }
    Ok(())
}

/// Everything that the server lists: each tool called, each resource read, each prompt rendered.
async fn use_all(client: &Client) -> Result<()> {
    call_listed(client).await?;
    for resource in client.list_resources().await? {
        client.read_resource_contents(resource.uri()).await?;
    }
    for prompt in client.list_prompts().await? {
        client.get_prompt(prompt.name(), json!({})).await?;
    }
    Ok(())
}

/// Sends the schema of one tool, as it came, through another.
async fn echo_schema(client: &Client) -> Result<()> {
    let tools = client.list_tools().await?;
    let focal = tools.iter().find(|tool| tool.name() == "json_schema_2020_12_tool");
    let focal = focal.ok_or_else(|| Error::new(ErrorKind::NotFound, "The tool with the schema isn't listed"))?;
    client.call_tool("json_schema_echo", json!({"schema": focal.input_schema()})).await.map(drop)
}

/// Loads every skill, and then each of its other files.
async fn load_skills(client: &Client) -> Result<()> {
    for skill in client.list_skills().await? {
        skill.load().await?;
        for file in skill.files().unwrap_or_default().iter().filter(|file| file.uri() != skill.uri()) {
            skill.read(file.uri()).await?;
        }
    }
    Ok(())
}

/// Accepts every form with its defaults; yes where it asks for that.
fn accepting() -> Handlers {
    Handlers::new().elicit_forms(|form| async move {
        match form.fields().iter().any(|field| field.name() == "confirmed") {
            true => Answer::accept(json!({"confirmed": true})),
            false => Answer::accept_defaults(),
        }
    })
}
