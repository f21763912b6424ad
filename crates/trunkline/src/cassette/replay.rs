//! A connection with nobody behind it, which answers what was recorded.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::compare::Rules;
use super::line::params_of;
use super::note::Note;
use super::reel::Reel;
use crate::connection::{CallContext, Connection, EventKind, Events};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{
    Arguments, Prompt, PromptResult, RawJson, ReadResult, Resource, ResourceTemplate, ServerInfo, ToolDefinition,
    ToolResult,
};

/// One server of a [`Cassette`](super::Cassette), answering as it did when it was recorded; made by
/// [`Cassette::replay`](super::Cassette::replay).
///
/// Errors come back with their kind, code, data and whether the call may have run; progress, log messages and events
/// come where they came. Nothing is asked of the client: what the server wanted to know then is answered already.
/// What wasn't recorded is an error of kind [`NotFound`](crate::ErrorKind::NotFound) that names the nearest recorded
/// call and what differs; it is an [`EventKind::Warning`] too, so that it can be seen where an agent hides it.
#[derive(Clone)]
pub struct Replay {
    reel: Arc<Reel>,
    rules: Arc<Rules>,
}

impl Replay {
    pub(super) fn new(reel: Arc<Reel>, rules: Arc<Rules>) -> Self {
        Self { reel, rules }
    }

    /// The label under which the server was recorded.
    pub fn server(&self) -> &str {
        &self.reel.server
    }

    fn answer(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        let scene = self.reel.play(method, params, &self.rules);
        let scene = scene.inspect_err(|error| self.reel.hub.emit(EventKind::Warning(error.message().to_owned())))?;
        for note in &scene.call.during {
            match note {
                Note::Progress(progress) => cx.report_progress(progress),
                Note::Log(message) => cx.log(message),
                Note::Event(event) => self.reel.hub.emit(event.clone()),
            }
        }
        scene.after.iter().for_each(|event| self.reel.hub.emit(event.clone()));
        scene.call.outcome.clone()
    }

    /// A list over all the pages that were recorded.
    fn list<T>(
        &self,
        method: &str,
        field: &str,
        read: fn(RawJson) -> Result<T, String>,
        cx: &CallContext,
    ) -> Result<Vec<T>> {
        let (mut items, mut cursors) = (Vec::new(), HashSet::new());
        let mut params = None;
        loop {
            let page = self.answer(method, params, cx)?;
            let listed = page.field(field).filter(RawJson::is_array).ok_or_else(|| {
                Error::new(ErrorKind::Protocol, format!("The recorded answer to {method} has no list \"{field}\""))
            })?;
            items.extend(listed.items().filter_map(|item| read(item).ok()));
            match page.field("nextCursor") {
                Some(cursor) if cursors.insert(cursor.clone()) => {
                    params = Some(RawJson::empty_object().with_member("cursor", &cursor));
                }
                _ => return Ok(items),
            }
        }
    }

    /// What the server would say of itself, where it wasn't asked: it offers what was used.
    fn guessed(&self) -> ServerInfo {
        let used = |capability: &&str| {
            let start = format!("{capability}/");
            self.reel.scenes.iter().any(|scene| scene.call.method.starts_with(&start))
        };
        let used = ["tools", "resources", "prompts"].into_iter().filter(used);
        let capabilities: Map<_, _> = used.map(|capability| (capability.to_owned(), json!({}))).collect();
        ServerInfo::new(&self.reel.server, "", Value::Object(capabilities))
    }
}

impl Connection for Replay {
    async fn list_tools(&self, cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        self.list("tools/list", "tools", ToolDefinition::read, cx)
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<ToolResult> {
        let params = params_of("name", name, Some(&arguments));
        self.answer("tools/call", Some(params), cx).map(ToolResult::from_raw)
    }

    /// There is nothing to close; the recording goes on where it was.
    async fn close(&self) -> Result<()> {
        Ok(())
    }

    async fn list_resources(&self, cx: &CallContext) -> Result<Vec<Resource>> {
        self.list("resources/list", "resources", Resource::read, cx)
    }

    async fn list_resource_templates(&self, cx: &CallContext) -> Result<Vec<ResourceTemplate>> {
        self.list("resources/templates/list", "resourceTemplates", ResourceTemplate::read, cx)
    }

    async fn list_prompts(&self, cx: &CallContext) -> Result<Vec<Prompt>> {
        self.list("prompts/list", "prompts", Prompt::read, cx)
    }

    async fn read_resource(&self, uri: &str, cx: &CallContext) -> Result<ReadResult> {
        self.answer("resources/read", Some(params_of("uri", uri, None)), cx).map(ReadResult::from_raw)
    }

    async fn get_prompt(&self, name: &str, arguments: Arguments, cx: &CallContext) -> Result<PromptResult> {
        let params = params_of("name", name, Some(&arguments));
        self.answer("prompts/get", Some(params), cx).map(PromptResult::from_raw)
    }

    async fn request(&self, method: &str, params: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        let recorded = self.reel.scenes.iter().any(|scene| scene.call.method == method);
        if !recorded && matches!(method, "ping" | "logging/setLevel") && self.reel.down.is_none() {
            return Ok(RawJson::empty_object());
        }
        self.answer(method, params, cx)
    }

    async fn info(&self) -> Result<ServerInfo> {
        match (&self.reel.info, &self.reel.down) {
            (Some(info), _) => Ok(ServerInfo::from_raw(info.clone())),
            (None, Some(error)) if self.reel.scenes.is_empty() => Err(error.clone()),
            (None, _) => Ok(self.guessed()),
        }
    }

    fn events(&self) -> Events {
        self.reel.hub.listen()
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("server", &self.reel.server).field("cassette", &self.reel.path).finish()
    }
}
