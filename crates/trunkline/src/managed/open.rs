//! One attempt to connect, and what an error says about the server it happened on.

use std::sync::Arc;

use super::{Live, Planned, Setup};
use crate::connection::{Hub, SharedConnection};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::Redactor;
use crate::session::{Recipe, Session};

/// Connects. Settles only after a server that failed is gone again.
#[tracing::instrument(level = "debug", skip_all, fields(server = %setup.label))]
pub(super) async fn open(setup: &Setup, hub: &Arc<Hub>) -> Result<Live> {
    let planned = (setup.plan)().map_err(|error| describe(setup, None, &Redactor::default(), error))?;
    let (recipe, redactor) = match planned {
        Planned::Existing(connection) => {
            return Ok(Live { connection, session: None, redactor: Redactor::default() });
        }
        Planned::Session { recipe, redactor } => (recipe, redactor),
    };
    let started = Session::start(&recipe, &setup.limits, hub.clone(), setup.handler.clone());
    let session = started.map_err(|error| describe(setup, None, &redactor, connecting(setup, error)))?;
    let error = match tokio::time::timeout(setup.start_timeout, session.handshake(&setup.identity)).await {
        Ok(Ok(())) => {
            tracing::debug!("connected");
            return Ok(Live { connection: SharedConnection::new(session.clone()), session: Some(session), redactor });
        }
        Ok(Err(error)) => connecting(setup, error),
        Err(_) => too_slow(setup, &session, &recipe),
    };
    let error = describe(setup, Some(&session), &redactor, error);
    session.end().await;
    Err(error)
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
