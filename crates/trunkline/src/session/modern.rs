//! The revisions without a handshake (MCP specification 2026-07-28): each request says for itself who asks, in which
//! revision and what is answered in turn; headers repeat it; and the requests of older revisions that are no more
//! have something in their place.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::cache::Key;
use super::calls::{self, Outgoing};
use super::headers::{self, Mirrored};
use super::{Identity, Session};
use crate::connection::{CallContext, Connection, Handler, SharedHandler};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::era::{self, HEADER_MISMATCH, MISSING_CAPABILITY, MODERN_REVISIONS, UNSUPPORTED_VERSION};
use crate::protocol::jsonrpc::{Field, Params};
use crate::protocol::{RawJson, ServerInfo, Task, input_required, result_type};
use crate::transport::{Tags, Terms};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// What a server may answer with questions.
const ANSWERABLE: [&str; 3] = ["tools/call", "resources/read", "prompts/get"];

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// What a session of such a revision keeps. The server keeps nothing.
pub(super) struct Modern {
    revision: &'static str,
    /// What a request says where its call adds nothing.
    stamp: RawJson,
    /// Whether calls may go on as tasks.
    tasks: bool,
    level: Mutex<Option<String>>,
    pub(super) mirrored: Mirrored,
}

/// What the answer to the first question says of a server.
#[derive(Debug)]
pub(super) enum Found {
    Modern(ServerInfo),
    /// No modern server answers so; the revision for the handshake, and the answer where it was an error.
    Legacy {
        revision: &'static str,
        why: Option<Error>,
    },
    /// No server can be talked to at all, or not in any revision that both know.
    Nothing(Error),
}

impl Modern {
    pub(super) fn new(identity: &Identity, handler: Option<&SharedHandler>) -> Self {
        let revision = MODERN_REVISIONS[0];
        let capabilities = handler.map_or_else(RawJson::empty_object, Handler::capabilities);
        let mut stamp = Map::new();
        stamp.insert(VERSION.to_owned(), revision.into());
        stamp.insert(CLIENT_INFO.to_owned(), json!({"name": identity.name, "version": identity.version}));
        let stamp = RawJson::from(Value::Object(stamp)).with_member(CLIENT_CAPABILITIES, &capabilities);
        Self { revision, stamp, tasks: false, level: Mutex::default(), mirrored: Mirrored::default() }
    }

    /// With what this side can do of what the server offers beyond the protocol.
    pub(super) fn of_server(mut self, info: &ServerInfo) -> Self {
        let extensions = info.capabilities().field("extensions");
        self.tasks = extensions.is_some_and(|extensions| extensions.field(Task::EXTENSION).is_some());
        let own = self.stamp.field(CLIENT_CAPABILITIES).unwrap_or_else(RawJson::empty_object);
        self.stamp = self.stamp.with_member(CLIENT_CAPABILITIES, &self.extended(own));
        self
    }

    /// Capabilities, and the extensions that are spoken with this server.
    fn extended(&self, capabilities: RawJson) -> RawJson {
        if !self.tasks {
            return capabilities;
        }
        let extensions = capabilities.field("extensions").unwrap_or_else(RawJson::empty_object);
        let extensions = extensions.with_member(Task::EXTENSION, &RawJson::empty_object());
        capabilities.with_member("extensions", &extensions)
    }

    /// Whether a call that becomes a task is followed to its end here: unless whoever makes it does that.
    pub(super) fn follows(&self, cx: &CallContext) -> bool {
        self.tasks && cx.client_capabilities().is_none() && !cx.is_detached()
    }

    pub(super) fn revision(&self) -> &'static str {
        self.revision
    }

    pub(super) fn terms(&self) -> Terms {
        Terms { revision: Some(self.revision.to_owned()), stateless: true }
    }

    /// What a request says of this side: whoever answers during the call decides what is answered.
    pub(super) fn stamp(&self, cx: &CallContext) -> Cow<'_, RawJson> {
        let forwarded = cx.client_capabilities().cloned();
        let capabilities = forwarded.or_else(|| cx.handler().map(|handler| self.extended(handler.capabilities())));
        let kept = || self.level.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let level = cx.log_level().map(str::to_owned).or_else(kept);
        let mut stamp = Cow::Borrowed(&self.stamp);
        if let Some(capabilities) = capabilities {
            stamp = Cow::Owned(stamp.with_member(CLIENT_CAPABILITIES, &capabilities));
        }
        if let Some(level) = level {
            stamp = Cow::Owned(stamp.with_member(LOG_LEVEL, &Value::from(level).into()));
        }
        stamp
    }

    /// Makes a request, or does what stands in its place.
    pub(super) async fn request(
        &self,
        session: &Session,
        method: &str,
        params: Params<'_>,
        cx: &CallContext,
    ) -> Result<RawJson> {
        let text = |field: &str| params.text(field);
        match method {
            "ping" => self.ask(session, "server/discover", Params::None, cx).await.map(|_| RawJson::empty_object()),
            "logging/setLevel" => {
                *self.level.lock().unwrap_or_else(PoisonError::into_inner) = text("level");
                Ok(RawJson::empty_object())
            }
            "resources/subscribe" => match text("uri") {
                Some(uri) => session.subscribe(&uri, cx).await.map(|()| RawJson::empty_object()),
                None => Err(Error::new(ErrorKind::InvalidArguments, "A subscription needs a \"uri\"")),
            },
            "resources/unsubscribe" => {
                if let Some(uri) = text("uri") {
                    session.unsubscribe(&uri);
                }
                Ok(RawJson::empty_object())
            }
            _ => self.kept_or_asked(session, method, params, cx).await,
        }
    }

    /// What the server said a moment ago, where it still holds and nobody wants it fresh; else what it says now.
    async fn kept_or_asked(
        &self,
        session: &Session,
        method: &str,
        params: Params<'_>,
        cx: &CallContext,
    ) -> Result<RawJson> {
        let (cache, most) = (&session.desk.cache, session.limits.max_cached);
        let key = Key::of(method, &params).filter(|_| most > 0 && cx.meta().is_none());
        let Some(key) = key else { return self.ask(session, method, params, cx).await };
        if let Some(answer) = cache.get(&key).filter(|_| !cx.is_fresh()) {
            return Ok(answer);
        }
        let changes = cache.changes();
        let answer = self.ask(session, method, params, cx).await?;
        if !input_required(&answer) {
            cache.put(key, &answer, changes, most);
        }
        Ok(answer)
    }

    /// Sends a request; once more where the server says that it only has to be said otherwise.
    async fn ask(&self, session: &Session, method: &str, params: Params<'_>, cx: &CallContext) -> Result<RawJson> {
        let stamp = self.stamp(cx);
        let mut again = true;
        loop {
            let tags = self.tags(session, method, &params);
            let request = Outgoing { method, params, stamp: Some(&stamp), tags, acknowledged: None };
            let error = match calls::send(session, request, cx).await {
                Ok(result) => return checked(method, result),
                Err(error) => error,
            };
            match error.code() {
                Some(HEADER_MISMATCH) if again && method == "tools/call" => list_again(session, cx).await?,
                Some(UNSUPPORTED_VERSION) if again && supported(&error).iter().any(|known| known == self.revision) => {}
                Some(MISSING_CAPABILITY) => return Err(lacking(error)),
                _ => return Err(error),
            }
            again = false;
        }
    }

    pub(super) fn tags(&self, session: &Session, method: &str, params: &Params<'_>) -> Tags {
        if session.wire.has_headers() { headers::of(method, params, &self.mirrored) } else { Tags::new() }
    }
}

impl Session {
    /// What the requests without a handshake need, in such a session.
    pub(super) fn modern(&self) -> Option<&Modern> {
        self.modern.get()
    }

    /// Asks what the server is. `either`: whether it may be of the other era.
    pub(super) async fn discover(&self, modern: &Modern, either: bool) -> Found {
        self.wire.agree(modern.terms());
        let cx = CallContext::new();
        let mut again = true;
        loop {
            let tags = modern.tags(self, "server/discover", &Params::None);
            let stamp = Some(&modern.stamp);
            let request = Outgoing { method: "server/discover", params: Params::None, stamp, tags, acknowledged: None };
            let outcome = calls::send(self, request, &cx).await;
            let refused = outcome.as_ref().err().filter(|error| error.code() == Some(UNSUPPORTED_VERSION));
            if again && refused.is_some_and(|error| era::common_modern(&supported(error)).is_some()) {
                again = false; // one server refuses the very version that it then names
                continue;
            }
            return found(outcome, either);
        }
    }
}

/// What the answer to `server/discover` says of the server.
fn found(outcome: Result<RawJson>, either: bool) -> Found {
    let legacy = |revision, why| Found::Legacy { revision, why };
    let newest = era::NEWEST_HANDSHAKE;
    let error = match outcome {
        Ok(result) => {
            let versions = result.field("supportedVersions").map(|versions| texts(&versions));
            return match versions {
                Some(versions) if era::common_modern(&versions).is_some() => Found::Modern(info(&result)),
                Some(versions) => in_common(&versions, either),
                None => legacy(newest, None), // it answers anything with anything
            };
        }
        Err(error) => error,
    };
    match (error.kind(), error.code()) {
        (_, Some(UNSUPPORTED_VERSION)) => in_common(&supported(&error), either),
        (_, Some(code)) if era::is_modern_error(code) => Found::Nothing(error),
        (_, Some(_)) => legacy(newest, Some(error)),
        (ErrorKind::Auth | ErrorKind::Config | ErrorKind::Cancelled, _) => Found::Nothing(error),
        (ErrorKind::Unreachable, _) if matches!(error.get("status"), None | Some("429")) => Found::Nothing(error),
        _ => legacy(newest, Some(error)),
    }
}

/// Both sides name what they speak.
fn in_common(versions: &[String], either: bool) -> Found {
    match era::common_handshake(versions).filter(|_| either) {
        Some(revision) => Found::Legacy { revision, why: None },
        None => {
            let theirs = if versions.is_empty() { "none that it names".to_owned() } else { versions.join(", ") };
            let message = format!("The server speaks other protocol versions than this client: {theirs}");
            let hint = format!("This client speaks {}", era::known());
            Found::Nothing(Error::new(ErrorKind::Protocol, message).with_hint(hint))
        }
    }
}

/// The answer to `server/discover`, in the words of the handshake.
fn info(result: &RawJson) -> ServerInfo {
    let named = result.field("_meta").and_then(|meta| meta.field(SERVER_INFO));
    let raw = result.with_member("protocolVersion", &Value::from(MODERN_REVISIONS[0]).into());
    ServerInfo::from_raw(match named {
        Some(named) => raw.with_member("serverInfo", &named),
        None => raw,
    })
}

/// A server was to be modern, and isn't.
pub(super) fn not_modern(why: Option<Error>) -> Error {
    let hint = "To let the client find out, leave \"protocol\" out of the config, or set it to \"auto\"";
    let message = "The server doesn't speak the modern era of the protocol, which it was to be spoken to in";
    match why {
        Some(error) => {
            let said = format!("{message}: {}", error.message());
            error.with_message(said).with_hint(hint)
        }
        None => Error::new(ErrorKind::Protocol, message).with_hint(hint),
    }
}

/// The versions that an error names as the server's.
fn supported(error: &Error) -> Vec<String> {
    error.data().and_then(|data| data.field("supported")).map(|versions| texts(&versions)).unwrap_or_default()
}

fn texts(list: &RawJson) -> Vec<String> {
    list.items().filter_map(|item| item.as_text()).collect()
}

/// A result of a type that is known here.
fn checked(method: &str, result: RawJson) -> Result<RawJson> {
    let kind = result_type(&result);
    match kind.as_deref() {
        None | Some("complete") => Ok(result),
        Some("input_required") if ANSWERABLE.contains(&method) => Ok(result),
        Some("task") if method == "tools/call" => Ok(result),
        Some(other) => {
            let message = format!("The server answered {method} with a result of an unknown type: {other:?}");
            Err(Error::new(ErrorKind::Protocol, message).with_may_have_run(true))
        }
    }
}

fn lacking(error: Error) -> Error {
    let needed = error.data().and_then(|data| data.field("requiredCapabilities"));
    let needed: Vec<_> = needed.iter().flat_map(RawJson::members).map(|(name, _)| name).collect();
    let what = if needed.is_empty() { "something".to_owned() } else { needed.join(", ") };
    error.with_hint(format!("The server needs a client that answers {what}: give the client or the call a handler"))
}

fn list_again<'a>(session: &'a Session, cx: &CallContext) -> BoxFuture<'a, Result<()>> {
    let cx = cx.bounds();
    Box::pin(async move { session.list_tools(&cx).await.map(drop) })
}

impl Params<'_> {
    /// The text of a member.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self {
            Params::None => None,
            Params::Raw(raw) => raw.text(name),
            Params::Fields(fields) => fields.iter().find(|(key, _)| *key == name).and_then(|(_, value)| match value {
                Field::Text(text) => Some((*text).to_owned()),
                Field::Json(json) => json.as_text(),
            }),
        }
    }
}
