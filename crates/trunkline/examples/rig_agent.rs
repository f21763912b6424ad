//! An agent of rig with a function of this program and the tools of a server side by side.
//!
//! cargo run --features rig-example --example rig_agent -- "How much is 2 + 40?" npx -y @modelcontextprotocol/server-everything
//!
//! The endpoint is `$OPENAI_BASE_URL`, say http://localhost:11434/v1, the model `$MODEL`, the key `$OPENAI_API_KEY`.
//! With the crate `rig` and its default features, `OpenAI::from_env()` is all that has to be said of it.

use std::env::{args, var};
use std::error::Error;

use rig_agent::AgentBuilder;
use rig_core::providers::openai::OpenAIConfig;
use rig_reqwest::ReqwestClient;
use trunkline::{Client, ToolSet, tool};

/// Counts the letters of a word. Models are bad at this.
#[tool]
fn count_letters(
    /// The word.
    word: &str,
) -> usize {
    word.chars().filter(|c| c.is_alphabetic()).count()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = args().skip(1);
    let question = args.next().ok_or("usage: rig_agent QUESTION [COMMAND [ARG]...]")?;
    let mut tools = ToolSet::builder().tool(count_letters_tool());
    if let Some(command) = args.next() {
        tools = tools.mcp(Client::stdio(command, args));
    }
    let tools = tools.build()?;

    // TLS is chosen by hand since the examples share this; rig's default features choose it by themselves
    let _ = rustls::crypto::ring::default_provider().install_default();
    let openai = OpenAIConfig::from_env()?.connect(ReqwestClient::default());
    let agent = AgentBuilder::new(openai.chat(var("MODEL")?)).dynamic_tools(tools.rig_tools().await?).build();
    let answer = agent.prompt(question).max_turns(10).tool_concurrency(8).await;

    tools.disconnect().await; // the servers are gone when this returns
    println!("{}", answer?.output());
    Ok(())
}
