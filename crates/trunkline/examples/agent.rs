//! An agent with a function of its own and the tools of a server side by side, against any endpoint that speaks OpenAI's
//! Chat Completions. Written out, so that it can be changed; `trunkline ask` is the same with all the comfort.
//!
//! cargo run --example agent -- "How much is 2 + 40?" npx -y @modelcontextprotocol/server-everything
//!
//! The endpoint is `$OPENAI_BASE_URL`, say http://localhost:11434/v1, the model `$MODEL`, the key `$OPENAI_API_KEY`.

use std::env::{args, var};
use std::error::Error;

use serde_json::{Value, json};
use trunkline::format::Dialect;
use trunkline::{Client, RawJson, ToolSet, tool};

/// Counts the letters of a word. Models are bad at this.
#[tool]
fn count_letters(
    /// The word.
    word: &str,
) -> usize {
    word.chars().filter(|c| c.is_alphabetic()).count()
}

/// How often the model may call tools before it has to answer.
const STEPS: usize = 10;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = args().skip(1);
    let question = args.next().ok_or("usage: agent QUESTION [COMMAND [ARG]...]")?;
    let mut tools = ToolSet::builder().tool(count_letters_tool());
    if let Some(command) = args.next() {
        tools = tools.mcp(Client::stdio(command, args));
    }
    let tools = tools.build()?;

    // reqwest's default features choose this by themselves
    let _ = rustls::crypto::ring::default_provider().install_default();
    let outcome = converse(&Endpoint::from_env()?, &tools, &question).await;
    tools.disconnect().await; // the servers are gone when this returns
    println!("{}", outcome?);
    Ok(())
}

/// The whole of an agent: ask, make the calls the model wants, tell it what came of them, until it wants none.
async fn converse(endpoint: &Endpoint, tools: &ToolSet, question: &str) -> Result<String, Box<dyn Error>> {
    let mut messages = vec![json!({"role": "user", "content": question})];
    for _ in 0..STEPS {
        let definitions = tools.definitions_for(Dialect::OpenAiChat).await?;
        let message = endpoint.complete(&messages, definitions.tools()).await?;
        let answers = tools.run(&definitions, &message).await; // at once, in order; errors are answers, too
        if answers.is_empty() {
            return Ok(message["content"].as_str().unwrap_or_default().to_owned());
        }
        for answer in answers.answers() {
            eprintln!("{}: {}", answer.call().name(), answer.text());
        }
        messages.push(message);
        messages.extend(answers.messages().iter().map(RawJson::to_value));
    }
    Err("the model would go on calling tools for ever".into())
}

/// Any endpoint that is compatible with OpenAI's.
struct Endpoint {
    http: reqwest::Client,
    url: String,
    model: String,
    key: String,
}

impl Endpoint {
    fn from_env() -> Result<Self, Box<dyn Error>> {
        let base = var("OPENAI_BASE_URL").unwrap_or_else(|_| "http://localhost:11434/v1".to_owned());
        let (url, model) = (format!("{base}/chat/completions"), var("MODEL")?);
        Ok(Self { http: reqwest::Client::new(), url, model, key: var("OPENAI_API_KEY").unwrap_or_default() })
    }

    /// The model's next message.
    async fn complete(&self, messages: &[Value], tools: &RawJson) -> Result<Value, Box<dyn Error>> {
        let body = json!({"model": self.model, "messages": messages, "tools": tools.to_value()});
        let request = self.http.post(&self.url).header("content-type", "application/json").bearer_auth(&self.key);
        let response = request.body(body.to_string()).send().await?;
        let (status, text) = (response.status(), response.text().await?);
        if !status.is_success() {
            return Err(format!("the endpoint answers {status}: {text}").into());
        }
        let mut completion: Value = serde_json::from_str(&text)?;
        Ok(completion["choices"][0]["message"].take())
    }
}
