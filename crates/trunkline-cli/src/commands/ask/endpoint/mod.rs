//! The model's endpoint: one request for each step, made again where that is of use. Reading what comes back is left
//! to `read`, what failures mean to `failure`.

mod events;
mod failure;
#[cfg(any(test, fuzzing))]
mod laws;
mod read;
mod reply;

use std::time::Duration;

use reqwest::{Client, Url};
use trunkline::format::Dialect;
use trunkline::{RawJson, Secret};

use super::mask::Mask;
use crate::exit::{Failure, Outcome};
use crate::render::json::{Object, array};
use failure::{Failures, Retry, Trouble};
#[cfg(any(test, fuzzing))]
pub(crate) use laws::replies;
pub(crate) use reply::Reply;

/// How often a request is made at most, where the endpoint is busy or broken.
const ATTEMPTS: u32 = 4;

/// The first pause before the next attempt, where the endpoint asks for none; it doubles each time.
const PAUSE: Duration = Duration::from_millis(500);

/// The longest pause that is waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(30);

/// How to reach a model.
pub(crate) struct Target {
    pub(crate) base: String,
    pub(crate) model: String,
    pub(crate) key: Option<Secret>,
    /// The variable that holds the key, or would.
    pub(crate) key_name: String,
    /// How long it may be silent.
    pub(crate) patience: Duration,
}

/// A model behind an endpoint.
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    key: Option<Secret>,
    model: String,
    failures: Failures,
}

/// Who is told while an answer is waited for.
pub(crate) trait Listener {
    /// A piece of the model's text.
    fn text(&mut self, piece: &str) -> Outcome;

    /// The request is going to be made again.
    fn again(&mut self, why: &str, pause: Duration);
}

impl Endpoint {
    /// Sends nothing yet.
    pub(crate) fn new(target: Target, mask: Mask) -> Outcome<Self> {
        let url = completions(&target.base)?;
        let _ = rustls::crypto::ring::default_provider().install_default(); // one that is there already will do
        let mut builder = Client::builder()
            .user_agent(concat!("trunkline/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT.min(target.patience))
            .read_timeout(target.patience);
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        if url.scheme() == "http" {
            builder = builder.tls_certs_only([]); // the system's needn't be read
        }
        let failures = Failures::new(&url, &target, mask);
        let client = builder.build().map_err(|error| failures.of_setup(&error))?;
        Ok(Self { client, url, key: target.key, model: target.model, failures })
    }

    /// In which form it takes tools.
    pub(crate) fn dialect(&self) -> Dialect {
        match self.url.host_str() {
            Some("api.mistral.ai") => Dialect::Mistral,
            Some("api.groq.com") => Dialect::Groq,
            _ => Dialect::OpenAiChat,
        }
    }

    /// Sends the conversation; gives what the model says to it. `step` counts the requests of the conversation.
    pub(crate) async fn ask(
        &self,
        step: u32,
        messages: &[RawJson],
        tools: Option<&RawJson>,
        listener: &mut impl Listener,
    ) -> Outcome<Reply> {
        let (mut attempt, mut pause, mut count_tokens) = (1, PAUSE, true);
        loop {
            let body = self.body(messages, tools, count_tokens);
            let Trouble { failure, retry } = match self.attempt(step, body, listener).await {
                Ok(reply) => return Ok(reply),
                Err(trouble) => trouble,
            };
            let asked = match retry {
                Retry::Never => return Err(failure),
                Retry::WithoutUsage if count_tokens => {
                    count_tokens = false;
                    continue;
                }
                Retry::WithoutUsage => return Err(failure),
                Retry::After(asked) if asked > LONGEST_PAUSE => {
                    return Err(failure.hint(format!("It asks to be left alone for {} s", asked.as_secs())));
                }
                Retry::After(asked) => asked,
                Retry::Soon => pause,
            };
            if attempt == ATTEMPTS {
                return Err(failure);
            }
            listener.again(failure.error.message(), asked);
            tokio::time::sleep(asked).await;
            (attempt, pause) = (attempt + 1, pause * 2);
        }
    }

    fn body(&self, messages: &[RawJson], tools: Option<&RawJson>, count_tokens: bool) -> String {
        let messages = array(messages.iter().map(ToString::to_string));
        let mut body = Object::default().text("model", &self.model).raw("messages", messages);
        if let Some(tools) = tools {
            body = body.raw("tools", tools);
        }
        body = body.raw("stream", true);
        if count_tokens {
            body = body.raw("stream_options", Object::default().raw("include_usage", true).finish());
        }
        body.finish()
    }

    async fn attempt(&self, step: u32, body: String, listener: &mut impl Listener) -> Result<Reply, Trouble> {
        let request = self.client.post(self.url.clone()).header("content-type", "application/json");
        let request = self.signed(request.header("accept", "text/event-stream, application/json"));
        let response = request.body(body).send().await.map_err(|error| self.failures.of_request(&error))?;
        if response.status().is_success() {
            return Ok(read::reply(response, &self.failures, listener).await?.finish(step));
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let body = read::start(response).await;
        let refusal = self.failures.of_status(status, &headers, &body);
        Err(match refusal {
            failure::Refusal::NoModel(failure) => self.with_models(failure).await.into(),
            failure::Refusal::Other(trouble) => trouble,
        })
    }

    fn signed(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.key {
            Some(key) => request.bearer_auth(key.expose()),
            None => request,
        }
    }

    /// Adds which models there are, where the endpoint tells.
    async fn with_models(&self, failure: Failure) -> Failure {
        let mut url = self.url.clone();
        url.set_path(&self.url.path().replace("/chat/completions", "/models"));
        let Ok(response) = self.signed(self.client.get(url)).send().await else { return failure };
        let models = read::models(response).await;
        match crate::suggest::hint(&self.model, models.iter().map(String::as_str)) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// The URL of the completions.
fn completions(base: &str) -> Outcome<Url> {
    let wrong = |why: String| {
        let shown = trunkline::mask_url(base);
        let failure = Failure::usage(format!("\"{shown}\" can't be the base of an endpoint: {why}"));
        failure.hint("Give one such as --api-base http://localhost:11434/v1")
    };
    let mut url = Url::parse(base.trim()).map_err(|error| wrong(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("it is no URL that starts with http:// or https://".to_owned()));
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path);
    url.set_path(&format!("{path}/chat/completions"));
    Ok(url)
}

/// Whether the host is this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    address || host == "localhost" || host.ends_with(".localhost")
}

/// Whether a key may go there by default: over TLS, or without leaving this machine.
pub(crate) fn is_private(base: &str) -> bool {
    completions(base).is_ok_and(|url| url.scheme() == "https" || is_loopback(&url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_added_once() {
        for (base, url) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            (" http://localhost:11434/v1/ ", "http://localhost:11434/v1/chat/completions"),
            ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
            ("https://h/x?api-version=1", "https://h/x/chat/completions?api-version=1"),
        ] {
            assert_eq!(completions(base).unwrap().as_str(), url);
        }
        for base in ["localhost:11434/v1", "", "ftp://h/v1", "file:///v1", "api.openai.com"] {
            assert_eq!(completions(base).unwrap_err().exit as u8, 2, "{base}");
        }
    }

    #[test]
    fn a_key_stays_off_open_networks() {
        for (base, private) in [
            ("https://api.openai.com/v1", true),
            ("http://localhost:1/v1", true),
            ("http://127.0.0.9:1", true),
            ("http://[::1]:1/v1", true),
            ("http://10.0.0.5:8000/v1", false),
            ("http://localhost.example.com/v1", false),
        ] {
            assert_eq!(is_private(base), private, "{base}");
        }
    }
}
