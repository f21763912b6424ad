//! [`StaticServer`]: a server made of this process's own functions, texts and templates. Opens nothing; speaking
//! the protocol for it is left to `server`.

mod prompt;
mod resource;
mod template;

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

pub use prompt::IntoPromptResult;
pub use resource::StaticResource;

use crate::connection::{CallContext, Connection};
use crate::error::{Error, Result};
use crate::protocol::{
    Arguments, Prompt, PromptArgument, PromptResult, ReadResult, Resource, ResourceTemplate, ServerInfo,
    ToolDefinition, ToolResult,
};
use crate::suggest;
use crate::tool::{FunctionTool, SharedTool, Tool, ToolFunction};
use prompt::StaticPrompt;
use resource::StaticTemplate;

/// A server made of this process's own functions, texts and templates: for tests without a subprocess, and for
/// serving tools of your own. (Seed: `StaticMCPClient`.)
///
/// It is put together once and doesn't change afterwards. Of two tools (resources, prompts) of one name the later
/// replaces the earlier, in its place. A mistake in the making, such as an unclosed brace in a template, is told
/// by [`check`](Self::check) and by everything the server is asked.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
/// use trunkline::{CallContext, Connection, IntoArguments, StaticServer};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Shout {
///     text: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
/// let server = StaticServer::new()
///     .function("shout", "Makes text loud.", |a: Shout| a.text.to_uppercase())
///     .resource("file://greeting", "hello")
///     .prompt("welcome", "Welcome {name} to {place}.");
///
/// let cx = CallContext::new();
/// let result = server.call_tool("shout", json!({"text": "hi"}).into_arguments()?, &cx).await?;
/// assert_eq!(result.into_value("shout")?, "HI");
/// assert_eq!(server.read_resource("file://greeting", &cx).await?.text()?, "hello");
/// let welcome = server.get_prompt("welcome", [("name", "Ann"), ("place", "Rome")].into_arguments()?, &cx).await?;
/// assert_eq!(welcome.text(), "Welcome Ann to Rome.");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct StaticServer {
    name: String,
    version: String,
    instructions: Option<String>,
    tools: IndexMap<String, SharedTool>,
    resources: IndexMap<String, StaticResource>,
    templates: IndexMap<String, StaticTemplate>,
    prompts: IndexMap<String, StaticPrompt>,
    fault: Option<Error>,
}

impl Default for StaticServer {
    fn default() -> Self {
        Self::new()
    }
}

impl StaticServer {
    /// A server named `static` that offers nothing yet.
    pub fn new() -> Self {
        Self {
            name: "static".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
            tools: IndexMap::new(),
            resources: IndexMap::new(),
            templates: IndexMap::new(),
            prompts: IndexMap::new(),
            fault: None,
        }
    }

    /// Sets what the server calls itself.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
    /// use trunkline::{Connection, StaticServer};
    ///
    /// let server = StaticServer::new().name("desk").version("2.1").instructions("Ask for one thing at a time.");
    /// let info = server.info().await?;
    /// assert_eq!((info.name().as_str(), info.version().as_str()), ("desk", "2.1"));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the server's version. This crate's where it isn't set.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets the guidance for the model that will use the server.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Offers a tool.
    ///
    /// ```
    /// use trunkline::{StaticServer, tool};
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// let server = StaticServer::new().tool(add_tool());
    /// # server.check().unwrap();
    /// ```
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.note(tool.check());
        self.tools.insert(tool.definition().name().to_owned(), SharedTool::new(tool));
        self
    }

    /// Offers a function as a tool: [`FunctionTool::new`] and [`tool`](Self::tool) in one.
    #[must_use]
    pub fn function<F, Marker>(self, name: impl AsRef<str>, description: impl AsRef<str>, function: F) -> Self
    where
        F: ToolFunction<Marker>,
    {
        self.tool(FunctionTool::new(name, description, function))
    }

    /// Offers a resource: text, bytes, or a [`StaticResource`] where there is more to say. Unless it is given a
    /// name, that is the last segment of the URI.
    ///
    /// ```
    /// use trunkline::{StaticResource, StaticServer};
    ///
    /// let server = StaticServer::new()
    ///     .resource("docs://guide/intro", "Start here.")
    ///     .resource("docs://logo", StaticResource::from(b"\x89PNG").mime_type("image/png"));
    /// # server.check().unwrap();
    /// ```
    #[must_use]
    pub fn resource(mut self, uri: impl Into<String>, contents: impl Into<StaticResource>) -> Self {
        self.resources.insert(uri.into(), contents.into());
        self
    }

    /// Offers a family of resources: `read` is given each URI that matches the template and no resource has, and
    /// answers with its contents or with `None`.
    ///
    /// ```
    /// use trunkline::StaticServer;
    ///
    /// let server = StaticServer::new().template("square://{n}", |uri| {
    ///     let n: u32 = uri.strip_prefix("square://")?.parse().ok()?;
    ///     Some((n * n).to_string())
    /// });
    /// # server.check().unwrap();
    /// ```
    #[must_use]
    pub fn template<R: Into<StaticResource>>(
        mut self,
        uri_template: impl Into<String>,
        read: impl Fn(&str) -> Option<R> + Send + Sync + 'static,
    ) -> Self {
        let uri_template = uri_template.into();
        let template = StaticTemplate::new(&uri_template, move |uri| read(uri).map(Into::into));
        self.templates.insert(uri_template, template);
        self
    }

    /// Offers a prompt: one message of the user, with a `{name}` for each argument, all of them required. `{{`
    /// and `}}` stand for braces. Arguments that the template doesn't name are ignored; values that aren't text
    /// appear as JSON.
    #[must_use]
    pub fn prompt(mut self, name: impl Into<String>, template: impl AsRef<str>) -> Self {
        let name = name.into();
        match StaticPrompt::of_template(&name, template.as_ref()) {
            Ok(prompt) => drop(self.prompts.insert(name, prompt)),
            Err(error) => self.note(Err(error)),
        }
        self
    }

    /// Offers a prompt that a function renders: as text, as messages, or as a whole [`PromptResult`], or fails
    /// with a `Result`. It isn't called while a required argument is missing.
    ///
    /// ```
    /// use trunkline::{PromptArgument, PromptMessage, StaticServer};
    ///
    /// let arguments = [PromptArgument::new("code", true), PromptArgument::new("language", false)];
    /// let server = StaticServer::new().prompt_fn("review", arguments, |arguments| {
    ///     let code = arguments.get("code").and_then(|code| code.as_text()).unwrap_or_default();
    ///     vec![PromptMessage::from_text("user", &code), PromptMessage::from_text("assistant", "I see.")]
    /// });
    /// # server.check().unwrap();
    /// ```
    #[must_use]
    pub fn prompt_fn<P: IntoPromptResult>(
        mut self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = PromptArgument>,
        render: impl Fn(Arguments) -> P + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        let arguments: Vec<_> = arguments.into_iter().collect();
        let render = Arc::new(move |arguments| render(arguments).into_prompt_result());
        let prompt = StaticPrompt::new(&name, &arguments, render);
        self.prompts.insert(name, prompt);
        self
    }

    /// Whether the server was put together rightly.
    ///
    /// ```
    /// use trunkline::StaticServer;
    ///
    /// assert!(StaticServer::new().prompt("greet", "Hello {name}.").check().is_ok());
    /// let error = StaticServer::new().prompt("greet", "Hello {name.").check().unwrap_err();
    /// assert!(error.message().starts_with("Prompt \"greet\""));
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the first mistake that was made.
    pub fn check(&self) -> Result<()> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, outcome: Result<()>) {
        self.fault = self.fault.take().or(outcome.err());
    }

    /// Only what there is, so that nobody asks for the rest.
    fn capabilities(&self) -> Value {
        let has_resources = !self.resources.is_empty() || !self.templates.is_empty();
        let offered =
            [("tools", !self.tools.is_empty()), ("resources", has_resources), ("prompts", !self.prompts.is_empty())];
        let offered = offered.into_iter().filter(|(_, there)| *there);
        Value::Object(offered.map(|(name, _)| (name.to_owned(), json!({}))).collect::<Map<_, _>>())
    }

    fn unknown<'a>(&self, kind: &str, name: &str, available: impl IntoIterator<Item = &'a String>) -> Error {
        suggest::unknown(kind, name, &self.name, available.into_iter().map(String::as_str))
    }
}

impl Connection for StaticServer {
    async fn list_tools(&self, _cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        self.check()?;
        Ok(self.tools.values().map(|tool| tool.definition().clone()).collect())
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        self.check()?;
        match self.tools.get(name) {
            Some(tool) => tool.call(arguments, cx).await,
            None => Err(self.unknown("tool", name, self.tools.keys())),
        }
    }

    /// There is nothing to close; the server can be used afterwards.
    async fn close(&self) -> Result<()> {
        Ok(())
    }

    async fn list_resources(&self, _cx: &CallContext) -> Result<Vec<Resource>> {
        self.check()?;
        Ok(self.resources.iter().map(|(uri, resource)| resource.listed(uri)).collect())
    }

    async fn list_resource_templates(&self, _cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        self.check()?;
        Ok(self.templates.values().map(|template| template.listed.clone()).collect())
    }

    async fn list_prompts(&self, _cx: &CallContext) -> Result<Vec<Prompt>> {
        self.check()?;
        Ok(self.prompts.values().map(|prompt| prompt.listed.clone()).collect())
    }

    async fn read_resource(&self, uri: &str, _cx: &CallContext) -> Result<ReadResult> {
        self.check()?;
        let found = self.resources.get(uri).map(|resource| resource.contents(uri));
        let found = found.or_else(|| self.templates.values().find_map(|template| template.read(uri)));
        match found {
            Some(contents) => Ok(ReadResult::new([contents])),
            None => Err(self.unknown("resource", uri, self.resources.keys().chain(self.templates.keys()))),
        }
    }

    async fn get_prompt(&self, name: &str, arguments: Arguments, _cx: &CallContext) -> Result<PromptResult> {
        self.check()?;
        match self.prompts.get(name) {
            Some(prompt) => prompt.render(arguments),
            None => Err(self.unknown("prompt", name, self.prompts.keys())),
        }
    }

    async fn info(&self) -> Result<ServerInfo> {
        self.check()?;
        let info = ServerInfo::new(&self.name, &self.version, self.capabilities());
        Ok(self.instructions.iter().fold(info, |info, text| info.with_instructions(text)))
    }
}

impl fmt::Debug for StaticServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticServer")
            .field("name", &self.name)
            .field("tools", &self.tools.keys())
            .field("resources", &self.resources.keys())
            .field("templates", &self.templates.keys())
            .field("prompts", &self.prompts.keys())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
