//! The two eras of the protocol: which one a server speaks, and what the modern one (2026-07-28) asks of a client.

mod caching;
mod headers;
mod listening;
mod probe;
mod requests;
mod rounds;
mod tasks;

use serde_json::{Value, json};
use trunkline::{Client, ClientBuilder};
use trunkline_tests::http::HttpFake;

use crate::rig::{Over, Rig};
use trunkline_tests::{Script, TempDir};

/// A client of a modern server over stdio and over HTTP, one after the other.
fn both(script: Script) -> impl Iterator<Item = Rig> {
    set_up(script, |builder| builder)
}

fn set_up(script: Script, set_up: impl Fn(ClientBuilder) -> ClientBuilder) -> impl Iterator<Item = Rig> {
    let script = move |_: &TempDir| script.clone().modern();
    [Over::Stdio, Over::Http].into_iter().map(move |over| Rig::over(over, &script, &set_up))
}

fn client(fake: &HttpFake) -> Client {
    super::http::at(fake.url()).build().unwrap()
}

/// The `_meta` member of the modern era with this name, in the parameters of a request.
fn meta(params: &Value, name: &str) -> Value {
    params["_meta"][format!("io.modelcontextprotocol/{name}")].clone()
}

fn text_result(text: &str) -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
}
