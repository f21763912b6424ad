//! One attempt to connect, and what an error says about the server it happened on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};

use super::live::{Listening, Live};
use super::spoken::Era;
use super::{Planned, Setup, over};
use crate::config::{ServerSpec, ToolFilter, TransportSpec};
use crate::connection::{Connection, Hub, SharedConnection};
use crate::error::{Error, ErrorKind, Result};
use crate::filtered::Filtered;
use crate::lock;
use crate::protocol::Protocol;
use crate::protocol::era::{NEWEST_HANDSHAKE, UNSUPPORTED_VERSION};
use crate::redact::Redactor;
use crate::session::{Begun, Launch, Recipe, Session, Setting, Way};

/// Connects, once the server's last process is gone and until `stopped`. Settles only after a server that failed is
/// gone again.
#[tracing::instrument(name = "connect", level = "debug", skip_all, fields(server = %setup.label))]
pub(super) async fn open(
    setup: &Setup,
    hub: &Arc<Hub>,
    turns: &Arc<Semaphore>,
    stopped: oneshot::Receiver<()>,
) -> Result<Live> {
    let outcome = connect(setup, hub, turns, stopped).await.map(|live| locked(setup, hub, live));
    let Some(track) = &setup.track else { return outcome };
    match outcome {
        Ok(live) => {
            let over_a_session = live.session.is_some();
            let recorder = track.recorder(live.connection, live.redactor.clone(), over_a_session);
            if over_a_session {
                let _ = recorder.info().await; // known since the handshake; it is noted first
            }
            Ok(Live { connection: SharedConnection::new(recorder), bare: false, ..live })
        }
        Err(error) => {
            if error.kind() != ErrorKind::Closed {
                track.failed(&error); // else it was given up from this side
            }
            Err(error)
        }
    }
}

/// What the attempts to connect share.
struct Site<'a> {
    setup: &'a Setup,
    hub: &'a Arc<Hub>,
    turns: &'a Arc<Semaphore>,
    redactor: &'a Redactor,
    /// Whether the way was right once, and may not be any more.
    remembered: bool,
}

/// Connects in the first of the ways that works.
async fn connect(
    setup: &Setup,
    hub: &Arc<Hub>,
    turns: &Arc<Semaphore>,
    mut stopped: oneshot::Receiver<()>,
) -> Result<Live> {
    if let Some(pin) = &setup.lock {
        pin.admit(&setup.label).map_err(|error| describe(setup, None, &Redactor::default(), error))?;
    }
    let planned = (setup.plan)().map_err(|error| describe(setup, None, &Redactor::default(), error))?;
    let (recipes, redactor, filter, protocol, asked) = match planned {
        Planned::Existing(connection) => return Ok(existing(connection, hub)),
        Planned::Memory(server) => {
            let recipes = vec![Recipe::Memory(crate::server::peer(server))];
            (recipes, Redactor::default(), ToolFilter::default(), Protocol::Legacy, None)
        }
        Planned::Server(spec) => {
            let protocol = setup.protocol.unwrap_or(spec.protocol);
            let asked = (protocol == Protocol::Auto).then(|| spec.clone());
            asked.iter().for_each(|spec| setup.spoken.recall(spec));
            let recipes = recipes(&spec, setup).map_err(|error| describe(setup, None, &spec.redactor, error))?;
            (recipes, spec.redactor, spec.tools, protocol, asked)
        }
    };
    let mut first: Option<Error> = None;
    for recipe in recipes {
        let (way, remembered) = setup.spoken.way(protocol, &recipe, [patience(setup), setup.start_timeout / 3]);
        let at = Site { setup, hub, turns, redactor: &redactor, remembered };
        match attempt(&at, &recipe, way, &mut stopped).await {
            Ok((session, era)) => {
                setup.spoken.note(asked.as_ref(), &recipe, era);
                return Ok(ready(session, redactor, filter));
            }
            Err(error) => match first {
                Some(first) => return Err(first.with_context("also tried", error.message().to_owned())),
                None if is_other_kind(&error) => first = Some(error),
                None => return Err(error),
            },
        }
    }
    Err(first.unwrap_or_else(closed_meanwhile))
}

/// Connects in one way, with as many processes as that takes: one that ends on the question which era it speaks is started
/// anew, and so is one whose era is not what it was.
async fn attempt(
    at: &Site<'_>,
    recipe: &Recipe,
    way: Way,
    stopped: &mut oneshot::Receiver<()>,
) -> Result<(Session, Era)> {
    let (mut way, mut remembered) = (way, at.remembered);
    loop {
        let (session, outcome) = begin(at, recipe, way, stopped).await?;
        let error = match outcome {
            Ok(Begun::Legacy) => return Ok((session, Era::Legacy)),
            Ok(Begun::Modern) => return Ok((session, Era::Modern)),
            Ok(Begun::Both) => {
                session.end().await;
                way = Way::Modern;
                continue;
            }
            Ok(Begun::Ended(error)) => {
                tracing::debug!(%error, "the server ended on server/discover; it is started again with initialize");
                session.end().await;
                at.setup.spoken.note(None, recipe, Era::Legacy); // or it ends whatever it is asked: then not twice each time
                way = Way::Handshake(NEWEST_HANDSHAKE);
                continue;
            }
            Err(error) => error,
        };
        let error = describe(at.setup, Some(&session), at.redactor, error);
        session.end().await;
        if remembered && error.code() == Some(UNSUPPORTED_VERSION) {
            remembered = false;
            way = Way::Probe(patience(at.setup));
            continue;
        }
        return Err(error);
    }
}

/// How long a silent server is waited for before both eras are tried: not so long that the start is over first.
fn patience(setup: &Setup) -> Duration {
    setup.limits.probe_wait.min(setup.start_timeout / 3)
}

/// Starts it, and begins a session.
async fn begin(
    at: &Site<'_>,
    recipe: &Recipe,
    way: Way,
    stopped: &mut oneshot::Receiver<()>,
) -> Result<(Session, Result<Begun>)> {
    let Site { setup, hub, turns, redactor, .. } = at;
    let turn = tokio::select! {
        Ok(turn) = Arc::clone(turns).acquire_owned() => turn,
        _ = &mut *stopped => return Err(describe(setup, None, redactor, closed_meanwhile())),
    };
    let (limits, handler) = (setup.limits.clone(), setup.handler.clone());
    let setting = Setting { limits, hub: Arc::clone(hub), handler, redactor: (*redactor).clone(), turn };
    let session =
        Session::start(recipe, setting).map_err(|error| describe(setup, None, redactor, connecting(setup, error)))?;
    let logins = recipe.pause();
    let outcome = tokio::select! {
        outcome = logins.within(setup.start_timeout, session.begin(&setup.identity, way, &logins)) => match outcome {
            Some(outcome) => outcome.map_err(|error| connecting(setup, error)),
            None => Err(too_slow(setup, &session, recipe, way)),
        },
        _ = stopped => Err(closed_meanwhile()),
    };
    Ok((session, outcome))
}

/// Whether the answer to a first message says that this kind of HTTP server isn't there (MCP specification,
/// Transports, Backwards Compatibility).
fn is_other_kind(error: &Error) -> bool {
    matches!(error.get("status"), Some("400" | "404" | "405" | "406" | "415" | "501"))
}

fn ready(session: Session, redactor: Redactor, filter: ToolFilter) -> Live {
    tracing::debug!("connected");
    let bare = filter.is_open();
    let connection = match bare {
        true => SharedConnection::new(session.clone()),
        false => SharedConnection::new(Filtered::new(session.clone(), filter)),
    };
    Live { connection, session: Some(session), bare, redactor, since: Instant::now(), failures: 0, _listening: None }
}

/// The same, with tools that are called only as they were agreed to.
fn locked(setup: &Setup, hub: &Arc<Hub>, live: Live) -> Live {
    let Some(pin) = &setup.lock else { return live };
    let connection = match live.session {
        Some(_) => SharedConnection::new(lock::of_session(live.connection, &setup.label, pin, hub)),
        None => SharedConnection::new(lock::of_connection(live.connection, &setup.label, pin)),
    };
    Live { connection, bare: false, ..live }
}

pub(super) fn closed_meanwhile() -> Error {
    Error::new(ErrorKind::Closed, "The connection was closed while it was being opened")
}

fn existing(connection: SharedConnection, hub: &Arc<Hub>) -> Live {
    let (mut events, hub) = (connection.events(), hub.clone());
    let listening = tokio::spawn(async move {
        while let Some(event) = events.next().await {
            hub.pass(&event);
        }
    });
    let listening = Some(Listening(listening.abort_handle()));
    Live {
        connection,
        session: None,
        bare: false,
        redactor: Redactor::default(),
        since: Instant::now(),
        failures: 0,
        _listening: listening,
    }
}

/// The ways to reach a server, the likeliest first.
fn recipes(spec: &ServerSpec, setup: &Setup) -> Result<Vec<Recipe>> {
    match &spec.transport {
        TransportSpec::Stdio(spec) => Ok(vec![Recipe::Stdio(Launch {
            label: setup.label.clone(),
            command: spec.command.to_string_lossy().into_owned(),
            args: spec.args.clone(),
            env: spec.env.clone(),
            cwd: spec.cwd.clone(),
        })]),
        TransportSpec::Http(http) if http.guessed => over::guessed(http, &spec.redactor, setup),
        TransportSpec::Http(http) => Ok(vec![over::streamable(http, &spec.redactor, setup)?]),
        TransportSpec::Sse(http) => Ok(vec![over::sse(http, &spec.redactor, setup)?]),
    }
}

/// An error of the handshake, as the person sees it who wanted to connect.
fn connecting(setup: &Setup, error: Error) -> Error {
    let message = format!("Could not connect to server \"{}\": {}", setup.label, lower(error.message()));
    let kind = match error.kind() {
        ErrorKind::Closed => ErrorKind::Unreachable,
        kind => kind,
    };
    let hint = match error.get("exit") {
        Some("exit status 127") => Some("A command inside was not found (status 127): see the server's last words"),
        Some(_) => Some("Run the command by hand to see what it needs"),
        None => None,
    };
    let mut new = error.with_message(message).with_kind_if(true, kind).with_may_have_run(false);
    new = new.with_context("phase", "initialize");
    match hint {
        Some(hint) => new.with_hint(hint),
        None => new,
    }
}

fn too_slow(setup: &Setup, session: &Session, recipe: &Recipe, way: Way) -> Error {
    let evidence = session.evidence();
    let seconds = setup.start_timeout.as_secs_f64();
    let seen = match evidence.waits {
        Some(waits) => waits.to_owned(),
        None => format!(
            "it wrote {} bytes on its standard output and {} on its standard error",
            evidence.received, evidence.stderr_bytes
        ),
    };
    let asked = if way == Way::Modern { "server/discover" } else { "initialize" };
    let message = format!("Server \"{}\" did not answer {asked} within {seconds} s ({seen})", setup.label);
    let error = Error::new(ErrorKind::Deadline, message).with_context("phase", "initialize");
    let noise = session.noise();
    let stray = noise.as_ref().map(|noise| format!("{noise}. Is it an MCP server?"));
    let slow = (matches!(recipe, Recipe::Stdio(_)) && evidence.alive).then(|| {
        "The process is alive: if it only needs longer to start, raise startTimeout in the config (start_timeout in \
         code, --start-timeout on the command line)"
            .to_owned()
    });
    let hints: Vec<_> = stray.into_iter().chain(slow).collect();
    let error = if hints.is_empty() { error } else { error.with_hint(hints.join(" ")) };
    match noise {
        Some(noise) => error.with_context("stdout", noise),
        None => error,
    }
}

/// Adds what is known of the server, and takes its secrets out.
pub(super) fn describe(setup: &Setup, session: Option<&Session>, redactor: &Redactor, error: Error) -> Error {
    let mut error = error.with_context("server", setup.label.clone());
    if let Some((kind, target)) = &setup.shown {
        error = error.with_context(kind, target.clone());
    }
    if let Some(origin) = &setup.origin {
        error = error.with_context("config", origin.clone());
    }
    let server_is_at_fault = !matches!(error.kind(), ErrorKind::Tool | ErrorKind::Cancelled) && error.code().is_none();
    if let Some(session) = session.filter(|_| server_is_at_fault) {
        let lines = session.evidence().stderr;
        if !lines.is_empty() {
            error = error.with_context("stderr", lines.join("\n"));
        }
    }
    if redactor.is_empty() { error } else { error.map_text(|text| redactor.redact(text).into_owned()) }
}

/// The message as the rest of a sentence.
fn lower(message: &str) -> String {
    let mut chars = message.chars();
    match chars.next() {
        Some(first) if chars.clone().next().is_some_and(char::is_lowercase) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => message.to_owned(),
    }
}
