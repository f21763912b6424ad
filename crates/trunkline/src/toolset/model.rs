//! The set as a model's provider sees it: definitions in a dialect, and a model's calls made and answered.

use super::ToolSet;
use super::calls::at_once;
use crate::connection::CallContext;
use crate::error::Result;
use crate::format::{Answer, Answers, Definitions, Dialect, ToolCall};
use crate::protocol::RawJson;

impl ToolSet {
    /// The tools in the dialect of a model's provider: what goes into a request, with the way back and a report of
    /// what had to be changed. See [`format`](crate::format).
    ///
    /// ```
    /// use trunkline::format::Dialect;
    /// use trunkline::{FunctionTool, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let tools = ToolSet::builder().tool(FunctionTool::new("now", "The time of day.", || "noon")).build()?;
    /// let definitions = tools.definitions_for(Dialect::OpenAiChat).await?;
    /// assert_eq!(
    ///     definitions.tools().to_string(),
    ///     r#"[{"type":"function","function":{"name":"now","description":"The time of day.","parameters":{"properties":{},"type":"object"}}}]"#
    /// );
    /// assert!(definitions.report()[0].changes.is_empty());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub async fn definitions_for(&self, dialect: Dialect) -> Result<Definitions> {
        let definitions = self.definitions().await?;
        Ok(Definitions::new(dialect, &definitions))
    }

    /// Makes the calls that a model's message asks for and writes the messages that answer them. `message` is the
    /// model's message, or the whole response that it came in; `definitions` are those that the model was given.
    ///
    /// So many calls run at once as [`concurrency`](super::ToolSetBuilder::concurrency) says; answers are in the
    /// order of the message. Never fails: what goes wrong is told to the model. No answer means that the model is
    /// done.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use trunkline::format::Dialect;
    /// use trunkline::{FunctionTool, RawJson, ToolSet};
    ///
    /// /// Stands for the provider: asks for a call, then says what came of it.
    /// fn provider(_tools: &RawJson, messages: &[Value]) -> Value {
    ///     match messages.last().unwrap()["role"].as_str() {
    ///         Some("tool") => json!({"role": "assistant", "content": "It is noon."}),
    ///         _ => json!({"role": "assistant", "tool_calls": [
    ///             {"id": "call_1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    ///         ]}),
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// let tools = ToolSet::builder().tool(FunctionTool::new("now", "The time of day.", || "noon")).build()?;
    /// let definitions = tools.definitions_for(Dialect::OpenAiChat).await?;
    /// let mut messages = vec![json!({"role": "user", "content": "What time is it?"})];
    /// let text = loop {
    ///     let message = provider(definitions.tools(), &messages);
    ///     let answers = tools.run(&definitions, &message).await;
    ///     if answers.is_empty() {
    ///         break message["content"].clone();
    ///     }
    ///     messages.push(message);
    ///     messages.extend(answers.messages().iter().map(RawJson::to_value));
    /// };
    /// assert_eq!(text, "It is noon.");
    /// # Ok(()) }
    /// ```
    pub async fn run(&self, definitions: &Definitions, message: impl Into<RawJson>) -> Answers {
        let calls = definitions.calls(message);
        let answers = at_once(self.0.concurrency, calls.into_iter().map(|call| self.answer(call)).collect()).await;
        definitions.answers(answers)
    }

    async fn answer(&self, call: ToolCall) -> Answer {
        let outcome = match call.arguments() {
            Ok(arguments) => self.call_result(call.name(), arguments.clone(), &CallContext::new()).await,
            Err(error) => Err(error),
        };
        Answer::new(call, outcome)
    }
}
