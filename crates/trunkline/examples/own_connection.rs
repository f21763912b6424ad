//! A `Connection` of your own, and one that wraps another: here a server that counts words, and a layer that writes
//! down each call. Run with `cargo run --example own_connection`.

use std::sync::Mutex;

use serde_json::json;
use trunkline::{Arguments, CallContext, Client, Connection, Error, ErrorKind, Result, ToolDefinition, ToolResult};

/// Three methods are enough.
struct WordCounter;

impl Connection for WordCounter {
    async fn list_tools(&self, _cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        Ok(vec![ToolDefinition::new("count", "Counts the words of a text.", schema)])
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, _cx: &CallContext) -> Result<ToolResult> {
        if name != "count" {
            return Err(Error::new(ErrorKind::NotFound, format!("No tool named \"{name}\"")));
        }
        let text = arguments.get("text").and_then(|text| text.as_text()).unwrap_or_default();
        Ok(ToolResult::local(json!(text.split_whitespace().count())))
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// Wraps any connection. What it doesn't change it passes on.
struct Noted<C> {
    inner: C,
    calls: Mutex<Vec<String>>,
}

impl<C: Connection> Connection for Noted<C> {
    async fn list_tools(&self, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        self.inner.list_tools(cx).await
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        self.calls.lock().expect("not poisoned").push(format!("{name} {}", arguments.raw()));
        self.inner.call_tool(name, arguments, cx).await
    }

    async fn close(&self) -> Result<()> {
        println!("calls made: {:?}", self.calls.lock().expect("not poisoned"));
        self.inner.close().await
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let connection = Noted { inner: WordCounter, calls: Mutex::default() };
    let client = Client::from_connection(connection).label("words").build()?;
    let words = client.call_tool("count", json!({"text": "every server behind one client"})).await?;
    println!("{words} words");
    assert_eq!(words, json!(5));
    client.disconnect().await;
    Ok(())
}
