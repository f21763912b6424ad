//! One attempt to connect, and what an error says about the server it happened on.

use std::sync::Arc;

use super::{Listening, Live, Planned, Setup};
use crate::config::{ServerSpec, ToolFilter, TransportSpec};
use crate::connection::{Connection, Hub, SharedConnection};
use crate::error::{Error, ErrorKind, Result};
use crate::filtered::Filtered;
use crate::redact::Redactor;
use crate::session::{Launch, Recipe, Session};

/// Connects. Settles only after a server that failed is gone again.
#[tracing::instrument(level = "debug", skip_all, fields(server = %setup.label))]
pub(super) async fn open(setup: &Setup, hub: &Arc<Hub>) -> Result<Live> {
    let planned = (setup.plan)().map_err(|error| describe(setup, None, &Redactor::default(), error))?;
    let (recipe, redactor, filter) = match planned {
        Planned::Existing(connection) => return Ok(existing(connection, hub)),
        Planned::Memory(server) => {
            (Recipe::Memory(crate::server::peer(server)), Redactor::default(), ToolFilter::default())
        }
        Planned::Server(spec) => (recipe(&spec)?, spec.redactor, spec.tools),
    };
    let started = Session::start(&recipe, &setup.limits, hub.clone(), setup.handler.clone());
    let session = started.map_err(|error| describe(setup, None, &redactor, connecting(setup, error)))?;
    let error = match tokio::time::timeout(setup.start_timeout, session.handshake(&setup.identity)).await {
        Ok(Ok(())) => {
            tracing::debug!("connected");
            let connection = match filter.is_open() {
                true => SharedConnection::new(session.clone()),
                false => SharedConnection::new(Filtered::new(session.clone(), filter)),
            };
            return Ok(Live { connection, session: Some(session), redactor, _listening: None });
        }
        Ok(Err(error)) => connecting(setup, error),
        Err(_) => too_slow(setup, &session, &recipe),
    };
    let error = describe(setup, Some(&session), &redactor, error);
    session.end().await;
    Err(error)
}

fn existing(connection: SharedConnection, hub: &Arc<Hub>) -> Live {
    let (mut events, hub) = (connection.events(), hub.clone());
    let listening = tokio::spawn(async move {
        while let Some(event) = events.next().await {
            hub.pass(&event);
        }
    });
    let listening = Some(Arc::new(Listening(listening.abort_handle())));
    Live { connection, session: None, redactor: Redactor::default(), _listening: listening }
}

fn recipe(spec: &ServerSpec) -> Result<Recipe> {
    match &spec.transport {
        TransportSpec::Stdio(spec) => Ok(Recipe::Stdio(Launch {
            command: spec.command.to_string_lossy().into_owned(),
            args: spec.args.clone(),
            env: spec.env.clone(),
            cwd: spec.cwd.clone(),
        })),
        TransportSpec::Http(http) | TransportSpec::Sse(http) => Err(no_http(&http.url)),
    }
}

/// What to say of a URL in a version without HTTP.
pub(crate) fn no_http(url: &str) -> Error {
    let url = crate::redact::mask_url(url);
    Error::new(ErrorKind::Config, format!("Can't connect to {url}: this version has no HTTP transport yet"))
        .with_hint("Use a stdio server; many remote servers come with a local command")
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

fn too_slow(setup: &Setup, session: &Session, recipe: &Recipe) -> Error {
    let evidence = session.evidence();
    let seconds = setup.start_timeout.as_secs_f64();
    let message = format!(
        "Server \"{}\" did not answer initialize within {seconds} s (it wrote {} bytes on its standard output and {} \
         on its standard error)",
        setup.label, evidence.received, evidence.stderr_bytes
    );
    let error = Error::new(ErrorKind::Deadline, message).with_context("phase", "initialize");
    let stdio = matches!(recipe, Recipe::Stdio(_));
    match session.noise() {
        Some(noise) => error.with_hint(format!("{noise}. Is it an MCP server?")).with_context("stdout", noise),
        None if stdio && evidence.alive => error.with_hint(
            "The process is alive: if it only needs longer to start, raise startTimeout in the config \
             (start_timeout in code, --start-timeout on the command line)",
        ),
        None => error,
    }
}

/// Adds what is known of the server, and takes its secrets out.
pub(super) fn describe(setup: &Setup, session: Option<&Session>, redactor: &Redactor, error: Error) -> Error {
    let mut error = error.with_context("server", setup.label.clone());
    if !setup.shown.is_empty() {
        error = error.with_context("command", setup.shown.clone());
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
