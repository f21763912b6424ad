//! Several servers served on over HTTP to several clients: what a gateway must keep apart, and what it must not touch.

mod headers;
mod ids;
mod instructions;
mod questions;
mod relay;
mod sessions;

use tokio::net::TcpListener;
use trunkline::{Client, ClientBuilder, Connection, EventKind, Events, HttpServer, HttpServing};
use trunkline_tests::Script;

use super::multi::Servers;

/// Scripted servers behind one endpoint.
struct Gateway {
    servers: Servers,
    serving: HttpServing,
}

impl Gateway {
    async fn of<'a>(servers: impl IntoIterator<Item = (&'a str, Script)>) -> Self {
        let servers = Servers::with(servers);
        let serving = serve(servers.multi.clone(), |http| http).await;
        Self { servers, serving }
    }

    fn client(&self, label: &str) -> ClientBuilder {
        Client::http(self.serving.url()).label(label).timeout(crate::rig::SOON)
    }
}

async fn serve(connection: impl Connection, set_up: impl FnOnce(HttpServer) -> HttpServer) -> HttpServing {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    set_up(HttpServer::new(connection)).serve(listener).unwrap()
}

/// What a client has heard in log messages, up to a change of the tools.
async fn logged(events: &mut Events) -> Vec<String> {
    let mut logged = Vec::new();
    loop {
        match events.next().await.unwrap().kind {
            EventKind::Log(message) => logged.push(message.text()),
            EventKind::ToolsChanged => return logged,
            _ => {}
        }
    }
}
