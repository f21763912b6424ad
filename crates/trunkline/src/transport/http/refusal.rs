//! What an answer means whose status is no success.

use bytes::{Bytes, BytesMut};
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE};

use super::answer::Answer;
use super::fetch::Fetcher;
use super::proxy::PROXY_LOGIN;
use crate::auth::Wanted;
use crate::error::{Error, ErrorKind};
use crate::protocol::jsonrpc;

/// How much of such an answer is shown.
const SHOWN: usize = 300;

/// An answer that is no success.
pub(super) enum Refusal {
    /// It holds this JSON-RPC error.
    Rpc(Bytes),
    Status(Error),
}

impl Fetcher {
    /// Reads an answer that is no success: the JSON-RPC error it holds, or what its status means.
    pub(super) async fn refusal(&self, mut answer: Answer) -> Refusal {
        let mut text = BytesMut::new();
        while let Ok(Some(chunk)) = answer.body.chunk().await {
            text.extend_from_slice(&chunk);
            if text.len() > self.limits.max_refusal {
                text.truncate(self.limits.max_refusal);
                break;
            }
        }
        let text = text.freeze();
        if holds_error(&text) && !matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Refusal::Rpc(text);
        }
        Refusal::Status(self.status_error(answer.status, &answer.headers, &text))
    }

    /// What a status other than success means, with the beginning of the body.
    pub(super) fn status_error(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
        let asked = headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let by_proxy =
            self.pool().route().shown_proxy().filter(|_| status == StatusCode::PROXY_AUTHENTICATION_REQUIRED);
        let who = by_proxy.map_or_else(|| self.shown(), |proxy| format!("The proxy {proxy}"));
        let mut message = format!("{who} answered {status}");
        let said = self.snippet(body);
        if !said.is_empty() {
            message = format!("{message}: {said}");
        }
        let (kind, hint) = self.meaning(status, asked);
        let mut error = Error::new(kind, message).with_context("status", status.as_u16().to_string());
        error = error.with_context("stage", "status").with_may_have_run(status.is_server_error());
        if let Some(after) = headers.get("retry-after").and_then(|value| value.to_str().ok()) {
            error = error.with_context("retry-after", after.to_owned());
        }
        if !asked.is_empty() {
            error = error.with_context("www-authenticate", asked.to_owned());
        }
        error.with_hint(hint)
    }

    fn meaning(&self, status: StatusCode, asked: &str) -> (ErrorKind, String) {
        let has_token = self.endpoint.authorizer.is_some() || self.endpoint.headers.contains_key(AUTHORIZATION);
        let text = |text: &str| text.to_owned();
        match status.as_u16() {
            401 if has_token => (ErrorKind::Auth, text("The server refused the token: it may be wrong or expired")),
            401 => (
                ErrorKind::Auth,
                text(
                    "The server wants a token: give one with --bearer-env NAME, or as a header in the config: \
                      \"headers\": {\"Authorization\": \"Bearer ${NAME}\"}",
                ),
            ),
            403 => match Wanted::read(asked).scope {
                Some(scope) => (ErrorKind::Auth, format!("The token lacks the scope {scope:?}: get one that has it")),
                None => (ErrorKind::Auth, text("The server knows who asks and refuses, or doesn't allow this origin")),
            },
            404 => (
                ErrorKind::Unreachable,
                text("There is no MCP endpoint at this path; many servers have theirs at /mcp"),
            ),
            405 | 406 | 415 => {
                (ErrorKind::Unreachable, text("Is this the URL of an MCP endpoint, and of this kind (http, sse)?"))
            }
            407 => (ErrorKind::Unreachable, text(PROXY_LOGIN)),
            429 => (ErrorKind::Unreachable, text("Too many requests: try again later")),
            502..=504 => {
                (ErrorKind::Unreachable, text("A proxy in front of the server can't reach it, or didn't wait for it"))
            }
            500..=599 => (ErrorKind::Protocol, text("The server failed; its own log may say why")),
            _ => (ErrorKind::Protocol, text("Is this the URL of an MCP endpoint?")),
        }
    }

    /// The beginning of a text of the server, safe to show.
    pub(super) fn snippet(&self, text: &[u8]) -> String {
        let text = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN)]);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
        let short: String = words.chars().map(escaped).collect::<String>().chars().take(SHOWN).collect();
        self.endpoint.redactor.redact(&short).into_owned()
    }
}

fn holds_error(text: &Bytes) -> bool {
    let mut found = false;
    jsonrpc::split(text.clone(), &mut |message| {
        found |= matches!(
            message,
            Ok(jsonrpc::Message::Response { outcome: jsonrpc::Outcome::Error(_), .. }
                | jsonrpc::Message::Stray { outcome: jsonrpc::Outcome::Error(_), .. })
        );
    });
    found
}
