//! The client over HTTP, against a scripted server that plays what goes wrong.

mod answers;
mod connections;
mod legacy;
mod limits;
mod proxies;
mod questions;
mod redirects;
mod secrets;
mod secure;
mod sessions;
mod standing;
mod streams;
mod tokens;

use std::time::Duration;

use serde_json::Value;
use trunkline::{Client, ClientBuilder, Environment, Error, Result};
use trunkline_tests::http::HttpFake;

/// Much more than anything here takes that doesn't wait for a limit, and less than any of the limits.
const AT_ONCE: Duration = Duration::from_secs(5);

pub(super) fn at(url: impl Into<String>) -> ClientBuilder {
    Client::http(url).label("fake").environment(Environment::from_pairs::<&str, &str>([]))
}

pub(super) fn client(fake: &HttpFake) -> Client {
    at(fake.url()).build().unwrap()
}

async fn echo(client: &Client, text: &str) -> Result<Value> {
    client.call_tool("echo", serde_json::json!({ "text": text })).await
}

/// Everything that an error shows.
fn all_of(error: &Error) -> String {
    let context: Vec<_> = error.context().map(|(key, value)| format!("{key}: {value}")).collect();
    format!("{error} {error:?} {} {}", error.hint().unwrap_or_default(), context.join("\n"))
}
