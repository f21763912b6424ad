//! An agent's tool loop with a local function and a remote server side by side. The model is played by a script here;
//! put your provider's API in its place. Run with `cargo run --example agent_loop`.

use std::collections::VecDeque;

use serde_json::{Value, json};
use trunkline::{Client, Result, StaticServer, ToolDefinition, ToolSet, tool};

/// Tells the time of day.
#[tool]
fn clock() -> String {
    "12:00".to_owned()
}

/// What a model answers: calls to make, or text for the user.
enum Turn {
    Calls(Vec<(&'static str, Value)>),
    Text(&'static str),
}

/// A model that has made up its mind before.
struct ScriptedModel(VecDeque<Turn>);

impl ScriptedModel {
    fn answer(&mut self, tools: &[ToolDefinition], conversation: &[String]) -> Turn {
        println!("model sees {} tools and {} messages", tools.len(), conversation.len());
        self.0.pop_front().unwrap_or(Turn::Text("(nothing more to say)"))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // A remote server: Client::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]) is no different.
    let notes = StaticServer::new().function("read_note", "Reads today's note.", || "lunch at 12:30");
    let tools = ToolSet::builder().tool(clock_tool()).mcp(Client::in_memory(notes).label("notes").build()?).build()?;

    let mut model = ScriptedModel(VecDeque::from([
        Turn::Calls(vec![("clock", json!({})), ("read_note", json!({})), ("read_mail", json!({}))]),
        Turn::Text("Lunch is in half an hour."),
    ]));
    let mut conversation = vec!["user: how long until lunch?".to_owned()];
    for _step in 0..10 {
        match model.answer(&tools.definitions().await?, &conversation) {
            Turn::Text(text) => {
                println!("model: {text}");
                break;
            }
            Turn::Calls(calls) => {
                // bounded, in order; what went wrong is text for the model, too
                for text in tools.call_many_text(calls).await {
                    println!("tool: {text}");
                    conversation.push(format!("tool: {text}"));
                }
            }
        }
    }
    assert!(conversation[2].contains("12:30"));
    assert!(conversation[3].contains("read_mail"));
    Ok(())
}
