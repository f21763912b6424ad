//! One live session with one server: ids, waiting calls, the handshake, paging, cancellation, progress. Knows
//! the protocol's methods; leaves deadlines, reconnecting and error context to `managed`.

mod cache;
mod calls;
mod desk;
mod headers;
mod list;
mod listening;
mod modern;
mod oddities;
mod open;
mod pages;
mod questions;
mod rounds;
mod tasks;
mod waiting;

use std::fmt;
use std::sync::{Arc, OnceLock};

#[cfg(feature = "http")]
pub(crate) use crate::transport::{Endpoint, Proxies};
pub(crate) use crate::transport::{Launch, Recipe, Turn};
pub(crate) use open::{Begun, Identity, Way};

use crate::connection::{CallContext, Connection, Events, Hub, SharedHandler};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::protocol::content::prompt_arguments;
use crate::protocol::jsonrpc::{self, Field, Params};
use crate::protocol::{
    Arguments, Prompt, PromptResult, RawJson, ReadResult, Resource, ResourceTemplate, ServerInfo, ToolDefinition,
    ToolResult,
};
use crate::redact::Redactor;
use crate::transport::{CloseReport, Evidence, Wire};
use desk::{Desk, Reception};
use listening::Listening;
use modern::Modern;

/// What a session is opened with, beside the way to its server.
pub(crate) struct Setting {
    pub(crate) limits: Arc<Limits>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) handler: Option<SharedHandler>,
    pub(crate) redactor: Redactor,
    pub(crate) turn: Turn,
}

/// A session; dropping the last handle ends it in the background.
#[derive(Clone)]
pub(crate) struct Session {
    wire: Arc<Wire>,
    desk: Arc<Desk>,
    info: Arc<OnceLock<ServerInfo>>,
    limits: Arc<Limits>,
    /// What a revision without a handshake needs, where one is spoken.
    modern: Arc<OnceLock<Modern>>,
    /// Ends with the last handle that was given out.
    listening: Option<Arc<Listening>>,
}

impl Session {
    /// Opens the transport. The handshake is the next step.
    pub(crate) fn start(recipe: &Recipe, setting: Setting) -> Result<Self> {
        let desk = Arc::new(Desk::new(&setting));
        let Setting { limits, turn, .. } = setting;
        let wire = Arc::new(Wire::open(recipe, &limits, Arc::new(Reception(desk.clone())), turn)?);
        desk.attach(&wire);
        let (info, modern, listening) = (Arc::default(), Arc::default(), Some(Arc::default()));
        Ok(Self { wire, desk, info, limits, modern, listening })
    }

    /// Ends the session and waits until everything it owned is gone.
    pub(crate) async fn end(&self) -> CloseReport {
        self.desk.set_ending();
        self.listening.iter().for_each(|listening| listening.stop());
        self.wire.close().await
    }

    /// Why the session is over, if it is.
    pub(crate) fn over_because(&self) -> Option<Error> {
        self.desk.over_because()
    }

    /// What is known of the server, for error messages.
    pub(crate) fn evidence(&self) -> Evidence {
        self.wire.evidence()
    }

    /// What the server wrote on its standard output that was no message, if anything.
    pub(crate) fn noise(&self) -> Option<String> {
        self.desk.oddities().noise()
    }

    /// What the server said of itself when the session began.
    pub(crate) fn server_info(&self) -> ServerInfo {
        self.info.get().cloned().unwrap_or_else(|| ServerInfo::new("", "", serde_json::json!({})))
    }

    fn offers(&self, capability: &str) -> bool {
        self.server_info().offers(capability)
    }
}

impl Connection for Session {
    async fn list_tools(&self, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        let info = self.server_info();
        if !info.offers("tools") && info.capabilities().members().any(|(_, value)| !value.is_null()) {
            return Ok(Vec::new());
        }
        let tools = self.list("tools/list", "tools", ToolDefinition::read, |tool| tool.name(), cx).await?;
        for oddity in tools.iter().filter_map(ToolDefinition::oddity) {
            self.desk.warn(oddity);
        }
        match self.modern().filter(|_| self.wire.has_headers()) {
            Some(modern) => Ok(modern.mirrored.take(tools, |why| self.desk.warn(why))),
            None => Ok(tools),
        }
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        let params = [("name", Field::Text(name)), ("arguments", Field::Json(arguments.raw()))];
        let result = rounds::converse(self, "tools/call", Params::Fields(&params), cx).await?;
        if !result.is_object() {
            let message = format!("The server answered tools/call with something that is no result: {result}");
            return Err(Error::new(ErrorKind::Protocol, message).with_may_have_run(true));
        }
        let result = ToolResult::from_raw(result);
        if result.is_oddly_structured() {
            self.desk.warn(format!("tool \"{name}\" gave structured content that is no object"));
        }
        Ok(result)
    }

    async fn close(&self) -> Result<()> {
        self.end().await;
        Ok(())
    }

    async fn list_resources(&self, cx: &CallContext) -> Result<Vec<Resource>> {
        if !self.offers("resources") {
            return Ok(Vec::new());
        }
        self.list("resources/list", "resources", Resource::read, |resource| resource.uri(), cx).await
    }

    async fn list_resource_templates(&self, cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        if !self.offers("resources") {
            return Ok(Vec::new());
        }
        let uri = ResourceTemplate::uri_template;
        self.list("resources/templates/list", "resourceTemplates", ResourceTemplate::read, uri, cx).await
    }

    async fn list_prompts(&self, cx: &CallContext) -> Result<Vec<Prompt>> {
        if !self.offers("prompts") {
            return Ok(Vec::new());
        }
        self.list("prompts/list", "prompts", Prompt::read, |prompt| prompt.name(), cx).await
    }

    async fn read_resource(&self, uri: &str, cx: &CallContext) -> Result<ReadResult> {
        let params = [("uri", Field::Text(uri))];
        rounds::converse(self, "resources/read", Params::Fields(&params), cx).await.map(ReadResult::from_raw)
    }

    async fn get_prompt(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<PromptResult> {
        let arguments = prompt_arguments(&arguments);
        let params = [("name", Field::Text(name)), ("arguments", Field::Json(arguments.raw()))];
        let prompt =
            rounds::converse(self, "prompts/get", Params::Fields(&params), cx).await.map(PromptResult::from_raw)?;
        if let Some(odd) = odd_roles(name, &prompt) {
            self.desk.warn(odd);
        }
        Ok(prompt)
    }

    async fn request(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        let params = params.as_ref().map_or(Params::None, Params::Raw);
        match method {
            "tools/call" | "resources/read" | "prompts/get" => rounds::converse(self, method, params, cx).await,
            _ => calls::request(self, method, params, cx).await,
        }
    }

    async fn info(&self) -> Result<ServerInfo> {
        Ok(self.server_info())
    }

    fn events(&self) -> Events {
        self.desk.hub().listen()
    }
}

/// The roles in a prompt that the protocol doesn't know, in words.
fn odd_roles(name: &str, prompt: &PromptResult) -> Option<String> {
    let mut odd = Vec::new();
    for message in prompt.messages() {
        let role = message.raw().get("role");
        let role = role.map_or_else(|| "none".to_owned(), |role| jsonrpc::snippet(role.as_bytes()));
        if !matches!(role.as_str(), "\"user\"" | "\"assistant\"") && !odd.contains(&role) {
            odd.push(role);
        }
    }
    let roles = odd.join(", ");
    let told =
        || format!("prompt \"{name}\" has messages of roles that are neither \"user\" nor \"assistant\": {roles}");
    (!roles.is_empty()).then(told)
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("info", &self.info.get()).finish_non_exhaustive()
    }
}
