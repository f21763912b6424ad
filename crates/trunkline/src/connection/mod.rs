//! The seam of the crate: [`Connection`] is the only interface between a server and whoever uses it. A live
//! session, a [`StaticServer`](crate::StaticServer), a [`MultiServer`](crate::MultiServer) and a filter all
//! implement it, so they compose.

mod answers;
mod context;
mod event;
mod handler;
mod shared;

pub(crate) use answers::answer_all;
pub(crate) use context::Hold;
pub use context::{CallContext, Cancellation, LogMessage, Progress};
pub use event::{Event, EventKind, Events};
pub(crate) use event::{Hub, Listed};
pub(crate) use handler::Asked;
pub use handler::{Handler, Handlers, RootChanges, SharedHandler};
pub use shared::SharedConnection;

use std::future::Future;

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::raw::{ObjectWriter, array};
use crate::protocol::{
    Arguments, Prompt, PromptResult, RawJson, ReadResult, Resource, ResourceTemplate, ServerInfo, ToolDefinition,
    ToolResult,
};

/// Something that offers tools, and perhaps resources and prompts.
///
/// Three methods are required; everything else has a truthful default (nothing listed, nothing found). Write
/// them as plain `async fn`. [`SharedConnection`] makes any implementation cloneable.
///
/// An error *result* of a tool is a result here: `Ok` with [`ToolResult::is_error`]. Only
/// [`Client`](crate::Client) turns it into an error.
///
/// ```
/// use trunkline::{Arguments, CallContext, Connection, Result, ToolDefinition, ToolResult};
/// use serde_json::json;
///
/// struct Greeter;
///
/// impl Connection for Greeter {
///     async fn list_tools(&self, _cx: &CallContext) -> Result<Vec<ToolDefinition>> {
///         Ok(vec![ToolDefinition::new("greet", "Says hello.", json!({"type": "object"}))])
///     }
///     async fn call_tool(&self, _name: &str, _arguments: Arguments, _cx: &CallContext) -> Result<ToolResult> {
///         Ok(ToolResult::text_result("hello"))
///     }
///     async fn close(&self) -> Result<()> {
///         Ok(())
///     }
/// }
/// ```
pub trait Connection: Send + Sync + 'static {
    /// All the tools, over all pages.
    fn list_tools(&self, cx: &CallContext) -> impl Future<Output = Result<Vec<ToolDefinition>>> + Send;

    /// Runs a tool by its name on the wire.
    fn call_tool(
        &self,
        name: &str,
        arguments: Arguments,
        cx: &CallContext,
    ) -> impl Future<Output = Result<ToolResult>> + Send;

    /// Ends the connection and releases what it holds. Calling it again does nothing.
    fn close(&self) -> impl Future<Output = Result<()>> + Send;

    /// All the resources; empty where there are none.
    fn list_resources(&self, _cx: &CallContext) -> impl Future<Output = Result<Vec<Resource>>> + Send {
        async { Ok(Vec::new()) }
    }

    /// All the resource templates; empty where there are none.
    fn list_resource_templates(&self, _cx: &CallContext) -> impl Future<Output = Result<Vec<ResourceTemplate>>> + Send {
        async { Ok(Vec::new()) }
    }

    /// All the prompts; empty where there are none.
    fn list_prompts(&self, _cx: &CallContext) -> impl Future<Output = Result<Vec<Prompt>>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Reads a resource.
    fn read_resource(&self, uri: &str, _cx: &CallContext) -> impl Future<Output = Result<ReadResult>> + Send {
        let error = Error::new(ErrorKind::NotFound, format!("No resource \"{uri}\": this connection offers none"));
        async { Err(error) }
    }

    /// Renders a prompt.
    fn get_prompt(
        &self,
        name: &str,
        _arguments: Arguments,
        _cx: &CallContext,
    ) -> impl Future<Output = Result<PromptResult>> + Send {
        let error = Error::new(ErrorKind::NotFound, format!("No prompt named \"{name}\": this connection offers none"));
        async { Err(error) }
    }

    /// Any request of the protocol, raw in and raw out. The default answers what the typed methods can and
    /// refuses the rest with [`ErrorKind::Unsupported`]; a live session passes everything on, so methods and
    /// fields that this crate doesn't know get through.
    fn request(
        &self,
        method: &str,
        params: Option<RawJson>,
        cx: &CallContext,
    ) -> impl Future<Output = Result<RawJson>> + Send
    where
        Self: Sized,
    {
        dispatch(self, method, params, cx)
    }

    /// What the server says of itself.
    fn info(&self) -> impl Future<Output = Result<ServerInfo>> + Send {
        let all = serde_json::json!({"tools": {}, "resources": {}, "prompts": {}});
        async { Ok(ServerInfo::new("", "", all)) }
    }

    /// What happens on the server's side from now on. Never ends where nothing ever happens.
    fn events(&self) -> Events {
        Events::none()
    }
}

/// Answers a request by the typed methods.
pub(crate) async fn dispatch<C: Connection>(
    connection: &C,
    method: &str,
    params: Option<RawJson>,
    cx: &CallContext,
) -> Result<RawJson> {
    let params = params.unwrap_or_else(RawJson::empty_object);
    if let Some(cursor) = params.field("cursor").filter(|_| method.ends_with("/list")) {
        // the typed methods give whole lists, so no cursor was ever handed out
        return Err(Error::new(ErrorKind::InvalidArguments, format!("Unknown cursor {cursor}")));
    }
    match method {
        "ping" => Ok(RawJson::empty_object()),
        "tools/list" => connection.list_tools(cx).await.map(|list| listed("tools", list.iter().map(|x| x.raw()))),
        "resources/list" => {
            connection.list_resources(cx).await.map(|list| listed("resources", list.iter().map(|x| x.raw())))
        }
        "resources/templates/list" => {
            let list = connection.list_resource_templates(cx).await?;
            Ok(listed("resourceTemplates", list.iter().map(|x| x.raw())))
        }
        "prompts/list" => connection.list_prompts(cx).await.map(|list| listed("prompts", list.iter().map(|x| x.raw()))),
        "tools/call" => {
            let (name, arguments) = (required(&params, "name")?, arguments(&params)?);
            connection.call_tool(&name, arguments, cx).await.map(|result| result.raw())
        }
        "resources/read" => {
            connection.read_resource(&required(&params, "uri")?, cx).await.map(|result| result.raw().clone())
        }
        "prompts/get" => {
            let (name, arguments) = (required(&params, "name")?, arguments(&params)?);
            connection.get_prompt(&name, arguments, cx).await.map(|result| result.raw().clone())
        }
        _ => Err(Error::new(ErrorKind::Unsupported, format!("The method \"{method}\" isn't offered here"))),
    }
}

/// The result of a list.
pub(crate) fn listed<'a>(field: &str, items: impl Iterator<Item = &'a RawJson>) -> RawJson {
    let mut out = ObjectWriter::new();
    out.member(field, &array(items));
    out.finish()
}

fn required(params: &RawJson, field: &str) -> Result<String> {
    params.text(field).ok_or_else(|| {
        Error::new(ErrorKind::InvalidArguments, format!("The request's \"{field}\" is missing or no text"))
    })
}

fn arguments(params: &RawJson) -> Result<Arguments> {
    params.field("arguments").map_or_else(|| Ok(Arguments::none()), Arguments::from_raw)
}
