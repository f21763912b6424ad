//! What went wrong at the endpoint: in words, with what to do next, and whether another attempt is of use.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};
use serde_json::Value;
use trunkline::{Error, ErrorKind};

use super::Target;
use crate::commands::ask::mask::Mask;
use crate::exit::Failure;

/// How much is shown of what an endpoint says.
const SHOWN: usize = 500;

/// A failure, and what can be done about it without a person.
pub(super) struct Trouble {
    pub(super) failure: Failure,
    pub(super) retry: Retry,
}

pub(super) enum Retry {
    Never,
    /// The endpoint may be better by then.
    Soon,
    /// The endpoint says when.
    After(Duration),
    /// It doesn't know how to count tokens.
    WithoutUsage,
}

/// Why the endpoint refused a request.
pub(super) enum Refusal {
    NoModel(Failure),
    Other(Trouble),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self { failure, retry: Retry::Never }
    }
}

/// Words the failures of one endpoint.
pub(super) struct Failures {
    url: String,
    model: String,
    key_name: String,
    has_key: bool,
    is_local: bool,
    patience: Duration,
    mask: Mask,
}

impl Failures {
    pub(super) fn new(url: &Url, target: &Target, mask: Mask) -> Self {
        Self {
            url: trunkline::mask_url(url.as_str()),
            model: target.model.clone(),
            key_name: target.key_name.clone(),
            has_key: target.key.is_some(),
            is_local: super::is_loopback(url),
            patience: target.patience,
            mask,
        }
    }

    fn failure(&self, kind: ErrorKind, message: impl Into<String>) -> Failure {
        Error::new(kind, self.mask.text(&message.into())).with_context("endpoint", &self.url).into()
    }

    pub(super) fn of_setup(&self, error: &reqwest::Error) -> Failure {
        self.failure(ErrorKind::Config, format!("Can't set up the connection: {}", cause(error)))
    }

    /// There was no answer.
    pub(super) fn of_request(&self, error: &reqwest::Error) -> Trouble {
        if error.is_connect() {
            let cause = cause(error);
            let hint = match () {
                () if cause.contains("certificate") => {
                    "$SSL_CERT_FILE may name certificates to trust in place of the system's"
                }
                () if self.is_local => "Is it running? --api-base says where it is",
                () => "Check --api-base, the network, and the proxy variables",
            };
            let message = format!("Could not connect to the endpoint: {cause}");
            return self.failure(ErrorKind::Unreachable, message).hint(hint).into();
        }
        if error.is_timeout() {
            return self.silent().into();
        }
        let message = format!("The endpoint ended the connection without an answer: {}", cause(error));
        Trouble { failure: self.failure(ErrorKind::Closed, message), retry: Retry::Soon }
    }

    /// The answer ended early.
    pub(super) fn of_body(&self, error: &reqwest::Error) -> Trouble {
        if error.is_timeout() { self.silent().into() } else { self.cut_off() }
    }

    pub(super) fn cut_off(&self) -> Trouble {
        let failure = self.failure(ErrorKind::Closed, "The connection ended before the model was done");
        failure.hint("What it said until then is incomplete; ask again").into()
    }

    fn silent(&self) -> Failure {
        let message = format!("The model sent nothing for {} s", self.patience.as_secs_f64());
        self.failure(ErrorKind::Deadline, message).hint("--model-timeout allows more")
    }

    pub(super) fn too_large(&self, bytes: usize) -> Trouble {
        self.failure(ErrorKind::Limit, format!("The answer is larger than {} MiB", bytes >> 20)).into()
    }

    pub(super) fn not_json(&self, text: &str) -> Trouble {
        let message = match text.trim() {
            "" => "The endpoint answers with nothing".to_owned(),
            text if text.starts_with('<') => "The endpoint answers with a web page, not with a completion".to_owned(),
            text => format!("The endpoint sends what is no JSON: {}", shown(text)),
        };
        self.failure(ErrorKind::Protocol, message).hint(BASE_HINT).into()
    }

    pub(super) fn no_completion(&self, answer: &Value) -> Trouble {
        let message = format!("The endpoint's answer is no completion: {}", shown(&answer.to_string()));
        self.failure(ErrorKind::Protocol, message).hint(BASE_HINT).into()
    }

    /// An error in place of a part of the answer.
    pub(super) fn of_event(&self, error: &Value) -> Trouble {
        let said = said(error).unwrap_or_else(|| error.to_string());
        if is_too_long(&said) {
            return self.too_long(&said).into();
        }
        self.failure(ErrorKind::Protocol, format!("The endpoint broke off with an error: {}", shown(&said))).into()
    }

    /// An answer with another status than 200.
    pub(super) fn of_status(&self, status: StatusCode, headers: &HeaderMap, body: &str) -> Refusal {
        let answer: Value = serde_json::from_str(body).unwrap_or_default();
        let said = said(&answer)
            .unwrap_or_else(|| if body.trim_start().starts_with('<') { String::new() } else { body.to_owned() });
        let code = code_of(&answer);
        let about_model = code == "model_not_found" || (status == 404 && said.to_lowercase().contains("model"));
        if about_model {
            let message = format!("The endpoint has no model \"{}\"{}", self.model, after_colon(&said));
            return Refusal::NoModel(self.failure(ErrorKind::NotFound, message));
        }
        Refusal::Other(match status.as_u16() {
            401 => self.no_login(&said).into(),
            402 | 403 => self.failure(ErrorKind::Auth, refused(status, &said)).hint(self.key_hint()).into(),
            404 | 405 | 300..=399 => self.elsewhere(status, headers).into(),
            429 if code == "insufficient_quota" => self.failure(ErrorKind::Auth, refused(status, &said)).into(),
            408 | 429 | 500..=599 => self.passing(status, headers, &said),
            400 | 422 if said.contains("stream_options") => Trouble {
                failure: self.failure(ErrorKind::Protocol, refused(status, &said)),
                retry: Retry::WithoutUsage,
            },
            413 => self.too_long(&said).into(),
            _ if is_too_long(&said) || code == "context_length_exceeded" => self.too_long(&said).into(),
            _ if said.contains("support tool") => self
                .failure(ErrorKind::Unsupported, format!("The model can't call tools{}", after_colon(&said)))
                .hint("Choose another, or ask without tools: --deny '*'")
                .into(),
            400 | 422 if said.contains("'tools'") && said.contains("too long") => self
                .failure(ErrorKind::Limit, refused(status, &said))
                .hint("--server and --deny show the model fewer tools")
                .into(),
            _ => self.failure(ErrorKind::Protocol, refused(status, &said)).into(),
        })
    }

    fn no_login(&self, said: &str) -> Failure {
        let what = if self.has_key { "The endpoint refuses the API key" } else { "The endpoint wants an API key" };
        self.failure(ErrorKind::Auth, format!("{what}{}", after_colon(said))).hint(self.key_hint())
    }

    fn key_hint(&self) -> String {
        match self.has_key {
            true => format!("The key is that of ${}; --api-key-env names another variable", self.key_name),
            false => format!("Put it in ${}, or name another variable with --api-key-env", self.key_name),
        }
    }

    fn elsewhere(&self, status: StatusCode, headers: &HeaderMap) -> Failure {
        let to = headers.get("location").and_then(|place| place.to_str().ok());
        let to = to.map(|place| format!(", it names {}", trunkline::mask_url(place))).unwrap_or_default();
        let message = format!("There is no Chat Completions endpoint there ({status}{to})");
        self.failure(ErrorKind::Config, message).hint(BASE_HINT)
    }

    fn passing(&self, status: StatusCode, headers: &HeaderMap, said: &str) -> Trouble {
        let failure = self.failure(ErrorKind::Unreachable, refused(status, said));
        let retry = pause(headers).map_or(Retry::Soon, Retry::After);
        Trouble { failure, retry }
    }

    fn too_long(&self, said: &str) -> Failure {
        let message = format!("The conversation is too long for the model{}", after_colon(said));
        let hint = "Show it fewer tools (--server, --deny), or ask for less so that the results are smaller";
        self.failure(ErrorKind::Limit, message).hint(hint)
    }
}

const BASE_HINT: &str = "Is --api-base right? It is what stands before /chat/completions, often ending in /v1";

fn refused(status: StatusCode, said: &str) -> String {
    format!("The endpoint answers {status}{}", after_colon(said))
}

fn after_colon(said: &str) -> String {
    if said.trim().is_empty() { String::new() } else { format!(": {}", shown(said)) }
}

/// The start of a text, in one line.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{} ...", &line[..at]),
        None => line,
    }
}

/// The message in an error, in whichever of the usual forms.
fn said(answer: &Value) -> Option<String> {
    let answer = answer.as_array().and_then(|list| list.first()).unwrap_or(answer);
    let error = answer.get("error").unwrap_or(answer);
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    };
    if error.is_string() {
        return text(error);
    }
    ["message", "detail", "error"].iter().find_map(|key| text(error.get(key)?))
}

fn code_of(answer: &Value) -> String {
    let code = answer.pointer("/error/code").and_then(Value::as_str);
    code.or_else(|| answer.pointer("/error/type")?.as_str()).unwrap_or_default().to_owned()
}

fn is_too_long(said: &str) -> bool {
    let said = said.to_lowercase();
    [
        "context length",
        "context window",
        "context size",
        "maximum context",
        "too many tokens",
        "prompt is too long",
        "reduce the length",
    ]
    .iter()
    .any(|words| said.contains(words))
}

/// How long the endpoint asks to be left alone. A date isn't read; then the usual pause is made.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// What is at the bottom of an error: what a person understands.
fn cause(error: &reqwest::Error) -> String {
    let mut bottom: &dyn std::error::Error = error;
    while let Some(source) = bottom.source() {
        bottom = source;
    }
    bottom.to_string()
}
